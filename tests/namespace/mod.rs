//! A sandbox of bubblewrap with a resident as its process 1, which is reached by having it dial.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command as Process, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use herm::{
    caller::{Caller, NoControl, NoInput, NoTools, Output},
    resident::{Binary, Expected, MeetingDirectory, Resident, ReverseDial, Secret, Settings, place},
};
use herm_protocol::{
    Finished,
    exec::{Stdin, Stream},
};
use herm_resident::wire::{Command, Start};
use rustix::process::{Pid, Signal, kill_process};

/// Where the sandbox sees the directory.
pub(crate) const MEETING: &str = "/run/herm";

/// Processes that there may be in it.
const PROCESSES: &str = "--nproc=100";

/// A user that is nobody else's, so that the limit counts this sandbox alone.
fn user() -> String {
    (100_000 + std::process::id() % 100_000).to_string()
}

pub(crate) const SECRET: [u8; 32] = [0x5a; 32];

/// The sandbox. It ends when this is dropped.
pub(crate) struct Namespace {
    bubblewrap: Child,
    /// The resident's number outside.
    pub(crate) pid: i32,
    /// Goes with it.
    #[expect(dead_code, reason = "held for its end")]
    base: tempfile::TempDir,
    meeting: MeetingDirectory,
}

impl Namespace {
    /// `None`, and why is printed, where bubblewrap cannot make one.
    pub(crate) fn start() -> Option<Self> {
        let mut works = Process::new("bwrap");
        let works = works
            .args(Self::kind())
            .args(["--ro-bind", "/", "/", "--proc", "/proc", "true"])
            .output();
        match works {
            Ok(output) if output.status.success() => {}
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                println!("skipped: bubblewrap can make no namespace here: {}", said.trim());
                return None;
            }
            Err(error) => {
                println!("skipped: bubblewrap cannot be run, which `ci/setup` installs: {error}");
                return None;
            }
        }
        let base = tempfile::tempdir().unwrap();
        let program = place(&Binary::find().unwrap(), base.path()).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o555)).unwrap();
        let meeting = MeetingDirectory::make(&base.path().join("sandbox")).unwrap();
        let mut command = Process::new("bwrap");
        command
            .args(Self::kind())
            .args(["--as-pid-1", "--die-with-parent", "--new-session"])
            .args([
                "--ro-bind",
                "/",
                "/",
                "--proc",
                "/proc",
                "--dev",
                "/dev",
                "--tmpfs",
                "/run",
            ])
            .args(["--perms", "1777", "--tmpfs", "/tmp", "--ro-bind"])
            .args([&program, Path::new("/run/resident")])
            .arg("--ro-bind")
            .args([meeting.path(), Path::new(MEETING)])
            .args(["--json-status-fd", "1", "prlimit", PROCESSES, "--"]);
        if is_root() {
            // The superuser is held by no limit, and has other rights than anybody in a sandbox.
            command.args([
                "setpriv",
                "--reuid",
                &user(),
                "--regid",
                &user(),
                "--clear-groups",
                "--bounding-set=-all",
            ]);
        }
        let mut bubblewrap = command
            .args(["/run/resident", "init", "--idle", "60", "--dial", MEETING])
            .env("HERM_RESIDENT_SECRET", "5a".repeat(32))
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(bubblewrap.stdout.take().unwrap())
            .read_line(&mut said)
            .unwrap();
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        let pid = i32::try_from(said["child-pid"].as_i64().unwrap()).unwrap();
        // Until it has become the resident, the number is that of the program which prepares it.
        let become_resident =
            || fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"/run/resident"));
        for _ in 0..1000 {
            if become_resident() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(become_resident(), "the resident does not start");
        Some(Self {
            bubblewrap,
            pid,
            base,
            meeting,
        })
    }

    /// The superuser needs no namespace of users, and can so mount what nobody else may enter.
    fn kind() -> &'static [&'static str] {
        if is_root() {
            &[
                "--unshare-pid",
                "--cap-drop",
                "ALL",
                "--cap-add",
                "CAP_SETUID",
                "--cap-add",
                "CAP_SETGID",
                "--cap-add",
                "CAP_SETPCAP",
            ]
        } else {
            &["--unshare-user", "--unshare-pid"]
        }
    }

    /// A way to the resident, for a new client.
    pub(crate) fn dial(&self) -> ReverseDial {
        self.dial_for(self.pid, SECRET)
    }

    /// A way to whoever has that number and knows that secret.
    pub(crate) fn dial_for(&self, pid: i32, secret: [u8; 32]) -> ReverseDial {
        let expected = Expected::process(pid).unwrap();
        ReverseDial::new(self.meeting.clone(), expected, Secret::new(secret))
    }

    pub(crate) fn client(&self) -> Resident {
        Resident::new(self.dial(), Settings::default())
    }

    /// The directory, as it is outside.
    pub(crate) fn meeting(&self) -> &Path {
        self.meeting.path()
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // Its first process takes everything with it.
        let _ = Pid::from_raw(self.pid).map(|pid| kill_process(pid, Signal::KILL));
        let _ = self.bubblewrap.kill();
        let _ = self.bubblewrap.wait();
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) finished: Finished,
    pub(crate) stdout: String,
    pub(crate) took: Duration,
}

/// Runs shell text with a deadline.
pub(crate) async fn run(resident: &Resident, text: &str, deadline: Duration) -> Ran {
    let mut request = [0; 16];
    getrandom::fill(&mut request).unwrap();
    let command = Command::Shell {
        shell: b"sh".to_vec(),
        text: text.into(),
    };
    let start = Start {
        deadline_ms: u64::try_from(deadline.as_millis()).unwrap(),
        ..Start::new(request, command)
    };
    let kept = Kept::default();
    let caller = Caller {
        output: kept.clone(),
        input: NoInput,
        tools: NoTools,
    };
    let begun = Instant::now();
    let finished = resident
        .run("sandbox", start, Stdin::None, caller, &mut NoControl)
        .await
        .unwrap();
    let stdout = String::from_utf8_lossy(&kept.0.lock().unwrap()).into_owned();
    Ran {
        finished,
        stdout,
        took: begun.elapsed(),
    }
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Output for Kept {
    async fn started(&self) {}

    async fn write(&self, stream: Stream, data: &[u8]) {
        if stream == Stream::Stdout {
            self.0.lock().unwrap().extend_from_slice(data);
        }
    }
}
