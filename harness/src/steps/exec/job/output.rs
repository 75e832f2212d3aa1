//! What jobs have written, read by cursor.

use std::time::Duration;

use herm_protocol::{
    exec::Stream,
    job::{JobOutput, JobOutputParams},
    method,
};
use tokio::time::{Instant, sleep};

use super::{
    ERRORS, WORDS,
    begin::{FLOOD, LINE},
    info, of_job,
};
use crate::{
    scene::{Failure, Scene},
    step::StepResult,
    steps::general::{difference, show},
};

/// The time between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How long the total of a job that waits for room stays the same until it is taken to wait.
const STILL: Duration = Duration::from_millis(300);

/// How long what is to come may take, before scaling.
const COMES: Duration = Duration::from_secs(15);

/// Bytes that are read at a time of a job that has printed much.
const AT_A_TIME: u64 = 100_000;

pub(super) async fn read(scene: &mut Scene, from: u64, max: Option<u64>) -> Result<JobOutput, Failure> {
    read_stream(scene, Stream::Stdout, from, max).await
}

async fn read_stream(
    scene: &mut Scene,
    stream: Stream,
    from: u64,
    max: Option<u64>,
) -> Result<JobOutput, Failure> {
    let of = of_job(scene).await?;
    let params = JobOutputParams {
        sandbox: of.sandbox,
        job: of.job,
        stream,
        from,
        max,
    };
    let patience = scene.patience();
    let client = scene.client().await?;
    Ok(client.call::<method::ReadJob>(&params, patience).await?)
}

/// Reads from an offset on whatever there is by now; a reading may give less than there is, and the next one begins where
/// it ended. `enough` bytes are enough.
async fn read_from(
    scene: &mut Scene,
    from: u64,
    enough: usize,
    max: Option<u64>,
) -> Result<Vec<u8>, Failure> {
    let mut seen = Vec::new();
    loop {
        let at = from + seen.len() as u64;
        let output = read(scene, at, max).await?;
        if output.offset != at {
            return Err(Failure::failed(
                format!("bytes from offset {at}"),
                format!("they are told to be from {}", output.offset),
            ));
        }
        seen.extend_from_slice(output.data.as_bytes());
        if output.end || output.data.is_empty() || seen.len() > enough {
            return Ok(seen);
        }
    }
}

/// What there is by now, as far as one reading gives it.
pub(super) async fn from_the_beginning(scene: &mut Scene) -> Result<Vec<u8>, Failure> {
    Ok(read(scene, 0, None).await?.data.into_bytes())
}

/// The end is told with the last bytes, and not before; of a stream with nothing on it at once.
async fn ends_with_the_last_bytes(scene: &mut Scene) -> StepResult {
    const FEW: u64 = 5;
    let (mut at, total) = (0, WORDS.len() as u64);
    while at < total {
        let seen = read(scene, at, Some(FEW)).await?;
        at += seen.data.len() as u64;
        if seen.data.is_empty() || (seen.end && at < total) {
            return Err(Failure::failed(
                format!("more bytes at offset {at} of {total}, and no end yet"),
                format!("{} with end {}", show(seen.data.as_bytes()), seen.end),
            ));
        }
    }
    for stream in [Stream::Stdout, Stream::Stderr] {
        let from = if stream == Stream::Stdout { total } else { 0 };
        let rest = read_stream(scene, stream, from, None).await?;
        if !rest.data.is_empty() || !rest.end {
            return Err(Failure::failed(
                format!("the end of {stream}, at offset {from}"),
                format!("{} with end {}", show(rest.data.as_bytes()), rest.end),
            ));
        }
    }
    Ok(())
}

pub(super) async fn read_from_every_cursor(scene: &mut Scene) -> StepResult {
    ends_with_the_last_bytes(scene).await?;
    for from in 0..=WORDS.len() {
        let expected = &WORDS.as_bytes()[from..];
        let seen = read_from(scene, from as u64, WORDS.len(), None).await?;
        if seen != expected {
            return Err(Failure::failed(
                format!("from {from}: {}", expected.escape_ascii()),
                seen.escape_ascii().to_string(),
            ));
        }
    }
    Ok(())
}

/// Where a job that runs has given all that it has written, that is not told as the end.
pub(super) async fn has_no_end_yet(scene: &mut Scene) -> StepResult {
    let line = first_line(scene).await?.len() as u64 + 1;
    for from in [0, line] {
        let seen = read(scene, from, None).await?;
        if seen.end {
            return Err(Failure::failed(
                format!("no end of the output at offset {from}, since the job runs"),
                format!("{}, told as the end", show(seen.data.as_bytes())),
            ));
        }
    }
    Ok(())
}

/// A reading gives no more than it was asked for, and says what it is of, however little that is.
pub(super) async fn no_more_than_asked(scene: &mut Scene) -> StepResult {
    let total = WORDS.len();
    for most in [0, 1, 7, total - 1, total, total + 1] {
        for from in [0, 1, total - 1, total] {
            let seen = read(scene, from as u64, Some(most as u64)).await?;
            let (there, data) = (&WORDS.as_bytes()[from..], seen.data.as_bytes());
            // Less may be given than was asked for, but not nothing where there is something.
            let fits = data.len() <= most && there.starts_with(data);
            let stuck = data.is_empty() && most > 0 && !there.is_empty();
            let early = seen.end && data.len() < there.len();
            if !fits || stuck || early || seen.offset != from as u64 {
                return Err(Failure::failed(
                    format!("at most {most} bytes of {} from {from}", show(there)),
                    format!("{} from {}, with end {}", show(data), seen.offset, seen.end),
                ));
            }
        }
    }
    Ok(())
}

/// Each stream has what was written to it, from a cursor within it, and the list tells the total of each.
pub(super) async fn apart(scene: &mut Scene) -> StepResult {
    const FROM: usize = 2;
    let total = info(scene).await?;
    for (stream, words, told) in [
        (Stream::Stdout, WORDS, total.stdout.bytes),
        (Stream::Stderr, ERRORS, total.stderr.bytes),
    ] {
        let seen = read_stream(scene, stream, FROM as u64, None).await?;
        let expected = &words.as_bytes()[FROM..];
        if seen.data.as_bytes() != expected || told != words.len() as u64 {
            return Err(Failure::failed(
                format!(
                    "from {FROM} of {stream}: {}, of {} bytes",
                    show(expected),
                    words.len()
                ),
                format!("{}, of {told} bytes", show(seen.data.as_bytes())),
            ));
        }
    }
    Ok(())
}

/// From beyond the end of what was written nothing is given, and nothing is told to be lost.
pub(super) async fn nothing_beyond_the_end(scene: &mut Scene) -> StepResult {
    let output = read(scene, WORDS.len() as u64 + 1000, None).await?;
    if output.data.is_empty() && output.gap.is_none() {
        return Ok(());
    }
    Err(Failure::failed(
        "no bytes, and no gap, from beyond the end",
        format!("{} with gap {:?}", show(output.data.as_bytes()), output.gap),
    ))
}

/// The first line of the job, once it is there.
pub(super) async fn first_line(scene: &mut Scene) -> Result<String, Failure> {
    let until = Instant::now() + scene.scaled(COMES);
    loop {
        let seen = read(scene, 0, None).await?;
        let seen = String::from_utf8_lossy(seen.data.as_bytes()).into_owned();
        if let Some((line, _)) = seen.split_once('\n') {
            return Ok(line.to_owned());
        }
        if Instant::now() > until {
            return Err(Failure::inconclusive("the job never wrote a line"));
        }
        sleep(LOOK_AGAIN).await;
    }
}

/// Waits until half of what the job is to write is there.
pub(super) async fn half_there(scene: &mut Scene) -> StepResult {
    let half = scene.notes.content.clone().unwrap_or_default().len() / 2;
    let until = Instant::now() + scene.scaled(COMES);
    while info(scene).await?.stdout.bytes < half as u64 {
        if Instant::now() > until {
            return Err(Failure::inconclusive("the job never wrote its first half"));
        }
        sleep(LOOK_AGAIN).await;
    }
    Ok(())
}

/// Every byte of the job is given, in order and once.
pub(super) async fn whole(scene: &mut Scene) -> StepResult {
    whole_in_pieces(scene, None).await
}

/// Every byte of the job is given, in pieces, and after that once more.
pub(super) async fn whole_twice(scene: &mut Scene) -> StepResult {
    whole_in_pieces(scene, Some(AT_A_TIME)).await?;
    whole_in_pieces(scene, Some(AT_A_TIME)).await
}

async fn whole_in_pieces(scene: &mut Scene, max: Option<u64>) -> StepResult {
    let expected = scene.notes.content.clone().unwrap_or_default();
    let seen = read_from(scene, 0, expected.len(), max).await?;
    if seen == expected {
        return Ok(());
    }
    Err(Failure::failed(
        show(&expected),
        format!("{}{}", show(&seen), difference(&expected, &seen)),
    ))
}

/// A reader comes by whenever the job waits for room, and looks at the last that it has written. All of it is there in the end.
pub(super) async fn flows(scene: &mut Scene) -> StepResult {
    let mut from = 0;
    loop {
        let total = await_still(scene).await?;
        if total > from {
            let at = total.saturating_sub(4 * LINE.len() as u64).max(from);
            let seen = read(scene, at, Some(2 * LINE.len() as u64)).await?;
            let expected: Vec<u8> = LINE
                .iter()
                .cycle()
                .skip(usize::try_from(at % LINE.len() as u64).unwrap_or_default())
                .take(seen.data.len())
                .copied()
                .collect();
            if seen.gap.is_some()
                || seen.offset != at
                || seen.data.is_empty()
                || seen.data.as_bytes() != expected
            {
                let told = format!(
                    "{} from {}, with gap {:?}",
                    show(seen.data.as_bytes()),
                    seen.offset,
                    seen.gap
                );
                return Err(Failure::failed(format!("{} from {at}", show(&expected)), told));
            }
            from = at + seen.data.len() as u64;
            // Whoever asks for what follows has what comes before.
            read(scene, from, Some(1)).await?;
        } else if total < FLOOD {
            return Err(Failure::failed(
                "the job to go on when its output was read",
                format!("it stays at {total} bytes, and {from} were read"),
            ));
        }
        if total >= FLOOD {
            let expected = format!("{FLOOD} bytes");
            let told = format!("{total} bytes");
            return if total == FLOOD {
                Ok(())
            } else {
                Err(Failure::failed(expected, told))
            };
        }
    }
}

/// Waits until the job has ended, or has written nothing for a while; gives the total of its output.
pub(super) async fn await_still(scene: &mut Scene) -> Result<u64, Failure> {
    let until = Instant::now() + scene.scaled(COMES);
    let mut before = None;
    let mut since = Instant::now();
    loop {
        let now = info(scene).await?;
        if before != Some(now.stdout.bytes) {
            (before, since) = (Some(now.stdout.bytes), Instant::now());
        }
        let still = since.elapsed() >= scene.scaled(STILL) && now.stdout.bytes > 0;
        if now.outcome.is_some() || still || Instant::now() > until {
            return Ok(now.stdout.bytes);
        }
        sleep(LOOK_AGAIN).await;
    }
}
