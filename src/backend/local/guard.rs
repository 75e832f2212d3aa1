//! What ends our commands when this process is killed and cannot.
//!
//! A process that gets SIGKILL takes nothing with it. So a small shell script stands by, in a session of its own: it
//! reads the groups and directories that we hold, one a line, and when its input ends, which the system sees to however
//! we end, it kills the groups and removes the directories that are still held. In an orderly end none is.

use std::{
    io,
    process::Stdio,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use tokio::{io::AsyncWriteExt as _, process::Command, sync::mpsc, task::JoinHandle};

use super::log;

/// Reads `+ITEM` and `-ITEM`; an item is a directory, which begins with `/`, or the number of a process group.
const SCRIPT: &str = r#"
while IFS= read -r line; do
    item=${line#?}
    case $line in
        +*) set -- "$@" "$item" ;;
        -*) for held do shift; [ "$held" = "$item" ] || set -- "$@" "$held"; done ;;
    esac
done
for item do case $item in /*) ;; *) kill -s KILL -- "-$item" ;; esac; done
for item do case $item in /*) rm -rf -- "$item" ;; esac; done
"#;

/// Where the script finds `rm`.
const PATH: &str = "/usr/bin:/bin";

/// How long the script may take to end when nothing is held.
const END_LIMIT: Duration = Duration::from_millis(500);

/// The guard of a backend. It is started when the first thing is held.
#[derive(Debug, Default)]
pub(super) struct Guard(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    #[default]
    NotStarted,
    Standing(mpsc::UnboundedSender<String>, JoinHandle<()>),
    /// It could not be started, or the backend has shut down.
    Gone,
}

/// Something that does not outlive this process for as long as this value lives.
#[derive(Debug, Default)]
pub(super) struct Held(Option<(mpsc::UnboundedSender<String>, String)>);

impl Guard {
    /// Holds a directory, by its absolute path, or a process group, by its number. A path with a newline is not held.
    pub(super) fn hold(&self, item: String) -> Held {
        let mut state = self.lock();
        if matches!(*state, State::NotStarted) {
            *state = start().unwrap_or_else(|error| {
                log::tell(format_args!(
                    "no guard against being killed: failed to start /bin/sh: {error}"
                ));
                State::Gone
            });
        }
        match &*state {
            State::Standing(lines, _) if !item.contains('\n') => {
                let _ = lines.send(format!("+{item}\n"));
                Held(Some((lines.clone(), item)))
            }
            _ => Held::default(),
        }
    }

    /// Lets the guard end and waits for it. What is held yet stays held for as long as this process lives.
    pub(super) async fn dismiss(&self) {
        let state = std::mem::replace(&mut *self.lock(), State::Gone);
        if let State::Standing(lines, task) = state {
            drop(lines);
            let _ = tokio::time::timeout(END_LIMIT, task).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some((lines, item)) = self.0.take() {
            let _ = lines.send(format!("-{item}\n"));
        }
    }
}

fn start() -> io::Result<State> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, "herm-guard"])
        .current_dir("/")
        .env_clear()
        .env("PATH", PATH)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = CommandWrap::from(command)
        .wrap(ProcessSession)
        .spawn()?
        .into_inner();
    let (lines, queue) = mpsc::unbounded_channel();
    Ok(State::Standing(lines, tokio::spawn(tell(child, queue))))
}

/// Writes lines until nobody can send any more, then waits for the script.
async fn tell(mut child: Box<dyn ChildWrapper>, mut queue: mpsc::UnboundedReceiver<String>) {
    if let Some(mut stdin) = child.stdin().take() {
        while let Some(line) = queue.recv().await {
            if stdin.write_all(line.as_bytes()).await.is_err() {
                break;
            }
        }
    }
    let _ = tokio::time::timeout(END_LIMIT, child.wait()).await;
}
