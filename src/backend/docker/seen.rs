//! What matters of a container that is found under the name of a key: whose it is, what it does, and whether it is what is asked
//! for.

use bollard::models::{ContainerInspectResponse, ContainerStateStatusEnum};

use super::{
    names::{self, Owner},
    prepare::Prepared,
};
use crate::lifecycle::reuse::{Likeness, State, Whose};

/// What matters of a container that is found.
pub(super) struct Seen {
    pub(super) state: State,
    pub(super) whose: Whose,
    pub(super) likeness: Likeness,
    /// What it was made of otherwise than is asked for, by the names of the parts.
    pub(super) made_otherwise: Vec<String>,
    /// What somebody has changed since it was made.
    pub(super) changed_since: Vec<String>,
}

impl Seen {
    /// Nothing that has the name.
    pub(super) const NOTHING: Self = Self {
        state: State::Gone,
        whose: Whose::Others,
        likeness: Likeness::Other,
        made_otherwise: Vec::new(),
        changed_since: Vec::new(),
    };

    /// In what it is not what is asked for.
    pub(super) fn otherwise(&self) -> Option<String> {
        if !self.made_otherwise.is_empty() {
            let what = self.made_otherwise.join(", ");
            Some(format!(
                "was made of something else than what is asked for now ({what})"
            ))
        } else if !self.changed_since.is_empty() {
            let what = self.changed_since.join(", ");
            Some(format!("was changed from outside since it was made ({what})"))
        } else {
            None
        }
    }

    /// What is told when a container is replaced.
    pub(super) fn replaced(
        &self,
        name: &str,
        prepared: &Prepared,
        container: Option<&ContainerInspectResponse>,
    ) -> String {
        let volumes = &prepared.volumes;
        let gone = if volumes.is_empty() {
            "its files are gone".to_owned()
        } else {
            format!("what was not on its volumes ({}) is gone", volumes.join(", "))
        };
        if self.state == State::Created {
            return format!(
                "the container {name} was never started, as whoever made it was interrupted; this is a new one"
            );
        }
        let ran = container.and_then(|container| container.state.as_ref()?.running) == Some(true);
        let ended = if ran { ", and what ran in it was ended" } else { "" };
        let why = self.otherwise();
        let why = why.unwrap_or_else(|| "could not be used any more".to_owned());
        format!("the container {name} {why}, and was replaced; {gone}{ended}")
    }
}

/// The state of a container.
pub(super) fn state_of(container: &ContainerInspectResponse) -> State {
    use ContainerStateStatusEnum as Status;
    match container.state.as_ref().and_then(|state| state.status) {
        Some(Status::RUNNING) => State::Running,
        Some(Status::PAUSED) => State::Paused,
        Some(Status::RESTARTING) => State::Restarting,
        Some(Status::CREATED) => State::Created,
        Some(Status::REMOVING) => State::Removing,
        Some(Status::DEAD) => State::Dead,
        _ => State::Exited,
    }
}

/// Whose a container is.
pub(super) fn whose(container: &ContainerInspectResponse, owner: &Owner) -> Whose {
    let labels = container
        .config
        .as_ref()
        .and_then(|config| config.labels.as_ref());
    if labels.and_then(|labels| labels.get(names::OWNER)) == Some(&owner.name) {
        Whose::Ours
    } else {
        Whose::Others
    }
}
