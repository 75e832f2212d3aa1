//! The programs of this machine that a command of `herm exec --rpc` calls: everything that they start ends with their call.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    fs::{self, Permissions},
    io::Read as _,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// A tool that starts workers, one of them in a session of its own, and tells of them in a file.
struct Tool {
    directory: TempDir,
}

impl Tool {
    /// One that does this at its end.
    fn ending_with(last: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let pids = directory.path().join("pids");
        let script = format!(
            "#!/bin/sh\nsleep 600 & a=$!\nsetsid sh -c 'trap \"\" TERM HUP INT; echo $$ > {0}.half; exec sleep 600' & \n\
             while [ ! -s {0}.half ]; do sleep 0.01; done\necho $$ $a >> {0}.half; mv {0}.half {0}\n{last}\n",
            pids.display()
        );
        let program = directory.path().join("tool");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        Self { directory }
    }

    fn program(&self) -> PathBuf {
        self.directory.path().join("tool")
    }

    /// A command that calls it, in a process group of its own.
    fn called_by(&self, options: &[&str]) -> Child {
        let named = format!("tool={}", self.program().display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_herm"));
        command
            .env("HERMES_HOME", self.directory.path().join("no-settings"))
            .env("HERM_STATE", self.directory.path().join("state"))
            .args(["exec", "--rpc", &named])
            .args(options)
            .args(["-c", "\"$HERM_RPC\" call tool < /dev/null; echo \"code $?\""])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// The numbers of the tool and its workers, once they run.
    fn processes(&self) -> Vec<u32> {
        let file = self.directory.path().join("pids");
        until("the tool runs", || file.exists());
        let text = fs::read_to_string(file).unwrap();
        text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }
}

fn until(what: &str, such: impl Fn() -> bool) {
    let began = Instant::now();
    while !such() {
        assert!(began.elapsed() < Duration::from_secs(20), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn lives(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
}

fn living(processes: &[u32]) -> Vec<u32> {
    processes.iter().copied().filter(|pid| lives(*pid)).collect()
}

/// Reads what a command says, to the end: nobody holds its streams open any more.
fn streams(child: &mut Child) -> [String; 2] {
    let (mut out, mut err) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    [out, err]
}

#[test]
fn what_a_tool_has_started_ends_when_the_deadline_passes() {
    let tool = Tool::ending_with("sleep 600");
    let mut child = tool.called_by(&["--timeout", "2s"]);
    let processes = tool.processes();
    assert_eq!((processes.len(), living(&processes)), (3, processes.clone()));
    assert_eq!(child.wait().unwrap().code(), Some(124));
    assert_eq!(living(&processes), Vec::<u32>::new());
    streams(&mut child);
}

#[test]
fn what_a_tool_has_started_ends_when_its_caller_is_killed() {
    for target in [false, true] {
        let tool = Tool::ending_with("sleep 600");
        let mut child = tool.called_by(&[]);
        let processes = tool.processes();
        assert_eq!(living(&processes), processes);
        // Alone, and with its whole group, as timeout(1) does.
        let sign = if target { "-" } else { "" };
        let sent = Command::new("kill")
            .args(["-KILL", "--", &format!("{sign}{}", child.id())])
            .status();
        assert!(sent.unwrap().success());
        child.wait().unwrap();
        until("they are gone", || living(&processes).is_empty());
        streams(&mut child);
    }
}

#[test]
fn what_a_tool_leaves_running_ends_with_it_and_its_reply_counts() {
    let tool = Tool::ending_with("echo reply; exit 0");
    let mut child = tool.called_by(&["--timeout", "60s"]);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(living(&tool.processes()), Vec::<u32>::new());
    let [out, err] = streams(&mut child);
    assert_eq!((out.as_str(), err.as_str()), ("reply\ncode 0\n", ""));
}

#[test]
fn a_tool_that_cannot_be_run_or_is_killed_is_told_to_its_caller() {
    let tool = Tool::ending_with("kill -9 $$");
    let mut child = tool.called_by(&[]);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let [out, err] = streams(&mut child);
    assert!(out == "code 70\n" && err.contains("signal: 9"), "{out}{err}");
    fs::set_permissions(tool.program(), Permissions::from_mode(0o644)).unwrap();
    let mut child = tool.called_by(&[]);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let [out, err] = streams(&mut child);
    assert!(out == "code 70\n" && err.contains("cannot be run"), "{out}{err}");
}
