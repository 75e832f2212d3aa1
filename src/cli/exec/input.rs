//! What a job reads: nobody feeds it later, so it is given everything at its start.

use std::{io::IsTerminal as _, time::Duration};

use herm_harness::tell::tell;
use herm_protocol::{Error, ErrorKind, exec::Stdin};
use tokio::io::AsyncReadExt as _;

/// The most bytes of input that a job takes.
const MOST: u64 = 8 * 1024 * 1024;

/// How long the end of the input may take before it is said what is waited for.
const SILENCE: Duration = Duration::from_secs(3);

/// All of this process's input, unless that is a terminal.
///
/// # Errors
/// It cannot be read, or there is too much.
pub(super) async fn of_job() -> Result<Stdin, Error> {
    if std::io::stdin().is_terminal() {
        return Ok(Stdin::None);
    }
    let mut data = Vec::new();
    let mut input = tokio::io::stdin().take(MOST + 1);
    let read = {
        let reading = input.read_to_end(&mut data);
        tokio::pin!(reading);
        tokio::select! {
            read = &mut reading => read,
            () = tokio::time::sleep(SILENCE) => {
                tell("herm: the input of the job is read to its end first; with < /dev/null it has none");
                reading.await
            }
        }
    };
    if let Err(error) = read {
        let message = format!("the input of the job cannot be read: {error}");
        return Err(Error::new(ErrorKind::Unavailable, "stdin", message)
            .with_fix("give it another, such as < /dev/null"));
    }
    if data.len() as u64 > MOST {
        let message = format!("the input has more than the {MOST} bytes that a job takes");
        return Err(Error::new(ErrorKind::InvalidArgument, "stdin", message)
            .with_fix("write it to a file, and let the command read that"));
    }
    Ok(if data.is_empty() {
        Stdin::None
    } else {
        Stdin::Bytes { data: data.into() }
    })
}
