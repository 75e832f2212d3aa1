//! What a sandbox is asked to be when it is opened.

use herm_protocol::{
    client::CallError,
    sandbox::{Network, Opened, ResourceLimits, SandboxSpec},
};
use serde_json::json;

use crate::{
    scene::{Sandbox, Scene},
    step::{StepList, StepResult},
    steps::{
        composed::{number_in, unknown},
        files::mount,
    },
};

/// How the words go on that ask for a sandbox under a key to have no network.
pub(crate) const WITHOUT_NETWORK: &str = " and without a network";

pub(super) fn register(steps: &mut StepList) {
    steps.given("a sandbox with {words}", |scene, arguments| {
        Box::pin(async move { prepare(scene, arguments.words(0)?).await })
    });
}

/// Opens the sandbox of the scenario, which whoever declares what it needs does not refuse, and before it another one where the words ask for one beside it.
async fn prepare(scene: &mut Scene, words: &str) -> StepResult {
    if let Some(directory) = words.strip_prefix("a directory of this machine") {
        return mount::open(scene, directory).await;
    }
    let (words, beside) = match words.split_once(", beside one with ") {
        Some((words, beside)) => (words, Some(beside)),
        None => (words, None),
    };
    for words in beside.into_iter().chain([words]) {
        let spec = spec_of(words).ok_or_else(|| unknown(words, "asked of a sandbox"))?;
        scene.notes.limits = spec.limits.clone();
        scene.open_ready(spec).await?;
    }
    Ok(())
}

/// What the words ask of a sandbox.
pub(crate) fn spec_of(words: &str) -> Option<SandboxSpec> {
    let spec = SandboxSpec::default();
    match words {
        "the usual network" => Some(spec),
        "no network" => Some(SandboxSpec {
            network: Some(Network::None),
            ..spec
        }),
        _ => Some(SandboxSpec {
            limits: limits_of(words)?,
            ..spec
        }),
    }
}

/// The limits that the words ask for; none of them is one that can be kept where they ask for nothing, or for too much.
fn limits_of(words: &str) -> Option<ResourceLimits> {
    const MIB: u64 = 1024 * 1024;
    let memory = |bytes| ResourceLimits {
        memory_bytes: Some(bytes),
        ..ResourceLimits::default()
    };
    let pids = |pids| ResourceLimits {
        pids: Some(pids),
        ..ResourceLimits::default()
    };
    let cpu = |millis| ResourceLimits {
        cpu_millis: Some(millis),
        ..ResourceLimits::default()
    };
    let disk = |bytes| ResourceLimits {
        disk_bytes: Some(bytes),
        ..ResourceLimits::default()
    };
    Some(match words {
        "no memory at all" => memory(0),
        "more memory than can be" => memory(u64::MAX),
        "room for no process at all" => pids(0),
        "room for more processes than can be" => pids(u64::MAX),
        "a quarter of a processor" => cpu(250),
        "nothing of a processor" => cpu(0),
        "no disk at all" => disk(0),
        _ => match (
            number_in::<u64>(words, "", " MiB of memory"),
            number_in(words, "room for ", " processes"),
            number_in::<u64>(words, "a disk of ", " MiB"),
        ) {
            (Some(mebibytes), ..) => memory(mebibytes * MIB),
            (_, Some(processes), _) => pids(processes),
            (.., Some(mebibytes)) => disk(mebibytes * MIB),
            _ => return None,
        },
    })
}

/// Asks for a sandbox that reaches nothing, and two hosts. One that is made all the same is the scenario's to close.
pub(crate) async fn open_contradiction(scene: &mut Scene) -> StepResult {
    let network = json!({"mode": "none", "hosts": ["one.herm.invalid", "two.herm.invalid"]});
    let patience = scene.patience();
    let client = scene.client().await?;
    let answer = client
        .call_raw("sandbox.open", &json!({"spec": {"network": network}}), patience)
        .await;
    let opened = scene.answer::<serde_json::Value>(answer)?;
    let opened = opened.and_then(|opened| serde_json::from_value::<Opened>(opened).ok());
    scene.own.extend(opened.map(Sandbox::new));
    Ok::<(), CallError>(()).map_err(Into::into)
}
