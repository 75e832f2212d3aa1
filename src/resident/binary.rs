//! The bytes of the resident, and how they come to where they run.

use std::{
    env, fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use herm_protocol::{Error, ErrorKind};
use herm_resident::wire::sha256;

/// The variable that names a resident to use in place of the embedded one, on this machine. For sandboxes of a certain
/// architecture, one that ends with that is looked at first: `HERM_RESIDENT_X86_64`, `HERM_RESIDENT_AARCH64`.
pub const OVERRIDE: &str = "HERM_RESIDENT";

/// Bytes that a resident may have at most; the embedded one has less than two million.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Bytes of its digest that its name has.
const NAMED: usize = 16;

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
        Self::find_for(env::consts::ARCH)
    }

    /// The resident for sandboxes of an architecture, in the words of the compiler (`x86_64`, `aarch64`) or of container
    /// engines (`amd64`, `arm64`): the file that `HERM_RESIDENT_X86_64` or `HERM_RESIDENT_AARCH64` names, for this
    /// machine's own also `HERM_RESIDENT`, or the embedded one.
    ///
    /// # Errors
    /// The named file cannot be read or is for another architecture, or none could be linked when this program was built.
    pub fn find_for(architecture: &str) -> Result<Self, Error> {
        let architecture = match architecture {
            "amd64" => "x86_64",
            "arm64" => "aarch64",
            other => other,
        };
        let named = |name: &String| env::var_os(name).filter(|path| !path.is_empty());
        let own = format!("{OVERRIDE}_{}", architecture.to_uppercase());
        let general = (architecture == env::consts::ARCH).then(|| OVERRIDE.to_owned());
        let variable = [Some(own.clone()), general]
            .into_iter()
            .flatten()
            .find(|name| named(name).is_some());
        if let Some((variable, path)) = variable.and_then(|name| named(&name).map(|path| (name, path))) {
            return Self::named(&variable, Path::new(&path), architecture);
        }
        match herm_resident::binary_for(architecture) {
            Some(binary) => Ok(Self::embedded(binary)),
            None => Err(Error::new(
                ErrorKind::Unavailable,
                "the resident",
                format!("this herm was built where no static resident for {architecture} could be linked"),
            )
            .with_fix(format!(
                "use the native mode, name a resident with {own}, or build herm where static programs for {architecture} can be linked"
            ))),
        }
    }

    /// The file that a variable names.
    fn named(variable: &str, path: &Path, architecture: &str) -> Result<Self, Error> {
        let failed = |message: String| {
            Error::new(ErrorKind::Unavailable, path.to_string_lossy(), message)
                .with_fix(format!("correct {variable}, or unset it"))
        };
        let shown = path.display();
        let bytes = read(path)
            .map_err(|error| failed(format!("failed to read {shown}, which {variable} names: {error}")))?;
        match machine(&bytes) {
            Some(machine) if machine != architecture => Err(failed(format!(
                "{shown}, which {variable} names, is a program for {machine}, not for {architecture}"
            ))),
            _ => Ok(Self::of(bytes.into())),
        }
    }

    /// One whose digest was made when this program was built, since each process of a backend has to have it.
    fn embedded(binary: &'static herm_resident::Binary) -> Self {
        Self {
            bytes: binary.bytes.into(),
            digest: binary.digest[..2 * NAMED].to_owned(),
        }
    }

    fn of(bytes: std::borrow::Cow<'static, [u8]>) -> Self {
        use std::fmt::Write as _;
        let mut digest = String::new();
        for byte in &sha256(&bytes)[..NAMED] {
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

/// The architecture that an ELF file is for (ELF specification, `e_machine`), as far as it is one that a resident is built
/// for.
fn machine(bytes: &[u8]) -> Option<&'static str> {
    let number = bytes.strip_prefix(b"\x7fELF").and_then(|rest| rest.get(14..16))?;
    match u16::from_le_bytes(number.try_into().ok()?) {
        62 => Some("x86_64"),
        183 => Some("aarch64"),
        _ => None,
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
    fn what_is_embedded_is_for_the_architecture_that_it_is_said_to_be_for() {
        for binary in herm_resident::BINARIES {
            assert_eq!(machine(binary.bytes), Some(binary.architecture));
            assert_eq!(
                Binary::find_for(binary.architecture).unwrap().bytes(),
                binary.bytes
            );
            let digest = Binary::of(binary.bytes.into()).name();
            assert_eq!(Binary::embedded(binary).name(), digest);
        }
        assert_eq!(machine(b"#!/bin/sh"), None);
        let error = Binary::find_for("mips").unwrap_err();
        assert!(
            error.data.fix.clone().unwrap().contains("HERM_RESIDENT_MIPS"),
            "{}",
            error.message
        );
    }

    #[test]
    fn a_program_for_another_machine_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("resident");
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(18, 0);
        bytes.extend_from_slice(&183_u16.to_le_bytes());
        fs::write(&path, bytes).unwrap();
        let error = Binary::named("HERM_RESIDENT_X86_64", &path, "x86_64").unwrap_err();
        assert!(
            error.message.contains("for aarch64, not for x86_64"),
            "{}",
            error.message
        );
        assert!(Binary::named("HERM_RESIDENT_AARCH64", &path, "aarch64").is_ok());
    }

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
