//! The resident itself: how it starts, how it is reached, how it ends, and what it takes.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as the tests do")]

#[expect(dead_code, reason = "shared by several tests, each of which uses a part")]
mod support;

use std::{
    fs,
    io::{Read as _, Write as _},
    os::unix::{fs::PermissionsExt as _, net::UnixListener},
    process::{Command as Process, Stdio},
    time::{Duration, Instant},
};

use herm_resident::wire::{
    Deframer, MAX_REPLY, Outcome, Reply, Request, Start, VERSION, frame,
    text::{Receiver, Sender},
};
use support::{Client, LIMIT, PLENTY, Resident, eventually, program, quiet, shell};

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

#[test]
fn it_says_what_it_is() {
    let output = Process::new(program()).arg("--version").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let expected = format!("herm-resident {} protocol {VERSION} ", env!("CARGO_PKG_VERSION"));
    assert!(said.starts_with(&expected), "{said}");
    assert_eq!(
        Process::new(program())
            .arg("nonsense")
            .output()
            .unwrap()
            .status
            .code(),
        Some(2)
    );
}

#[test]
fn sixteen_starts_at_once_make_one() {
    let resident = Resident::prepare();
    let starts: Vec<_> = (0..16)
        .map(|_| resident.daemon().stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    for start in starts {
        let output = start.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let instances: Vec<_> = (0..8)
        .map(|_| resident.client().welcome.unwrap().instance)
        .collect();
    assert!(instances.iter().all(|instance| *instance == instances[0]));
}

#[test]
fn a_directory_that_is_not_private_is_refused() {
    let resident = Resident::prepare();
    let directory = resident.directory();
    let refused = || {
        let output = resident.daemon().output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    fs::create_dir(&directory).unwrap();
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(refused().contains("chmod 700"));
    fs::remove_dir(&directory).unwrap();
    let real = resident.scratch().join("real");
    fs::create_dir(&real).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(&real, &directory).unwrap();
    assert!(refused().contains("no link"));
    assert_eq!(
        fs::read_dir(&real).unwrap().count(),
        0,
        "nothing was made behind the link"
    );
}

#[test]
fn it_ends_when_nothing_goes_on_and_not_before() {
    let resident = Resident::start_with(&["--idle", "1"]);
    let mut client = resident.client();
    let pid = client.welcome.as_ref().unwrap().pid;
    client.start(Start {
        attach: None,
        ..shell("sleep 1.5")
    });
    drop(client);
    std::thread::sleep(Duration::from_millis(1300));
    assert!(is_alive(pid), "a job runs");
    eventually("the end", || !is_alive(pid));
    for name in ["socket", "secret"] {
        assert!(!resident.directory().join(name).exists(), "{name}");
    }
}

#[test]
fn a_kept_outcome_keeps_it() {
    let resident = Resident::start_with(&["--idle", "1"]);
    let mut client = resident.client();
    let pid = client.welcome.as_ref().unwrap().pid;
    let job = client.start(Start {
        keep: true,
        ..shell("exit 6")
    });
    drop(client);
    std::thread::sleep(Duration::from_millis(1800));
    let mut client = resident.client();
    assert_eq!(client.wait(job).outcome, Outcome::Exited { code: 6 });
    client.forget(job);
    drop(client);
    eventually("the end", || !is_alive(pid));
}

#[test]
fn a_shutdown_ends_everything_and_says_so() {
    let resident = Resident::start();
    let mut client = resident.client();
    let pid = client.welcome.as_ref().unwrap().pid;
    let beat = resident.scratch().join("beat");
    let keep_beat = format!("while :; do echo x >> '{}'; sleep 0.02; done", beat.display());
    client
        .shell(&format!(
            "setsid bash -c \"$(cat <<'E'\n{keep_beat}\nE\n)\" > /dev/null 2>&1 &"
        ))
        .assert_exited(0);
    let job = client.start(Start {
        attach: Some(PLENTY),
        ..shell("trap '' TERM; sleep 100")
    });
    eventually("the beat", || beat.exists());
    let mut other = resident.client();
    other.send(&Request::Shutdown { call: 1 });
    let ran = client.finish(job, 0, Instant::now());
    assert_eq!(ran.ending.outcome, Outcome::SandboxLost);
    assert_eq!(other.receive(), Reply::Done { call: 1 });
    assert!(support::is_still(&beat));
    eventually("the end", || !is_alive(pid));
}

#[test]
fn a_term_ends_everything() {
    let resident = Resident::start();
    let mut client = resident.client();
    let pid = client.welcome.as_ref().unwrap().pid;
    let child = client.start(shell("sleep 100"));
    let command = client
        .list()
        .into_iter()
        .find(|job| job.job == child)
        .unwrap()
        .pid;
    assert!(
        Process::new("kill")
            .arg(pid.to_string())
            .status()
            .unwrap()
            .success()
    );
    eventually("the end", || !is_alive(pid) && !is_alive(command));
}

/// Whoever stops a sandbox may signal everything in it at once.
#[test]
fn a_command_that_is_signalled_with_the_resident_was_lost_with_it() {
    for _ in 0..10 {
        let resident = Resident::start();
        let mut client = resident.client();
        let pid = client.welcome.as_ref().unwrap().pid;
        let job = client.start(Start {
            attach: Some(PLENTY),
            ..shell("sleep 100")
        });
        let command = client.list()[0].pid;
        let both = [pid.to_string(), command.to_string()];
        // The command may be gone before its turn has come.
        quiet(Process::new("kill").args(both)).status().unwrap();
        let ran = client.finish(job, 0, Instant::now());
        assert_eq!(ran.ending.outcome, Outcome::SandboxLost);
        eventually("the end", || !is_alive(pid));
    }
}

#[test]
fn a_channel_starts_the_daemon_and_is_ready_at_once() {
    let resident = Resident::prepare();
    let serve = |arguments: &[&str]| {
        let mut process = Process::new(program());
        process.arg("serve").arg(resident.directory()).args(arguments);
        process
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let channels: Vec<_> = (0..16).map(|_| serve(&[])).collect();
    let mut instances = Vec::new();
    for mut channel in channels {
        let (mut to, mut from) = (channel.stdin.take().unwrap(), channel.stdout.take().unwrap());
        let start = Start {
            attach: Some(PLENTY),
            ..shell("head -c 3000000 /dev/zero; exit 4")
        };
        to.write_all(&frame(
            &Request::Start {
                call: 1,
                start: Box::new(start),
            }
            .encode(),
        ))
        .unwrap();
        let mut deframer = Deframer::default();
        let mut bytes = 0;
        loop {
            let reply = next(&mut from, &mut deframer);
            match reply {
                Reply::Welcome(welcome) => instances.push(welcome.instance),
                Reply::Output { data, .. } => bytes += data.len() as u64,
                Reply::Finished { ending, .. } => {
                    assert_eq!(ending.outcome, Outcome::Exited { code: 4 });
                    while bytes < ending.totals[0] {
                        let Reply::Output { data, .. } = next(&mut from, &mut deframer) else {
                            continue;
                        };
                        bytes += data.len() as u64;
                    }
                    break;
                }
                Reply::Started { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(bytes, 3_000_000);
        drop(to);
        channel.wait().unwrap();
    }
    assert!(instances.iter().all(|instance| *instance == instances[0]));
}

fn next(from: &mut impl std::io::Read, deframer: &mut Deframer) -> Reply {
    loop {
        if let Some(message) = deframer.next(MAX_REPLY).unwrap() {
            return Reply::decode(&message).unwrap();
        }
        let mut buffer = vec![0; 65_536];
        let length = from.read(&mut buffer).unwrap();
        assert!(length > 0, "the channel has ended");
        deframer.add(&buffer[..length]);
    }
}

/// Over a channel of lines that loses one in seven, in both directions.
#[test]
fn a_channel_of_lines_loses_nothing() {
    let resident = Resident::start();
    let mut process = Process::new(program());
    process.arg("serve").arg(resident.directory()).arg("--text");
    let mut channel = process
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut to, mut from) = (channel.stdin.take().unwrap(), channel.stdout.take().unwrap());
    let (mut sender, mut receiver, mut deframer) =
        (Sender::default(), Receiver::default(), Deframer::default());
    // At random: a loss in a fixed rhythm could hit the same line each time it is sent again.
    let mut state = 7_u64;
    let mut lossy = move |lines: &str| -> String {
        let kept = lines.split_inclusive('\n').filter(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            !(state >> 33).is_multiple_of(7)
        });
        kept.collect()
    };
    let start = Start {
        attach: Some(PLENTY),
        ..shell("seq 200000; exit 5")
    };
    let (lines, _) = sender.send(&frame(
        &Request::Start {
            call: 1,
            start: Box::new(start),
        }
        .encode(),
    ));
    to.write_all(lossy(&lines).as_bytes()).unwrap();
    let (mut output, mut end) = (Vec::new(), None);
    let began = Instant::now();
    let (told, pieces) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            told.send(String::from_utf8(buffer[..length].to_vec()).unwrap())
                .unwrap();
        }
    });
    while end
        .as_ref()
        .is_none_or(|totals: &[u64; 2]| totals[0] > output.len() as u64)
    {
        assert!(began.elapsed() < LIMIT);
        let Ok(piece) = pieces.recv_timeout(Duration::from_millis(50)) else {
            // Nothing came: what was lost is asked for, and what was not acknowledged goes again.
            to.write_all((sender.all() + &receiver.resume()).as_bytes())
                .unwrap();
            continue;
        };
        let came = receiver.receive(lossy(&piece).as_bytes());
        if let Some(number) = came.acknowledged {
            sender.acknowledged(number);
        }
        let again = came
            .resend
            .map_or_else(String::new, |number| sender.again(number));
        to.write_all(lossy(&(came.answer + &again)).as_bytes()).unwrap();
        deframer.add(&came.bytes);
        while let Some(message) = deframer.next(MAX_REPLY).unwrap() {
            match Reply::decode(&message).unwrap() {
                Reply::Output { data, .. } => output.extend(data),
                Reply::Finished { ending, .. } => end = Some(ending.totals),
                _ => {}
            }
        }
    }
    let expected = (1..=200_000).fold(String::new(), |all, number| {
        all + &number.to_string()
            + "
"
    });
    assert!(output == expected.as_bytes());
    drop(to);
    reading.join().unwrap();
    channel.wait().unwrap();
}

/// As in a container: the client listens under a fresh name in a directory, and the resident dials out.
#[test]
fn it_dials_sockets_that_appear() {
    let base = tempfile::tempdir().unwrap();
    let early = base.path().join("early");
    let listener = UnixListener::bind(&early).unwrap();
    let secret = [9; 32];
    let mut init = Process::new(program());
    init.arg("init")
        .arg("--dial")
        .arg(base.path())
        .env("HERM_RESIDENT_SECRET", "09".repeat(32));
    let mut init = quiet(&mut init).spawn().unwrap();
    let (socket, _) = listener.accept().unwrap();
    let mut client = Client::prove(socket, &secret).unwrap();
    assert_eq!(client.shell("echo ${HERM_RESIDENT_SECRET-none}").out(), "none\n");
    // Not sockets, not ready, and links: all of them must be left alone.
    fs::write(base.path().join("file"), b"").unwrap();
    std::os::unix::fs::symlink("/nowhere", base.path().join("link")).unwrap();
    for round in 0..20 {
        let hidden = base.path().join(".new");
        let listener = UnixListener::bind(&hidden).unwrap();
        let path = base.path().join(format!("client-{round}"));
        fs::rename(&hidden, &path).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let mut client = Client::prove(socket, &secret).unwrap();
        client.shell("exit 8").assert_exited(8);
        fs::remove_file(path).unwrap();
    }
    client.send(&Request::Shutdown { call: 5 });
    client.until(|reply| matches!(reply, Reply::Done { call: 5 }).then_some(()));
    assert!(init.wait().unwrap().success());
}

/// Memory and descriptors return to where they were.
#[test]
fn many_short_execs_leave_nothing_behind() {
    let resident = Resident::start();
    let mut client = resident.client();
    let pid = client.welcome.as_ref().unwrap().pid;
    let taken = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let memory = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        let memory: u64 = memory.trim().trim_end_matches(" kB").parse().unwrap();
        (fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count(), memory)
    };
    let rounds = |client: &mut Client, count| {
        for round in 0..count {
            let ran = client.run(support::argv(&["sh", "-c", &format!("echo {round}")]));
            ran.assert_exited(0);
            assert_eq!(ran.out(), format!("{round}\n"));
        }
    };
    rounds(&mut client, 200);
    std::thread::sleep(Duration::from_millis(500));
    let (descriptors, memory) = taken();
    rounds(&mut client, 2_000);
    // A supervisor that waits for the next exec takes a descriptor; there are as many again in a moment.
    support::eventually("as many descriptors as before", || taken().0 == descriptors);
    let (_, memory_after) = taken();
    assert!(
        memory_after <= memory + 256,
        "{memory} kB became {memory_after} kB"
    );
    assert_eq!(client.list(), []);
}

/// What nobody forgets is bounded, too.
#[test]
fn outcomes_that_nobody_fetches_do_not_pile_up() {
    let resident = Resident::start();
    let mut client = resident.client();
    let mut last = 0;
    for _ in 0..700 {
        last = client.start(support::argv(&["true"]));
        client.wait(last);
    }
    let mut all = client.list();
    loop {
        let after = all.last().unwrap().job;
        match client.ask(|call| Request::List {
            call,
            after,
            most: 1000,
        }) {
            Reply::Listing { jobs, .. } if jobs.is_empty() => break,
            Reply::Listing { jobs, .. } => all.extend(jobs),
            other => panic!("{other:?}"),
        }
    }
    assert!((256..=600).contains(&all.len()), "{}", all.len());
    assert_eq!(all.last().unwrap().job, last);
}
