//! REAP: what nobody needs is removed, and nothing else.

use std::time::Duration;

use herm_protocol::{
    ErrorKind,
    client::CallError,
    method,
    sandbox::{
        CloseHow, Empty, OpenParams, OpenState, ReapParams, Reapable, Reaped, SandboxInfo, SandboxSpec,
        SandboxState,
    },
};
use tokio::time::Instant;

use super::attach::{open_and_run, opened_in_words};
use crate::{
    scene::{Failure, Scene},
    step::StepResult,
    steps::{
        composed::{number_in, unknown},
        exec::call_late,
        general::show,
    },
};

/// How late an idle sandbox may end, before scaling.
const LATE: Duration = Duration::from_secs(1);

/// How often is looked whether it has.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How often a key is opened while a reaper is at work.
const ROUNDS: u32 = 4;

/// An hour, in milliseconds.
const HOUR: u64 = 3_600_000;

/// The idle life that the words ask for, in milliseconds.
pub(super) fn idle_life(words: &str) -> Option<u64> {
    match words {
        "an idle life of a second" => Some(1000),
        _ => number_in::<u64>(words, "an idle life of ", " seconds").map(|seconds| seconds * 1000),
    }
}

/// What is asked of a reaper.
fn asked(words: &str) -> Option<ReapParams> {
    let params = ReapParams {
        ended_for_ms: Some(0),
        dry_run: false,
    };
    match words {
        "nobody needs" => Some(params),
        "nobody has needed for an hour" => Some(ReapParams {
            ended_for_ms: Some(HOUR),
            ..params
        }),
        "nobody needs, for a look only" => Some(ReapParams {
            dry_run: true,
            ..params
        }),
        _ => None,
    }
}

/// Has the backend remove what the words say, under the circumstances that they say.
pub(crate) async fn remove(scene: &mut Scene, words: &str) -> StepResult {
    if let Some(rest) = words.strip_suffix(" after it was stopped") {
        scene.leave(CloseHow::Stop).await?;
        return reap(scene, rest).await;
    }
    if let Some(rest) = words.strip_suffix(" after its caller has gone") {
        scene.dismiss_caller().await?;
        return reap(scene, rest).await;
    }
    match words {
        "nobody needs, twice at once and once more" => three_times(scene).await,
        "nobody needs while its key is opened" => while_opened(scene).await,
        words => reap(scene, words).await,
    }
}

async fn reap(scene: &mut Scene, words: &str) -> StepResult {
    let params = asked(words).ok_or_else(|| unknown(words, "removed"))?;
    let reaped = ask(scene, &params).await?;
    scene.notes.reaped = vec![reaped];
    Ok(())
}

async fn ask(scene: &mut Scene, params: &ReapParams) -> Result<Reaped, Failure> {
    let patience = scene.patience() * 3;
    let client = scene.client().await?;
    Ok(client.call::<method::Reap>(params, patience).await?)
}

/// Two callers reap at once, and one of them again: each is answered.
async fn three_times(scene: &mut Scene) -> StepResult {
    let params = asked("nobody needs").unwrap_or_default();
    let patience = scene.patience() * 3;
    let one = scene.client().await?;
    let former = scene.another_caller().await?;
    let other = scene.client().await?;
    let both = tokio::join!(
        one.call::<method::Reap>(&params, patience),
        other.call::<method::Reap>(&params, patience)
    );
    scene.back_to(former).await?;
    let again = ask(scene, &params).await?;
    scene.notes.reaped = vec![both.0?, both.1?, again];
    Ok(())
}

/// A key is opened, and a command run in what it opens, while another caller reaps what had been ended.
async fn while_opened(scene: &mut Scene) -> StepResult {
    let id = scene.sandbox().await?.id;
    let key = scene.key();
    let patience = scene.patience() * 3;
    for round in 0..ROUNDS {
        if round > 0 {
            scene.bring_about("stop", Some(id.clone())).await?;
        }
        scene.dismiss_caller().await?;
        let one = scene.client().await?;
        let former = scene.another_caller().await?;
        let other = scene.client().await?;
        let params = asked("nobody needs").unwrap_or_default();
        let opening = OpenParams {
            key: Some(key.clone()),
            spec: SandboxSpec::default(),
        };
        let command = (format!("herm-reaped-{round}"), "sleep 0.2".to_owned());
        let reaping = async {
            // Each time at another moment of the opening.
            tokio::time::sleep(Duration::from_millis(u64::from(round) * 40)).await;
            other.call::<method::Reap>(&params, patience).await
        };
        let (opened, reaped) = tokio::join!(open_and_run(&one, &opening, command, patience), reaping);
        scene.back_to(former).await?;
        let reaped = reaped?;
        let opened = opened?;
        let was_removed = reaped.removed.iter().any(|one| one.id == id);
        if was_removed && opened.state == OpenState::Attached {
            return Err(Failure::failed(
                "no sandbox to be told as removed that somebody goes on with",
                opened_in_words(&opened),
            ));
        }
        scene.own.retain(|own| own.id != opened.sandbox);
        scene.own.push(crate::scene::Sandbox::new(opened));
        // What was removed under somebody's feet may take a moment to be missed.
        tokio::time::sleep(scene.scaled(Duration::from_millis(300))).await;
        let seen = scene.observe("echo alive").await?;
        if seen != b"alive\n" {
            return Err(Failure::failed("what was opened to be of use", show(&seen)));
        }
    }
    Ok(())
}

/// What an answer tells of a sandbox: as removed, and as left.
type Told<'a> = (Option<&'a Reapable>, Option<&'a Reapable>);

/// What was told of the sandbox in question: as removed, and as kept, in each answer.
fn told(scene: &Scene) -> Result<Vec<Told<'_>>, Failure> {
    let id = scene.own.first().map(|own| own.id.as_str());
    let id = id.ok_or_else(|| Failure::suite("nothing was opened"))?;
    let mut all = Vec::new();
    for Reaped { removed, kept } in &scene.notes.reaped {
        let removed = removed.iter().find(|one| one.id == id);
        all.push((removed, kept.iter().find(|one| one.id == id)));
    }
    Ok(all)
}

/// The sandbox as it is listed now.
async fn listed(scene: &mut Scene) -> Result<Option<SandboxInfo>, Failure> {
    let id = scene.own.first().map(|own| own.id.clone()).unwrap_or_default();
    let patience = scene.patience();
    let client = scene.client().await?;
    let list = client.call::<method::List>(&Empty {}, patience).await?;
    Ok(list.sandboxes.into_iter().find(|info| info.sandbox == id))
}

/// Whether the ledger names the sandbox.
async fn is_owned(scene: &mut Scene) -> Result<bool, Failure> {
    if !scene.declares("ledger").await? {
        return Ok(false);
    }
    let id = scene.own.first().map(|own| own.id.clone()).unwrap_or_default();
    let patience = scene.patience();
    let client = scene.client().await?;
    let ledger = client.call::<method::TakeLedger>(&Empty {}, patience).await?;
    Ok(ledger.items.iter().any(|item| item.id == id))
}

fn has_reason(one: &Reapable) -> StepResult {
    if one.why.trim().is_empty() {
        let expected = format!("a word why {} is as it is", one.id);
        return Err(Failure::failed(expected, "nothing was said"));
    }
    Ok(())
}

/// It was told as kept, and is there.
pub(crate) async fn left(scene: &mut Scene) -> StepResult {
    for (removed, kept) in told(scene)? {
        if let Some(removed) = removed {
            let seen = format!("it is told as removed: {}", removed.why);
            return Err(Failure::failed("the sandbox to be left as it is", seen));
        }
        let kept = kept.ok_or_else(|| {
            Failure::failed(
                "a word of the sandbox and why it was left",
                "nothing was said of it",
            )
        })?;
        has_reason(kept)?;
    }
    if listed(scene).await?.is_none() {
        return Err(Failure::failed("the sandbox in the list", "it is not there"));
    }
    Ok(())
}

/// It was told as removed once at least, and nothing of it is there.
pub(crate) async fn removed(scene: &mut Scene) -> StepResult {
    let told = told(scene)?;
    let removed: Vec<_> = told.iter().filter_map(|(removed, _)| *removed).collect();
    let Some(first) = removed.first() else {
        let why = told.iter().find_map(|(_, kept)| *kept);
        let seen = why.map_or_else(
            || "nothing was said of it".to_owned(),
            |kept| format!("it is told as left: {}", kept.why),
        );
        return Err(Failure::failed("the sandbox to be removed", seen));
    };
    has_reason(first)?;
    if let (true, Some((Some(again), _))) = (told.len() > 1, told.last()) {
        let seen = format!("it is told again: {}", again.why);
        return Err(Failure::failed(
            "nothing to be removed of what has been removed",
            seen,
        ));
    }
    if let Some(info) = listed(scene).await? {
        let seen = format!("it is listed as {:?}", info.state);
        return Err(Failure::failed("the sandbox not to be listed any more", seen));
    }
    if is_owned(scene).await? {
        return Err(Failure::failed(
            "the sandbox not to be in the ledger any more",
            "it is there",
        ));
    }
    Ok(())
}

/// It was told as what would go, and is there.
pub(crate) async fn would_go(scene: &mut Scene) -> StepResult {
    let told = told(scene)?;
    let Some((Some(one), _)) = told.first() else {
        return Err(Failure::failed(
            "the sandbox among what would be removed",
            "it is not told there",
        ));
    };
    has_reason(one)?;
    if listed(scene).await?.is_none() {
        return Err(Failure::failed(
            "the sandbox in the list: it was only looked",
            "it is not there",
        ));
    }
    Ok(())
}

/// It is somebody else's: nothing is told of it as removed.
pub(crate) fn not_told_as_removed(scene: &Scene) -> StepResult {
    for (removed, _) in told(scene)? {
        if let Some(removed) = removed {
            let seen = format!("it is told as removed: {}", removed.why);
            return Err(Failure::failed("what is somebody else's to be left", seen));
        }
    }
    Ok(())
}

/// Has something go on in a sandbox for longer than its idle life, without a pause that is as long; then it is there.
pub(crate) async fn go_on(scene: &mut Scene, what: &str) -> StepResult {
    let idle = Duration::from_millis(idle_of(scene)?);
    match what {
        "a command runs" => {
            let seconds = idle.as_secs_f64() * 2.5;
            let seen = scene.observe(format!("sleep {seconds:.1}; echo done")).await?;
            if seen != b"done\n" {
                return Err(Failure::failed("a command that runs to its end", show(&seen)));
            }
        }
        "a command is run now and then" => {
            for _ in 0..5 {
                tokio::time::sleep(idle / 2).await;
                let seen = scene.observe("echo done").await?;
                if seen != b"done\n" {
                    return Err(Failure::failed("a command that runs to its end", show(&seen)));
                }
            }
        }
        "its key is opened now and then" => {
            for _ in 0..4 {
                tokio::time::sleep(idle / 2).await;
                scene.dismiss_caller().await?;
                found_again(scene).await?;
            }
        }
        "a job runs" => {
            let seconds = idle.as_secs_f64() * 2.5;
            let mut params = scene.command(format!("sleep {seconds:.1}; echo done")).await?;
            params.detach = true;
            let patience = scene.patience();
            let client = scene.client().await?;
            client.call::<method::RunDetached>(&params, patience).await?;
            scene.dismiss_caller().await?;
            tokio::time::sleep(idle * 2).await;
            found_again(scene).await?;
            // From its end on nothing goes on.
            tokio::time::sleep(idle * 3 / 5).await;
        }
        "a command waits for a tool" => call_late(scene).await?,
        other => return Err(unknown(other, "going on in a sandbox")),
    }
    match listed(scene).await? {
        Some(info) if info.state == SandboxState::Running => Ok(()),
        Some(info) => {
            let seen = format!("it is listed as {:?}", info.state);
            Err(Failure::failed(
                "the sandbox to run: something has gone on in it",
                seen,
            ))
        }
        None => Err(Failure::failed(
            "the sandbox to run: something has gone on in it",
            "it is not there",
        )),
    }
}

/// Another caller opens the key, and finds the sandbox there.
async fn found_again(scene: &mut Scene) -> StepResult {
    let opened = scene.open_key(SandboxSpec::default()).await?;
    if opened.state == OpenState::Attached {
        return Ok(());
    }
    Err(Failure::failed(
        "the sandbox to be found again",
        opened_in_words(&opened),
    ))
}

fn idle_of(scene: &Scene) -> Result<u64, Failure> {
    scene
        .notes
        .idle_ms
        .ok_or_else(|| Failure::suite("the sandbox has no idle life"))
}

/// It ends when its idle life is over, which begins with the end of the last thing that is asked of it: not before, and not
/// much later.
pub(crate) async fn ends_in_time(scene: &mut Scene) -> StepResult {
    let idle = Duration::from_millis(idle_of(scene)?);
    let before = Instant::now();
    let seen = scene.observe("echo last").await?;
    if seen != b"last\n" {
        return Err(Failure::while_preparing(Failure::failed(
            "a command that works",
            show(&seen),
        )));
    }
    let after = Instant::now();
    let latest = after + idle + scene.scaled(LATE);
    loop {
        let asked = Instant::now();
        let info = listed(scene).await?;
        let answered = Instant::now();
        let runs = info.is_some_and(|info| info.state == SandboxState::Running);
        if !runs {
            // It was seen to be over at the time of the answer, at the latest.
            if answered.duration_since(before) < idle {
                let seen = format!("it has ended after {:?}", answered.duration_since(before));
                return Err(Failure::failed(format!("the sandbox to live for {idle:?}"), seen));
            }
            return Ok(());
        }
        if asked > latest {
            let seen = format!("it is there after {:?}", asked.duration_since(after));
            return Err(Failure::failed(
                format!("the sandbox to end {idle:?} after the last command"),
                seen,
            ));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// The key opens a new sandbox, and nobody is told that it is the old one.
pub(crate) async fn opens_anew(scene: &mut Scene) -> StepResult {
    let opened = match scene.open_key(SandboxSpec::default()).await {
        Ok(opened) => opened,
        Err(CallError::Refused(error)) if error.kind() == ErrorKind::SandboxNotFound => {
            return Err(Failure::failed("the key to be opened", error.to_string()));
        }
        Err(error) => return Err(error.into()),
    };
    if opened.state == OpenState::Attached {
        return Err(Failure::failed(
            "a new sandbox, as the old one has ended",
            opened_in_words(&opened),
        ));
    }
    let seen = scene.observe("echo alive").await?;
    if seen != b"alive\n" {
        return Err(Failure::failed("a command to run in it", show(&seen)));
    }
    Ok(())
}
