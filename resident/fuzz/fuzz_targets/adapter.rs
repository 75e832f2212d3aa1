//! The harness against an adapter that says anything: however its lines are cut, the same ones come out of them; a message
//! returns to what it was; and a client with a command and a question comes to an end.

#![no_main]

use std::{sync::Arc, time::Duration};

use herm_protocol::{
    client::{Client, ClientOptions},
    codec::{Line, Overflow, read_line},
    exec::{Command, RunParams},
    message::Message,
    method::List,
    sandbox::Empty,
    transcript::NoTranscript,
};
use libfuzzer_sys::fuzz_target;
use tokio::{
    io::{AsyncWriteExt as _, BufReader, duplex, split},
    runtime::Builder,
};

/// Bytes that a line may have here.
const LONGEST: usize = 512;

fuzz_target!(|input: &[u8]| {
    let Some((cut, stream)) = input.split_last() else { return };
    let Ok(runtime) = Builder::new_current_thread().enable_time().start_paused(true).build() else { return };
    runtime.block_on(async {
        for overflow in [Overflow::Skip, Overflow::Stop] {
            let whole = lines(stream, stream.len() + 1, overflow).await;
            let pieces = lines(stream, usize::from(*cut) + 1, overflow).await;
            if overflow == Overflow::Skip {
                assert_eq!(whole, pieces);
            }
            for line in &whole {
                if let Line::Text(text) = line {
                    returns(text);
                }
            }
        }
        talk(stream.to_vec()).await;
    });
});

async fn lines(stream: &[u8], capacity: usize, overflow: Overflow) -> Vec<Line> {
    let mut reader = BufReader::with_capacity(capacity, stream);
    let mut all = Vec::new();
    loop {
        match read_line(&mut reader, LONGEST, overflow).await {
            Ok(Line::End) | Err(_) => return all,
            Ok(Line::TooLong { bytes }) => {
                assert!(bytes > LONGEST);
                all.push(Line::TooLong { bytes });
                if overflow == Overflow::Stop {
                    return all;
                }
            }
            Ok(Line::Text(text)) => {
                assert!(text.len() <= LONGEST && !text.contains(&b'\n'));
                all.push(Line::Text(text));
            }
        }
    }
}

fn returns(line: &[u8]) {
    if let Ok(message) = Message::parse(line) {
        let written = message.to_line();
        let line = written.strip_suffix(b"\n").unwrap_or(&written);
        assert_eq!(Message::parse(line), Ok(message));
    }
}

async fn talk(stream: Vec<u8>) {
    let (near, mut far) = duplex(1 << 16);
    let options = ClientOptions {
        max_message_bytes: LONGEST,
        ..ClientOptions::default()
    };
    let (reader, writer) = split(near);
    let client = Arc::new(Client::over(reader, writer, options, Arc::new(NoTranscript)));
    let mut params = RunParams::new("s", "e", Command::Shell("true".into()));
    params.window = Some(64);
    let exec = client.run(&params);
    let asked = client.call::<List>(&Empty {}, Duration::from_secs(1));
    let said = async move {
        let _ = far.write_all(&stream).await;
        drop(far);
    };
    let (_, ()) = tokio::join!(asked, said);
    if let Ok(exec) = exec {
        let _ = exec.wait(Duration::from_secs(1)).await;
    }
}
