//! The host against a resident that says anything: every question of a client is answered with the next frame of the input,
//! and a command, its jobs and a proof come to an end, with no more output than was sent.

#![no_main]

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use herm::{
    caller::{Control, Input, Output},
    resident::{Channel, Dial, DialError, Resident, Secret, Settings},
};
use herm_protocol::{
    Interrupt,
    exec::{Stdin, Stream},
};
use herm_resident::wire::{Command, Deframer, MAX_REQUEST, Reply, Request, Start, VERSION, Welcome, frame};
use libfuzzer_sys::fuzz_target;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split},
    runtime::Builder,
};

/// Questions that one resident answers.
const QUESTIONS: usize = 64;

fuzz_target!(|input: &[u8]| {
    let Some((choice, stream)) = input.split_last() else { return };
    // Time stands still while anything can go on, so that no deadline is waited for.
    let Ok(runtime) = Builder::new_current_thread().enable_time().start_paused(true).build() else { return };
    runtime.block_on(converse(*choice, stream));
});

async fn converse(choice: u8, stream: &[u8]) {
    let proof = choice & 1 == 0;
    let dial = Once {
        script: Mutex::new(Some(stream.to_vec())),
        proof,
    };
    let settings = Settings {
        patience: Duration::ZERO,
        ..Settings::default()
    };
    let resident = Resident::new(dial, settings);
    let _ = resident.reach().await;
    let text = || Command::Shell {
        shell: b"sh".to_vec(),
        text: b"true".to_vec(),
    };
    match choice >> 1 & 3 {
        0 | 1 => {
            let mut start = Start::new([1; 16], text());
            start.deadline_ms = 1000 * u64::from(choice >> 3);
            let counted = Counted::default();
            let stdin = if choice >> 1 & 1 == 0 { Stdin::None } else { Stdin::Stream };
            let _ = resident.run("s", start, stdin, counted.clone(), Few(3), &mut Never).await;
            assert!(counted.0.load(Ordering::Relaxed) <= stream.len());
        }
        2 => {
            let _ = resident.jobs("s").await;
            let read = resident.read_job("s", 1, Stream::Stdout, 0, 1 << 16).await;
            if let Ok(output) = read {
                assert!(output.offset.checked_add(output.data.as_bytes().len() as u64).is_some());
            }
        }
        _ => {
            let _ = resident.start_job("s", Start::new([2; 16], text())).await;
            let _ = resident.wait_job("s", 1, Some(Duration::from_secs(2))).await;
            let _ = resident.kill_job("s", 1, Duration::from_secs(1)).await;
            let _ = resident.forget_job("s", 1).await;
            let _ = resident.shut_down(Duration::from_secs(1)).await;
        }
    }
}

/// Reaches the resident of the input once; after that it is gone.
#[derive(Debug)]
struct Once {
    script: Mutex<Option<Vec<u8>>>,
    proof: bool,
}

#[async_trait]
impl Dial for Once {
    async fn dial(&self) -> Result<Channel, DialError> {
        let script = self.script.lock().map_err(|_| gone())?.take().ok_or_else(gone)?;
        let (ours, theirs) = duplex(1 << 16);
        tokio::spawn(play(theirs, script, self.proof));
        let (input, output) = split(ours);
        Ok(Channel {
            input: Box::new(input),
            output: Box::new(output),
            secret: self.proof.then(|| Secret::new([7; 32])),
        })
    }
}

fn gone() -> DialError {
    DialError::Gone("it was reached before".into())
}

/// Says the frames of the script, one for each request and the rest after the last one.
async fn play(mut stream: DuplexStream, script: Vec<u8>, proof: bool) -> io::Result<()> {
    let mut script = script.as_slice();
    if !proof {
        let welcome = Reply::Welcome(Box::new(Welcome {
            version: VERSION,
            instance: [3; 16],
            program: String::new(),
            pid: 1,
            uid: 0,
            directory: Vec::new(),
            bash: true,
            out_of_memory_told: false,
        }));
        stream.write_all(&frame(&welcome.encode())).await?;
    }
    let mut requests = Deframer::default();
    let mut buffer = vec![0; 1 << 14];
    for _ in 0..QUESTIONS {
        let request = loop {
            if let Ok(Some(message)) = requests.next(MAX_REQUEST) {
                break Request::decode(&message);
            }
            let count = stream.read(&mut buffer).await?;
            if count == 0 {
                return Ok(());
            }
            requests.add(&buffer[..count]);
        };
        // What was asked is answered, so that more than the first message is looked at; whatever else it says is the input's.
        let mut answer = next_frame(&mut script);
        if let (Ok(request), Some(message)) = (&request, answer.get_mut(4..))
            && let Some(call) = call_of(request)
            && !matches!(Reply::decode(message), Ok(Reply::Output { .. } | Reply::Gap { .. } | Reply::StdinTaken { .. }))
            && let Some(place) = message.get_mut(1..5)
        {
            place.copy_from_slice(&call.to_le_bytes());
        }
        stream.write_all(&answer).await?;
        if matches!(request, Ok(Request::Start { .. } | Request::Attach { .. })) || script.is_empty() {
            stream.write_all(script).await?;
            script = &[];
        }
    }
    Ok(())
}

/// The next frame of a script with its length, or all that is left of it.
fn next_frame(script: &mut &[u8]) -> Vec<u8> {
    let length = script.first_chunk().map_or(usize::MAX, |length| u32::from_le_bytes(*length) as usize);
    let (now, later) = script.split_at(length.saturating_add(4).min(script.len()));
    *script = later;
    now.to_vec()
}

fn call_of(request: &Request) -> Option<u32> {
    match request {
        Request::Start { call, .. }
        | Request::Attach { call, .. }
        | Request::Cancel { call, .. }
        | Request::Wait { call, .. }
        | Request::List { call, .. }
        | Request::Read { call, .. }
        | Request::Forget { call, .. }
        | Request::Shutdown { call } => Some(*call),
        _ => None,
    }
}

#[derive(Clone, Default)]
struct Counted(Arc<AtomicUsize>);

impl Output for Counted {
    async fn started(&self) {}

    async fn write(&self, _: Stream, data: &[u8]) {
        self.0.fetch_add(data.len(), Ordering::Relaxed);
    }
}

/// So many pieces of input.
struct Few(u32);

impl Input for Few {
    async fn next(&mut self) -> Option<Vec<u8>> {
        self.0 = self.0.checked_sub(1)?;
        Some(b"piece".to_vec())
    }
}

struct Never;

impl Control for Never {
    async fn next(&mut self) -> Interrupt {
        std::future::pending().await
    }
}
