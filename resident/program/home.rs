//! The resident's own directory: private, and nobody else's.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::{
        fd::{AsFd as _, AsRawFd as _, RawFd},
        unix::{
            fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
            net::UnixListener,
        },
    },
    path::{Path, PathBuf},
};

use crate::{
    resident::ToolDoor,
    system::{
        change_directory_to, effective_user,
        open::{DIRECTORY, NO_FOLLOW},
        random,
    },
    wire::proof::SECRET,
};

/// The socket for code that calls tools.
const TOOL_SOCKET: &str = "tools";

/// Files that an earlier resident may have left behind begin so.
const LEFT_BEHIND: [&str; 3] = ["spool-", "text-", crate::session::PREFIX];

/// The file that says up to which number jobs may have been given one.
const JOBS: &str = "jobs";

#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) path: PathBuf,
    handle: File,
}

impl Home {
    /// Opens the directory, or makes it. One that is a link, belongs to somebody else or lets others in is refused.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        // A slash at the end would follow a link.
        let path: PathBuf = std::path::absolute(path)?.components().collect();
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(in_context("make the directory", &path, &error));
            }
            _ => {}
        }
        let handle = OpenOptions::new()
            .read(true)
            .custom_flags(DIRECTORY | NO_FOLLOW)
            .open(&path);
        let handle =
            handle.map_err(|error| in_context("open, as a directory and no link,", &path, &error))?;
        let metadata = handle.metadata()?;
        let shown = path.display();
        if metadata.uid() != effective_user() {
            let message = format!(
                "{shown} belongs to user {}, not to this one; name another",
                metadata.uid()
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        if metadata.mode() & 0o077 != 0 {
            let message = format!(
                "{shown} lets others in (mode {:o}); chmod 700 it",
                metadata.mode() & 0o777
            );
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        Ok(Self { path, handle })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.handle.as_raw_fd()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Removes what an earlier resident has left behind, which must not run any more.
    pub(crate) fn clean(&self) {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if LEFT_BEHIND.iter().any(|prefix| name.starts_with(prefix))
                || name == "socket"
                || name == "secret"
                || name == TOOL_SOCKET
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Makes a file that only this user may read, new.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        let path = self.join(name);
        let _ = fs::remove_file(&path);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        file.map_err(|error| in_context("make", &path, &error))
    }

    /// Opens a file of this user's, or makes it.
    pub(crate) fn open_file(&self, name: &str) -> io::Result<File> {
        let path = self.join(name);
        let mut options = OpenOptions::new();
        options
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(NO_FOLLOW);
        options
            .open(&path)
            .map_err(|error| in_context("open", &path, &error))
    }

    /// The secret: the one that is given, or a new one, which is written down for clients that may read it.
    pub(crate) fn secret(&self, given: Option<[u8; SECRET]>) -> io::Result<[u8; SECRET]> {
        if let Some(secret) = given {
            return Ok(secret);
        }
        let secret = random()?;
        self.write_secret(&secret)?;
        Ok(secret)
    }

    /// Writes the secret down for clients.
    pub(crate) fn write_secret(&self, secret: &[u8; SECRET]) -> io::Result<()> {
        use io::Write as _;
        self.create("secret")?.write_all(secret)
    }

    /// The highest number that a job of an earlier resident may have been given; 0 where there was none.
    pub(crate) fn last_job(&self) -> u64 {
        let noted = fs::read_to_string(self.join(JOBS)).ok();
        noted.and_then(|noted| noted.trim().parse().ok()).unwrap_or(0)
    }

    /// Notes that jobs up to this number may have been given it. Whoever is killed meanwhile leaves the note before it.
    pub(crate) fn note_last_job(&self, number: u64) -> io::Result<()> {
        use io::Write as _;
        let making = format!("{JOBS}.new");
        self.create(&making)?
            .write_all(format!("{number}\n").as_bytes())?;
        fs::rename(self.join(&making), self.join(JOBS))
    }

    /// Whether the directory is not there any more under its name: removed, renamed, or another one in its place. What
    /// cannot be seen just now counts as there.
    pub(crate) fn is_gone(&self) -> bool {
        let Ok(own) = self.handle.metadata() else {
            return false;
        };
        match fs::symlink_metadata(&self.path) {
            Ok(there) => (there.dev(), there.ino()) != (own.dev(), own.ino()),
            Err(error) => matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ),
        }
    }

    /// Whether a file of the directory is not there.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        let looked = fs::symlink_metadata(self.join(name));
        looked.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// Listens for clients, and leaves this process in `afterwards`.
    pub(crate) fn listen(&self, afterwards: &Path) -> io::Result<UnixListener> {
        self.listen_on("socket", afterwards)
    }

    /// Listens for code that calls tools, and leaves this process in `afterwards`. `None` where this program has no name
    /// under which code could run it.
    pub(crate) fn open_tools(&self, afterwards: &Path) -> io::Result<Option<ToolDoor>> {
        let program = std::env::current_exe().ok().filter(|program| program.exists());
        let Some(program) = program else {
            return Ok(None);
        };
        Ok(Some(ToolDoor {
            listener: self.listen_on(TOOL_SOCKET, afterwards)?,
            path: self.join(TOOL_SOCKET),
            program,
        }))
    }

    /// Listens on a socket in the directory.
    fn listen_on(&self, name: &str, afterwards: &Path) -> io::Result<UnixListener> {
        // From within, so that the path may be longer than the address of a socket.
        change_directory_to(self.handle.as_fd())?;
        let listener = UnixListener::bind(name);
        std::env::set_current_dir(afterwards).or_else(|_| std::env::set_current_dir("/"))?;
        listener.map_err(|error| in_context("listen on", &self.join(name), &error))
    }
}

fn in_context(what: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("failed to {what} {}: {error}", path.display()),
    )
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn only_a_private_directory_of_our_own_is_taken() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("home");
        let home = Home::open(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(home.join("spool-1-stdout"), b"old").unwrap();
        home.clean();
        assert!(!home.join("spool-1-stdout").exists());
        assert_eq!(home.secret(Some([7; SECRET])).unwrap(), [7; SECRET]);
        assert!(!home.join("secret").exists());
        let secret = home.secret(None).unwrap();
        assert_eq!(crate::settings::secret_in(&home.join("secret")), Some(secret));
        assert_eq!(
            fs::metadata(home.join("secret")).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(home.last_job(), 0);
        home.note_last_job(7).unwrap();
        home.note_last_job(1007).unwrap();
        home.clean();
        assert_eq!(home.last_job(), 1007);
        fs::write(home.join("jobs"), "many").unwrap();
        assert_eq!(home.last_job(), 0);
        symlink(&path, base.path().join("link")).unwrap();
        assert!(Home::open(&base.path().join("link")).is_err());
        assert!(Home::open(&base.path().join("link/")).is_err());
        fs::write(base.path().join("file"), b"").unwrap();
        assert!(Home::open(&base.path().join("file")).is_err());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(Home::open(&path).unwrap_err().to_string().contains("chmod 700"));
        if effective_user() != 0 {
            assert!(Home::open(Path::new("/")).is_err());
        }
    }
}
