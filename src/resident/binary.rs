//! The bytes of the resident, and how they come to where they run.

use std::{
    env, fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use herm_protocol::{Error, ErrorKind};
use herm_resident::wire::sha256;

/// The variable that names a resident to use in place of the embedded one.
pub const OVERRIDE: &str = "HERM_RESIDENT";

/// Bytes that a resident may have at most; the embedded one has less than two million.
const LARGEST: u64 = 64 * 1024 * 1024;

/// The program that runs inside a sandbox.
#[derive(Clone, Debug)]
pub struct Binary {
    bytes: std::borrow::Cow<'static, [u8]>,
    digest: String,
}

impl Binary {
    /// The resident for this machine: the file that the variable `HERM_RESIDENT` names, or the embedded one.
    ///
    /// # Errors
    /// The named file cannot be read, or no resident could be linked when this program was built.
    pub fn find() -> Result<Self, Error> {
        if let Some(path) = env::var_os(OVERRIDE).filter(|path| !path.is_empty()) {
            let path = PathBuf::from(path);
            let bytes = read(&path).map_err(|error| {
                let path = path.to_string_lossy();
                let message = format!("failed to read {path}, which {OVERRIDE} names: {error}");
                Error::new(ErrorKind::Unavailable, path.clone(), message)
                    .with_fix(format!("correct {OVERRIDE}, or unset it"))
            })?;
            return Ok(Self::of(bytes.into()));
        }
        match herm_resident::BINARY {
            Some(bytes) => Ok(Self::of(bytes.into())),
            None => Err(Error::new(
                ErrorKind::Unavailable,
                "the resident",
                "this herm was built where no static resident could be linked",
            )
            .with_fix(format!(
                "use the native mode, name a resident with {OVERRIDE}, or build herm where static programs can be linked"
            ))),
        }
    }

    fn of(bytes: std::borrow::Cow<'static, [u8]>) -> Self {
        use std::fmt::Write as _;
        let mut digest = String::new();
        for byte in &sha256(&bytes)[..16] {
            // Writing to a string does not fail.
            let _ = write!(digest, "{byte:02x}");
        }
        Self { bytes, digest }
    }

    /// Its name: what it is, and which.
    #[must_use]
    pub fn name(&self) -> String {
        format!("herm-resident-{}", self.digest)
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads a program that a person has named: it may be anything, a device without end, too.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Nobody may write to a pipe that is opened.
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!(
            "it has more than {LARGEST} bytes, and is no resident"
        )));
    }
    Ok(bytes)
}

/// Writes the resident into a directory of ours, as a program that nobody can change, and gives its path. This blocks.
///
/// # Errors
/// It cannot be written there.
pub fn place(binary: &Binary, directory: &Path) -> io::Result<PathBuf> {
    let path = directory.join(binary.name());
    // Its name tells its content, and it comes there under another name, so that one that is there is whole.
    if fs::symlink_metadata(&path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.len() == binary.bytes().len() as u64)
    {
        return Ok(path);
    }
    let mut file = tempfile::Builder::new()
        .permissions(fs::Permissions::from_mode(0o500))
        .tempfile_in(directory)?;
    file.write_all(binary.bytes())?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_program_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        let large = folder.path().join("large");
        fs::File::create(&large).unwrap().set_len(LARGEST + 1).unwrap();
        for (path, why) in [
            (Path::new("/dev/zero"), "no regular file"),
            (&pipe, "no regular file"),
            (folder.path(), "no regular file"),
            (&large, "more than"),
            (&folder.path().join("missing"), "No such file"),
        ] {
            let error = read(path).unwrap_err().to_string();
            assert!(error.contains(why), "{}: {error}", path.display());
        }
    }
}
