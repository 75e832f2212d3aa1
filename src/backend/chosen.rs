//! A backend that was chosen, whichever it is.

use herm_protocol::{
    Adapter, Error, Finished,
    exec::RunParams,
    sandbox::{OpenParams, Opened, ReapParams, Reaped, SandboxInfo, SandboxSpec},
};

use super::{docker::DockerBackend, local::LocalBackend};
use crate::{
    caller::{Caller, Control, Input, Output, Tools},
    config::BackendName,
};

/// A backend of the executor, made by [`super::open_backend`]. What the protocol knows is asked of its
/// [`Self::adapter`]; the rest is for a caller in this process.
#[derive(Clone, Debug)]
pub enum Backend {
    /// This machine.
    Local(LocalBackend),
    /// A container.
    Docker(DockerBackend),
}

impl Backend {
    /// Which one it is.
    #[must_use]
    pub fn name(&self) -> BackendName {
        match self {
            Self::Local(_) => BackendName::Local,
            Self::Docker(_) => BackendName::Docker,
        }
    }

    /// The same backend as the protocol sees it.
    #[must_use]
    pub fn adapter(&self) -> &dyn Adapter {
        match self {
            Self::Local(backend) => backend,
            Self::Docker(backend) => backend,
        }
    }

    /// Looks for what is wrong with its configuration on whatever machine. Nothing is asked of an engine.
    ///
    /// # Errors
    /// The first thing with which no sandbox could be opened.
    pub fn check_configuration(&self) -> Result<(), Error> {
        match self {
            Self::Local(_) => Ok(()),
            Self::Docker(backend) => backend.check_configuration(),
        }
    }

    /// Opens a sandbox, as [`Adapter::open`] does.
    ///
    /// # Errors
    /// As [`Adapter::open`]: nothing was made then.
    pub async fn open_sandbox(&self, params: OpenParams) -> Result<Opened, Error> {
        match self {
            Self::Local(backend) => backend.open_sandbox(params).await,
            Self::Docker(backend) => Box::pin(backend.open_sandbox(params)).await,
        }
    }

    /// Attaches to the sandbox that is kept under a key, to look at what goes on in it. Nothing of it is changed for that.
    ///
    /// # Errors
    /// There is none, or it does not answer.
    pub async fn attach_kept(&self, key: &str) -> Result<Opened, Error> {
        match self {
            Self::Local(backend) => {
                let key = Some(key.to_owned());
                let spec = SandboxSpec::default();
                backend.open_sandbox(OpenParams { key, spec }).await
            }
            Self::Docker(backend) => Box::pin(backend.attach_kept(key)).await,
        }
    }

    /// The key that sandboxes are kept under which somebody names so: that of the configuration, where several share one.
    #[must_use]
    pub fn shared_key(&self, key: String) -> String {
        match self {
            Self::Local(_) => key,
            Self::Docker(backend) => backend.shared_key(key),
        }
    }

    /// Whether a sandbox under a key goes on when this process has ended.
    #[must_use]
    pub fn outlives_this_process(&self) -> bool {
        match self {
            Self::Local(_) => true,
            Self::Docker(backend) => backend.persists_across_processes(),
        }
    }

    /// Runs a command to its end, as [`Adapter::run`] does.
    ///
    /// # Errors
    /// As [`Adapter::run`]: nothing ran then.
    pub async fn execute(
        &self,
        params: RunParams,
        caller: Caller<impl Output, impl Input, impl Tools>,
        control: impl Control,
    ) -> Result<Finished, Error> {
        match self {
            Self::Local(backend) => backend.execute(params, caller, control).await,
            Self::Docker(backend) => backend.execute(params, caller, control).await,
        }
    }

    /// Every sandbox that is kept under a key, by key, opened here or not.
    ///
    /// # Errors
    /// Where they are kept cannot be read.
    pub async fn list_kept(&self) -> Result<Vec<SandboxInfo>, Error> {
        match self {
            Self::Local(backend) => backend.list_kept().await,
            Self::Docker(backend) => backend.list_kept().await,
        }
    }

    /// What whoever looks at the kept sandboxes should know besides, a line each.
    ///
    /// # Errors
    /// Where they are kept cannot be read.
    pub async fn kept_remarks(&self) -> Result<Vec<String>, Error> {
        match self {
            Self::Local(backend) => backend.kept_remarks().await,
            Self::Docker(backend) => backend.kept_remarks().await,
        }
    }

    /// Removes what nobody needs any more of this user's, and tells what was left.
    ///
    /// # Errors
    /// Something cannot be looked at or removed. What was removed by then is gone.
    pub async fn reap(&self, params: ReapParams) -> Result<Reaped, Error> {
        match self {
            Self::Local(backend) => backend.reap(params).await,
            Self::Docker(backend) => Box::pin(backend.reap(params)).await,
        }
    }

    /// Removes the sandbox of a key, with its files and with everything that runs in it; says whether there was one.
    ///
    /// # Errors
    /// Something of it could not be ended or removed; removing it again tries again.
    pub async fn remove_kept(&self, key: &str) -> Result<bool, Error> {
        match self {
            Self::Local(backend) => backend.remove_kept(key).await,
            Self::Docker(backend) => backend.remove_kept(key).await,
        }
    }
}
