//! Clients: who is let in, what becomes of a job when its client dies, and that nobody can do harm.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as the tests do")]

#[expect(dead_code, reason = "shared by several tests, each of which uses a part")]
mod support;

use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

use herm_resident::wire::{
    ErrorKind, JobState, MAX_FRAME, Outcome, Reply, Request, SpoolFull, Start, Stdin, Stream, VERSION, frame,
};
use support::{Client, LIMIT, PLENTY, Resident, eventually, request_id, secret, shell};

#[test]
fn only_who_knows_the_secret_is_let_in() {
    let resident = Resident::start();
    let socket = || UnixStream::connect(resident.directory().join("socket")).unwrap();
    let kind = |reply| match reply {
        Some(Reply::Error { call: 0, error }) => error.kind,
        other => panic!("let in: {other:?}"),
    };
    let wrong = Client::prove(socket(), &[7; 32]).err();
    assert_eq!(kind(wrong), ErrorKind::Unauthenticated);
    let mut early = Client::raw(socket());
    early.send(&Request::List {
        call: 1,
        after: 0,
        most: 1,
    });
    assert_eq!(kind(early.receive_or_end()), ErrorKind::Protocol);
    assert_eq!(early.receive_or_end(), None);
    let mut old = Client::raw(socket());
    old.send(&Request::Hello {
        oldest: VERSION + 1,
        newest: VERSION + 9,
        nonce: [0; 32],
    });
    assert_eq!(kind(old.receive_or_end()), ErrorKind::Version);
    let mut replayed = Client::raw(socket());
    replayed.send(&Request::Prove { mac: [0; 32] });
    assert_eq!(kind(replayed.receive_or_end()), ErrorKind::Protocol);
    let mut long = Client::raw(socket());
    long.socket.write_all(&frame(&[1; 1000])).unwrap();
    assert_eq!(kind(long.receive_or_end()), ErrorKind::Protocol);
    resident.client().shell("true").assert_exited(0);
}

#[test]
fn frames_that_are_none_end_their_connection_and_nothing_else() {
    let resident = Resident::start();
    let mut bystander = resident.client();
    let job = bystander.start(shell("sleep 100"));
    let too_long = u32::try_from(MAX_FRAME).unwrap() + 1;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut noise = move |length: usize| -> Vec<u8> {
        (0..length)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state.to_be_bytes()[0]
            })
            .collect()
    };
    let mut attacks = vec![
        vec![0; 4],
        too_long.to_le_bytes().to_vec(),
        vec![0xff; 64],
        frame(&[99]),
        frame(&[3, 0, 0]),
        // More than the longest request, in frames that go on and on.
        [
            (0x8000_0000_u32 + 1_000_000).to_le_bytes().to_vec(),
            vec![3; 1_000_000],
        ]
        .concat()
        .repeat(20),
    ];
    attacks.extend((0..40).map(|index| noise(1 + index * 13)));
    attacks.extend((0..40).map(|index| frame(&noise(1 + index * 7))));
    for attack in attacks {
        let mut client = resident.client();
        // The resident may close before it has taken all.
        let _ = client.socket.write_all(&attack);
        let _ = client.socket.shutdown(std::net::Shutdown::Write);
        client.socket.set_read_timeout(Some(LIMIT)).unwrap();
        let mut said = Vec::new();
        let _ = client.socket.read_to_end(&mut said);
    }
    assert!(matches!(bystander.list()[0].state, JobState::Running));
    bystander.ask(|call| Request::Cancel { call, job });
    assert_eq!(bystander.wait(job).outcome, Outcome::Cancelled);
}

#[test]
fn what_does_not_exist_is_not_found() {
    let resident = Resident::start();
    let mut client = resident.client();
    let job = 77;
    let requests: [fn(u32, u64) -> Request; 6] = [
        |call, job| Request::Attach {
            call,
            job,
            from: [0; 2],
            credit: 1,
        },
        |call, job| Request::Detach { call, job },
        |call, job| Request::Cancel { call, job },
        |call, job| Request::Wait { call, job },
        |call, job| Request::Forget { call, job },
        |call, job| Request::Read {
            call,
            job,
            stream: Stream::Stdout,
            from: 0,
            most: 1,
        },
    ];
    for request in requests {
        match client.ask(|call| request(call, job)) {
            Reply::Error { error, .. } => assert_eq!(error.kind, ErrorKind::NotFound),
            other => panic!("{other:?}"),
        }
    }
    client.send(&Request::Credit { job, bytes: u64::MAX });
    client.send(&Request::Stdin {
        job,
        offset: 0,
        data: vec![1],
        eof: true,
    });
    let open = client.until(|reply| match reply {
        Reply::StdinTaken { open, .. } => Some(*open),
        _ => None,
    });
    assert!(!open);
    let running = client.start(shell("sleep 100"));
    let early = client.ask(|call| Request::Forget { call, job: running });
    assert!(matches!(early, Reply::Error { .. }), "{early:?}");
    let beyond = client.ask(|call| Request::Attach {
        call,
        job: running,
        from: [1, 0],
        credit: 1,
    });
    assert!(matches!(beyond, Reply::Error { .. }), "{beyond:?}");
}

#[test]
fn the_same_request_is_the_same_job() {
    let resident = Resident::start();
    let marks = resident.scratch().join("marks");
    let text = format!("echo mark >> '{}'; echo done; sleep 0.3", marks.display());
    let start = Start {
        request: request_id(),
        keep: true,
        ..shell(&text)
    };
    let mut jobs = Vec::new();
    for _ in 0..5 {
        // Each time over another connection, as a client does whose answer was lost.
        let mut client = resident.client();
        let again = Start {
            attach: Some(PLENTY),
            ..start.clone()
        };
        let call = client.call();
        client.send(&Request::Start {
            call,
            start: Box::new(again),
        });
        let (job, known) = client.until(|reply| match reply {
            Reply::Started { job, known, .. } => Some((*job, *known)),
            _ => None,
        });
        jobs.push((job, known));
        if jobs.len() == 5 {
            assert_eq!(client.finish(job, 0, Instant::now()).out(), "done\n");
            client.forget(job);
            let new = client.start(start.clone());
            assert_ne!(new, job, "forgotten is forgotten");
            client.wait(new);
        }
    }
    assert!(jobs.iter().all(|(job, _)| *job == jobs[0].0), "{jobs:?}");
    assert_eq!(jobs.iter().filter(|(_, known)| !known).count(), 1);
    assert_eq!(std::fs::read_to_string(marks).unwrap(), "mark\nmark\n");
}

/// A client that reads a little, dies without a word, and is followed by the next: every byte must come once.
#[test]
fn a_job_goes_on_without_its_client_and_every_byte_comes_once() {
    let resident = Resident::start();
    let total = 30_u64 << 20;
    let text = format!("seq -w 100000000 | head -c {total}; echo end >&2");
    let mut job = 0;
    let mut reached = [0_u64; 2];
    let mut digest = herm_resident::wire::Sha256::default();
    let mut ending = None;
    let mut lives = 0_u64;
    while ending.is_none() {
        lives += 1;
        let mut client = resident.client();
        let credit = 1 << 20;
        if job == 0 {
            let start = Start {
                attach: Some(credit),
                keep: true,
                spool_bytes: 4 << 20,
                ..shell(&text)
            };
            job = client.start(start);
        } else {
            let attached = client.ask(|call| Request::Attach {
                call,
                job,
                from: reached,
                credit,
            });
            assert!(
                matches!(attached, Reply::Started { known: true, .. }),
                "{attached:?}"
            );
        }
        let enough = reached[0] + 2_000_000 + lives * 50_000;
        let mut end = None;
        while reached[0] < enough {
            match client.until(|reply| Some(reply.clone())) {
                Reply::Output {
                    stream, offset, data, ..
                } => {
                    assert_eq!(offset, reached[stream.index()]);
                    reached[stream.index()] += data.len() as u64;
                    client.send(&Request::Credit {
                        job,
                        bytes: data.len() as u64,
                    });
                    if stream == Stream::Stdout {
                        digest.update(&data);
                    }
                }
                Reply::Finished { ending, .. } => end = Some(*ending),
                other => panic!("{other:?}"),
            }
            if end.as_ref().is_some_and(|end| end.totals == reached) {
                ending = end;
                break;
            }
        }
    }
    assert!(lives > 5, "{lives}");
    let ending = ending.unwrap();
    assert_eq!(ending.totals, [total, 4]);
    let expected = std::process::Command::new("bash")
        .args(["-c", &format!("seq -w 100000000 | head -c {total} | sha256sum")])
        .output()
        .unwrap();
    let digest = digest.finish().map(|byte| format!("{byte:02x}")).concat();
    assert_eq!(
        String::from_utf8(expected.stdout).unwrap(),
        format!("{digest}  -\n")
    );
}

#[test]
fn a_detached_job_waits_or_drops_the_oldest_as_it_was_told() {
    let resident = Resident::start();
    let mut client = resident.client();
    let text = "head -c 3000000 /dev/zero | tr '\\0' a; printf end";
    let start = Start {
        spool_bytes: 1_000_000,
        spool_full: SpoolFull::DropOldest,
        keep: true,
        ..shell(text)
    };
    let job = client.start(start);
    let ending = client.wait(job);
    assert_eq!(ending.totals, [3_000_003, 0]);
    let Reply::Started { .. } = client.ask(|call| Request::Attach {
        call,
        job,
        from: [0; 2],
        credit: PLENTY,
    }) else {
        panic!("not attached");
    };
    let ran = client.finish(job, 0, Instant::now());
    let (held, lost) = (ran.output[0].len() as u64, ran.gaps.clone());
    assert_eq!(lost, [(Stream::Stdout, 0, 3_000_003 - held)]);
    assert!(held >= 1_000_000 && ran.out().ends_with("aend"), "{held}");

    let start = Start {
        spool_bytes: 1_000_000,
        spool_full: SpoolFull::Block,
        ..shell(text)
    };
    let job = client.start(start);
    eventually("a full spool", || {
        client
            .list()
            .iter()
            .any(|found| found.job == job && found.totals[0] >= 1_000_000)
    });
    std::thread::sleep(Duration::from_millis(200));
    let record = client.list().into_iter().find(|found| found.job == job).unwrap();
    assert!(
        matches!(record.state, JobState::Running) && record.totals[0] <= 1_000_000,
        "{record:?}"
    );
    client.ask(|call| Request::Attach {
        call,
        job,
        from: [0; 2],
        credit: PLENTY,
    });
    let ran = client.finish(job, 0, Instant::now());
    assert_eq!((ran.output[0].len(), ran.gaps.len()), (3_000_003, 0));
}

#[test]
fn several_clients_read_the_same_job_at_their_own_pace() {
    let resident = Resident::start();
    let mut first = resident.client();
    let job = first.start(Start {
        attach: Some(PLENTY),
        ..shell("for i in $(seq 50); do echo $i; sleep 0.005; done")
    });
    let mut others: Vec<_> = (0..3).map(|_| resident.client()).collect();
    for (other, from) in others.iter_mut().zip([0, 2, 0]) {
        eventually("output", || first_total(other) >= 2);
        other.ask(|call| Request::Attach {
            call,
            job,
            from: [from, 0],
            credit: PLENTY,
        });
    }
    let whole = first.finish(job, 0, Instant::now()).output[0].clone();
    assert_eq!(whole.len(), 9 * 2 + 41 * 3);
    assert_eq!(others[0].finish(job, 0, Instant::now()).output[0], whole);
    assert_eq!(others[2].finish(job, 0, Instant::now()).output[0], whole);
}

fn first_total(client: &mut Client) -> u64 {
    client.list()[0].totals[0]
}

#[test]
fn a_flood_blocks_nobody_else() {
    let resident = Resident::start();
    let mut client = resident.client();
    let flood = client.start(Start {
        attach: Some(PLENTY),
        ..shell("yes")
    });
    // On the same connection, whose client does not read for a while.
    std::thread::sleep(Duration::from_millis(300));
    let mut other = resident.client();
    let began = Instant::now();
    other.shell("echo quick").assert_exited(0);
    assert!(began.elapsed() < Duration::from_secs(2));
    client.send(&Request::Cancel {
        call: 999,
        job: flood,
    });
    let mut done = false;
    loop {
        match client.receive() {
            Reply::Done { call: 999 } => done = true,
            Reply::Finished { ending, .. } => {
                assert!(done);
                assert_eq!(ending.outcome, Outcome::Cancelled);
                break;
            }
            _ => {}
        }
    }
}

#[test]
fn many_run_at_once_and_each_gets_its_own() {
    let resident = Resident::start();
    let mut client = resident.client();
    let mut jobs = Vec::new();
    for number in 0..64 {
        let text = format!("echo {number}; sleep 0.2; echo {number} >&2; exit {number}");
        let call = client.call();
        client.send(&Request::Start {
            call,
            start: Box::new(Start {
                attach: Some(PLENTY),
                ..shell(&text)
            }),
        });
        jobs.push((call, number));
    }
    for (call, number) in jobs {
        let job = client.until(|reply| match reply {
            Reply::Started { call: found, job, .. } if *found == call => Some(*job),
            _ => None,
        });
        let ran = client.finish(job, 0, Instant::now());
        ran.assert_exited(number);
        assert_eq!(
            (ran.out(), ran.err()),
            (format!("{number}\n"), format!("{number}\n"))
        );
    }
}

#[test]
fn a_wait_by_anybody_is_answered() {
    let resident = Resident::start();
    let mut starter = resident.client();
    let job = starter.start(Start {
        stdin: Stdin::Stream,
        keep: true,
        ..shell("read line; exit 9")
    });
    drop(starter);
    let mut feeder = resident.client();
    let record = feeder.list().pop().unwrap();
    assert_eq!((record.job, record.command.as_str()), (job, "read line; exit 9"));
    assert!(record.alive && record.pid > 0 && !record.attached, "{record:?}");
    let waiting = std::thread::spawn({
        let mut waiter = resident.client();
        move || waiter.wait(job).outcome
    });
    std::thread::sleep(Duration::from_millis(50));
    feeder.send(&Request::Stdin {
        job,
        offset: 0,
        data: b"x\n".to_vec(),
        eof: false,
    });
    assert_eq!(waiting.join().unwrap(), Outcome::Exited { code: 9 });
    assert_eq!(secret(&resident.directory()).len(), 32);
}
