//! Where a client and a resident meet.

use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    os::{
        fd::{AsFd as _, AsRawFd as _, OwnedFd},
        unix::{
            fs::{DirBuilderExt as _, PermissionsExt as _},
            net::UnixListener as StdListener,
        },
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use herm_protocol::hexadecimal;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, open, openat, renameat, unlinkat};
use tokio::net::UnixListener;

/// The name of the directory that is mounted, in its private parent.
pub(crate) const MEETING: &str = "dial";

/// Names that are looked at for what dead clients have left.
const LOOKED_AT: usize = 1000;

/// A directory in which clients of this user listen for the resident of one sandbox. It is to be mounted read-only there.
///
/// Its parent lets nobody else in; the directory itself and the sockets in it are open to every user, because it is not
/// known as whom the resident runs.
#[derive(Clone, Debug)]
pub struct MeetingDirectory {
    path: PathBuf,
    handle: Arc<OwnedFd>,
}

impl MeetingDirectory {
    /// Makes it in a parent, which is made, too, when it is not there. This blocks.
    ///
    /// # Errors
    /// It cannot be made, is a link, belongs to somebody else, or the parent lets others in.
    pub fn make(parent: &Path) -> io::Result<Self> {
        let outer = directory(parent, None)?;
        let others = fstat(&outer)?.st_mode & 0o077;
        if others != 0 {
            let message = format!("{} lets others in; chmod 700 it", parent.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        let path = parent.join(MEETING);
        let handle = directory(&path, Some(&outer))?;
        rustix::fs::fchmod(&handle, Mode::from_raw_mode(0o755))?;
        Ok(Self {
            path,
            handle: Arc::new(handle),
        })
    }

    /// What is to be mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Listens under a name that was never there before. The name goes with the result.
    pub(super) async fn announce(&self) -> io::Result<(Announced, UnixListener)> {
        let directory = self.clone();
        let listening = tokio::task::spawn_blocking(move || {
            directory.sweep();
            directory.listen()
        });
        let (announced, listener) = listening.await.map_err(io::Error::other)??;
        listener.set_nonblocking(true)?;
        Ok((announced, UnixListener::from_std(listener)?))
    }

    fn listen(&self) -> io::Result<(Announced, StdListener)> {
        let hidden = format!(".{}", fresh_name()?);
        // Through the open directory, so that its path may be longer than the address of a socket.
        let listener = StdListener::bind(self.through(&hidden))?;
        let mut announced = Announced {
            directory: self.clone(),
            name: hidden,
        };
        self.let_everybody_connect(&announced.name)?;
        announced.name = self.renamed(&announced.name)?;
        Ok((announced, listener))
    }

    /// Opens up the socket of that name, and never what somebody has put into its place.
    fn let_everybody_connect(&self, name: &str) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let socket = openat(self.handle.as_fd(), name, flags, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&socket)?.st_mode) != FileType::Socket {
            let message = format!("{name} in {} is no socket any more", self.path.display());
            return Err(io::Error::other(message));
        }
        let exact = format!("/proc/self/fd/{}", socket.as_raw_fd());
        fs::set_permissions(exact, Permissions::from_mode(0o666))
    }

    /// Gives what has a name a fresh one, which is what a resident sees.
    fn renamed(&self, name: &str) -> io::Result<String> {
        let fresh = fresh_name()?;
        renameat(&self.handle, name, &self.handle, &fresh)?;
        Ok(fresh)
    }

    /// Removes names of clients that were killed. One that lives in another namespace loses its name, and takes another.
    fn sweep(&self) {
        let entries = fs::read_dir(self.through(".")).into_iter().flatten().flatten();
        for entry in entries.take(LOOKED_AT) {
            let name = entry.file_name();
            let client = name.to_str().and_then(client_of);
            if client.is_some_and(|client| !Path::new("/proc").join(client.to_string()).exists()) {
                let _ = unlinkat(&self.handle, &name, AtFlags::empty());
            }
        }
    }

    fn through(&self, name: &str) -> PathBuf {
        Path::new("/proc/self/fd")
            .join(self.handle.as_raw_fd().to_string())
            .join(name)
    }
}

/// A name under which a client listens. It is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Announced {
    directory: MeetingDirectory,
    name: String,
}

impl Announced {
    /// Takes another name, so that the resident looks again.
    ///
    /// It is one call to a file system of this machine, and done at once: a name that another thread gave while this is
    /// dropped would stay.
    pub(super) fn rename(&mut self) -> io::Result<()> {
        self.name = self.directory.renamed(&self.name)?;
        Ok(())
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        let _ = unlinkat(&self.directory.handle, &self.name, AtFlags::empty());
    }
}

/// Opens a directory of this user's that is no link, or makes it.
fn directory(path: &Path, parent: Option<&OwnedFd>) -> io::Result<OwnedFd> {
    let shown = path.display();
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(io::Error::new(
                error.kind(),
                format!("failed to make {shown}: {error}"),
            ));
        }
        _ => {}
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = match parent {
        Some(parent) => openat(parent, MEETING, flags, Mode::empty()),
        None => open(path, flags, Mode::empty()),
    };
    let handle = handle.map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("failed to open {shown}, as a directory and no link: {error}"),
        )
    })?;
    let owner = fstat(&handle)?.st_uid;
    let own = rustix::process::geteuid().as_raw();
    if owner != own {
        let message = format!("{shown} belongs to user {owner}, not to {own}; name another");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(handle)
}

/// Tells by whom it was made, and cannot be guessed.
fn fresh_name() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!("{}-{}", std::process::id(), hexadecimal(&bytes)))
}

fn client_of(name: &str) -> Option<u32> {
    let (client, _) = name.strip_prefix('.').unwrap_or(name).split_once('-')?;
    client.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(directory: &MeetingDirectory) -> Vec<String> {
        let entries = fs::read_dir(directory.path()).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[tokio::test]
    async fn a_name_is_fresh_open_and_gone_afterwards() {
        let base = tempfile::tempdir().unwrap();
        let directory = MeetingDirectory::make(&base.path().join("sandbox")).unwrap();
        let (mut announced, _listener) = directory.announce().await.unwrap();
        let first = names(&directory);
        let path = directory.path().join(&first[0]);
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o666);
        announced.rename().unwrap();
        let second = names(&directory);
        assert_eq!(second.len(), 1);
        assert_ne!(first, second);
        drop(announced);
        assert_eq!(names(&directory), [""; 0]);
    }

    #[tokio::test]
    async fn names_of_the_dead_are_removed_and_no_others() {
        let base = tempfile::tempdir().unwrap();
        let directory = MeetingDirectory::make(&base.path().join("sandbox")).unwrap();
        for name in ["4194304999-abc", ".4194304999-abc", "other", "1-abc"] {
            fs::write(directory.path().join(name), b"").unwrap();
        }
        drop(directory.announce().await.unwrap());
        let mut left = names(&directory);
        left.sort();
        assert_eq!(left, ["1-abc", "other"]);
    }

    #[test]
    fn what_others_could_change_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let parent = base.path().join("sandbox");
        MeetingDirectory::make(&parent).unwrap();
        symlink(&parent, base.path().join("link")).unwrap();
        assert!(MeetingDirectory::make(&base.path().join("link")).is_err());
        fs::set_permissions(&parent, Permissions::from_mode(0o755)).unwrap();
        let error = MeetingDirectory::make(&parent).unwrap_err();
        assert!(error.to_string().contains("chmod 700"), "{error}");
        let planted = base.path().join("planted");
        DirBuilder::new().mode(0o700).create(&planted).unwrap();
        symlink(base.path(), planted.join(MEETING)).unwrap();
        assert!(MeetingDirectory::make(&planted).is_err());
    }

    /// Only a directory that was mounted for writing, by mistake, lets a sandbox do so.
    #[test]
    fn a_link_in_the_place_of_a_socket_is_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let directory = MeetingDirectory::make(&base.path().join("sandbox")).unwrap();
        let precious = base.path().join("precious");
        fs::write(&precious, b"").unwrap();
        fs::set_permissions(&precious, Permissions::from_mode(0o600)).unwrap();
        symlink(&precious, directory.path().join(".swapped")).unwrap();
        assert!(directory.let_everybody_connect(".swapped").is_err());
        assert_eq!(
            fs::metadata(&precious).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}
