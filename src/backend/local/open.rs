//! Making a sandbox.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use herm_protocol::{
    Error, ErrorKind,
    exec::SetupFailure,
    sandbox::{OpenParams, OpenState, Opened},
};

use super::{
    Mode, check, guard::Guard, launch::check_directory, leftover, program::Failure, sandbox::Sandbox,
};
use crate::files::file_error;

/// Random characters in a sandbox's name; nobody meets or guesses it.
const RANDOM: usize = 16;

/// The longest part of a run's id that a name carries.
const LONGEST_RUN: usize = 64;

/// Makes a sandbox in that directory. Everything is checked first; a failure leaves nothing. This blocks.
pub(super) fn make(params: OpenParams, run: &str, scratch: &Path, guard: &Guard) -> Result<Sandbox, Error> {
    check::spec(params.key.as_deref(), &params.spec, Mode::Resident, &[])?;
    let asked = params.spec.cwd.map(|cwd| cwd.to_path());
    if let Some(cwd) = &asked {
        check_start(cwd)?;
    }
    leftover::sweep(scratch);
    let made = tempfile::Builder::new()
        .prefix(&prefix(run))
        .rand_bytes(RANDOM)
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(scratch)
        .map_err(|error| file_error("make a sandbox in", scratch, &error))?;
    let work = Sandbox::own_work(made.path());
    fs::create_dir(&work).map_err(|error| file_error("make the directory", &work, &error))?;
    // Without it, the number of this process still tells that it is no leftover.
    let lock = leftover::hold(made.path()).ok();
    let directory = made.keep();
    let held = guard.hold(&directory);
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let cwd = asked.unwrap_or(work);
    Ok(Sandbox::new(name.into_owned(), directory.clone(), cwd, params.spec.env, held).with_lock(lock))
}

/// The beginning of the sandbox's name: ours, and of which run.
fn prefix(run: &str) -> String {
    let safe = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => letter,
        _ => '_',
    };
    let run: String = run.chars().map(safe).take(LONGEST_RUN).collect();
    if run.is_empty() {
        "herm-".into()
    } else {
        format!("herm-{run}-")
    }
}

/// Checks that commands can start in a directory. This blocks.
pub(super) fn check_start(cwd: &Path) -> Result<(), Error> {
    check_directory(cwd).map_err(|failure| refused_directory(cwd, failure))
}

fn refused_directory(cwd: &Path, failure: Failure) -> Error {
    let kind = match failure.kind {
        SetupFailure::CwdNotFound => ErrorKind::NotFound,
        SetupFailure::CwdNotADirectory => ErrorKind::NotADirectory,
        SetupFailure::CwdDenied => ErrorKind::PermissionDenied,
        _ => ErrorKind::InvalidArgument,
    };
    Error::new(kind, cwd.to_string_lossy(), failure.message)
        .with_fix("name a directory that is there, or leave spec.cwd out")
}

/// What the caller is told of a new sandbox.
pub(super) fn opened(sandbox: &Sandbox, mode: Mode) -> Opened {
    let of_mode = (mode == Mode::Native).then(|| {
        [
            "native mode: no jobs and no sessions, each command has a shell of its own".to_owned(),
            "kill scope is the process group: what calls setsid lives on after a deadline, a cancel and the close".to_owned(),
        ]
    });
    Opened {
        sandbox: sandbox.id.clone(),
        state: OpenState::Created,
        exec_mode: mode.name().into(),
        cwd: Some(PathBuf::as_path(&sandbox.cwd).into()),
        notices: of_mode
            .into_iter()
            .flatten()
            .chain(["commands run as this user on this machine: nothing isolates them".into()])
            .collect(),
        policy: None,
    }
}

#[cfg(test)]
mod tests {
    use herm_protocol::sandbox::{SandboxSpec, Variable};

    use super::*;

    fn make(params: OpenParams, run: &str, scratch: &Path) -> Result<Sandbox, Error> {
        super::make(params, run, scratch, &Guard::default())
    }

    #[tokio::test]
    async fn a_sandbox_is_private_and_carries_its_run() {
        let scratch = tempfile::tempdir().unwrap();
        let sandbox = make(OpenParams::default(), "r/../1", scratch.path()).unwrap();
        assert!(sandbox.id.starts_with("herm-r____1-"), "{}", sandbox.id);
        assert_eq!(sandbox.directory.parent(), Some(scratch.path()));
        let mode = fs::metadata(&sandbox.directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(sandbox.cwd.is_dir());
        let other = make(OpenParams::default(), "r/../1", scratch.path()).unwrap();
        assert_ne!(sandbox.id, other.id);
    }

    #[tokio::test]
    async fn a_failed_open_is_typed_and_leaves_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("s")).unwrap();
        let file = scratch.path().join("f");
        fs::write(&file, b"").unwrap();
        let inner = scratch.path().join("s");
        for (cwd, kind) in [
            ("relative", ErrorKind::InvalidArgument),
            ("/a\0", ErrorKind::InvalidArgument),
            ("", ErrorKind::InvalidArgument),
            ("/nowhere/at/all", ErrorKind::NotFound),
            (file.to_str().unwrap(), ErrorKind::NotADirectory),
        ] {
            let spec = SandboxSpec {
                cwd: Some(cwd.into()),
                ..SandboxSpec::default()
            };
            let error = make(OpenParams { key: None, spec }, "r", &inner).unwrap_err();
            assert_eq!(error.kind(), kind, "{cwd}: {error}");
        }
        let spec = SandboxSpec {
            env: vec![Variable::new("A=", "b")],
            ..SandboxSpec::default()
        };
        let error = make(OpenParams { key: None, spec }, "r", &inner).unwrap_err();
        assert_eq!(error.data.resource.as_deref(), Some("spec.env[0].name"));
        assert_eq!(fs::read_dir(&inner).unwrap().count(), 0);
        let error = make(OpenParams::default(), "r", &scratch.path().join("missing")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }
}
