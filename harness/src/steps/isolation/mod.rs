//! Steps of the chapters about what a sandbox keeps its commands from.

mod address;
mod airgap;
mod asked;
mod outside;
mod way;

use super::composed::unknown;
use crate::{
    scene::Scene,
    step::{StepList, StepResult},
};

pub(super) use asked::{WITHOUT_NETWORK, open_contradiction};

pub(super) fn register(steps: &mut StepList) {
    asked::register(steps);
}

/// What a command tells of the sandbox that it runs in.
pub(super) async fn tell(scene: &mut Scene, what: &str) -> StepResult {
    match what.strip_prefix("its ways to a network") {
        Some(how) => airgap::tell_ways(scene, how.trim_start_matches(", run ")).await,
        None => Err(unknown(what, "told")),
    }
}

/// What a command uses to get out of its sandbox, or to find where that ends.
pub(super) async fn command_uses(scene: &mut Scene, what: &str) -> StepResult {
    if let Some(means) = what.strip_suffix(" to reach this machine") {
        return airgap::reach_machine(scene, means).await;
    }
    match what {
        "the loopback to talk to another" => airgap::talk(scene).await,
        "a connection to reach the sandbox beside it" => airgap::reach_neighbour(scene).await,
        other => Err(unknown(other, "used by a command")),
    }
}

/// What is seen of a sandbox or of what a command has told.
pub(super) async fn it_is(scene: &mut Scene, what: &str) -> StepResult {
    match what {
        "told none but the loopback" => airgap::only_loopback(scene),
        "without a network wherever a command runs" => airgap::none_wherever(scene).await,
        other => Err(unknown(other, "seen")),
    }
}

/// What has become of something that a command has tried.
pub(super) fn it_was(scene: &Scene, what: &str) -> StepResult {
    match what {
        "turned away at once, and nobody has heard of it" => airgap::turned_away(scene),
        other => Err(unknown(other, "seen")),
    }
}
