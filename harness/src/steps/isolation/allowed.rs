//! Whether what a sandbox is told to be allowed is what its commands find.

use herm_protocol::sandbox::{EffectivePolicy, ResourceLimits};

use super::{airgap, limit, r#priv, way};
use crate::{
    scene::{Failure, Scene},
    step::StepResult,
};

/// The name of a network that is none.
const NONE: &str = "none";

/// Whatever was told of the policy when the sandbox was opened holds for a command. A part that was not told is not looked at.
pub(super) async fn as_told(scene: &mut Scene) -> StepResult {
    let opened = scene.sandbox().await?.opened;
    let Some(policy) = opened.policy else {
        return Ok(());
    };
    if policy.network.as_deref() == Some(NONE) {
        airgap::tell_ways(scene, "").await?;
        airgap::only_loopback(scene)?;
    }
    if policy.no_new_privileges == Some(true) || policy.capabilities.is_some() {
        r#priv::tell(scene).await?;
    }
    if policy.no_new_privileges == Some(true) {
        r#priv::without_more(scene)?;
    }
    if let Some(names) = &policy.capabilities {
        r#priv::has_no_more_than(scene, names)?;
    }
    for limits in each(&policy) {
        let params = scene.command(limit::LIMITS).await?;
        scene.run(&params).await?;
        way::printed(scene)?;
        scene.notes.limits = limits;
        limit::told_as_asked(scene)?;
    }
    if let Some(user) = &policy.user {
        let printed = scene.observe("id -u; id -un").await?;
        let printed = String::from_utf8_lossy(&printed).into_owned();
        let name = user.split(':').next().unwrap_or_default();
        if !printed.lines().any(|line| line == name) {
            return Err(Failure::failed(
                format!("the user {name}"),
                format!("{printed:?}"),
            ));
        }
    }
    if policy.read_only_root == Some(true) {
        let printed = scene
            .observe("if : 2>/dev/null >/herm-probe; then echo written; fi")
            .await?;
        if printed == b"written\n" {
            return Err(Failure::failed(
                "a root that can only be read",
                "a file was made in it",
            ));
        }
    }
    Ok(())
}

/// Each bound that was told, by itself. The room on a disk is not told from within.
fn each(policy: &EffectivePolicy) -> Vec<ResourceLimits> {
    let ResourceLimits {
        memory_bytes,
        pids,
        cpu_millis,
        ..
    } = policy.limits;
    let one = [
        memory_bytes.map(|bytes| ResourceLimits {
            memory_bytes: Some(bytes),
            ..ResourceLimits::default()
        }),
        pids.map(|pids| ResourceLimits {
            pids: Some(pids),
            ..ResourceLimits::default()
        }),
        cpu_millis.map(|millis| ResourceLimits {
            cpu_millis: Some(millis),
            ..ResourceLimits::default()
        }),
    ];
    one.into_iter().flatten().collect()
}
