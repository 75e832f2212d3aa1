//! ATTACH: a sandbox that is found again under its key.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use herm_protocol::{
    client::{CallError, Client},
    exec::{Command, Outcome, RunParams, Stream},
    method,
    sandbox::{
        CloseHow, Empty, Network, OpenParams, OpenState, Opened, SandboxInfo, SandboxRef, SandboxSpec,
        SandboxState, Variable,
    },
};

use super::reuse;
use crate::{
    scene::{Failure, Sandbox, Scene, Worker, shell},
    step::{StepList, StepResult},
    steps::{
        composed::unknown,
        general::{absent, mark_is_in_directory, show},
        isolation::WITHOUT_NETWORK,
    },
};

/// The variable that a later caller asks for, and its value before and after.
const VARIABLE: (&str, &str, &str) = ("PROBE_CALLER", "first", "second");

/// When a job has left its mark that would leave one a second after its deadline of a second.
const MARKED_BY: Duration = Duration::from_millis(2300);

/// How many letters stand before the last sign of a long key: more than most systems keep of a name.
const LONG: usize = 200;

/// An accent that is one with its letter, and one that stands behind it.
const ACCENTS: [&str; 2] = ["caf\u{e9}", "cafe\u{301}"];

/// Another key, much like this one.
fn key_near(key: &str, difference: &str) -> Result<String, Failure> {
    let near = match difference {
        "a sign" => key.replacen('-', "_", 1),
        "the case of a letter" => key.replacen('h', "H", 1),
        "a blank behind it" => format!("{key} "),
        "a blank before it" => format!(" {key}"),
        "a line end behind it" => format!("{key}\n"),
        "the code of a sign" => key.replacen('-', "%2D", 1),
        "a way there and back" => format!("x/../{key}"),
        "its last sign" => format!("{}!", &key[..key.len() - 1]),
        "the lack of its last sign" => key[..key.len() - 1].to_owned(),
        "how an accent is written" => key.replacen(ACCENTS[0], ACCENTS[1], 1),
        other => return Err(unknown(other, "between two keys")),
    };
    if near == key {
        return Err(Failure::suite(format!("{key:?} has nothing of {difference}")));
    }
    Ok(near)
}

pub(super) fn register(steps: &mut StepList) {
    steps
        .given("a sandbox under {words}", |scene, arguments| {
            Box::pin(async move {
                let opened = first(scene, arguments.words(0)?).await;
                opened.map_err(Failure::while_preparing)
            })
        })
        .when("a sandbox is opened under {words}", |scene, arguments| {
            Box::pin(async move { first(scene, arguments.words(0)?).await })
        })
        .when("the key is opened again {words}", |scene, arguments| {
            Box::pin(async move { open_again(scene, arguments.words(0)?).await })
        })
        .when("another caller {words}", |scene, arguments| {
            Box::pin(async move { other(scene, arguments.words(0)?).await })
        })
        .when("{int} callers open one key at once", |scene, arguments| {
            Box::pin(async move { at_once(scene, arguments.int(0)?).await })
        })
        .when("the key is opened while nobody can be asked", |scene, _| {
            Box::pin(reuse::open_while_missing(scene))
        })
        .then("all callers share one sandbox", |scene, _| {
            Box::pin(shared(scene))
        });
}

async fn first(scene: &mut Scene, kind: &str) -> StepResult {
    let (kind, network) = match kind.strip_suffix(WITHOUT_NETWORK) {
        Some(kind) => (kind, Some(Network::None)),
        None => (kind, None),
    };
    let (kind, wish) = match kind.split_once(" and with ") {
        Some((kind, wish)) => (kind, Some(wish)),
        None => (kind, None),
    };
    let (kind, cwd) = match kind.strip_suffix(" and in the root directory") {
        Some(kind) => (kind, Some("/".into())),
        None => (kind, None),
    };
    let key = scene.key();
    scene.notes.key = Some(match kind {
        "a key" => key,
        "a long key" => format!("{key}{}?", "k".repeat(LONG)),
        "a key with an accent" => key + ACCENTS[0],
        "a key with slashes" => format!("/{key}/a/../b/"),
        "a key with blanks and quotes" => format!(" {key} it's \"quoted\" "),
        "a key with two lines" => format!("{key}\nsecond\n"),
        "a key that begins with dashes" => format!("--{key}"),
        "a key with signs of patterns" => format!("{key}*[!a]?{{b,c}}$(d)%s"),
        "a key with letters beyond ASCII" => format!("gr\u{fc}n-\u{65e5}\u{672c}-\u{1f680}-{key}"),
        "a key of 250 signs" => format!("{key:k<250}"),
        other => return Err(unknown(other, "a key")),
    });
    scene.alone = true;
    scene.notes.network.clone_from(&network);
    let env = if scene.declares("env").await? {
        vec![Variable::new(VARIABLE.0, VARIABLE.1)]
    } else {
        Vec::new()
    };
    let asked = reuse::asked(wish)?;
    scene.notes.limits.clone_from(&asked.limits);
    scene.notes.idle_ms = asked.idle_ms;
    let spec = SandboxSpec {
        env,
        cwd,
        network,
        ..asked
    };
    scene.open_key(spec).await?;
    Ok(())
}

async fn open_again(scene: &mut Scene, after: &str) -> StepResult {
    // What the first caller has asked of the network, later ones ask, too, unless the words say otherwise.
    let mut spec = SandboxSpec {
        network: scene.notes.network.clone(),
        ..SandboxSpec::default()
    };
    let (at_the_time, after) = match after.strip_prefix("at the time of the mark, ") {
        Some(after) => (true, after),
        None => (false, after),
    };
    let (after, wish) = match after.split_once(", with ") {
        Some((after, wish)) => (after, Some(wish)),
        None => (after, None),
    };
    if wish.is_some() {
        spec.limits = reuse::asked(wish)?.limits;
        scene.notes.limits.clone_from(&spec.limits);
    }
    match after {
        "after its caller has gone" => scene.dismiss_caller().await?,
        "after its caller was killed" => scene.kill_caller().await?,
        "after it was let go" => scene.leave(CloseHow::Detach).await?,
        "after it was stopped" => scene.leave(CloseHow::Stop).await?,
        "after it was stopped with its job" => {
            scene.notes.forgotten.clone_from(&scene.notes.name);
            scene.leave(CloseHow::Stop).await?;
        }
        "after it was destroyed" => {
            let id = scene.sandbox().await?.id;
            scene.destroy(&id).await?;
            scene.own.clear();
        }
        "with another variable and the root directory" => {
            scene.dismiss_caller().await?;
            spec.env.push(Variable::new(VARIABLE.0, VARIABLE.2));
            spec.cwd = Some("/".into());
        }
        "without a network" => {
            scene.dismiss_caller().await?;
            spec.network = Some(Network::None);
        }
        other => return Err(unknown(other, "between two openings")),
    }
    if at_the_time {
        // Whoever would leave the mark has begun before.
        tokio::time::sleep(scene.scaled(MARKED_BY)).await;
    }
    let opened = scene.open_key(spec).await;
    scene.answer(opened).map(|_| ())
}

async fn other(scene: &mut Scene, what: &str) -> StepResult {
    let former = scene.another_caller().await?;
    let own = scene.own.len();
    let done = match what {
        "opens the key" => {
            let key = scene.key();
            let opened = scene.open_keyed(Some(key), SandboxSpec::default()).await;
            opened
                .map(|opened| scene.notes.opened = Some(opened))
                .map_err(Into::into)
        }
        "destroys what it opens under the key" => match scene.open_key(SandboxSpec::default()).await {
            Ok(opened) => scene
                .destroy(&opened.sandbox)
                .await
                .map(|_| ())
                .map_err(Into::into),
            Err(error) => Err(error.into()),
        },
        "looks for it" => look_for(scene).await,
        other => match between(other, "opens a key that differs from it in ", " only") {
            Some(difference) => open_near(scene, difference).await,
            None => Err(unknown(other, "done by another caller")),
        },
    };
    scene.own.truncate(own);
    scene.back_to(former).await?;
    done
}

/// What stands between these words.
fn between<'a>(words: &'a str, before: &str, behind: &str) -> Option<&'a str> {
    words.strip_prefix(before)?.strip_suffix(behind)
}

/// Opens a key that hardly differs from the scenario's.
async fn open_near(scene: &mut Scene, difference: &str) -> StepResult {
    let near = key_near(&scene.key(), difference)?;
    let opened = scene.open_keyed(Some(near), SandboxSpec::default()).await?;
    scene.notes.opened = Some(opened.clone());
    look_and_close(scene, &opened).await
}

/// Notes whether the mark is seen from a sandbox that is not the scenario's, and destroys that unless it is the same.
async fn look_and_close(scene: &mut Scene, opened: &Opened) -> StepResult {
    let first = scene.own.first().map(|first| first.id.clone());
    if first.as_ref() == Some(&opened.sandbox) {
        return Ok(());
    }
    let seen = match mark_is_in_directory(scene).await {
        Ok(false) => Ok(()),
        Ok(true) => Err(Failure::failed(
            "no file of the other key's sandbox where commands start",
            "it is there",
        )),
        Err(failure) => Err(failure),
    };
    scene.destroy(&opened.sandbox).await?;
    seen
}

/// The list names the sandbox with its key, and its description is true.
async fn look_for(scene: &mut Scene) -> StepResult {
    let id = scene.sandbox().await?.id;
    let key = scene.key();
    let patience = scene.patience();
    let client = scene.client().await?;
    let listed = client.call::<method::List>(&Empty {}, patience).await?.sandboxes;
    let of_key: Vec<_> = listed
        .iter()
        .filter(|info| info.key.as_ref() == Some(&key))
        .collect();
    match of_key.as_slice() {
        [info] if info.sandbox == id && info.state == SandboxState::Running => {}
        [] => {
            let expected = format!("the sandbox {id} with the key {key:?} in the list");
            return Err(Failure::failed(expected, keys_of(&listed)));
        }
        found => {
            let expected = format!("one running sandbox {id} of the key in the list");
            return Err(Failure::failed(expected, format!("{found:?}")));
        }
    }
    if scene.declares("inspect").await? {
        let params = SandboxRef { sandbox: id.clone() };
        let info = client.call::<method::Inspect>(&params, patience).await?;
        if info.sandbox != id || info.key.as_ref() != Some(&key) || info.state != SandboxState::Running {
            let expected = format!("{id} to be described as running under its key");
            return Err(Failure::failed(expected, format!("{info:?}")));
        }
    }
    Ok(())
}

/// The sandboxes of a list with their keys, for people.
fn keys_of(listed: &[SandboxInfo]) -> String {
    const SHOWN: usize = 10;
    if listed.is_empty() {
        return "an empty list".into();
    }
    let one = |info: &SandboxInfo| match &info.key {
        Some(key) => format!("{} with the key {key:?}", info.sandbox),
        None => format!("{} without a key", info.sandbox),
    };
    let shown: Vec<String> = listed.iter().take(SHOWN).map(one).collect();
    let more = match listed.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{}{more}", shown.join(", "))
}

/// What the last opening answered, the one before it, and whether it did.
fn openings(scene: &Scene) -> Result<(Option<&Sandbox>, &Opened), Failure> {
    let last = scene.own.last().map(|sandbox| &sandbox.opened);
    let last = scene.notes.opened.as_ref().or(last);
    let last = last.ok_or_else(|| Failure::suite("nothing was opened"))?;
    Ok((scene.own.first(), last))
}

/// What the last opening has given.
pub(super) fn opened_last(scene: &Scene) -> Result<&Opened, Failure> {
    openings(scene).map(|(_, last)| last)
}

/// The sandbox was found again.
pub(crate) fn same(scene: &Scene) -> StepResult {
    scene.opened_at_all()?;
    let (first, last) = openings(scene)?;
    let id = first.map(|first| first.id.as_str()).unwrap_or_default();
    if last.sandbox == id && last.state == OpenState::Attached {
        return Ok(());
    }
    Err(Failure::failed(
        format!("the sandbox {id:?}, found again"),
        opened_in_words(last),
    ))
}

/// The sandbox of another key is another one.
pub(crate) fn different(scene: &Scene) -> StepResult {
    let (first, last) = openings(scene)?;
    let id = first.map(|first| first.id.as_str()).unwrap_or_default();
    if last.sandbox != id && last.state == OpenState::Created {
        return Ok(());
    }
    Err(Failure::failed(
        format!("a new sandbox, another one than {id:?}"),
        opened_in_words(last),
    ))
}

/// What an opening has given, as people read it.
pub(super) fn opened_in_words(opened: &Opened) -> String {
    let state = match opened.state {
        OpenState::Created => "made anew",
        OpenState::Attached => "found again",
        OpenState::Recreated => "made once more",
    };
    let said = match opened.notices.join(", ") {
        notices if notices.is_empty() => notices,
        notices => format!("; it said: {notices}"),
    };
    format!("the sandbox {:?}, {state}{said}", opened.sandbox)
}

/// A new sandbox, and nothing of the one before.
pub(crate) async fn new_and_empty(scene: &mut Scene) -> StepResult {
    scene.opened_at_all()?;
    let (_, last) = openings(scene)?;
    if last.state != OpenState::Created {
        return Err(Failure::failed("a sandbox made anew", opened_in_words(last)));
    }
    absent(
        scene,
        "nothing of the sandbox that was destroyed",
        "its file is still there",
    )
    .await
}

/// What was asked for at a later opening holds, or it was refused, or something was said.
pub(crate) async fn as_asked(scene: &mut Scene) -> StepResult {
    if scene.refusal.is_some() {
        return Ok(());
    }
    let seen = scene
        .observe(format!("printf '%s ' \"${}\"; pwd -P", VARIABLE.0))
        .await?;
    let expected = format!("{} /\n", VARIABLE.2);
    if seen == expected.as_bytes() {
        return Ok(());
    }
    let (_, last) = openings(scene)?;
    Err(Failure::failed(
        format!("commands to see {expected:?}, or the opening to be refused"),
        format!("{}; the opening gave {}", show(&seen), opened_in_words(last)),
    ))
}

/// A command is told that its sandbox is gone, and nothing that could be its own.
pub(crate) async fn gone(scene: &mut Scene) -> StepResult {
    let params = scene.command("echo undead").await?;
    scene.run(&params).await?;
    let refused = scene.refusal.as_ref().map(herm_protocol::Error::kind);
    if refused == Some(herm_protocol::ErrorKind::SandboxNotFound) {
        return Ok(());
    }
    match &scene.result()?.outcome {
        Outcome::SandboxLost => Ok(()),
        other => {
            let printed = scene.record()?.bytes(Stream::Stdout);
            let seen = format!("{other}; it printed {}", show(&printed));
            Err(Failure::failed("to be told that the sandbox is gone", seen))
        }
    }
}

impl Scene {
    /// The last opening was not refused.
    pub(super) fn opened_at_all(&self) -> StepResult {
        match &self.refusal {
            Some(error) => Err(Failure::failed("the key to be opened", error.to_string())),
            None => Ok(()),
        }
    }
}

/// Opens one key from that many processes; each leaves a line in a file of the directory that its commands start in.
async fn at_once(scene: &mut Scene, callers: u32) -> StepResult {
    scene.notes.found = !scene.own.is_empty();
    scene.dismiss_caller().await?;
    let workshop = scene.workshop()?;
    let employed = futures::future::join_all((0..callers).map(|_| workshop.employ())).await;
    let mut workers = employed.into_iter().collect::<Result<Vec<_>, _>>()?;
    let (key, patience) = (scene.key(), scene.patience());
    let openings = workers.iter().enumerate().map(|(number, worker)| {
        let params = OpenParams {
            key: Some(key.clone()),
            spec: SandboxSpec::default(),
        };
        leave_a_line(worker.client.clone(), params, number, patience)
    });
    let opened = futures::future::join_all(openings).await;
    scene.alone = true;
    let last = workers.pop();
    let done: Result<Vec<Opened>, Failure> = opened.into_iter().collect();
    let known: Vec<Opened> = done.as_ref().cloned().unwrap_or_default();
    let one = known.last().map(|opened| opened.sandbox.clone());
    let others: BTreeSet<_> = known
        .iter()
        .zip(&workers)
        .filter(|(opened, _)| Some(&opened.sandbox) != one.as_ref())
        .map(|(opened, _)| opened.sandbox.clone())
        .collect();
    for worker in workers {
        finish(worker, &others, &workshop, patience).await;
    }
    scene.worker = last;
    scene.own = known.into_iter().map(Sandbox::new).collect();
    done.map(|_| ())
}

async fn finish(
    mut worker: Worker,
    others: &BTreeSet<String>,
    workshop: &crate::scene::Workshop,
    patience: std::time::Duration,
) {
    for id in others {
        worker.close(id, patience).await;
    }
    workshop.give_back(worker, true).await;
}

/// Opens a sandbox, and has a command in it add a line to a file.
async fn leave_a_line(
    client: Arc<Client>,
    params: OpenParams,
    number: usize,
    patience: Duration,
) -> Result<Opened, Failure> {
    let command = (
        format!("herm-caller-{number}"),
        format!("echo {number} >> herm-callers"),
    );
    open_and_run(&client, &params, command, patience).await
}

/// Opens a sandbox, and runs a command in it that exits with 0: an exec's name and a text.
pub(super) async fn open_and_run(
    client: &Arc<Client>,
    params: &OpenParams,
    (exec, text): (String, String),
    patience: Duration,
) -> Result<Opened, Failure> {
    let opened = client.call::<method::Open>(params, patience * 3).await?;
    let params = RunParams::new(&opened.sandbox, exec, Command::Shell(text.into()));
    let record = client
        .run(&params)?
        .wait(patience)
        .await
        .map_err(CallError::Fault)?;
    match record.result().map(|result| &result.outcome) {
        Some(Outcome::Exited { code: 0 }) => Ok(opened),
        _ => Err(Failure::failed(
            "a command of every caller to work",
            format!("{:?}", record.answer),
        )),
    }
}

async fn shared(scene: &mut Scene) -> StepResult {
    let ids: BTreeSet<_> = scene.own.iter().map(|sandbox| sandbox.id.clone()).collect();
    let callers = scene.own.len();
    if ids.len() != 1 {
        return Err(Failure::failed("one sandbox", format!("{ids:?}")));
    }
    let made = scene
        .own
        .iter()
        .filter(|sandbox| sandbox.opened.state != OpenState::Attached);
    let made = made.count();
    // Where there was one before, it may be there yet.
    if made != 1 && !(scene.notes.found && made == 0) {
        return Err(Failure::failed(
            "one caller to be told that the sandbox was made, and the others that it was there",
            format!("{made} of {callers} are told that it was made"),
        ));
    }
    let seen = scene
        .observe(format!("sort -n {}", shell::word(b"herm-callers")))
        .await?;
    let lines: Vec<String> = (0..callers).map(|number| format!("{number}\n")).collect();
    let expected = lines.concat();
    if seen == expected.as_bytes() {
        return Ok(());
    }
    Err(Failure::failed("a line of every caller in one file", show(&seen)))
}
