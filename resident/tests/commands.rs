//! What a command means: its outcome, its output, its input, where and with what it starts.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as the tests do")]

#[expect(dead_code, reason = "shared by several tests, each of which uses a part")]
mod support;

use std::time::{Duration, Instant};

use herm_resident::wire::{
    Command, Ending, ErrorKind, Outcome, Reply, Request, STDIN_WINDOW, SetupFailure, SignalCause, Start,
    Stdin, Stream,
};
use support::{Resident, argv, quiet, request_id, shell, with_input};

#[test]
fn a_command_is_told_as_it_was() {
    let resident = Resident::start();
    let mut client = resident.client();
    let ran = client.shell("echo out; echo err >&2; exit 7");
    ran.assert_exited(7);
    assert_eq!((ran.out().as_str(), ran.err().as_str()), ("out\n", "err\n"));
    assert!(
        ran.ending.notices.is_empty() && !ran.ending.left_behind,
        "{ran:?}"
    );
    let merged = client.run(Start {
        merged: true,
        ..shell("echo 1; echo 2 >&2; echo 3")
    });
    assert_eq!((merged.out().as_str(), merged.err().as_str()), ("1\n2\n3\n", ""));
    for code in [0, 1, 2, 124, 126, 127, 137, 255] {
        client.shell(&format!("exit {code}")).assert_exited(code);
    }
    client.shell("no-such-program").assert_exited(127);
    client.shell("-x").assert_exited(127);
    client.shell("").assert_exited(0);
    client.shell("# nothing").assert_exited(0);
    client.shell("exec true").assert_exited(0);
    client.shell("exec >&-; exec 2>&-; exit 3").assert_exited(3);
    client.shell("set -e; false; true").assert_exited(1);
    client.shell("if then").assert_exited(2);
    for number in [6, 9, 15] {
        let ran = client.shell(&format!("kill -{number} $$"));
        assert_eq!(
            ran.ending.outcome,
            Outcome::Signaled {
                number,
                cause: SignalCause::Unknown
            }
        );
    }
    assert_eq!(client.list(), []);
}

#[test]
fn line_numbers_and_names_are_those_of_the_text() {
    let resident = Resident::start();
    let mut client = resident.client();
    let ran = client.shell("echo $LINENO $0\necho $LINENO\ntrap 'echo bye' EXIT");
    assert_eq!(ran.out(), "1 bash\n2\nbye\n");
    let posix = Command::Shell {
        shell: b"sh".to_vec(),
        text: b"echo $0".to_vec(),
    };
    assert_eq!(client.run(Start::new(request_id(), posix)).out(), "sh\n");
    let long = format!(
        "echo $LINENO $0\n#{}\necho $LINENO; exit 4",
        "x".repeat(3_000_000)
    );
    let ran = client.shell(&long);
    ran.assert_exited(4);
    assert_eq!(ran.out(), "1 bash\n3\n");
    for length in [127 * 1024, 128 * 1024 - 1, 128 * 1024, 129 * 1024] {
        let text = format!("echo yes #{}", "x".repeat(length - 10));
        assert_eq!(client.shell(&text).out(), "yes\n", "{length}");
    }
    let left = std::fs::read_dir(resident.directory()).unwrap();
    let left: Vec<_> = left
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(!left.iter().any(|name| name.starts_with("text-")), "{left:?}");
}

#[test]
fn what_cannot_be_set_up_is_said_and_runs_nothing() {
    let resident = Resident::start();
    let mut client = resident.client();
    let mut kind = |start: Start| {
        let ran = client.run(start);
        match ran.ending.outcome {
            Outcome::SetupFailed { kind, .. } => Some(kind),
            _ => None,
        }
    };
    let file = resident.scratch().join("file");
    std::fs::write(&file, b"no program").unwrap();
    let at = |path: &str| Start {
        cwd: Some(path.into()),
        ..shell("echo ran")
    };
    assert_eq!(kind(at("/does/not/exist")), Some(SetupFailure::CwdNotFound));
    assert_eq!(
        kind(at(file.to_str().unwrap())),
        Some(SetupFailure::CwdNotADirectory)
    );
    assert_eq!(
        kind(argv(&["no-such-program"])),
        Some(SetupFailure::ProgramNotFound)
    );
    assert_eq!(
        kind(argv(&["/no/such/program"])),
        Some(SetupFailure::ProgramNotFound)
    );
    assert_eq!(
        kind(argv(&[file.to_str().unwrap()])),
        Some(SetupFailure::ProgramDenied)
    );
    let shell = Command::Shell {
        shell: b"no-such-shell".to_vec(),
        text: b"true".to_vec(),
    };
    assert_eq!(
        kind(Start::new(request_id(), shell)),
        Some(SetupFailure::ShellNotFound)
    );
    let long = "x".repeat(200_000);
    assert_eq!(kind(argv(&["true", &long])), Some(SetupFailure::ArgumentsTooLong));
    assert_eq!(kind(argv(&["true"])), None);
}

#[test]
fn what_can_never_be_is_refused() {
    let resident = Resident::start();
    let mut client = resident.client();
    let mut refused = |start: Start| match client.ask(|call| Request::Start {
        call,
        start: Box::new(start),
    }) {
        Reply::Error { error, .. } => error.kind,
        other => panic!("accepted: {other:?}"),
    };
    for start in [
        argv(&[]),
        argv(&[""]),
        argv(&["true", "a\0b"]),
        shell("echo \0"),
        Start {
            cwd: Some(Vec::new()),
            ..shell("true")
        },
        Start {
            env: vec![(b"A=B".to_vec(), Vec::new())],
            ..shell("true")
        },
        Start {
            env: vec![(Vec::new(), Vec::new())],
            ..shell("true")
        },
        Start {
            env: vec![(b"A".to_vec(), b"\0".to_vec())],
            ..shell("true")
        },
    ] {
        assert_eq!(refused(start), ErrorKind::InvalidArgument);
    }
    assert_eq!(client.list(), []);
}

#[test]
fn a_command_starts_where_and_with_what_it_was_told() {
    let resident = Resident::prepare();
    let started = quiet(&mut resident.daemon())
        .env("HERM_TEST_BASE", "base")
        .env("OLDPWD", "/old")
        .status();
    assert!(started.unwrap().success());
    let mut client = resident.client();
    for name in [
        "with a space",
        "it's \"quoted\"",
        "$HOME",
        "two\nlines",
        "-rf",
        "grün",
    ] {
        let path = resident.scratch().join(name);
        std::fs::create_dir(&path).unwrap();
        let cwd = Some(path.as_os_str().as_encoded_bytes().to_vec());
        let ran = client.run(Start {
            cwd,
            ..shell("pwd; echo \"$PWD\"")
        });
        assert_eq!(ran.out(), format!("{0}\n{0}\n", path.display()));
    }
    let env = vec![(b"HERM_TEST_EXEC".to_vec(), b"a\n=\xff'\"$x".to_vec())];
    let ran = client.run(Start {
        env,
        ..shell("printf %s \"$HERM_TEST_EXEC\"; echo; echo $HERM_TEST_BASE-$OLDPWD")
    });
    assert_eq!(ran.output[0], b"a\n=\xff'\"$x\nbase-\n");
    let clear = Start {
        clear_env: true,
        env: vec![(b"A".to_vec(), b"1".to_vec())],
        ..argv(&["/usr/bin/env"])
    };
    assert_eq!(client.run(clear).out(), "A=1\nPWD=/\n");
    let masked = client.run(Start {
        umask: Some(0o027),
        ..shell("umask")
    });
    assert_eq!(masked.out(), "0027\n");
    assert_eq!(client.shell("umask").out(), "0077\n");
}

#[test]
fn a_command_has_a_session_and_descriptors_of_its_own() {
    let resident = Resident::start();
    let mut client = resident.client();
    let ran = client.shell("ls -l /proc/self/fd | grep -c -- '->'; read -r _ _ _ _ _ session _ < /proc/$$/stat; \
                            [ $session = $$ ] && echo leads; grep SigBlk /proc/self/status; grep SigIgn /proc/self/status");
    let lines: Vec<_> = ran.out().lines().map(str::to_owned).collect();
    // Three standard ones, and the one that lists them.
    assert_eq!(lines[..2], ["4", "leads"], "{ran:?}");
    assert_eq!(
        lines[2..],
        ["SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000"]
    );
    let mut two = argv(&["cat"]);
    two.stdin = Stdin::Stream;
    let held = client.start(two);
    // A command that starts now must not hold the other's input open.
    let sleeper = client.start(shell("sleep 100"));
    client.send(&Request::Stdin {
        job: held,
        offset: 0,
        data: Vec::new(),
        eof: true,
    });
    assert_eq!(client.wait(held).outcome, Outcome::Exited { code: 0 });
    client.ask(|call| Request::Cancel { call, job: sleeper });
    assert_eq!(client.wait(sleeper).outcome, Outcome::Cancelled);
}

#[test]
fn input_arrives_whole_and_ends() {
    let resident = Resident::start();
    let mut client = resident.client();
    assert_eq!(client.shell("wc -c").out().trim(), "0");
    assert_eq!(client.run(with_input(shell("wc -c"), b"")).out().trim(), "0");
    let every: Vec<u8> = (0..=255).collect();
    assert_eq!(client.run(with_input(argv(&["cat"]), &every)).output[0], every);
    client
        .run(with_input(shell("exit 3"), &vec![b'x'; 1 << 20]))
        .assert_exited(3);
    client
        .run(with_input(
            shell("exec <&-; sleep 0.1; exit 4"),
            &vec![b'x'; 1 << 20],
        ))
        .assert_exited(4);
}

/// 64 MiB, with back pressure: never more under way than the window.
#[test]
fn much_input_is_fed_as_it_is_taken() {
    let resident = Resident::start();
    let mut client = resident.client();
    let total = 64_u64 << 20;
    let start = Start {
        stdin: Stdin::Stream,
        attach: Some(support::PLENTY),
        ..shell("sha256sum")
    };
    let job = client.start(start);
    let (mut sent, mut taken) = (0_u64, 0_u64);
    let byte = |offset: u64| (offset * 31 % 253).to_le_bytes()[0];
    let mut digest = herm_resident::wire::Sha256::default();
    while taken < total {
        while sent < total && sent + 65_536 <= taken + STDIN_WINDOW {
            let data: Vec<u8> = (sent..sent + 65_536).map(byte).collect();
            digest.update(&data);
            let eof = sent + 65_536 == total;
            client.send(&Request::Stdin {
                job,
                offset: sent,
                data,
                eof,
            });
            sent += 65_536;
        }
        taken = client.until(|reply| match reply {
            Reply::StdinTaken { offset, .. } => Some(*offset),
            _ => None,
        });
    }
    let ran = client.finish(job, 0, Instant::now());
    let expected = digest.finish().map(|byte| format!("{byte:02x}")).concat();
    assert_eq!(ran.out(), format!("{expected}  -\n"));
}

#[test]
fn input_for_one_that_reads_no_more_is_told_as_unread() {
    let resident = Resident::start();
    let mut client = resident.client();
    let job = client.start(Start {
        stdin: Stdin::Stream,
        ..shell("exec <&-; echo closed; sleep 100")
    });
    client.send(&Request::Stdin {
        job,
        offset: 0,
        data: b"early".to_vec(),
        eof: false,
    });
    let closed = |reply: &Reply| matches!(reply, Reply::StdinTaken { open: false, .. }).then_some(());
    client.until(closed);
    client.send(&Request::Stdin {
        job,
        offset: 5,
        data: b"late".to_vec(),
        eof: false,
    });
    client.until(closed);
    client.ask(|call| Request::Cancel { call, job });
    assert_eq!(client.wait(job).outcome, Outcome::Cancelled);
}

#[test]
fn repeated_input_is_taken_once() {
    let resident = Resident::start();
    let mut client = resident.client();
    let job = client.start(Start {
        stdin: Stdin::Stream,
        attach: Some(support::PLENTY),
        ..argv(&["cat"])
    });
    for (offset, data) in [(0, "abc"), (0, "abc"), (1, "bcdef"), (3, "def")] {
        client.send(&Request::Stdin {
            job,
            offset,
            data: data.into(),
            eof: false,
        });
    }
    client.send(&Request::Stdin {
        job,
        offset: 6,
        data: Vec::new(),
        eof: true,
    });
    assert_eq!(client.finish(job, 0, Instant::now()).out(), "abcdef");
    let job = client.start(Start {
        stdin: Stdin::Stream,
        ..argv(&["cat"])
    });
    client.send(&Request::Stdin {
        job,
        offset: 9,
        data: b"x".to_vec(),
        eof: false,
    });
    let refused = client.until(|reply| match reply {
        Reply::Error { call: 0, error } => Some(error.kind),
        _ => None,
    });
    assert_eq!(refused, ErrorKind::Protocol);
}

/// Each stream must be all there, although both flood at once and the client takes them in turns.
#[test]
fn much_output_on_both_streams_arrives_whole() {
    let resident = Resident::start();
    let mut client = resident.client();
    let size = 100_u64 << 20;
    let text = format!("head -c {size} /dev/zero >&2 & head -c {size} /dev/zero; wait");
    let began = Instant::now();
    let job = client.start(Start {
        attach: Some(1 << 20),
        ..shell(&text)
    });
    let mut reached = [0; 2];
    let mut end: Option<Ending> = None;
    while end.as_ref().is_none_or(|ending| ending.totals != reached) {
        match client.receive() {
            Reply::Output {
                stream, offset, data, ..
            } => {
                assert_eq!(offset, reached[stream.index()]);
                reached[stream.index()] += data.len() as u64;
                client.send(&Request::Credit {
                    job,
                    bytes: data.len() as u64,
                });
            }
            Reply::Finished { ending, .. } => end = Some(*ending),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(end.unwrap().totals, [size, size]);
    let memory = resident_memory(client.welcome.as_ref().unwrap().pid);
    assert!(memory < 16 << 20, "{memory} bytes");
    println!("{:.0} MB/s", 200.0 * 1.048_576 / began.elapsed().as_secs_f64());
}

/// Bytes of memory that the resident has really taken, at most until now.
fn resident_memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.trim()
        .strip_suffix(" kB")
        .unwrap()
        .trim()
        .parse::<u64>()
        .unwrap()
        * 1024
}

#[test]
fn output_arrives_while_the_command_runs_and_credit_bounds_it() {
    let resident = Resident::start();
    let mut client = resident.client();
    let job = client.start(Start {
        attach: Some(3),
        ..shell("printf abcdefgh; sleep 100")
    });
    let piece = |reply: &Reply| match reply {
        Reply::Output { data, .. } => Some(data.clone()),
        _ => None,
    };
    assert_eq!(client.until(piece), b"abc");
    client.send(&Request::Credit { job, bytes: 4 });
    assert_eq!(client.until(piece), b"defg");
    let Reply::Data { data, .. } = client.ask(|call| Request::Read {
        call,
        job,
        stream: Stream::Stdout,
        from: 1,
        most: 3,
    }) else {
        panic!("not read");
    };
    assert_eq!(
        (data.offset, data.data.as_slice(), data.total, data.ended),
        (1, b"bcd".as_slice(), 8, false)
    );
    client.ask(|call| Request::Signal {
        call,
        job,
        number: 15,
    });
    let ending = client.wait(job);
    assert_eq!(
        ending.outcome,
        Outcome::Signaled {
            number: 15,
            cause: SignalCause::Unknown
        }
    );
    assert_eq!(ending.totals, [8, 0]);
    client.send(&Request::Credit { job, bytes: 100 });
    assert_eq!(client.until(piece), b"h");
}

#[test]
fn a_command_is_over_with_its_shell_although_a_worker_holds_its_output() {
    let resident = Resident::start();
    let mut client = resident.client();
    let job = client.start(Start {
        attach: Some(support::PLENTY),
        ..shell("echo started; (sleep 1; echo late; sleep 60) &")
    });
    let ran = client.finish(job, 0, Instant::now());
    ran.assert_exited(0);
    assert!(ran.took < Duration::from_millis(900), "{ran:?}");
    assert_eq!(ran.out(), "started\n");
    assert!(ran.ending.left_behind && ran.ending.notices.len() == 1);
    let record = client.list().pop().unwrap();
    assert!(record.alive);
    support::eventually("the late line", || client.list().pop().unwrap().totals[0] == 13);
    client.ask(|call| Request::Cancel { call, job });
    support::eventually("the end of the worker", || !client.list().pop().unwrap().alive);
    let job_with_redirected = client.shell("sleep 60 > /dev/null 2>&1 < /dev/null & echo $!");
    assert!(
        job_with_redirected.took < Duration::from_millis(90),
        "{job_with_redirected:?}"
    );
}
