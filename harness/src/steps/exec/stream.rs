//! STREAM: output arrives as it was written.

use std::time::Duration;

use herm_protocol::{
    client::{ExecRecord, Fault},
    exec::Stream,
};

use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::{
        composed::{number_in, unknown},
        general::{difference, show},
    },
};

/// Bytes of output before an error: more than a pipe holds, and several times what most read at once.
const MUCH: usize = 400_000;

/// How long a command is silent between two things that it prints.
const SILENCE: Duration = Duration::from_secs(5);

pub(super) fn register(steps: &mut StepList) {
    steps
        .when(
            "a command prints {text} and, as an error, {text}",
            |scene, arguments| {
                Box::pin(async move {
                    let (output, error) = (arguments.text(0)?, arguments.text(1)?);
                    let text = format!(
                        "{}; {} >&2",
                        shell::print(output.as_bytes()),
                        shell::print(error.as_bytes())
                    );
                    run(scene, text).await
                })
            },
        )
        .when("a command prints {text} {words}", |scene, arguments| {
            Box::pin(async move { print_and(scene, &arguments.text(0)?, arguments.words(1)?).await })
        })
        .then("{text} has arrived while it waits", |scene, arguments| {
            Box::pin(async move { arrived(scene, arguments.text(0)?.as_bytes()).await })
        })
        .when(
            "a command prints {int} bytes on each stream in turns",
            |scene, arguments| Box::pin(async move { print_in_turns(scene, arguments.int(0)?).await }),
        );
}

/// Prints something, and goes on as the words say.
async fn print_and(scene: &mut Scene, printed: &str, what: &str) -> StepResult {
    if let Some(seconds) = number_in(what, "and keeps a beat, with a deadline of ", " second") {
        return super::timeout::print_until(scene, printed, seconds).await;
    }
    let print = shell::print(printed.as_bytes());
    match what {
        "and leaves a worker that holds its output" => run(scene, format!("sleep 6 & {print}")).await,
        "and leaves a worker that holds its errors only" => {
            run(scene, format!("sleep 6 >/dev/null & {print}")).await
        }
        "and then waits to be ended" => start(scene, format!("{print}; sleep 5"), Stream::Stdout).await,
        "as an error behind much output, and then waits to be ended" => {
            let much = shell::numbered(MUCH);
            start(
                scene,
                format!("{much}; sleep 0.3; {print} >&2; sleep 5"),
                Stream::Stderr,
            )
            .await
        }
        "after a silence of 5 seconds, and then waits to be ended" => {
            // What came before it is what a caller has seen when the silence begins.
            start(
                scene,
                format!("{print}; sleep 5; {print}; sleep 4"),
                Stream::Stdout,
            )
            .await?;
            arrived(scene, printed.as_bytes()).await?;
            tokio::time::sleep(SILENCE).await;
            Ok(())
        }
        "as an error, and then waits to be ended" => {
            start(scene, format!("{print} >&2; sleep 5"), Stream::Stderr).await
        }
        other => Err(unknown(other, "done after printing")),
    }
}

/// Starts a command that is looked at while it runs, on this stream.
async fn start(scene: &mut Scene, text: String, stream: Stream) -> StepResult {
    let params = scene.command(text).await?;
    let exec = scene.start(&params).await?;
    scene.running.push(exec);
    scene.notes.stream = Some(stream);
    Ok(())
}

async fn run(scene: &mut Scene, text: String) -> StepResult {
    let params = scene.command(text).await?;
    scene.run(&params).await
}

async fn arrived(scene: &mut Scene, expected: &[u8]) -> StepResult {
    let within = scene.scaled(Duration::from_secs(2));
    let stream = scene.notes.stream.unwrap_or(Stream::Stdout);
    let Some(exec) = scene.running.last_mut() else {
        return Err(Failure::suite("no command runs"));
    };
    let enough = |record: &ExecRecord| record.bytes(stream).len() >= expected.len();
    match exec.wait_until(within, enough).await {
        Ok(()) | Err(Fault::Hung { .. }) => {}
        Err(fault) => return Err(scene.broken(fault)),
    }
    let record = exec.record();
    let seen = record.bytes(stream);
    if record.answer.is_none() && seen == expected {
        return Ok(());
    }
    let still = if record.answer.is_none() {
        "while the command runs"
    } else {
        "and the command has ended"
    };
    Err(Failure::failed(
        format!(
            "{} within {} ms, while the command runs",
            show(expected),
            within.as_millis()
        ),
        format!("{}, {still}", show(&seen)),
    ))
}

async fn print_in_turns(scene: &mut Scene, bytes: usize) -> StepResult {
    let turns = bytes / 8192;
    let text = format!(
        "awk 'BEGIN {{ for (turn = 0; turn < {turns}; turn++) {{ \
         for (i = 0; i < 1024; i++) {{ printf \"%07d\\n\", turn * 1024 + i; printf \"%07d\\n\", turn * 1024 + i > \"/dev/stderr\" }} }} }}'"
    );
    let params = scene.command(text).await?;
    scene.notes.content = Some(shell::numbered_bytes(bytes));
    scene.run(&params).await?;
    let content = scene.notes.content.clone().unwrap_or_default();
    for stream in [Stream::Stdout, Stream::Stderr] {
        let seen = scene.record()?.bytes(stream);
        if seen != content {
            return Err(Failure::failed(
                format!("{stream}: {}", show(&content)),
                format!("{}{}", show(&seen), difference(&content, &seen)),
            ));
        }
    }
    Ok(())
}

/// What the command prints goes through a helper that its shell has started, and that ends after it.
pub(crate) async fn use_helper(scene: &mut Scene) -> StepResult {
    run(scene, "exec > >(tr a-z A-Z); echo said".to_owned()).await
}
