//! Looking at a sandbox under a key as it is: nothing is made, started, let go on or replaced for that, whatever the
//! configuration says by now.

use std::sync::{Mutex, atomic::AtomicBool};

use bollard::models::ContainerInspectResponse;
use herm_protocol::{
    Error, ErrorKind,
    sandbox::{OpenState, Opened},
};

use super::{
    DockerBackend, names,
    sandbox::{Inhabited, Sandbox, Ties},
    secret::Known,
    seen::state_of,
};
use crate::{
    backend::local::{Mode, adapter::blocking, kept},
    files::file_error,
    lifecycle::reuse::State,
    resident::MeetingDirectory,
};

impl DockerBackend {
    /// Attaches to the sandbox of a key, to look at what goes on in it.
    ///
    /// # Errors
    /// There is none, it does not run, or it does not answer.
    pub async fn attach_kept(&self, key: &str) -> Result<Opened, Error> {
        if self.0.mode == Mode::Native {
            return Err(Error::unsupported("--key").with_fix(NATIVE));
        }
        let key = self.shared_key(key.to_owned());
        kept::check(&key)?;
        let owner = self.owner().await?;
        let name = owner.container_of(&key);
        let engine = self.engine().await?;
        let container = engine.container(&name).await?;
        let label = container
            .as_ref()
            .and_then(|container| label(container, names::OWNER));
        if label != Some(&owner.name) {
            return Err(Error::sandbox_not_found(&name));
        }
        let container = container.ok_or_else(|| Error::sandbox_not_found(&name))?;
        match state_of(&container) {
            State::Running => {}
            State::Paused => {
                let message = format!("the container {name} is paused, and nothing in it answers");
                let fix = format!("let it go on (docker unpause {name}), and ask again");
                return Err(Error::new(ErrorKind::Unavailable, name, message).with_fix(fix));
            }
            state => {
                let message = format!("the container {name} is {}: nothing goes on in it", state.name());
                let fix = "herm exec --key KEY starts it again; what ran in it has ended";
                return Err(Error::new(ErrorKind::SandboxNotFound, name, message).with_fix(fix));
            }
        }
        let directory = kept::directory_of(&owner.base, &key);
        let (secret, meeting) = blocking("what is kept of the sandbox", {
            let directory = directory.clone();
            move || {
                let failed = |error| file_error("read the secret of the sandbox in", &directory, &error);
                let secret = Known::read(&directory).map_err(failed)?;
                let failed = |error| file_error("make a place to meet in", &directory, &error);
                Ok((secret, MeetingDirectory::make(&directory).map_err(failed)?))
            }
        })
        .await?;
        let (resident, instance) = engine.meet(&name, &container, &meeting, secret.secret()).await?;
        let config = container.config.unwrap_or_default();
        let program = config.entrypoint.unwrap_or_default().into_iter().next();
        let sandbox = Sandbox {
            id: name.clone(),
            key: Some(key),
            directory,
            cwd: config.working_dir.unwrap_or_else(|| "/".into()).into(),
            env: Vec::new(),
            volumes: Vec::new(),
            shell: None,
            closing: AtomicBool::new(false),
            inhabited: Some(Inhabited::new(resident, program.unwrap_or_default(), &instance)),
            ties: Mutex::new(Ties::default()),
        };
        let opened = Opened {
            sandbox: name,
            state: OpenState::Attached,
            exec_mode: self.0.mode.name().into(),
            cwd: Some(sandbox.cwd.as_path().into()),
            notices: Vec::new(),
            policy: None,
        };
        self.take_in(&engine, sandbox).await?;
        Ok(opened)
    }
}

/// What to do in native mode.
pub(super) const NATIVE: &str =
    "sandboxes are kept in resident mode only: leave --key out, or set terminal.exec_mode to auto";

fn label<'a>(container: &'a ContainerInspectResponse, name: &str) -> Option<&'a String> {
    container.config.as_ref()?.labels.as_ref()?.get(name)
}
