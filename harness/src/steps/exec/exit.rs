//! EXIT: how a command ended is told as it was.

use std::time::Duration;

use herm_protocol::{
    ByteString,
    exec::{Command, RunParams, Stream},
};

use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::general::{new_mark, show},
};

/// How long it may take until memory is used up.
const EXHAUSTED: Duration = Duration::from_secs(30);

/// A program that nobody has.
const NO_PROGRAM: &str = "herm-no-such-program";

pub(super) fn register(steps: &mut StepList) {
    steps
        .when("a command exits with code {int}", |scene, arguments| {
            Box::pin(async move { run(scene, &format!("sh -c 'exit {}'", arguments.int::<u8>(0)?)).await })
        })
        .when("a command ends itself with signal {int}", |scene, arguments| {
            Box::pin(
                async move { run(scene, &format!("kill -{} $$; sleep 5", arguments.int::<u8>(0)?)).await },
            )
        })
        .then("the output names the program", |scene, _| {
            Box::pin(async { names_program(scene) })
        })
        .when(
            "a command that exits with code {int} on signal {int} is sent that signal",
            |scene, arguments| {
                Box::pin(async move { send_signal(scene, arguments.int(0)?, arguments.int(1)?).await })
            },
        )
        .when("a command that is {words} is run", |scene, arguments| {
            Box::pin(async move {
                let text = match arguments.words(0)? {
                    "empty" => "",
                    "a dash and a letter" => "-x",
                    "only a comment" => "# nothing to do",
                    "only blank lines" => "\n  \n\n",
                    other => return Err(Failure::suite(format!("{other:?} is no command"))),
                };
                run(scene, text).await
            })
        });
}

/// A writer whose reader takes one line and goes. It leaves the mark when it has written all, to nobody.
pub(crate) async fn lose_reader(scene: &mut Scene) -> StepResult {
    let mark = new_mark(scene).await?;
    let write = "i=0; while [ $i -lt 100000 ]; do echo y; i=$((i+1)); done 2>/dev/null";
    run(scene, &format!("{{ {write}; {mark}; }} | head -n 1")).await
}

/// Ends itself by a signal, and leaves the mark where that does not end it.
pub(crate) async fn end_first(scene: &mut Scene, signal: u8) -> StepResult {
    let mark = new_mark(scene).await?;
    run(scene, &format!("kill -{signal} $$; {mark}")).await
}

/// Becomes a program that holds one line that never ends.
pub(crate) async fn exhaust_memory(scene: &mut Scene) -> StepResult {
    let params = scene.command("exec tail -n 1 /dev/zero").await?;
    let within = scene.scaled(EXHAUSTED);
    scene.run_within(&params, within).await
}

/// A command whose first word cannot be run.
pub(crate) async fn name(scene: &mut Scene, what: &str) -> StepResult {
    match what {
        "a program that does not exist" => run(scene, NO_PROGRAM).await,
        "a file that is no program" => {
            let path = scene.new_path("no-program").await?;
            let path = shell::word(path.as_bytes());
            scene.prepare(format!(": > {path}; chmod 0644 {path}")).await?;
            run(scene, &path).await
        }
        "the files that it holds open" => super::open_files::tell(scene).await,
        other => Err(Failure::suite(format!("{other:?} is nothing to name"))),
    }
}

/// Runs an argument list whose program does not exist.
pub(crate) async fn run_missing(scene: &mut Scene) -> StepResult {
    run_words(scene, &[NO_PROGRAM]).await
}

/// Runs what a shell does itself, and what is no program.
pub(crate) async fn run_builtin(scene: &mut Scene) -> StepResult {
    run_words(scene, &["eval", "exit 7"]).await
}

async fn run_words(scene: &mut Scene, words: &[&str]) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let words = words.iter().map(|word| ByteString::from(*word)).collect();
    let params = scene.command_in(&sandbox, Command::Argv(words));
    scene.run(&params).await
}

/// Runs a program that no shell has to look up, and that exits with this code.
pub(crate) async fn run_program(scene: &mut Scene, code: u8) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let words = ["sh", "-c", &format!("exit {code}")].map(ByteString::from);
    let params = scene.command_in(&sandbox, Command::Argv(words.to_vec()));
    scene.run(&params).await
}

async fn run(scene: &mut Scene, text: &str) -> StepResult {
    let params = scene.command(text).await?;
    scene.run(&params).await
}

fn names_program(scene: &Scene) -> StepResult {
    scene.result()?;
    let record = scene.record()?;
    let said = [record.bytes(Stream::Stdout), record.bytes(Stream::Stderr)].concat();
    if String::from_utf8_lossy(&said).contains(NO_PROGRAM) {
        return Ok(());
    }
    Err(Failure::failed(
        format!("a message that names {NO_PROGRAM}"),
        show(&said),
    ))
}

async fn send_signal(scene: &mut Scene, code: u8, signal: i32) -> StepResult {
    let params = waits_for_signal(scene, code, signal).await?;
    run_and_signal(scene, &params, signal).await
}

/// A command that exits with this code on this signal.
pub(super) async fn waits_for_signal(scene: &mut Scene, code: u8, signal: i32) -> Result<RunParams, Failure> {
    let text = format!(
        "trap 'exit {code}' {signal}; echo ready; i=0; while [ $i -lt 100 ]; do sleep 0.05; i=$((i+1)); done"
    );
    scene.command(text).await
}

/// Runs a command, and sends it a signal when it says that it waits for one.
pub(super) async fn run_and_signal(scene: &mut Scene, params: &RunParams, signal: i32) -> StepResult {
    let patience = scene.patience();
    let mut exec = scene.start(params).await?;
    exec.wait_until(patience, |record| !record.pieces.is_empty())
        .await?;
    let sent = exec.signal(signal, patience).await;
    if scene.answer(sent)?.is_none() {
        return Err(scene.refusal()?.clone().into());
    }
    let record = exec.wait(patience).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    Ok(())
}
