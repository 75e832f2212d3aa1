//! What ends our commands when this process is killed and cannot.
//!
//! A process that gets SIGKILL takes nothing with it. So a small shell script stands by, in a session of its own: it
//! reads the groups, residents and directories that we hold, one a line, and when its input ends, which the system sees
//! to however we end, it kills the groups, sees to the end of the residents, and removes the directories that are still
//! held. In an orderly end none is.
//!
//! A resident ends by itself when we do, with everything that it runs, unless it is held; so it is let go on, and killed
//! only when it does not end.

use std::{
    ffi::OsString,
    io,
    os::unix::ffi::OsStringExt as _,
    process::Stdio,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use process_wrap::tokio::{ChildWrapper, CommandWrap, ProcessSession};
use tokio::{io::AsyncWriteExt as _, process::Command, sync::mpsc, task::JoinHandle};

use super::log;

/// Reads `+ITEM` and `-ITEM`; an item is a directory, which begins with `/`, a resident, which is `@` and the number of its
/// process, or the number of a process group. A newline in it is written `\n`, and a backslash `\\`.
const SCRIPT: &str = r#"
while IFS= read -r line; do
    item=${line#?}
    case $item in *\\*) item=$(printf '%b.' "$item"); item=${item%.} ;; esac
    case $line in
        +*) set -- "$@" "$item" ;;
        -*) for held do shift; [ "$held" = "$item" ] || set -- "$@" "$held"; done ;;
    esac
done
for item do case $item in /*) ;; @*) kill -s CONT -- "${item#@}" ;; *) kill -s KILL -- "-$item" ;; esac; done
for item do
    case $item in
        @*)
            tries=0
            while kill -s 0 -- "${item#@}" && [ "$tries" -lt 50 ]; do tries=$((tries + 1)); sleep 0.1; done
            kill -s KILL -- "${item#@}" ;;
    esac
done
for item do
    case $item in
        /*) rm -rf -- "$item" || { chmod -R u+rwx -- "$item"; rm -rf -- "$item"; } ;;
    esac
done
"#;

/// By what name the guard is told from other processes.
pub const GUARD: &str = "herm-guard";

/// Where the script finds `rm` and `chmod`.
const PATH: &str = "/usr/bin:/bin";

/// How long the script may take to end when nothing is held.
const END_LIMIT: Duration = Duration::from_millis(500);

/// What the script is told, line by line.
type Lines = mpsc::UnboundedSender<Vec<u8>>;

/// The guard of a backend. It is started when the first thing is held.
#[derive(Debug, Default)]
pub(in crate::backend) struct Guard(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    #[default]
    NotStarted,
    Standing(Lines, JoinHandle<()>),
    /// It could not be started, or the backend has shut down.
    Gone,
}

/// Something that does not outlive this process for as long as this value lives.
#[derive(Debug, Default)]
pub(in crate::backend) struct Held(Option<(Lines, Vec<u8>)>);

impl Guard {
    /// Holds a directory, by its absolute path, a process group, by its number, or a resident, by `@` and the number of its
    /// process.
    pub(in crate::backend) fn hold(&self, item: impl Into<OsString>) -> Held {
        let item = item.into().into_vec();
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
            State::Standing(lines, _) => {
                let _ = lines.send(line(b'+', &item));
                Held(Some((lines.clone(), item)))
            }
            _ => Held::default(),
        }
    }

    /// Lets the guard end and waits for it. What is held yet stays held for as long as this process lives.
    pub(in crate::backend) async fn dismiss(&self) {
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

impl Held {
    /// Leaves it to the guard for good.
    pub(super) fn abandon(mut self) {
        self.0 = None;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some((lines, item)) = self.0.take() {
            let _ = lines.send(line(b'-', &item));
        }
    }
}

fn line(sign: u8, item: &[u8]) -> Vec<u8> {
    let mut line = vec![sign];
    for byte in item {
        match byte {
            b'\n' => line.extend_from_slice(br"\n"),
            b'\\' => line.extend_from_slice(br"\\"),
            byte => line.push(*byte),
        }
    }
    line.push(b'\n');
    line
}

fn start() -> io::Result<State> {
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", SCRIPT, GUARD])
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
async fn tell(mut child: Box<dyn ChildWrapper>, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    if let Some(mut stdin) = child.stdin().take() {
        while let Some(line) = queue.recv().await {
            if stdin.write_all(&line).await.is_err() {
                break;
            }
        }
    }
    let _ = tokio::time::timeout(END_LIMIT, child.wait()).await;
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::OsStr,
        fs::{self, Permissions},
        os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
        path::Path,
        time::Instant,
    };

    use super::*;

    async fn goes_soon(path: &Path) -> bool {
        let start = Instant::now();
        while path.exists() && start.elapsed() < Duration::from_secs(5) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        !path.exists()
    }

    #[tokio::test]
    async fn what_is_abandoned_is_removed_whatever_its_name_and_modes_and_what_is_released_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let [released, abandoned, lines] = [&b"re\\\nleased\n"[..], b"a\xff b'", b"\n- \\0101%s\\c\n\n"]
            .map(|name| scratch.path().join(OsStr::from_bytes(name)));
        fs::create_dir(&released).unwrap();
        fs::create_dir(&lines).unwrap();
        fs::create_dir_all(abandoned.join("a/b/c")).unwrap();
        fs::set_permissions(abandoned.join("a/b"), Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(abandoned.join("a"), Permissions::from_mode(0o500)).unwrap();
        let guard = Guard::default();
        let kept = guard.hold(&released);
        guard.hold(&abandoned).abandon();
        guard.hold(&lines).abandon();
        drop(kept);
        drop(guard);
        assert!(goes_soon(&abandoned).await);
        assert!(goes_soon(&lines).await);
        assert!(released.exists());
    }
}
