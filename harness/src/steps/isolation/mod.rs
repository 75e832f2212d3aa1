//! Steps of the chapters about what a sandbox keeps apart, and what it keeps its commands from.

mod address;
mod airgap;
mod allowed;
mod asked;
pub(super) mod host;
mod image;
mod limit;
mod outside;
pub(super) mod r#priv;
pub(super) mod secret;
pub(super) mod tenant;
mod way;

use super::{
    composed::{number_in, unknown},
    files::mount,
};
use crate::{
    scene::{Failure, Scene},
    step::{StepList, StepResult},
};

pub(super) use asked::{WITHOUT_NETWORK, open_contradiction, spec_of};
pub(super) use image::{
    condition as image_condition, open_unknown as open_unknown_image, open_without_shell,
    tell_running_by_program,
};
pub(super) use limit::{fill, run_without_room, told_as_asked};

pub(super) fn register(steps: &mut StepList) {
    asked::register(steps);
    host::register(steps);
    secret::register(steps);
    steps.when("a command tries to {words}", |scene, arguments| {
        Box::pin(async move {
            match arguments.words(0)? {
                "leave a file wherever this machine keeps temporary ones" => {
                    host::leave_everywhere(scene).await
                }
                other => r#priv::attempt(scene, other).await,
            }
        })
    });
}

/// Has a command tell something of what it runs in.
pub(super) async fn tell(scene: &mut Scene, what: &str) -> StepResult {
    if let Some(how) = what.strip_prefix("its ways to a network") {
        return airgap::tell_ways(scene, how.trim_start_matches(", run ")).await;
    }
    if let Some(how) = what.strip_prefix("that it runs, run ") {
        return image::tell_running(scene, how).await;
    }
    let text = match what {
        "what it may do" => return r#priv::tell(scene).await,
        "the name of its machine" => host::NAME,
        "what its kernel has logged" => host::LOG,
        "the variables of every process that it sees" => secret::OF_ALL,
        other => limit::told(other).ok_or_else(|| unknown(other, "told"))?,
    };
    let params = scene.command(text).await?;
    scene.run(&params).await
}

/// What a command uses to get out of its sandbox, or to find where that ends.
pub(super) async fn command_uses(scene: &mut Scene, what: &str) -> StepResult {
    if let Some(means) = what.strip_suffix(" to reach this machine") {
        return airgap::reach_machine(scene, means).await;
    }
    if let Some(seconds) = number_in(what, "two processes that are busy for ", " seconds") {
        return limit::be_busy(scene, seconds).await;
    }
    match what {
        "the loopback to talk to another" => airgap::talk(scene).await,
        "a connection to reach the sandbox beside it" => airgap::reach_neighbour(scene).await,
        "more memory than its sandbox has" => limit::exhaust_memory(scene).await,
        "more processes than its sandbox has room for" => limit::exhaust_processes(scene).await,
        "more of the disk than its sandbox has" => limit::exhaust_disk(scene).await,
        "what is in that directory, and adds to it" => mount::read_and_add(scene).await,
        "every means to change that directory" => mount::change(scene).await,
        "every way to look beyond that directory" => mount::look_beyond(scene).await,
        "processes that lose their parent, and looks for them when they have ended" => {
            image::make_orphans(scene).await
        }
        "most of that in each of them" => limit::use_both(scene).await,
        other => Err(unknown(other, "used by a command")),
    }
}

/// What is seen of a sandbox or of what a command has told.
pub(super) async fn it_is(scene: &mut Scene, what: &str) -> StepResult {
    let files = what.strip_prefix("told from ").and_then(|rest| {
        let (from, to) = rest.strip_suffix(" of them")?.split_once(" to ")?;
        Some((from.parse().ok()?, to.parse().ok()?))
    });
    if let Some((from, to)) = files {
        return limit::told_files(scene, from, to);
    }
    match what {
        "not to be seen" => host::unseen(scene).await,
        "nowhere on this machine" => host::not_here(scene).await,
        "another name than this machine's" => host::other_name(scene),
        "nothing of this machine's log" => host::nothing_of_the_log(scene).await,
        "without capabilities that reach beyond a sandbox" => r#priv::without_capabilities(scene),
        "without a way to more privileges" => r#priv::without_more(scene),
        "behind a filter of what it asks of the kernel" => r#priv::filtered(scene),
        "told none but the loopback" => airgap::only_loopback(scene),
        "without a network wherever a command runs" => airgap::none_wherever(scene).await,
        "the same on both sides, byte for byte" => mount::same_on_both_sides(scene).await,
        "as it was, and every attempt has failed" => mount::unchanged(scene).await,
        "still not there on this machine" => mount::still_missing(scene).await,
        "told nothing of what lies beside it" => mount::nothing_beside(scene),
        "told truly whether it has run" => limit::told_whether_it_ran(scene).await,
        "told so" => image::told_so(scene),
        "allowed what was told when it was opened" => allowed::as_told(scene).await,
        "as if nobody had asked" => image::nothing_more(scene).await,
        "told the limit that was asked for" => limit::told_as_asked(scene),
        other => secret::it_is(scene, other).await,
    }
}

/// What has become of something that a command has tried.
pub(super) fn it_was(scene: &Scene, what: &str) -> StepResult {
    match what {
        "in vain" => r#priv::in_vain(scene),
        "managed" => r#priv::managed(scene),
        "turned away at once, and nobody has heard of it" => airgap::turned_away(scene),
        "given most of that room, and no more" => limit::given_most_processes(scene),
        "given about a quarter of a processor" => limit::given_a_quarter(scene),
        "told that there is no room, and has not written more" => limit::told_no_room_on_disk(scene),
        "left with none of them" => image::left_with_none(scene),
        "enough for both" => limit::enough_for_both(scene),
        other => Err(unknown(other, "seen")),
    }
}

/// What a text prints at its end, so that nothing seen is told from nothing looked at.
pub(crate) const LOOKED: &str = "looked\n";

/// A word in two halves that stand in a shell's text as `$a$b`: whoever looks through command lines does not find itself.
pub(crate) fn halves(word: &str) -> String {
    let (a, b) = word.split_at(word.len() / 2);
    format!("a='{a}'; b='{b}'\n")
}

/// What a command that has looked around has told, and not only that it did.
pub(crate) fn told(output: &[u8]) -> Result<String, Failure> {
    let text = String::from_utf8_lossy(output).into_owned();
    text.strip_suffix(LOOKED).map(str::to_owned).ok_or_else(|| {
        Failure::failed(
            "a command that looks around to come to its end",
            format!("it printed {text:?}"),
        )
    })
}
