//! Every message returns as it was, and no bytes do harm.

use super::{
    text::{Line, PIECE, Receiver, Sender, WINDOW},
    *,
};

/// A small generator of numbers that look random, the same on every run (xorshift64*).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    fn bytes(&mut self, limit: usize) -> Vec<u8> {
        (0..self.below(limit))
            .map(|_| self.next().to_le_bytes()[7])
            .collect()
    }

    fn text(&mut self) -> String {
        (0..self.below(20))
            .map(|_| char::from(b'a' + self.next().to_le_bytes()[7] % 26))
            .collect()
    }

    fn flag(&mut self) -> bool {
        self.next().is_multiple_of(2)
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.next().to_le_bytes()[7])
    }

    fn stream(&mut self) -> Stream {
        Stream::ALL[self.below(2)]
    }

    fn call(&mut self) -> u32 {
        u32::try_from(self.next() >> 32).unwrap()
    }

    fn start(&mut self) -> Start {
        let command = if self.flag() {
            Command::Argv((0..self.below(5)).map(|_| self.bytes(20)).collect())
        } else {
            Command::Shell {
                shell: self.bytes(10),
                text: self.bytes(500),
            }
        };
        Start {
            cwd: self.flag().then(|| self.bytes(40)),
            clear_env: self.flag(),
            env: (0..self.below(5))
                .map(|_| (self.bytes(9), self.bytes(99)))
                .collect(),
            stdin: [Stdin::None, Stdin::Bytes(self.bytes(99)), Stdin::Stream][self.below(3)].clone(),
            merged: self.flag(),
            deadline_ms: self.next(),
            grace_ms: self.call(),
            attach: self.flag().then(|| self.next()),
            spool_bytes: self.next(),
            spool_full: [SpoolFull::Block, SpoolFull::DropOldest][self.below(2)],
            session: self.flag().then(|| Session {
                name: self.text(),
                kept: [StateKept::CwdEnv, StateKept::Shell][self.below(2)],
                cwd: self.flag().then(|| self.bytes(40)),
                own: (0..self.below(3)).map(|_| self.bytes(9)).collect(),
                leaves: self.flag(),
            }),
            umask: self.flag().then(|| self.call()),
            keep: self.flag(),
            tools: self.flag().then(|| ToolsAllowed {
                names: (0..self.below(4)).map(|_| self.text()).collect(),
                max_calls: self.next(),
                max_bytes: self.next(),
            }),
            ..Start::new(self.array(), command)
        }
    }

    fn request(&mut self, kind: usize) -> Request {
        let (call, job) = (self.call(), self.next());
        match kind {
            0 => Request::Hello {
                oldest: 1,
                newest: 7,
                nonce: self.array(),
            },
            1 => Request::Prove { mac: self.array() },
            2 => Request::Start {
                call,
                start: Box::new(self.start()),
            },
            3 => Request::Stdin {
                job,
                offset: self.next(),
                data: self.bytes(300),
                eof: self.flag(),
            },
            4 => Request::Attach {
                call,
                job,
                from: [self.next(), self.next()],
                credit: self.next(),
            },
            5 => Request::Credit {
                job,
                bytes: self.next(),
            },
            6 => Request::Detach { call, job },
            7 => Request::Cancel { call, job },
            8 => Request::Signal {
                call,
                job,
                number: 64,
            },
            9 => Request::Wait { call, job },
            10 => Request::List {
                call,
                after: job,
                most: self.call(),
            },
            11 => Request::Read {
                call,
                job,
                stream: self.stream(),
                from: self.next(),
                most: self.call(),
            },
            12 => Request::Forget { call, job },
            13 => Request::EndSession {
                call,
                name: self.text(),
            },
            14 => Request::Ping { call },
            15 => Request::ServeTools {
                call,
                job,
                request: self.array(),
            },
            16 => Request::Tool {
                job,
                number: self.next(),
                answer: self.tool_answer(),
            },
            _ => Request::Shutdown { call },
        }
    }

    fn tool_answer(&mut self) -> ToolAnswer {
        match self.below(3) {
            0 => ToolAnswer::ArgumentsTaken { offset: self.next() },
            1 => ToolAnswer::Reply {
                total: self.next(),
                offset: self.next(),
                data: self.bytes(300),
            },
            _ => ToolAnswer::Failed {
                kind: ToolFailure::ALL[self.below(4)],
                message: self.text(),
            },
        }
    }

    fn tool_call(&mut self) -> ToolCall {
        match self.below(3) {
            0 => ToolCall::Arguments {
                tool: self.text(),
                offset: self.next(),
                data: self.bytes(300),
                end: self.flag(),
            },
            1 => ToolCall::ReplyTaken { offset: self.next() },
            _ => ToolCall::Gone,
        }
    }

    fn ending(&mut self) -> Ending {
        let outcome = match self.below(6) {
            0 => Outcome::Exited { code: 255 },
            1 => Outcome::Signaled {
                number: 9,
                cause: [SignalCause::OutOfMemory, SignalCause::Unknown][self.below(2)],
            },
            2 => Outcome::TimedOut,
            3 => Outcome::Cancelled,
            4 => Outcome::SandboxLost,
            _ => Outcome::SetupFailed {
                kind: SetupFailure::ALL[self.below(10)],
                message: self.text(),
            },
        };
        Ending {
            outcome,
            totals: [self.next(), self.next()],
            duration_us: self.next(),
            left_behind: self.flag(),
            notices: (0..self.below(4)).map(|_| self.text()).collect(),
        }
    }

    fn record(&mut self) -> JobRecord {
        JobRecord {
            job: self.next(),
            request: self.array(),
            state: if self.flag() {
                JobState::Running
            } else {
                JobState::Ended(self.ending())
            },
            pid: self.call(),
            age_ms: self.next(),
            command: JobRecord::shown(&self.bytes(300)),
            alive: self.flag(),
            totals: [self.next(), self.next()],
            held_from: [self.next(), self.next()],
            attached: self.flag(),
            blocked: self.flag(),
        }
    }

    fn reply(&mut self, kind: usize) -> Reply {
        let (call, job, stream) = (self.call(), self.next(), self.stream());
        match kind {
            0 => Reply::Hello {
                version: 1,
                nonce: self.array(),
                mac: self.array(),
            },
            1 => Reply::Welcome(Box::new(Welcome {
                version: 1,
                instance: self.array(),
                program: self.text(),
                pid: 1,
                uid: 1000,
                directory: self.bytes(99),
                bash: self.flag(),
                out_of_memory_told: self.flag(),
            })),
            2 => Reply::Started {
                call,
                job,
                pid: self.call(),
                known: self.flag(),
            },
            3 => Reply::Output {
                job,
                stream,
                offset: self.next(),
                data: self.bytes(999),
            },
            4 => Reply::Gap {
                job,
                stream,
                from: self.next(),
                to: self.next(),
            },
            5 => Reply::StdinTaken {
                job,
                offset: self.next(),
                open: self.flag(),
            },
            6 => Reply::Finished {
                call,
                job,
                ending: Box::new(self.ending()),
            },
            7 => Reply::Listing {
                call,
                jobs: (0..self.below(4)).map(|_| self.record()).collect(),
                more: self.flag(),
            },
            8 => Reply::Data {
                call,
                data: Box::new(Data {
                    job,
                    stream,
                    offset: self.next(),
                    data: self.bytes(99),
                    total: self.next(),
                    ended: self.flag(),
                }),
            },
            9 => Reply::Done { call },
            10 => Reply::Error {
                call,
                error: Refusal {
                    kind: ErrorKind::ALL[self.below(9)],
                    resource: self.text(),
                    message: self.text(),
                },
            },
            11 => Reply::Tool {
                job,
                number: self.next(),
                told: self.tool_call(),
            },
            _ => Reply::Pong { call },
        }
    }
}

const REQUESTS: usize = 18;
const REPLIES: usize = 13;

#[test]
fn every_request_returns_as_it_was() {
    let mut random = Random(7);
    for round in 0..REQUESTS * 200 {
        let request = random.request(round % REQUESTS);
        assert_eq!(Request::decode(&request.encode()), Ok(request));
    }
}

#[test]
fn every_reply_returns_as_it_was() {
    let mut random = Random(11);
    for round in 0..REPLIES * 200 {
        let reply = random.reply(round % REPLIES);
        assert_eq!(Reply::decode(&reply.encode()), Ok(reply));
    }
}

#[test]
fn a_message_cut_anywhere_or_with_more_behind_is_none() {
    let mut random = Random(13);
    for kind in 0..REQUESTS {
        let mut bytes = random.request(kind).encode();
        for end in 0..bytes.len() {
            assert!(Request::decode(&bytes[..end]).is_err(), "{kind} cut at {end}");
        }
        bytes.push(0);
        assert_eq!(Request::decode(&bytes), Err(DecodeError::Trailing));
    }
    for kind in 0..REPLIES {
        let mut bytes = random.reply(kind).encode();
        for end in 0..bytes.len() {
            assert!(Reply::decode(&bytes[..end]).is_err(), "{kind} cut at {end}");
        }
        bytes.push(0);
        assert_eq!(Reply::decode(&bytes), Err(DecodeError::Trailing));
    }
}

/// What is decoded from damaged bytes is a message again, or an error, and never a panic.
#[test]
fn damaged_and_random_bytes_do_no_harm() {
    let mut random = Random(17);
    for round in 0..20_000 {
        let mut request = random.request(round % REQUESTS).encode();
        let mut reply = random.reply(round % REPLIES).encode();
        for bytes in [&mut request, &mut reply] {
            for _ in 0..=random.below(3) {
                let place = random.below(bytes.len());
                bytes[place] = random.next().to_le_bytes()[7];
            }
        }
        if let Ok(decoded) = Request::decode(&request) {
            assert_eq!(decoded.encode(), request);
        }
        if let Ok(decoded) = Reply::decode(&reply) {
            assert_eq!(decoded.encode(), reply);
        }
        let noise = random.bytes(64);
        let _ = (Request::decode(&noise), Reply::decode(&noise));
    }
}

#[test]
fn records_as_short_as_can_be_are_read() {
    let record = JobRecord {
        job: 1,
        request: [0; 16],
        state: JobState::Running,
        pid: 0,
        age_ms: 0,
        command: String::new(),
        alive: false,
        totals: [0; 2],
        held_from: [0; 2],
        attached: false,
        blocked: false,
    };
    let listing = Reply::Listing {
        call: 1,
        jobs: vec![record; 100],
        more: true,
    };
    assert_eq!(Reply::decode(&listing.encode()), Ok(listing));
}

#[test]
fn a_length_that_lies_allocates_nothing() {
    let mut lie = Reply::Listing {
        call: 1,
        jobs: Vec::new(),
        more: false,
    }
    .encode();
    let end = lie.len();
    lie[end - 4..].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(Reply::decode(&lie), Err(DecodeError::Truncated));
    let mut lie = Reply::Output {
        job: 1,
        stream: Stream::Stdout,
        offset: 0,
        data: Vec::new(),
    }
    .encode();
    let end = lie.len();
    lie[end - 4..].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(Reply::decode(&lie), Err(DecodeError::TooLong));
}

#[test]
fn frames_return_however_the_stream_is_cut() {
    let mut random = Random(19);
    let messages = [
        vec![1],
        vec![2; MAX_FRAME],
        vec![3; MAX_FRAME + 1],
        vec![4; 3 * MAX_FRAME],
        vec![5; 100],
    ];
    let stream: Vec<u8> = messages.iter().flat_map(|message| frame(message)).collect();
    for largest in [1000, 100_000, stream.len()] {
        let mut deframer = Deframer::default();
        let mut rest = stream.as_slice();
        let mut seen = Vec::new();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at((1 + random.below(largest)).min(rest.len()));
            deframer.add(piece);
            while let Some(message) = deframer.next(MAX_REQUEST).unwrap() {
                seen.push(message);
            }
            rest = after;
        }
        assert_eq!(seen, messages);
    }
}

#[test]
fn frames_that_are_too_long_are_refused_by_their_header() {
    let next = |bytes: &[u8], limit| {
        let mut deframer = Deframer::default();
        deframer.add(bytes);
        deframer.next(limit)
    };
    let too_long = u32::try_from(MAX_FRAME).unwrap() + 1;
    assert_eq!(
        next(&too_long.to_le_bytes(), MAX_REQUEST),
        Err(FrameError::FrameTooLong(too_long))
    );
    assert_eq!(next(&[0; 4], MAX_REQUEST), Err(FrameError::Empty));
    assert_eq!(
        next(&frame(&[0; 10]), 9),
        Err(FrameError::MessageTooLong { limit: 9 })
    );
    let long = vec![0; MAX_FRAME + 100];
    assert_eq!(
        next(&frame(&long), MAX_REPLY),
        Err(FrameError::MessageTooLong { limit: MAX_REPLY })
    );
    assert_eq!(next(&[1, 0, 0], MAX_REQUEST), Ok(None));
}

#[test]
fn lines_return_as_they_were_with_noise_around_them() {
    let line = Line::Data {
        number: 0xa3,
        bytes: (0..=255).collect(),
    };
    let text = line.encode();
    assert_eq!(Line::decode(text.trim_end().as_bytes()), Some(line.clone()));
    assert_eq!(
        Line::decode(format!("[12:00] {}\r", text.trim_end()).as_bytes()),
        Some(line)
    );
    for wrong in [
        "",
        "~herm ",
        "~herm D 0 0 AA==",
        "~herm X 0000000000000000 00000000",
    ] {
        assert_eq!(Line::decode(wrong.as_bytes()), None, "{wrong}");
    }
    let mut random = Random(23);
    for _ in 0..5_000 {
        let mut damaged = text.trim_end().as_bytes().to_vec();
        let (place, value) = (random.below(damaged.len()), random.next().to_le_bytes()[7]);
        if damaged[place] != value && place > 0 {
            damaged[place] = value;
            assert_eq!(Line::decode(&damaged), None, "{place} {value}");
        }
    }
}

/// A channel that loses, damages, repeats and cuts lines, and prints between them.
fn bad_channel(random: &mut Random, lines: &str) -> Vec<u8> {
    let mut channel = Vec::new();
    for line in lines.split_inclusive('\n') {
        let mut line = line.as_bytes().to_vec();
        match random.below(10) {
            0 => continue,
            1 => {
                let place = random.below(line.len());
                line[place] ^= 1;
            }
            2 => channel.extend_from_slice(&line.clone()),
            3 => channel.extend_from_slice(b"\nnoise of the channel\n"),
            _ => {}
        }
        channel.extend_from_slice(&line);
    }
    channel
}

#[test]
fn everything_arrives_once_and_in_order_over_a_bad_channel() {
    let mut random = Random(29);
    let stream: Vec<u8> = (0..3_000_000).map(|_| random.next().to_le_bytes()[7]).collect();
    let (mut sender, mut receiver) = (Sender::default(), Receiver::default());
    let (mut sent, mut arrived) = (0, Vec::new());
    for _ in 0..2_000 {
        let (mut lines, taken) = sender.send(&stream[sent..]);
        assert!(taken <= WINDOW);
        sent += taken;
        if taken == 0 {
            lines = sender.all();
        }
        let channel = bad_channel(&mut random, &lines);
        let mut answers = receiver.resume();
        for part in channel.chunks(10_000) {
            let came = receiver.receive(part);
            arrived.extend(came.bytes);
            answers.push_str(&came.answer);
        }
        let back = Receiver::default().receive(&bad_channel(&mut random, &answers));
        if let Some(number) = back.acknowledged {
            sender.acknowledged(number);
        }
        if arrived.len() == stream.len() {
            break;
        }
    }
    assert!(
        arrived == stream,
        "{} of {} bytes arrived",
        arrived.len(),
        stream.len()
    );
}

#[test]
fn a_line_without_end_is_not_held() {
    let mut receiver = Receiver::default();
    for _ in 0..100 {
        assert_eq!(receiver.receive(&[b'x'; 10_000]), text::Received::default());
    }
    let (lines, _) = Sender::default().send(&vec![7; PIECE]);
    let came = receiver.receive(format!("\n{lines}").as_bytes());
    assert_eq!(came.bytes, vec![7; PIECE]);
}

#[test]
fn what_goes_beyond_the_bounds_of_a_call_is_no_message() {
    let call = |tool: String, length: usize| Reply::Tool {
        job: 1,
        number: 2,
        told: ToolCall::Arguments {
            tool,
            offset: 0,
            data: vec![7; length],
            end: true,
        },
    };
    assert!(Reply::decode(&call("t".repeat(MAX_TOOL_NAME), MAX_TOOL_DATA).encode()).is_ok());
    for wrong in [
        call("t".repeat(MAX_TOOL_NAME + 1), 0),
        call("t".into(), MAX_TOOL_DATA + 1),
    ] {
        assert_eq!(Reply::decode(&wrong.encode()), Err(DecodeError::TooLong));
    }
    let long = "é".repeat(MAX_TOOL_MESSAGE);
    let cut = ToolAnswer::failed(ToolFailure::Failed, &long);
    let request = Request::Tool {
        job: 1,
        number: 2,
        answer: cut,
    };
    assert_eq!(Request::decode(&request.encode()), Ok(request));
}

/// Answers to questions about `/a/f`.
fn file_answers() -> [FileAnswer; 5] {
    let info = |name: &[u8]| FileInfo {
        name: name.to_vec(),
        kind: FileKind::File,
        size: 2,
        mode: 0o644,
    };
    [
        FileAnswer::Done,
        FileAnswer::Content {
            size: 300,
            data: b"x".to_vec(),
        },
        FileAnswer::Info(info(b"f")),
        FileAnswer::Listing(vec![info(b"a"), info(b"b")]),
        FileAnswer::Failed(FileFailure {
            kind: FileErrorKind::NotFound,
            resource: "/a/f".into(),
            message: "m".into(),
            fix: Some("x".into()),
        }),
    ]
}

/// What the fuzzer begins with: `HERM_SEEDS=fuzz/corpus cargo test --lib -- --ignored seeds`.
#[test]
#[ignore = "writes files, for the fuzzer"]
fn seeds() {
    let directory =
        std::path::PathBuf::from(std::env::var_os("HERM_SEEDS").expect("HERM_SEEDS names a directory"));
    let keep = |target: &str, number: usize, bytes: &[u8]| {
        let directory = directory.join(target);
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(format!("seed-{number}")), bytes).unwrap();
    };
    for (number, answer) in file_answers().iter().enumerate() {
        for operation in 0..8 {
            // What is asked, with which exit code, and for which part of a file.
            let failed = u8::from(matches!(answer, FileAnswer::Failed(_))) << 3;
            let question = [operation | failed, 0xff, 1];
            keep(
                "file",
                number * 8 + usize::from(operation),
                &[&question, answer.encode().as_slice()].concat(),
            );
        }
    }
    let mut random = Random(31);
    let (mut requests, mut replies) = (Vec::new(), Vec::new());
    for number in 0..REPLIES * 20 {
        let request = random.request(number % REQUESTS).encode();
        let reply = random.reply(number % REPLIES).encode();
        requests.extend(frame(&request));
        replies.extend(frame(&reply));
        keep("request", number, &request);
        keep("reply", number, &reply);
        if number % REPLIES == REPLIES - 1 {
            let cut = random.bytes(2);
            keep("deframer", number, &[&requests, cut.as_slice()].concat());
            keep("host", number, &replies);
            let (lines, _) = Sender::default().send(&requests);
            let channel = bad_channel(&mut random, &lines);
            keep("text", number, &channel);
            requests.clear();
            replies.clear();
        }
    }
}
