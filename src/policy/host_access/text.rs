//! Mounts that were only written down.

use std::collections::BTreeMap;

use herm_protocol::{
    Error,
    policy::{HostAccess, MountAccess},
};

use super::{EffectiveMount, Exposure, KnownHost, MountKind, classify};
use crate::{
    config::Secret,
    policy::mount::{Here, parse_mount},
};

/// A volume that is there already. What somebody writes of its driver does not change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Existing {
    /// Its driver.
    pub driver: String,
    /// The options that it was made with; none where they could not be seen.
    pub options: Option<BTreeMap<String, Secret<String>>>,
}

/// How far a container with these mounts would reach; `existing` tells of the volume of a name, if it is there.
///
/// # Errors
/// One of the texts is no mount. It is named by its place in the list, and nothing is said of the others.
pub fn classify_texts(
    texts: &[String],
    here: &Here,
    host: &KnownHost,
    existing: impl Fn(&str) -> Option<Existing>,
) -> Result<HostAccess, Error> {
    let mut mounts = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let asked = parse_mount(text, here).map_err(|refusal| refusal.about(format!("mounts[{index}]")))?;
        let mut mount = EffectiveMount::of(&asked);
        if let MountKind::Volume {
            name,
            driver,
            options,
        } = &mut mount.kind
            && let Some(there) = existing(name)
        {
            (*driver, *options) = (there.driver, there.options);
        }
        mounts.push(mount);
    }
    let access = classify(&mounts, &Exposure::default(), host);
    let of_each = texts
        .iter()
        .zip(access.reasons)
        .map(|(text, reason)| MountAccess {
            mount: text.clone(),
            level: reason.level,
            reason: reason.why,
        });
    Ok(HostAccess {
        level: access.level,
        mounts: of_each.collect(),
    })
}
