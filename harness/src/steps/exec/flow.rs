//! STDIN: much input, and a command that takes its time to read it.

use std::time::Duration;

use herm_protocol::{
    client::{CallError, Exec},
    exec::{Capture, Stdin, StdinTaken, Stream},
    hexadecimal,
};
use sha2::{Digest as _, Sha256};

use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::composed::{number_in, unknown},
};

/// Bytes that are fed at a time.
const PIECE: usize = 512 * 1024;

/// After so many bytes that nobody reads a caller should long have been held back.
const MOST: usize = 32 * 1024 * 1024;

/// A piece that is not answered for so long is held back.
const HELD: Duration = Duration::from_millis(700);

/// How long much input may take.
const FED: Duration = Duration::from_mins(1);

/// Pieces that are sent at once.
const PIECES: usize = 400;

/// Bytes of a long one of them.
const LONG: usize = 20_000;

const MEBIBYTE: usize = 1024 * 1024;

pub(super) fn register(steps: &mut StepList) {
    steps
        .when("a command is fed {words}", |scene, arguments| {
            Box::pin(async move {
                let what = arguments.words(0)?;
                if let Some(mebibytes) = number_in(what, "", " MiB of any bytes") {
                    return feed_much(scene, mebibytes).await;
                }
                match what.strip_suffix(", none of which waits for the one before") {
                    Some(pieces) => feed_at_once(scene, pieces).await,
                    None => Err(unknown(what, "fed")),
                }
            })
        })
        .when(
            "a command that does not read yet is fed until its caller is held back",
            |scene, _| Box::pin(feed_until_held(scene)),
        )
        .then("it reads all that it was fed", |scene, _| {
            Box::pin(async { read_all(scene) })
        });
}

/// Bytes without a pattern, the same every time: any loss, repetition or exchange changes their digest.
struct Noise(u64);

impl Noise {
    /// The next bytes of the sequence (xorshift64, Marsaglia 2003).
    fn next(&mut self, bytes: usize) -> Vec<u8> {
        let mut words = Vec::with_capacity(bytes);
        while words.len() < bytes {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            words.extend_from_slice(&self.0.to_le_bytes());
        }
        words.truncate(bytes);
        words
    }
}

/// Feeds a command that repeats its input to a caller who is only told its digest. On subjects that are far away there is
/// less of it.
async fn feed_much(scene: &mut Scene, mebibytes: usize) -> StepResult {
    let second = usize::try_from(scene.scaled(Duration::from_secs(1)).as_secs()).unwrap_or(1);
    let pieces = (mebibytes * MEBIBYTE / PIECE / (second * second)).max(1);
    let deadline = scene.scaled(FED);
    let mut params = scene.command("cat").await?;
    params.stdin = Stdin::Stream;
    params.capture = Some(Capture {
        head: 0,
        tail: 0,
        digest: true,
    });
    let mut exec = scene.start(&params).await?;
    let (mut noise, mut digest) = (Noise(1), Sha256::new());
    for piece in 1..=pieces {
        let data = noise.next(PIECE);
        digest.update(&data);
        let taken = exec.feed(data, piece == pieces, deadline).await;
        expect_open(scene, taken)?;
    }
    scene.notes.number = u64::try_from(pieces * PIECE).ok();
    scene.notes.name = Some(hexadecimal(&digest.finalize()));
    let record = exec.wait(deadline).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    Ok(())
}

/// Pieces of input in these words: each can be told from every other one.
fn pieces_in_words(what: &str) -> Result<Vec<Vec<u8>>, Failure> {
    let short = |number: usize| format!("piece {number:04}\n").into_bytes();
    Ok(match what {
        "many short pieces" => (0..PIECES).map(short).collect(),
        "short pieces behind long ones" => (0..PIECES / 10)
            .map(|number| match number % 2 {
                0 => short(number).repeat(LONG / short(number).len()),
                _ => short(number),
            })
            .collect(),
        other => return Err(unknown(other, "fed")),
    })
}

/// Sends all pieces, and the end behind them, before any of them is answered, to a command that repeats them.
async fn feed_at_once(scene: &mut Scene, what: &str) -> StepResult {
    let pieces = pieces_in_words(what)?;
    scene.notes.content = Some(pieces.concat());
    let mut params = scene.command("cat").await?;
    params.stdin = Stdin::Stream;
    let mut exec = scene.start(&params).await?;
    let deadline = scene.scaled(FED);
    let taken = exec.feed_at_once(pieces, deadline).await;
    // Whether the input is open when it has just ended is a matter of words.
    let last = taken.len().saturating_sub(1);
    for (number, taken) in taken.into_iter().enumerate() {
        if number < last {
            expect_open(scene, taken)?;
        } else {
            scene.answer(taken)?;
        }
    }
    let record = exec.wait(deadline).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    Ok(())
}

fn expect_open(scene: &mut Scene, taken: Result<StdinTaken, CallError>) -> StepResult {
    match scene.answer(taken)? {
        Some(taken) if taken.open => Ok(()),
        Some(_) => Err(Failure::failed(
            "input to be taken while the command reads",
            "it was answered that nobody reads it any more",
        )),
        None => Err(Failure::failed(
            "input to be taken while the command reads",
            scene.refusal()?.to_string(),
        )),
    }
}

/// The whole of what was fed has come back.
pub(crate) fn told_digest(scene: &Scene) -> StepResult {
    let total = &scene.result()?.stdout;
    if total.sha256 == scene.notes.name && Some(total.bytes) == scene.notes.number {
        return Ok(());
    }
    Err(Failure::failed(
        format!(
            "{} bytes, SHA-256 \"{}\"",
            scene.notes.number.unwrap_or_default(),
            scene.notes.name.as_deref().unwrap_or_default()
        ),
        super::out::in_words(total),
    ))
}

/// Feeds a command that waits for a file before it reads, until a piece is not taken; then there is the file.
async fn feed_until_held(scene: &mut Scene) -> StepResult {
    let held = scene.scaled(HELD);
    let path = scene.new_path("read-on").await?;
    let path = shell::word(path.as_bytes());
    let mut params = scene
        .command(format!("while ! [ -e {path} ]; do sleep 0.05; done; wc -c"))
        .await?;
    params.stdin = Stdin::Stream;
    let mut exec = scene.start(&params).await?;
    let (mut fed, mut held_back) = (0, false);
    while fed < MOST && !held_back {
        held_back = feed_piece(scene, &mut exec, held, &path).await?;
        fed += PIECE;
    }
    scene.observe(format!(": > {path}")).await?;
    end(scene, exec, fed).await?;
    if held_back {
        return Ok(());
    }
    Err(Failure::failed(
        "the caller to be held back while nobody reads",
        format!("{fed} bytes were taken at once"),
    ))
}

/// Feeds one piece; whether it was held back until there was that file.
async fn feed_piece(scene: &mut Scene, exec: &mut Exec, held: Duration, path: &str) -> Result<bool, Failure> {
    let patience = scene.patience();
    let mut feeding = std::pin::pin!(exec.feed(vec![b'x'; PIECE], false, patience * 2));
    let (taken, held_back) = if let Ok(taken) = tokio::time::timeout(held, &mut feeding).await {
        (taken, false)
    } else {
        scene.observe(format!(": > {path}")).await?;
        (feeding.await, true)
    };
    expect_open(scene, taken)?;
    Ok(held_back)
}

async fn end(scene: &mut Scene, mut exec: Exec, fed: usize) -> StepResult {
    let patience = scene.patience();
    let taken = exec.feed(Vec::new(), true, patience).await;
    scene.answer(taken)?;
    let record = exec.wait(patience).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    scene.notes.number = u64::try_from(fed).ok();
    Ok(())
}

fn read_all(scene: &Scene) -> StepResult {
    scene.result()?;
    let seen = scene.record()?.bytes(Stream::Stdout);
    let seen = String::from_utf8_lossy(&seen).trim().to_owned();
    let expected = scene.notes.number.unwrap_or_default().to_string();
    if seen == expected {
        return Ok(());
    }
    Err(Failure::failed(format!("it to count {expected} bytes"), seen))
}
