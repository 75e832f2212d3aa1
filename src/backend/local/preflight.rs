//! What this backend needs of the machine, and what of it is missing.

use std::path::Path;

use herm_protocol::{Error, ErrorKind, initialize::Problem};

use super::shell::Shell;

/// Something that is needed and not there.
#[derive(Debug)]
pub(super) struct Missing {
    /// What it is called.
    resource: String,
    /// What is wrong, naming it.
    what: String,
    /// The step that mends it.
    fix: &'static str,
}

impl From<Missing> for Problem {
    fn from(missing: Missing) -> Self {
        Self {
            what: missing.what,
            fix: missing.fix.into(),
        }
    }
}

impl From<Missing> for Error {
    fn from(missing: Missing) -> Self {
        Self::new(ErrorKind::Unavailable, missing.resource, missing.what).with_fix(missing.fix)
    }
}

/// Everything that is missing for sandboxes in that directory. This blocks, and changes nothing.
pub(super) fn missing(shell: Option<&Shell>, scratch: &Path) -> Vec<Missing> {
    let mut missing = Vec::new();
    if shell.is_none() {
        missing.push(Missing {
            resource: "bash".into(),
            what: "neither bash nor sh is in PATH".into(),
            fix: "install bash, or put its directory into PATH",
        });
    }
    if !Path::new("/proc/self/stat").exists() {
        missing.push(Missing {
            resource: "/proc".into(),
            what: "/proc is not mounted, so the end of a process group cannot be seen".into(),
            fix: "mount it: mount -t proc proc /proc",
        });
    }
    if !scratch.is_dir() {
        let shown = scratch.to_string_lossy();
        missing.push(Missing {
            resource: shown.clone().into_owned(),
            what: format!("the directory {shown} for sandboxes is not there"),
            fix: "make it, or set TMPDIR to another",
        });
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_what_mends_it() {
        let nothing = missing(None, Path::new("/no/such/place"));
        let errors: Vec<Error> = nothing.into_iter().map(Into::into).collect();
        assert_eq!(errors.len(), 2, "{errors:?}");
        for (error, name) in errors.iter().zip(["bash", "/no/such/place"]) {
            assert_eq!(error.kind(), ErrorKind::Unavailable);
            assert!(
                error.message.contains(name) && error.data.fix.is_some(),
                "{error}"
            );
        }
    }
}
