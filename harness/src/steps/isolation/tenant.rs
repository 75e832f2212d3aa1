//! TENANT: two sandboxes see nothing of each other.

use herm_protocol::{client::ExecRecord, exec::Stream, sandbox::SandboxSpec};

use super::host;
use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::{composed::unknown, general},
};

/// Where everybody may write by custom, besides the directory that commands start in and the home of their user.
const PLACES: &str = ". \"$HOME\" /tmp /var/tmp /dev/shm /run /run/lock";

/// The lowest number of a port that is nobody's by custom.
const LOWEST: u32 = 20_000;

/// Shell text that finds the program that listens and calls.
const NETCAT: &str = "n=nc; command -v nc >/dev/null || n='busybox nc'";

/// How often whoever listens is called until it answers.
const CALLS: u32 = 6;

/// What the first who listens tells.
const CONTROL: &str = "control";

/// What is printed before the second one listens.
const READY: &str = "ready";

/// Does something in the first of two sandboxes, which is the one in question meanwhile.
pub(crate) async fn in_first(scene: &mut Scene, what: &str) -> StepResult {
    let second = scene.own.pop();
    let done = async {
        match what {
            "has left a file wherever it can" => leave_files(scene).await,
            "keeps a beat" => {
                general::keep_beat(scene).await?;
                let token = scene.the_beat()?.token;
                scene.machine.set_word(token);
                Ok(())
            }
            "listens on its loopback" => listen(scene).await,
            other => Err(unknown(other, "done in the first of two sandboxes")),
        }
    };
    let done = done.await;
    scene.own.extend(second);
    done
}

/// A file of one name, with that name in it, wherever it can be written. A look for it is given the places.
async fn leave_files(scene: &mut Scene) -> StepResult {
    let name = scene.token();
    let text =
        format!("for d in {PLACES}; do ( cd \"$d\" && pwd -P && echo {name} > {name} ) 2>/dev/null; done; :");
    let places = scene.prepare(text).await?;
    if places.is_empty() {
        return Err(Failure::inconclusive("no command could leave a file anywhere"));
    }
    scene.notes.content = Some(places);
    scene.machine.set_word(name);
    Ok(())
}

/// Somebody who tells a word to the first who calls, after the same command has called somebody who listened in the same way:
/// where that was in vain, nothing could be found out.
async fn listen(scene: &mut Scene) -> StepResult {
    let word = scene.token();
    // Both sandboxes have ports of their own; where they do not, no other scenario has chosen the same one.
    let serial = word
        .bytes()
        .fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let port = LOWEST + serial % LOWEST;
    let text = format!(
        "{NETCAT}; echo {CONTROL} | $n -l -p {port} & {}; wait; echo {READY}; echo {word} | $n -l -p {port}",
        call_again_and_again(port)
    );
    let params = scene.command(text).await?;
    let mut exec = scene.start(&params).await?;
    let said = |record: &ExecRecord, what: &str| {
        let printed = String::from_utf8_lossy(&record.bytes(Stream::Stdout)).into_owned();
        printed.lines().any(|line| line == what)
    };
    let patience = scene.patience();
    let ready = exec
        .wait_until(patience, |record| said(record, READY) || record.answer.is_some())
        .await;
    let able = said(exec.record(), CONTROL);
    scene.running.push(exec);
    if ready.is_err() || !able {
        return Err(Failure::inconclusive(
            "nobody in the first sandbox could be called there; it needs nc or busybox",
        ));
    }
    scene.notes.number = Some(port.into());
    scene.machine.set_word(word);
    Ok(())
}

/// Shell text that calls whoever listens on a port of the loopback until it is answered, or for a second or two.
fn call_again_and_again(port: u32) -> String {
    format!(
        "i=0; while [ $i -lt {CALLS} ] && ! $n -w 2 127.0.0.1 {port} </dev/null 2>/dev/null | grep .; do sleep 0.2; i=$((i+1)); done"
    )
}

/// Looks from the second of two sandboxes for what the first one has; `None` where the words say something else.
pub(super) async fn look(scene: &mut Scene, what: &str) -> Option<StepResult> {
    let how = what.strip_suffix(" the second one")?;
    Some(match how {
        "it among the files of" => look_for_files(scene).await,
        "it among the processes of" => look_for_process(scene, "echo \"$a$b\"").await,
        "its process to end it from" => look_for_process(scene, "kill -s KILL \"${p#/proc/}\"").await,
        "it on the loopback of" => call(scene).await,
        "it among the variables of" => look_for_variable(scene).await,
        other => Err(unknown(
            other,
            "a way to look for what the first of two sandboxes has",
        )),
    })
}

async fn look_for_files(scene: &mut Scene) -> StepResult {
    let name = word(scene)?;
    let places = scene.notes.content.clone().unwrap_or_default();
    let places: Vec<String> = places
        .split(|byte| *byte == b'\n')
        .filter(|place| !place.is_empty())
        .map(shell::word)
        .collect();
    let text = format!(
        "for d in {}; do cat \"$d\"/{name}; done 2>/dev/null; {}",
        places.join(" "),
        host::everywhere(&name)
    );
    host::look(scene, text).await
}

/// Looks through all command lines for the word of the first one's beat, and does something about each that has it. The first
/// one is in question after that.
async fn look_for_process(scene: &mut Scene, action: &str) -> StepResult {
    let text = host::through_command_lines(&word(scene)?, action);
    host::look(scene, text).await?;
    scene.own.rotate_left(1);
    Ok(())
}

/// Calls the port of the loopback that somebody listens on in the first one.
async fn call(scene: &mut Scene) -> StepResult {
    let port = scene.notes.number.unwrap_or_default();
    let port = u32::try_from(port).map_err(|_| Failure::suite("nobody listens on such a port"))?;
    let text = format!("{NETCAT}; {}; echo looked", call_again_and_again(port));
    host::look(scene, text).await
}

/// Looks for the value of the first one's variable in a sandbox that is opened after it.
async fn look_for_variable(scene: &mut Scene) -> StepResult {
    let variable = scene.notes.content.clone().unwrap_or_default();
    let variable = String::from_utf8_lossy(&variable).into_owned();
    let (_, value) = variable
        .split_once('=')
        .ok_or_else(|| Failure::suite("no sandbox was opened with a variable"))?;
    scene.machine.set_word(value.to_owned());
    scene.prepare_sandbox(SandboxSpec::default()).await?;
    let text = "{ env; cat /proc/[0-9]*/environ | tr '\\0' '\\n'; } 2>/dev/null; echo looked";
    host::look(scene, text.into()).await
}

/// The word that must not be seen.
fn word(scene: &Scene) -> Result<String, Failure> {
    let word = scene.machine.word().map(str::to_owned);
    word.ok_or_else(|| Failure::suite("the first sandbox has nothing to look for"))
}
