//! Ends what a killed adapter had open.
//!
//! A process that gets SIGKILL cleans nothing up. So a small shell script stands by: it reads, one a line, what would have
//! to be done, and when its input ends, which the system sees to however this process ends, it does what still stands. In an
//! orderly end that is nothing.

use std::{
    ffi::OsString,
    io,
    os::unix::ffi::OsStrExt as _,
    process::Stdio,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, Command},
    sync::mpsc,
    task::JoinHandle,
    time::timeout,
};

use crate::tell::tell;

/// Reads `+COMMAND` and `-COMMAND`. Whoever uses a sandbox is ended before the sandbox is.
const SCRIPT: &str = r#"
while IFS= read -r line; do
    item=${line#?}
    case $line in
        +*) set -- "$@" "$item" ;;
        -*) for held do shift; [ "$held" = "$item" ] || set -- "$@" "$held"; done ;;
    esac
done
for item do case $item in "kill "*) eval "$item" ;; esac; done
for item do case $item in "kill "*) ;; *) eval "$item" & ;; esac; done
wait
"#;

/// How long the script may take to end when nothing stands any more.
const ENDS: Duration = Duration::from_millis(500);

/// What the script is told, line by line.
type Lines = mpsc::UnboundedSender<Vec<u8>>;

/// Whoever stands by for one adapter. It is started when there is something to keep.
#[derive(Debug, Default)]
pub(super) struct Keeper(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    #[default]
    NotStarted,
    Standing(Lines, JoinHandle<()>),
    /// It could not be started, or the adapter has shut down.
    Gone,
}

/// Something that is done should this process be killed while this value lives.
#[derive(Debug, Default)]
pub(super) struct Kept(Option<(Lines, Vec<u8>)>);

impl Keeper {
    /// Kills a process group when this process is killed.
    pub(super) fn kill_group(&self, group: u32) -> Kept {
        self.keep(format!("kill -s KILL -- -{group}").into_bytes())
    }

    /// Runs a command when this process is killed. One with a newline in its words is not kept.
    pub(super) fn run(&self, words: &[OsString]) -> Kept {
        self.keep(words.iter().map(quoted).collect::<Vec<_>>().join(&b' '))
    }

    fn keep(&self, item: Vec<u8>) -> Kept {
        let mut state = self.lock();
        if matches!(*state, State::NotStarted) {
            *state = start().unwrap_or_else(|error| {
                tell(format_args!(
                    "herm adapter: nothing is cleaned up should it be killed: failed to start /bin/sh: {error}"
                ));
                State::Gone
            });
        }
        match &*state {
            State::Standing(lines, _) if !item.contains(&b'\n') => {
                let _ = lines.send(line(b'+', &item));
                Kept(Some((lines.clone(), item)))
            }
            _ => Kept::default(),
        }
    }

    /// Lets the script do what still stands, and waits a moment for its end.
    pub(super) async fn dismiss(&self) {
        let state = std::mem::replace(&mut *self.lock(), State::Gone);
        if let State::Standing(lines, task) = state {
            drop(lines);
            let _ = timeout(ENDS, task).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some((lines, item)) = self.0.take() {
            let _ = lines.send(line(b'-', &item));
        }
    }
}

fn line(sign: u8, item: &[u8]) -> Vec<u8> {
    [&[sign], item, b"\n"].concat()
}

/// A word that a shell reads as it stands.
fn quoted(word: &OsString) -> Vec<u8> {
    let parts: Vec<&[u8]> = word.as_bytes().split(|byte| *byte == b'\'').collect();
    [b"'", parts.join(&br"'\''"[..]).as_slice(), b"'"].concat()
}

fn start() -> io::Result<State> {
    let child = Command::new("/bin/sh")
        .args(["-c", SCRIPT, "herm-keeper"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // What ends the adapter from a terminal does not end it.
        .process_group(0)
        .spawn()?;
    let (lines, queue) = mpsc::unbounded_channel();
    Ok(State::Standing(lines, tokio::spawn(dictate(child, queue))))
}

/// Writes lines until nobody can send any more, then waits for the script.
async fn dictate(mut child: Child, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    if let Some(mut stdin) = child.stdin.take() {
        while let Some(line) = queue.recv().await {
            if stdin.write_all(&line).await.is_err() {
                break;
            }
        }
    }
    let _ = timeout(ENDS, child.wait()).await;
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::process::ExitStatusExt as _, path::Path, time::Instant};

    use super::*;

    fn making(path: &Path) -> [OsString; 2] {
        ["mkdir".into(), path.into()]
    }

    #[tokio::test]
    async fn what_still_stands_at_the_end_is_done_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let [over, due] = ["over", "it's $due; `due`"].map(|name| folder.path().join(name));
        let mut command = std::process::Command::new("sleep");
        let mut sleeper = std::os::unix::process::CommandExt::process_group(command.arg("30"), 0)
            .spawn()
            .unwrap();
        let keeper = Keeper::default();
        let kept = [keeper.kill_group(sleeper.id()), keeper.run(&making(&due))];
        drop(keeper.run(&making(&over)));
        assert!(sleeper.try_wait().unwrap().is_none());
        // As a killed process does: the sending ends go without a word.
        for mut kept in kept {
            drop(kept.0.take());
        }
        drop(keeper);
        let start = Instant::now();
        while !due.exists() && start.elapsed() < Duration::from_secs(5) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(due.exists());
        assert_eq!(sleeper.wait().unwrap().signal(), Some(9));
    }
}
