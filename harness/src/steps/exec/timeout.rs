//! TIMEOUT: a deadline ends the command, not only the client.

use std::time::Duration;

use herm_protocol::{
    ByteString, ErrorKind,
    client::{CallError, Exec, Fault},
    exec::{Command, Outcome},
};

use super::{busy, rpc};
use crate::{
    scene::{Failure, Scene, processes_with, shell},
    step::{StepList, StepResult},
    steps::{composed::unknown, general::expect_outcome},
};

pub(super) fn register(steps: &mut StepList) {
    steps
        .when("a command {words}, with a deadline of {int} second", |scene, arguments| {
            Box::pin(async move {
                run_in_words(scene, arguments.words(0)?, arguments.int(1)?).await
            })
        })
        .when("a command keeps a beat and floods a caller that takes nothing, until its deadline of {int} second", |scene, arguments| {
            Box::pin(async move { flood_until(scene, arguments.int(0)?).await })
        })
        .when("a command with a deadline of {int} seconds {words}", |scene, arguments| {
            Box::pin(async move {
                let text = text_in_words(arguments.words(1)?)?;
                run_until(scene, text, arguments.int(0)?).await
            })
        })
        .when("a command keeps a beat with a deadline of {int} milliseconds, and then one of {int}", |scene, arguments| {
            Box::pin(async move { run_until_each(scene, [arguments.int(0)?, arguments.int(1)?]).await })
        })
        .when("the command is {words}", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "cancelled" => cancel(scene, 1).await,
                    "cancelled again and again" => cancel(scene, 3).await,
                    other => Err(unknown(other, "done to a command")),
                }
            })
        });
}

/// What a command prints before its deadline.
const LAST_WORDS: &str = "so far\n";

/// How long a command runs that runs for a moment.
const A_MOMENT: Duration = Duration::from_millis(300);

/// By how much a time in whole milliseconds may be beyond the true one.
const ROUNDED: Duration = Duration::from_millis(1);

/// A command that cannot start a session ends at once, and has not timed out.
const NEEDS_SETSID: &str = "command -v setsid >/dev/null || exit 3";

/// By how much more than they should two deadlines may lie apart: half of what rounding would add.
const SLACK_BETWEEN: Duration = Duration::from_millis(400);

/// How soon the end of a command comes behind the word that it has ended.
const AT_ONCE: Duration = Duration::from_millis(100);

/// How often two deadlines are compared before their distance is told: a moment's load is no finding.
const COMPARED: u32 = 2;

/// Runs a command that keeps a beat, in these words, until its deadline.
async fn run_in_words(scene: &mut Scene, what: &str, seconds: u64) -> StepResult {
    match what {
        "takes input again and again and keeps a beat" => busy::feed_until(scene, seconds * 1000).await,
        "does not read its input and keeps a beat" => busy::leave_unread_until(scene, seconds * 1000).await,
        "asks a tool again and again and keeps a beat" => rpc::call_until(scene, seconds * 1000).await,
        other => {
            let text = beat_in_words(scene, other).await?;
            run_until(scene, text, seconds).await
        }
    }
}

/// Prints something and keeps a beat until its deadline.
pub(super) async fn print_until(scene: &mut Scene, printed: &str, seconds: u64) -> StepResult {
    let beat = scene.new_beat("").await?;
    let text = format!("{}; {beat}", shell::print(printed.as_bytes()));
    run_until(scene, text, seconds).await
}

/// A program that no shell of the backend's starts keeps a beat until its deadline.
pub(crate) async fn run_program_until(scene: &mut Scene, seconds: u64) -> StepResult {
    let beat = scene.new_beat("").await?;
    let words = ["sh", "-c", &beat].map(ByteString::from);
    let sandbox = scene.sandbox().await?.id;
    let mut params = scene.command_in(&sandbox, Command::Argv(words.into()));
    params.timeout_ms = Some(seconds.saturating_mul(1000));
    scene.notes.number = params.timeout_ms;
    scene.run(&params).await
}

/// The time that the backend tells for a command is about that of the command's own.
pub(crate) fn told_how_long(scene: &Scene) -> StepResult {
    let told = Duration::from_millis(scene.result()?.duration_ms);
    let waited = scene.record()?.answered_after.unwrap_or_default();
    if told >= A_MOMENT && told <= waited + ROUNDED {
        return Ok(());
    }
    Err(Failure::failed(
        format!(
            "from {} to {} ms to be told",
            A_MOMENT.as_millis(),
            waited.as_millis()
        ),
        format!("{} ms", told.as_millis()),
    ))
}

/// What a command does that keeps a beat.
pub(super) async fn beat_in_words(scene: &mut Scene, what: &str) -> Result<String, Failure> {
    Ok(match what {
        "keeps a beat" => scene.new_beat("").await?,
        "starts a worker that keeps a beat" => format!("{} & wait", scene.new_beat("").await?),
        "starts a worker in a session of its own that keeps a beat" => {
            format!(
                "{NEEDS_SETSID}; setsid {} & wait; sleep 30",
                scene.new_beat("").await?
            )
        }
        "starts a worker whose parents have all ended that keeps a beat" => {
            let beat = scene.new_beat("").await?;
            format!(
                "{NEEDS_SETSID}; (setsid sh -c {} &) ; sleep 30",
                shell::word(format!("({beat} &)").as_bytes())
            )
        }
        "starts a worker without the variables of its command that keeps a beat" => {
            let beat = scene.new_beat("trap \"\" TERM HUP;").await?;
            format!("{NEEDS_SETSID}; env -i PATH=\"$PATH\" setsid {beat} & wait; sleep 30")
        }
        "that exits with 0 when it is asked to end keeps a beat" => {
            format!("trap 'exit 0' TERM; {} & wait", scene.new_beat("").await?)
        }
        "that stops itself keeps a beat" => format!("{} & kill -STOP $$", scene.new_beat("").await?),
        "that ignores requests to end keeps a beat" => {
            let beat = scene.new_beat("trap \"\" TERM HUP INT;").await?;
            format!("trap '' TERM HUP INT; {beat}; {beat}")
        }
        "prints again and again and keeps a beat" => busy::print(scene).await?,
        "complains again and again and keeps a beat" => busy::complain(scene).await?,
        "prints on both streams and keeps a beat" => {
            scene.notes.content = Some(LAST_WORDS.as_bytes().to_vec());
            let print = shell::print(LAST_WORDS.as_bytes());
            format!("{print}; {print} >&2; {}", scene.new_beat("").await?)
        }
        other => return Err(Failure::suite(format!("{other:?} keeps no beat"))),
    })
}

/// What a command does that ends by itself.
fn text_in_words(what: &str) -> Result<String, Failure> {
    let number = |prefix: &str| {
        what.strip_prefix(prefix)
            .and_then(|number| number.parse::<u8>().ok())
    };
    if let Some(code) = number("exits with code ") {
        return Ok(format!("exit {code}"));
    }
    if let Some(signal) = number("ends itself with signal ") {
        return Ok(format!("kill -{signal} $$; sleep 5"));
    }
    match what {
        "leaves a worker that holds its output" => Ok("sleep 4 & echo started".into()),
        "runs for a moment" => Ok(format!("sleep {}", A_MOMENT.as_secs_f32())),
        "runs for some seconds" => Ok("sleep 4".into()),
        other => Err(Failure::suite(format!("{other:?} does not end by itself"))),
    }
}

async fn flood_until(scene: &mut Scene, seconds: u64) -> StepResult {
    let beat = scene.new_beat("").await?;
    let mut params = scene
        .command(format!("{beat} & while :; do echo 0123456789012345; done"))
        .await?;
    params.timeout_ms = Some(seconds.saturating_mul(1000));
    params.window = Some(4096);
    let mut exec = scene.start(&params).await?;
    exec.grants = false;
    scene.running.push(exec);
    scene.notes.number = params.timeout_ms;
    scene.await_beat().await
}

async fn run_until(scene: &mut Scene, text: String, seconds: u64) -> StepResult {
    let mut params = scene.command(text).await?;
    params.timeout_ms = Some(seconds.saturating_mul(1000));
    scene.notes.number = params.timeout_ms;
    scene.run(&params).await
}

pub(crate) async fn stops_within(scene: &mut Scene, slack: Duration) -> StepResult {
    let deadline = Duration::from_millis(scene.notes.number.unwrap_or_default());
    tokio::time::sleep(deadline + scene.scaled(slack)).await;
    let token = scene.the_beat()?.token;
    let living = processes_with(&token).await;
    if !living.is_empty() {
        return Err(Failure::failed(
            "every process of the command to have ended",
            format!("{} still run", living.len()),
        ));
    }
    scene.beat_has_stopped().await
}

/// Runs commands into two deadlines, and keeps what was seen of both. How late an answer comes has as much to do with the
/// way as with the deadline; how long after another one does not.
async fn run_until_each(scene: &mut Scene, deadlines: [u64; 2]) -> StepResult {
    for _ in 0..COMPARED {
        scene.notes.records.clear();
        for deadline in deadlines {
            let text = scene.new_beat("").await?;
            let mut params = scene.command(text).await?;
            params.timeout_ms = Some(deadline);
            scene.notes.number = params.timeout_ms;
            scene.run(&params).await?;
            expect_outcome(scene, &Outcome::TimedOut)?;
            let took = scene.record()?.answered_after.unwrap_or_default();
            if took < Duration::from_millis(deadline) {
                return Err(Failure::failed(
                    format!("the answer no earlier than the deadline of {deadline} ms"),
                    format!("it came after {} ms", took.as_millis()),
                ));
            }
            scene.notes.records.extend(scene.last.clone());
        }
        scene.notes.number = Some(deadlines[1].saturating_sub(deadlines[0]));
        if told_apart(scene).is_ok() {
            break;
        }
    }
    Ok(())
}

/// Two deadlines that lie close to each other struck close to each other. A whole second may lie between them where they
/// are cut or rounded to seconds.
pub(crate) fn told_apart(scene: &Scene) -> StepResult {
    let took = |index: usize| {
        let record = scene.notes.records.get(index);
        record
            .and_then(|record| record.answered_after)
            .unwrap_or_default()
    };
    let between = Duration::from_millis(scene.notes.number.unwrap_or_default());
    if took(0).abs_diff(took(1)) <= between + SLACK_BETWEEN {
        return Ok(());
    }
    Err(Failure::failed(
        format!("the deadlines to strike about {} ms apart", between.as_millis()),
        format!("after {} ms and {} ms", took(0).as_millis(), took(1).as_millis()),
    ))
}

/// Cancels the command that many times, each time right behind the one before, and waits for its end.
pub(super) async fn cancel(scene: &mut Scene, times: usize) -> StepResult {
    let (patience, at_once) = (scene.patience(), scene.scaled(AT_ONCE));
    let Some(exec) = scene.running.pop() else {
        return Err(Failure::suite("no command runs"));
    };
    let record = cancelled(exec, times, patience, at_once).await.inspect_err(|_| {
        if let Some(worker) = &mut scene.worker {
            worker.broken = true;
        }
    })?;
    scene.keep(record);
    Ok(())
}

async fn cancelled(
    mut exec: Exec,
    times: usize,
    patience: Duration,
    at_once: Duration,
) -> Result<herm_protocol::client::ExecRecord, Failure> {
    exec.cancel(patience).await?;
    for answer in futures::future::join_all((1..times).map(|_| exec.cancel(patience))).await {
        match answer {
            // It may have ended meanwhile, which is no harm.
            Err(CallError::Refused(error)) if error.kind() == ErrorKind::ExecNotFound => {
                let over = exec.wait_until(at_once, |_| false).await;
                over.map_err(|_| {
                    let expected =
                        "a cancel of a command that runs to be answered, however often it is asked for";
                    Failure::failed(expected, error.to_string())
                })?;
            }
            other => other?,
        }
    }
    exec.wait(patience).await.map_err(|fault: Fault| fault.into())
}

pub(crate) async fn answered_as_timed_out(scene: &mut Scene) -> StepResult {
    let within = scene.scaled(Duration::from_secs(3));
    let Some(mut exec) = scene.running.pop() else {
        return Err(Failure::suite("no command runs"));
    };
    exec.grants = true;
    let record = exec.wait(within).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    expect_outcome(scene, &Outcome::TimedOut)
}
