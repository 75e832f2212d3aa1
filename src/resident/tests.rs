//! The client against a resident that is played by the test: one that loses connections, and one that lies.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use herm_protocol::{
    ByteString, Interrupt,
    exec::{Outcome, Stdin, Stream},
};
use herm_resident::wire::{
    Command, Deframer, Ending, MAX_REQUEST, Outcome as WireOutcome, Reply, Request, Start,
    Stream as WireStream, ToolAnswer, ToolCall, ToolFailure, ToolsAllowed, VERSION, Welcome, frame,
    proof::{Role, SECRET, Transcript},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split},
    sync::mpsc,
};

use super::{Channel, Dial, DialError, Resident, Secret, Settings};
use crate::caller::{Caller, Control, Input, NoTools, Output, Tools};

const KEY: [u8; SECRET] = [7; SECRET];

/// Hands the other end of every channel to the test.
#[derive(Debug)]
struct TestDial(mpsc::UnboundedSender<DuplexStream>);

#[async_trait]
impl Dial for TestDial {
    async fn dial(&self) -> Result<Channel, DialError> {
        let (ours, theirs) = duplex(1 << 20);
        self.0
            .send(theirs)
            .map_err(|_| DialError::Unreachable(io::Error::other("the test has ended")))?;
        let (input, output) = split(ours);
        Ok(Channel {
            input: Box::new(input),
            output: Box::new(output),
            secret: Some(Secret::new(KEY)),
        })
    }
}

/// The resident's end of a connection.
struct Peer {
    stream: DuplexStream,
    deframer: Deframer,
}

impl Peer {
    async fn next(&mut self) -> Request {
        loop {
            if let Some(message) = self.deframer.next(MAX_REQUEST).unwrap() {
                return Request::decode(&message).unwrap();
            }
            let mut buffer = vec![0; 65536];
            let count = self.stream.read(&mut buffer).await.unwrap();
            assert!(count > 0, "the client has closed the connection");
            self.deframer.add(&buffer[..count]);
        }
    }

    async fn say(&mut self, reply: Reply) {
        self.stream.write_all(&frame(&reply.encode())).await.unwrap();
    }

    async fn output(&mut self, offset: u64, data: &[u8]) {
        let (job, stream, data) = (1, WireStream::Stdout, data.to_vec());
        self.say(Reply::Output {
            job,
            stream,
            offset,
            data,
        })
        .await;
    }

    async fn finished(&mut self, outcome: WireOutcome, bytes: u64) {
        let ending = Ending {
            outcome,
            totals: [bytes, 0],
            duration_us: 1,
            left_behind: false,
            notices: Vec::new(),
        };
        let (call, job, ending) = (0, 1, Box::new(ending));
        self.say(Reply::Finished { call, job, ending }).await;
    }

    /// Answers a start or an attachment, and says which it was.
    async fn accept(&mut self) -> Request {
        let request = self.next().await;
        let call = match &request {
            Request::Start { call, .. } | Request::Attach { call, .. } => *call,
            other => panic!("{other:?} is neither a start nor an attachment"),
        };
        let (job, pid, known) = (1, 2, false);
        self.say(Reply::Started {
            call,
            job,
            pid,
            known,
        })
        .await;
        request
    }
}

/// Waits for a connection and proves itself on it with a key.
async fn greet(
    dialled: &mut mpsc::UnboundedReceiver<DuplexStream>,
    key: &[u8; SECRET],
    instance: u8,
) -> Peer {
    let stream = dialled.recv().await.unwrap();
    let deframer = Deframer::default();
    let mut peer = Peer { stream, deframer };
    let Request::Hello { nonce, .. } = peer.next().await else {
        panic!("no hello");
    };
    let transcript = Transcript {
        version: VERSION,
        client: nonce,
        resident: [9; 32],
    };
    let mac = transcript.prove(key, Role::Resident);
    let (version, nonce) = (VERSION, [9; 32]);
    peer.say(Reply::Hello { version, nonce, mac }).await;
    if *key != KEY {
        return peer;
    }
    let Request::Prove { mac } = peer.next().await else {
        panic!("no proof");
    };
    assert!(transcript.is_proved(key, Role::Client, &mac));
    let welcome = Welcome {
        version: VERSION,
        instance: [instance; 16],
        program: "test".into(),
        pid: 1,
        uid: 0,
        directory: Vec::new(),
        bash: true,
        out_of_memory_told: false,
    };
    peer.say(Reply::Welcome(Box::new(welcome))).await;
    peer
}

/// Keeps what is handed over.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Output for Kept {
    async fn started(&self) {}

    async fn write(&self, _: Stream, data: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(data);
    }
}

struct Pieces(Vec<&'static [u8]>);

impl Input for Pieces {
    async fn next(&mut self) -> Option<Vec<u8>> {
        (!self.0.is_empty()).then(|| self.0.remove(0).to_vec())
    }
}

struct Wishes(mpsc::UnboundedReceiver<Interrupt>);

impl Control for Wishes {
    async fn next(&mut self) -> Interrupt {
        match self.0.recv().await {
            Some(wish) => wish,
            None => std::future::pending().await,
        }
    }
}

fn start() -> Start {
    let command = Command::Argv(vec![b"true".to_vec()]);
    Start::new([3; 16], command)
}

/// A running command, its output, what its caller wishes, and where the resident's ends come from.
struct Run {
    outcome: tokio::task::JoinHandle<Result<herm_protocol::Finished, herm_protocol::Error>>,
    kept: Kept,
    wishes: mpsc::UnboundedSender<Interrupt>,
    dialled: mpsc::UnboundedReceiver<DuplexStream>,
    /// Keeps the connection.
    _resident: Resident,
}

fn run(stdin: Stdin, input: Vec<&'static [u8]>, start: Start) -> Run {
    run_with(stdin, input, start, NoTools)
}

fn run_with(stdin: Stdin, input: Vec<&'static [u8]>, start: Start, tools: impl Tools) -> Run {
    let (dial, connections) = mpsc::unbounded_channel();
    let resident = Resident::new(TestDial(dial), Settings::default());
    let kept_resident = resident.clone();
    let (wishes, queue) = mpsc::unbounded_channel();
    let kept = Kept::default();
    let output = kept.clone();
    let outcome = tokio::spawn(async move {
        let mut control = Wishes(queue);
        let caller = Caller {
            output,
            input: Pieces(input),
            tools,
        };
        resident.run("s", start, stdin, caller, &mut control).await
    });
    Run {
        outcome,
        kept,
        wishes,
        dialled: connections,
        _resident: kept_resident,
    }
}

impl Run {
    async fn connection(&mut self) -> Peer {
        greet(&mut self.dialled, &KEY, 1).await
    }

    async fn end(self) -> (Outcome, Vec<u8>) {
        let finished = self.outcome.await.unwrap().unwrap();
        (finished.outcome, self.kept.0.lock().unwrap().clone())
    }
}

#[tokio::test]
async fn a_command_whose_connection_is_lost_goes_on_where_it_was() {
    let mut run = run(Stdin::None, vec![], start());
    let mut peer = run.connection().await;
    assert!(matches!(peer.accept().await, Request::Start { .. }));
    peer.output(0, b"one ").await;
    let Request::Credit { bytes: 4, .. } = peer.next().await else {
        panic!("no credit");
    };
    drop(peer);
    let mut peer = run.connection().await;
    match peer.accept().await {
        Request::Attach { job: 1, from, .. } => assert_eq!(from, [4, 0]),
        other => panic!("{other:?}"),
    }
    // The end overtakes the output.
    peer.finished(WireOutcome::Exited { code: 3 }, 7).await;
    peer.output(4, b"two").await;
    assert!(matches!(peer.next().await, Request::Credit { .. }));
    assert!(matches!(peer.next().await, Request::Forget { job: 1, .. }));
    assert_eq!(
        run.end().await,
        (Outcome::Exited { code: 3 }, b"one two".to_vec())
    );
}

#[tokio::test]
async fn a_start_that_was_not_answered_is_sent_again_under_its_own_id() {
    let mut run = run(Stdin::None, vec![], start());
    let mut peer = run.connection().await;
    let Request::Start { start: first, .. } = peer.next().await else {
        panic!("no start");
    };
    drop(peer);
    let mut peer = run.connection().await;
    let Request::Start { start: second, .. } = peer.accept().await else {
        panic!("no second start");
    };
    assert_eq!(first, second);
    peer.finished(WireOutcome::Exited { code: 0 }, 0).await;
    assert_eq!(run.end().await.0, Outcome::Exited { code: 0 });
}

#[tokio::test]
async fn a_resident_that_was_started_anew_has_lost_the_command() {
    let mut run = run(Stdin::None, vec![], start());
    let mut peer = run.connection().await;
    peer.accept().await;
    drop(peer);
    let _peer = greet(&mut run.dialled, &KEY, 2).await;
    assert_eq!(run.end().await.0, Outcome::SandboxLost);
}

#[tokio::test(start_paused = true)]
async fn a_resident_that_is_not_reached_again_leaves_the_outcome_unknown() {
    let mut run = run(Stdin::None, vec![], start());
    let mut peer = run.connection().await;
    peer.accept().await;
    drop(peer);
    let outcome = async {
        while let Some(stream) = run.dialled.recv().await {
            drop(stream);
        }
    };
    tokio::select! {
        () = outcome => {}
        ended = &mut run.outcome => assert_eq!(ended.unwrap().unwrap().outcome, Outcome::TransportLost),
    }
}

#[tokio::test(start_paused = true)]
async fn an_impostor_is_told_nothing() {
    let mut run = run(Stdin::None, vec![], start());
    for _ in 0..3 {
        let mut peer = greet(&mut run.dialled, &[8; SECRET], 1).await;
        // Neither a proof nor a command comes.
        let mut buffer = [0; 64];
        assert_eq!(peer.stream.read(&mut buffer).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn what_a_resident_says_beyond_its_credit_or_out_of_order_is_not_taken() {
    let mut run = run(Stdin::None, vec![], start());
    for lie in 0..4 {
        let mut peer = run.connection().await;
        peer.accept().await;
        match lie {
            0 => peer.output(5, b"later").await,
            1 => {
                for piece in 0..2_u64 {
                    peer.output(piece * 1_000_000, &vec![0; 1_000_000]).await;
                }
            }
            2 => peer.stream.write_all(&[0xff; 64]).await.unwrap(),
            _ => peer.say(Reply::Done { call: 0 }).await,
        }
        if lie == 3 {
            // An answer that nobody waits for hurts nobody.
            peer.finished(WireOutcome::Exited { code: 0 }, 0).await;
        }
    }
    let (outcome, output) = run.end().await;
    assert_eq!(outcome, Outcome::Exited { code: 0 });
    assert!(output.iter().all(|byte| *byte == 0));
}

#[tokio::test]
async fn a_cancel_is_sent_again_on_the_next_connection() {
    let mut run = run(Stdin::None, vec![], start());
    let mut peer = run.connection().await;
    peer.accept().await;
    run.wishes.send(Interrupt::Cancel).unwrap();
    assert!(matches!(peer.next().await, Request::Cancel { job: 1, .. }));
    drop(peer);
    let mut peer = run.connection().await;
    peer.accept().await;
    assert!(matches!(peer.next().await, Request::Cancel { job: 1, .. }));
    peer.finished(WireOutcome::Cancelled, 0).await;
    assert_eq!(run.end().await.0, Outcome::Cancelled);
}

#[tokio::test]
async fn input_is_sent_again_from_what_was_taken() {
    let mut run = run(Stdin::Stream, vec![b"abc", b"def"], start());
    let mut peer = run.connection().await;
    peer.accept().await;
    let mut seen = Vec::new();
    loop {
        match peer.next().await {
            Request::Stdin {
                data, eof, offset, ..
            } => {
                assert_eq!(offset, seen.len() as u64);
                seen.extend_from_slice(&data);
                if eof {
                    break;
                }
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(seen, b"abcdef");
    let (job, offset, open) = (1, 4, true);
    peer.say(Reply::StdinTaken { job, offset, open }).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    drop(peer);
    let mut peer = run.connection().await;
    peer.accept().await;
    match peer.next().await {
        Request::Stdin {
            data, eof, offset, ..
        } => assert_eq!((data, eof, offset), (b"ef".to_vec(), true, 4)),
        other => panic!("{other:?}"),
    }
    peer.finished(WireOutcome::Exited { code: 0 }, 0).await;
    assert_eq!(run.end().await.0, Outcome::Exited { code: 0 });
}

#[tokio::test]
async fn bytes_of_input_go_with_the_start_or_in_pieces_when_they_are_many() {
    let data = ByteString::from(b"few".as_slice());
    let mut small = run(Stdin::Bytes { data }, vec![], start());
    let mut peer = small.connection().await;
    let Request::Start { start: few, .. } = peer.accept().await else {
        panic!("no start");
    };
    assert_eq!(few.stdin, herm_resident::wire::Stdin::Bytes(b"few".to_vec()));

    let data = ByteString::from(vec![b'x'; 700_000]);
    let mut large = run(Stdin::Bytes { data }, vec![], start());
    let mut peer = large.connection().await;
    peer.accept().await;
    let mut taken = 0;
    loop {
        let Request::Stdin { data, eof, .. } = peer.next().await else {
            panic!("no input");
        };
        taken += data.len() as u64;
        let (job, offset, open) = (1, taken, true);
        peer.say(Reply::StdinTaken { job, offset, open }).await;
        if eof {
            break;
        }
    }
    assert_eq!(taken, 700_000);
}

#[tokio::test(start_paused = true)]
async fn a_resident_that_is_frozen_when_a_deadline_passes_is_not_waited_for() {
    let mut run = run(Stdin::None, vec![], deadline());
    let mut peer = run.connection().await;
    peer.accept().await;
    let finished = run.outcome.await.unwrap().unwrap();
    assert_eq!(finished.outcome, Outcome::TimedOut);
    assert_eq!(finished.notices.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_resident_that_is_frozen_when_a_command_is_cancelled_is_not_waited_for() {
    let mut run = run(Stdin::None, vec![], start());
    let mut peer = run.connection().await;
    peer.accept().await;
    let begun = tokio::time::Instant::now();
    for _ in 0..3 {
        run.wishes.send(Interrupt::Cancel).unwrap();
    }
    let finished = run.outcome.await.unwrap().unwrap();
    assert_eq!(finished.outcome, Outcome::Cancelled);
    assert!(finished.notices[0].contains("did not answer"), "{finished:?}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_resident_that_answers_and_lets_a_deadline_pass_is_not_waited_for_in_the_end() {
    let mut run = run(Stdin::None, vec![], deadline());
    let mut peer = run.connection().await;
    peer.accept().await;
    for _ in 0..2 {
        match peer.next().await {
            Request::Ping { call } => peer.say(Reply::Pong { call }).await,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        run.outcome.await.unwrap().unwrap().outcome,
        Outcome::TransportLost
    );
}

fn deadline() -> Start {
    Start {
        deadline_ms: 1000,
        ..start()
    }
}

#[tokio::test(start_paused = true)]
async fn output_that_was_promised_and_does_not_come_is_not_waited_for() {
    let mut run = run(Stdin::None, vec![], start());
    let mut peer = run.connection().await;
    peer.accept().await;
    peer.finished(WireOutcome::Exited { code: 0 }, 1 << 40).await;
    let finished = run.outcome.await.unwrap().unwrap();
    assert_eq!(finished.outcome, Outcome::Exited { code: 0 });
    assert_eq!(finished.notices.len(), 1);
}

/// Turns the bytes of its arguments around, and keeps how often it did.
#[derive(Clone, Default)]
struct Turn(Arc<Mutex<Vec<Vec<u8>>>>);

impl Tools for Turn {
    async fn call(&self, tool: &str, arguments: &[u8]) -> Result<Vec<u8>, herm_protocol::Error> {
        if tool != "turn" {
            return NoTools.call(tool, arguments).await;
        }
        self.0.lock().unwrap().push(arguments.to_vec());
        Ok(arguments.iter().rev().copied().collect())
    }
}

fn start_with_tools() -> Start {
    Start {
        tools: Some(ToolsAllowed {
            names: vec!["turn".into()],
            max_calls: u64::MAX,
            max_bytes: 10,
        }),
        ..start()
    }
}

impl Peer {
    async fn tell(&mut self, number: u64, told: ToolCall) {
        self.say(Reply::Tool { job: 1, number, told }).await;
    }

    async fn arguments(&mut self, number: u64, tool: &str, offset: u64, data: &[u8], end: bool) {
        let (tool, data) = (tool.into(), data.to_vec());
        self.tell(
            number,
            ToolCall::Arguments {
                tool,
                offset,
                data,
                end,
            },
        )
        .await;
    }

    async fn answered(&mut self) -> (u64, ToolAnswer) {
        match self.next().await {
            Request::Tool { number, answer, .. } => (number, answer),
            other => panic!("{other:?} says nothing of a call"),
        }
    }
}

#[tokio::test]
async fn a_call_is_made_once_over_lost_connections() {
    let turn = Turn::default();
    let mut run = run_with(Stdin::None, vec![], start_with_tools(), turn.clone());
    let mut peer = run.connection().await;
    peer.accept().await;
    peer.arguments(7, "turn", 0, b"abc", false).await;
    assert_eq!(
        peer.answered().await,
        (7, ToolAnswer::ArgumentsTaken { offset: 3 })
    );
    drop(peer);
    let serve = |request: Request| match request {
        Request::ServeTools { call, request, .. } => {
            assert_eq!(request, [3; 16]);
            Reply::Done { call }
        }
        other => panic!("{other:?} does not ask for the calls"),
    };
    let mut peer = run.connection().await;
    peer.accept().await;
    let done = serve(peer.next().await);
    peer.say(done).await;
    // What had come comes again, and is not taken again.
    peer.arguments(7, "turn", 0, b"abc", false).await;
    assert_eq!(
        peer.answered().await,
        (7, ToolAnswer::ArgumentsTaken { offset: 3 })
    );
    peer.arguments(7, "turn", 3, b"d", true).await;
    assert_eq!(
        peer.answered().await,
        (7, ToolAnswer::ArgumentsTaken { offset: 4 })
    );
    let reply = ToolAnswer::Reply {
        total: 4,
        offset: 0,
        data: b"dcba".to_vec(),
    };
    assert_eq!(peer.answered().await, (7, reply.clone()));
    // The reply may be lost on the way: it is said again, and the tool is not called again.
    drop(peer);
    let mut peer = run.connection().await;
    peer.accept().await;
    let done = serve(peer.next().await);
    peer.say(done).await;
    assert_eq!(peer.answered().await, (7, reply));
    peer.arguments(7, "turn", 3, b"d", true).await;
    assert_eq!(
        peer.answered().await,
        (7, ToolAnswer::ArgumentsTaken { offset: 4 })
    );
    peer.tell(7, ToolCall::Gone).await;
    peer.finished(WireOutcome::Exited { code: 0 }, 0).await;
    assert_eq!(run.end().await.0, Outcome::Exited { code: 0 });
    assert_eq!(*turn.0.lock().unwrap(), [b"abcd".to_vec()]);
}

#[tokio::test]
async fn what_a_sandbox_says_of_calls_is_not_believed() {
    let turn = Turn::default();
    let mut run = run_with(Stdin::None, vec![], start_with_tools(), turn.clone());
    let mut peer = run.connection().await;
    peer.accept().await;
    let mut kinds = Vec::new();
    // A tool that was not allowed, arguments that are too long, arguments with a gap.
    peer.arguments(1, "other", 0, b"", true).await;
    peer.arguments(2, "turn", 0, b"0123456789x", false).await;
    peer.arguments(3, "turn", 5, b"x", true).await;
    while kinds.len() < 3 {
        if let (number, ToolAnswer::Failed { kind, .. }) = peer.answered().await {
            kinds.push((number, kind));
        }
    }
    kinds.sort_by_key(|(number, _)| *number);
    assert_eq!(
        kinds,
        [
            (1, ToolFailure::Denied),
            (2, ToolFailure::TooLong),
            (3, ToolFailure::Failed)
        ]
    );
    // Calls without end are a breach: the connection is of no more use.
    for number in 0..20_000 {
        let piece = ToolCall::Arguments {
            tool: "turn".into(),
            offset: 0,
            data: vec![0; 9],
            end: false,
        };
        let told = Reply::Tool {
            job: 1,
            number,
            told: piece,
        };
        if peer.stream.write_all(&frame(&told.encode())).await.is_err() {
            break;
        }
    }
    drop(peer);
    let mut peer = run.connection().await;
    peer.accept().await;
    peer.finished(WireOutcome::Exited { code: 0 }, 0).await;
    assert_eq!(run.end().await.0, Outcome::Exited { code: 0 });
    assert!(turn.0.lock().unwrap().is_empty());
}
