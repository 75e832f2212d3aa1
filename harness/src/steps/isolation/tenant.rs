//! TENANT: two sandboxes see nothing of each other.

use std::time::Duration;

use herm_protocol::sandbox::SandboxSpec;

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

/// How often whoever listens in the first sandbox is called from there until it answers.
const CALLS: u32 = 40;

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

/// Somebody who tells a word to the first who calls.
async fn listen(scene: &mut Scene) -> StepResult {
    let word = scene.token();
    // Both sandboxes have ports of their own; where they do not, no other scenario has chosen the same one.
    let serial = word
        .bytes()
        .fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    let port = LOWEST + serial % LOWEST;
    let with = scene
        .prepare("for n in nc busybox; do command -v $n && break; done; :")
        .await?;
    if with.is_empty() {
        return Err(Failure::inconclusive("nc is not in the sandbox to listen with"));
    }
    let params = scene
        .command(format!("{NETCAT}; echo {word} | $n -l -p {port}"))
        .await?;
    let exec = scene.start(&params).await?;
    scene.running.push(exec);
    tokio::time::sleep(scene.scaled(Duration::from_millis(300))).await;
    scene.notes.number = Some(port.into());
    scene.machine.set_word(word);
    Ok(())
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

/// Calls the port of the loopback that somebody listens on in the first one, and then from there, where it has to answer.
async fn call(scene: &mut Scene) -> StepResult {
    let port = scene.notes.number.unwrap_or_default();
    let call = format!("$n -w 2 127.0.0.1 {port} </dev/null 2>/dev/null");
    host::look(scene, format!("{NETCAT}; {call}; echo looked")).await?;
    let seen = scene.notes.content.clone();
    let told = super::told(&seen.unwrap_or_default())?;
    let word = word(scene)?;
    if told.contains(&word) {
        return Ok(());
    }
    let second = scene.own.pop();
    let text = format!(
        "{NETCAT}; i=0; while [ $i -lt {CALLS} ]; do {call} && break; sleep 0.1; i=$((i+1)); done; :"
    );
    let answered = scene
        .prepare_within(text, scene.scaled(Duration::from_secs(20)))
        .await;
    scene.own.extend(second);
    if !String::from_utf8_lossy(&answered?).contains(&word) {
        return Err(Failure::inconclusive(
            "nobody answered in the first sandbox itself",
        ));
    }
    Ok(())
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
