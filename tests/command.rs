//! `herm adapter` and `herm exec` as commands.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    io::{Read as _, Write as _},
    os::fd::{AsFd, OwnedFd},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use assert_cmd::assert::Assert;
use predicates::{prelude::*, str::contains};
use serde_json::Value;

/// Nobody's settings have a say in tests.
const NO_SETTINGS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/no-settings");

fn herm(arguments: &[&str]) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_herm"));
    command.args(arguments).timeout(Duration::from_secs(10));
    command.env("HERMES_HOME", NO_SETTINGS);
    command
}

fn exec(arguments: &[&str]) -> Assert {
    herm(&[&["exec"], arguments].concat()).assert()
}

/// `herm exec` with pipes for its streams.
fn start(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_herm"))
        .env("HERMES_HOME", NO_SETTINGS)
        .arg("exec")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The first line that a child prints, as a process number. What follows stays unread.
fn printed_pid(child: &mut Child) -> i32 {
    let mut line = Vec::new();
    let mut byte = [0];
    while byte != *b"\n" {
        line.push(byte[0]);
        child.stdout.as_mut().unwrap().read_exact(&mut byte).unwrap();
    }
    String::from_utf8(line.split_off(1)).unwrap().parse().unwrap()
}

fn lives(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
}

fn dies_soon(pid: i32) -> bool {
    let start = Instant::now();
    while lives(pid) && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(10));
    }
    !lives(pid)
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn output_and_exit_code_are_the_commands_own() {
    exec(&["-c", "echo out; echo err >&2; exit 7"])
        .code(7)
        .stdout("out\n")
        .stderr("err\n");
    exec(&["--", "printf", "%s|", "a b", "", "-c"])
        .success()
        .stdout("a b||-c|");
    exec(&["-c", "exit 124"]).code(124).stderr("");
    exec(&["-c", "kill -9 $$"]).code(137).stdout("").stderr("");
}

#[test]
fn text_that_begins_like_an_option_is_text() {
    for (text, word) in [
        ("-c=-o", "-o"),
        ("-c=-x", "-x"),
        ("-c=+x", "+x"),
        ("-c=--version", "--version"),
    ] {
        exec(&[text]).code(127).stdout("").stderr(contains(word));
    }
}

#[test]
fn input_and_output_pass_through_byte_for_byte() {
    let data: Vec<u8> = (0..=255).cycle().take(3_000_000).collect();
    herm(&["exec", "--", "cat"])
        .write_stdin(data.clone())
        .assert()
        .success()
        .stdout(predicate::eq(data.as_slice()));
}

#[test]
fn output_comes_while_the_command_runs() {
    let mut child = start(&["-c", "echo $$; read -r line; echo \"got $line\""]);
    let pid = printed_pid(&mut child);
    assert!(lives(pid));
    child.stdin.take().unwrap().write_all(b"word\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), b"got word\n".as_slice())
    );
}

#[test]
fn the_command_starts_in_the_current_directory_with_the_variables_that_are_given() {
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let at = |arguments: &[&str]| {
        let mut command = herm(arguments);
        command.current_dir(&directory).env("SECRET_TOKEN", "s3cret");
        command.assert().success()
    };
    at(&["exec", "-c", "pwd -P"]).stdout(contains(directory.path().to_str().unwrap()));
    at(&["exec", "--cwd", "inner", "-c", "pwd -P"]).stdout(contains("/inner"));
    at(&["exec", "--env", "A=b=c", "--env", "D=", "--", "env"]).stdout(
        contains("A=b=c\n")
            .and(contains("D=\n"))
            .and(contains("s3cret").not()),
    );
}

#[test]
fn a_deadline_is_124_and_is_told() {
    let start = Instant::now();
    exec(&[
        "--timeout",
        "300ms",
        "-c",
        "trap '' TERM; echo words; sleep 60; sleep 60",
    ])
    .code(124)
    .stdout("words\n")
    .stderr(contains("deadline"));
    assert!(start.elapsed() < Duration::from_secs(2));
    exec(&["--timeout", "0s", "-c", "sleep 0.1"]).success();
}

#[test]
fn what_cannot_be_run_is_126_and_what_is_not_there_127() {
    exec(&["--", "no-such-program-here"])
        .code(127)
        .stderr(contains("no-such-program-here"));
    exec(&["--", "/etc/passwd"])
        .code(126)
        .stderr(contains("/etc/passwd"));
    exec(&["-c", "no-such-program-here"]).code(127);
    for (place, problem) in [
        ("/no/such/place", "does not exist"),
        ("/etc/passwd", "not a directory"),
    ] {
        exec(&["--cwd", place, "-c", "true"])
            .code(126)
            .stdout("")
            .stderr(contains("--cwd").and(contains(place)).and(contains(problem)));
    }
}

#[test]
fn a_current_directory_that_is_gone_is_needed_by_relative_paths_only() {
    let in_a_gone_directory = |arguments: &str| {
        let herm = env!("CARGO_BIN_EXE_herm");
        let script = format!("cd \"$(mktemp -d)\" && rmdir \"$PWD\" && exec {herm} exec {arguments}");
        assert_cmd::Command::new("bash").args(["-c", &script]).assert()
    };
    in_a_gone_directory("--cwd / -- pwd").success().stdout("/\n");
    for arguments in ["-- pwd", "--cwd inner -- pwd"] {
        in_a_gone_directory(arguments)
            .code(126)
            .stdout("")
            .stderr(contains("current directory").and(contains("--cwd")));
    }
}

#[test]
fn a_command_line_that_cannot_be_used_is_2() {
    for (arguments, word) in [
        (&["exec"][..], "required"),
        (&["exec", "-c", "true", "--", "true"], "cannot be used with"),
        (&["exec", "--timeout", "5", "-c", "true"], "500ms or 5s"),
        (&["exec", "--env", "A", "-c", "true"], "no name and value"),
        (
            &["exec", "--backend", "moon", "-c", "true"],
            "it is one of: local, docker",
        ),
        (&["exec", "--", ""], "command.argv[0]"),
        (&["adapter", "--backend", "moon"], "there are: local, docker"),
        (
            &["adapter", "--backend", "local", "--mode", "magic"],
            "there are: resident, native",
        ),
        (&["adapter"], "--backend"),
        (&["no-such-subcommand"], "unrecognized"),
    ] {
        herm(arguments).assert().code(2).stdout("").stderr(contains(word));
    }
}

#[test]
fn json_is_one_object_with_everything() {
    let ended = exec(&["--json", "-c", "printf '\\377'; echo err >&2; exit 3"])
        .code(3)
        .stderr("");
    let object: Value = serde_json::from_slice(&ended.get_output().stdout).unwrap();
    assert_eq!(
        object["outcome"],
        serde_json::json!({"type": "exited", "code": 3})
    );
    assert_eq!(object["stdout"], serde_json::json!({"b64": "/w=="}));
    assert_eq!(object["stderr"], "err\n");
    assert_eq!(object["totals"]["stdout"]["bytes"], 1);
    assert!(object["duration_ms"].is_u64());
    let refused = exec(&["--json", "--", "no-such-program-here"]).code(127);
    let object: Value = serde_json::from_slice(&refused.get_output().stdout).unwrap();
    assert_eq!(object["outcome"]["kind"], "program_not_found");
    let refused = exec(&["--json", "--cwd", "/no/such/place", "-c", "true"]).code(126);
    let object: Value = serde_json::from_slice(&refused.get_output().stdout).unwrap();
    assert_eq!(object["outcome"]["kind"], "cwd_not_found");
}

#[test]
fn signals_end_the_command_with_its_group() {
    for (name, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let mut child = start(&["-c", "sleep 60 & echo $!; wait"]);
        let pid = printed_pid(&mut child);
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert!(!lives(pid));
    }
}

#[test]
fn a_kill_of_herm_itself_ends_the_command_and_leaves_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_herm"))
        .env("HERMES_HOME", NO_SETTINGS)
        .args(["exec", "-c", "trap '' TERM HUP; sleep 60 & echo $!; wait"])
        .env("TMPDIR", scratch.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = printed_pid(&mut child);
    let made = || std::fs::read_dir(scratch.path()).unwrap().count();
    assert!(lives(pid) && made() == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(dies_soon(pid));
    let start = Instant::now();
    while made() > 0 && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(made(), 0);
}

#[test]
fn output_that_nobody_reads_ends_the_command_quietly() {
    let mut child = start(&["-c", "echo $$; yes"]);
    let pid = printed_pid(&mut child);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stderr.as_slice()),
        (Some(141), b"".as_slice())
    );
    assert!(!lives(pid));
}

#[test]
fn input_that_stays_open_and_silent_holds_nothing_up() {
    let mut child = start(&["--", "true"]);
    let open = child.stdin.take();
    let start = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(2));
    drop(open);
}

#[test]
fn what_the_command_leaves_running_ends_with_it() {
    let ended = exec(&["-c", "sleep 60 > /dev/null 2>&1 & echo $!"]).success();
    let pid = String::from_utf8(ended.get_output().stdout.clone()).unwrap();
    assert!(!lives(pid.trim().parse().unwrap()));
}

fn not_blocking(stream: impl AsFd) -> OwnedFd {
    let stream = stream.as_fd().try_clone_to_owned().unwrap();
    rustix::fs::fcntl_setfl(
        &stream,
        rustix::fs::fcntl_getfl(&stream).unwrap() | rustix::fs::OFlags::NONBLOCK,
    )
    .unwrap();
    stream
}

#[test]
fn streams_that_do_not_block_lose_nothing() {
    let (input, mut feed) = std::io::pipe().unwrap();
    let (mut output, written) = std::io::pipe().unwrap();
    let data: Vec<u8> = (0..=255).cycle().take(1_000_000).collect();
    let mut child = Command::new(env!("CARGO_BIN_EXE_herm"))
        .env("HERMES_HOME", NO_SETTINGS)
        .args(["exec", "--", "cat"])
        .stdin(not_blocking(&input))
        .stdout(not_blocking(&written))
        .spawn()
        .unwrap();
    drop((input, written));
    // Both pipes are met at their worst: the one empty, the other full.
    let pause = || std::thread::sleep(Duration::from_millis(300));
    pause();
    let sent = data.clone();
    let feeder = std::thread::spawn(move || feed.write_all(&sent).unwrap());
    pause();
    let mut got = Vec::new();
    output.read_to_end(&mut got).unwrap();
    feeder.join().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(got == data, "{} of {} bytes", got.len(), data.len());
}

#[test]
fn an_adapter_whose_input_does_not_block_waits_for_it() {
    let (input, feed) = std::io::pipe().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_herm"))
        .env("HERMES_HOME", NO_SETTINGS)
        .args(["adapter", "--backend", "local"])
        .stdin(not_blocking(&input))
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(child.try_wait().unwrap(), None);
    drop(feed);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn output_that_cannot_be_written_is_told_and_4() {
    for arguments in [&["exec", "--json", "-c", "true"][..], &["exec", "-c", "echo out"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_herm"))
            .env("HERMES_HOME", NO_SETTINGS)
            .args(arguments)
            .stdout(std::fs::File::options().write(true).open("/dev/full").unwrap())
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{told}");
        assert!(
            told.contains("standard output") && told.contains("No space left"),
            "{told}"
        );
    }
    let status = Command::new(env!("CARGO_BIN_EXE_herm"))
        .env("HERMES_HOME", NO_SETTINGS)
        .args(["exec", "-c", "echo err >&2"])
        .stdin(Stdio::null())
        .stderr(std::fs::File::options().write(true).open("/dev/full").unwrap())
        .status();
    assert_eq!(status.unwrap().code(), Some(4));
    let mut child = start(&["--json", "-c", "true"]);
    drop(child.stdout.take());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(141));
}

#[test]
fn signals_that_were_ignored_at_the_start_stay_ignored() {
    for (ignored, sent, code) in [("INT", "-INT", 7), ("HUP", "-HUP", 7), ("INT", "-TERM", 143)] {
        let herm = env!("CARGO_BIN_EXE_herm");
        let script = format!("trap '' {ignored}; exec {herm} exec -c 'echo $$; sleep 0.5; exit 7'");
        let mut child = Command::new("bash")
            .args(["-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        printed_pid(&mut child);
        signal(&child, sent);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{ignored} {sent}");
    }
}

#[test]
fn a_guard_ends_hundreds_of_leftovers_at_once() {
    let scratch = tempfile::tempdir().unwrap();
    let leave =
        "n=0; while [ $n -lt 300 ]; do setsid sleep 600 > /dev/null 2>&1 & n=$((n + 1)); done; exit 3";
    herm(&["guard", "--scratch", scratch.path().to_str().unwrap(), "--"])
        .args(["sh", "-c", leave])
        .assert()
        .code(3)
        .stderr(contains("ended 300 processes"));
}

#[test]
fn a_command_calls_programs_that_it_was_allowed() {
    let call = |tool| format!("printf 'a\\0b' | \"$HERM_RPC\" call {tool}; echo \" $?\"");
    let text = format!("{}; {}; {}", call("repeat"), call("fail"), call("other"));
    exec(&[
        "--rpc",
        "repeat=/bin/cat",
        "--rpc",
        "fail=/bin/false",
        "-c",
        &text,
    ])
    .success()
    .stdout("a\0b 0\n 70\n 77\n")
    .stderr(contains(
        "/bin/false, the program of the tool fail, ended with exit status: 1",
    ))
    .stderr(contains("the tool other is not allowed"));
    exec(&["-c", "echo \"${HERM_RPC-none}\""])
        .success()
        .stdout("none\n");
    exec(&["--rpc", "a b=/bin/cat", "true"])
        .code(2)
        .stderr(contains("no name of a tool"));
}
