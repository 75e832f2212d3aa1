//! A container that another one takes the place of: it has another name meanwhile, and gets its own back where nothing comes
//! of it.

use bollard::query_parameters::RenameContainerOptionsBuilder;
use herm_protocol::Error;

use super::{
    engine::{ANSWER, Engine},
    names::Owner,
    seen::whose,
};
use crate::lifecycle::reuse::Whose;

/// How the name of a container ends that is about to be replaced.
pub(super) const ASIDE: &str = "-replaced";

/// What the container of a key is called while another takes its place.
pub(super) fn aside(name: &str) -> String {
    format!("{name}{ASIDE}")
}

impl Engine {
    /// Gives a container that is to be replaced another name. One that is gone is no error.
    ///
    /// # Errors
    /// The engine does not do it.
    pub(super) async fn put_aside(&self, name: &str) -> Result<(), Error> {
        self.remove(&aside(name)).await?;
        self.rename(name, &aside(name)).await
    }

    /// Gives a container back its name whose place was taken by nothing: whoever was to make another one was killed, or could
    /// not. Says whether there was one.
    ///
    /// # Errors
    /// The engine does not do it.
    pub(super) async fn bring_back(&self, name: &str, owner: &Owner) -> Result<bool, Error> {
        let aside = aside(name);
        let found = self.container(&aside).await?;
        if found.is_none_or(|container| whose(&container, owner) == Whose::Others) {
            return Ok(false);
        }
        self.rename(&aside, name).await?;
        Ok(true)
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), Error> {
        let options = RenameContainerOptionsBuilder::new().name(to).build();
        let doing = format!("rename the container {from}");
        let renaming = self.docker.rename_container(from, options);
        self.find(&doing, ANSWER, renaming).await.map(drop)
    }
}
