//! Work on the files of a sandbox: its resident does it there, one operation a command, since the host must not follow what
//! a sandbox has planted, and an engine does not reach everything that is mounted in it.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use herm_protocol::{
    ByteString, Error, ErrorKind,
    exec::{Outcome, Stdin, Stream},
};
use herm_resident::wire::{Command, Start};

use super::sandbox::Inhabited;
use crate::{
    caller::{Caller, NoControl, NoInput, NoTools, Output},
    files::inside::{self, Call, MAX_OUTPUT},
};

/// How long an operation on files may take.
const LIMIT: Duration = Duration::from_mins(1);

/// Permission bits that new files do not get.
const UMASK: u32 = 0o022;

/// What a program in a sandbox has printed, as far as an answer goes.
#[derive(Clone, Debug, Default)]
struct Printed(Arc<Mutex<Vec<u8>>>);

impl Output for Printed {
    async fn started(&self) {}

    async fn write(&self, stream: Stream, data: &[u8]) {
        let mut printed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One byte more than an answer may have, so that it is seen to be none.
        let room = (MAX_OUTPUT + 1).saturating_sub(printed.len());
        if stream == Stream::Stdout {
            printed.extend_from_slice(&data[..data.len().min(room)]);
        }
    }
}

/// Does something with the files of a sandbox.
///
/// # Errors
/// What the operation says, or that the sandbox is gone, or does not answer.
pub(super) async fn carry_out<T>(id: &str, inhabited: &Inhabited, call: Call<T>) -> Result<T, Error> {
    let mut request = [0; 16];
    getrandom::fill(&mut request).map_err(|error| Error::internal("name a request at random", error))?;
    let words = call.argv().iter().map(|word| word.as_bytes().to_vec()).collect();
    let start = Start {
        cwd: Some(b"/".to_vec()),
        clear_env: true,
        umask: Some(UMASK),
        deadline_ms: u64::try_from(LIMIT.as_millis()).unwrap_or(u64::MAX),
        ..Start::new(request, Command::Argv(words))
    };
    let stdin = match call.stdin() {
        [] => Stdin::None,
        data => Stdin::Bytes {
            data: data.to_vec().into(),
        },
    };
    let printed = Printed::default();
    let caller = Caller {
        output: printed.clone(),
        input: NoInput,
        tools: NoTools,
    };
    let finished = inhabited
        .resident
        .run(id, start, stdin, caller, &mut NoControl)
        .await?;
    let printed = std::mem::take(&mut *printed.0.lock().unwrap_or_else(PoisonError::into_inner));
    match finished.outcome {
        Outcome::Exited { code } => call.finish(code.into(), &printed),
        Outcome::SandboxLost => Err(Error::sandbox_not_found(id)),
        Outcome::TimedOut => {
            let message = format!("the files of sandbox {id:?} could not be worked on within {LIMIT:?}");
            Err(Error::new(ErrorKind::TimedOut, id, message)
                .with_fix("see whether the file system still answers; the operation may yet be done"))
        }
        other => {
            let message = format!("the program that works on the files of sandbox {id:?} ended as {other:?}");
            Err(Error::new(ErrorKind::Internal, id, message).with_fix("call again"))
        }
    }
}

/// Checks that a path is a directory.
///
/// # Errors
/// It is not there, or is something else.
pub(super) async fn is_directory(id: &str, inhabited: &Inhabited, path: &ByteString) -> Result<(), Error> {
    // With a dot behind it, a link to a directory is one, too.
    let inside = path.to_path().join(".").as_path().into();
    let described = carry_out(id, inhabited, inside::stat(&inhabited.program, &inside)?).await;
    described.map(drop).map_err(|mut error| {
        error.data.resource = Some(path.to_path().to_string_lossy().into_owned());
        error
    })
}
