//! What the backend does with sandboxes that are kept under a key.

use std::path::PathBuf;

use herm_protocol::{
    Error,
    sandbox::{Opened, SandboxInfo, SandboxSpec, SandboxState},
};

use super::{
    LocalBackend, Mode, adapter::blocking, check, kept, open, residence::Residence, sandbox::Sandbox,
};
use crate::resident::Binary;

impl LocalBackend {
    /// Opens the sandbox of a key: the one that is there, or a new one, which outlives this process.
    pub(super) async fn open_kept(&self, key: &str, spec: SandboxSpec) -> Result<Opened, Error> {
        check::spec(None, &spec)?;
        if self.0.mode == Mode::Native {
            return Err(Error::unsupported("key"));
        }
        let base = self.kept_base()?;
        let binary = self.0.binary.get_or_init(Binary::find).clone()?;
        let kept::Kept {
            sandbox,
            state,
            notice,
        } = kept::open(&base, key, &binary, &self.0.ground.environment).await?;
        let sandbox = match spec.cwd {
            Some(cwd) => sandbox.with_cwd(cwd.to_path()),
            None => sandbox,
        };
        let sandbox = sandbox.with_env(spec.env);
        let mut opened = open::opened(&sandbox, self.0.mode);
        opened.state = state;
        opened.notices.extend(notice);
        self.keep(sandbox).await?;
        Ok(opened)
    }

    fn kept_base(&self) -> Result<PathBuf, Error> {
        let named = self.place().kept.clone();
        named.map_or_else(kept::default_base, Ok)
    }

    /// Every sandbox that is kept under a key, by key, opened here or not.
    ///
    /// # Errors
    /// Where they are kept cannot be read.
    pub async fn list_kept(&self) -> Result<Vec<SandboxInfo>, Error> {
        let base = self.kept_base()?;
        let resource = base.to_string_lossy().into_owned();
        let lying = blocking(&resource, move || kept::list(&base)).await?;
        let mut found = Vec::new();
        for one in lying {
            let running = Residence::attach(&one.directory.join("resident")).await.is_some();
            found.push(SandboxInfo {
                sandbox: one.id,
                key: Some(one.key),
                state: if running {
                    SandboxState::Running
                } else {
                    SandboxState::Stopped
                },
                cwd: Some(Sandbox::own_work(&one.directory).as_path().into()),
            });
        }
        Ok(found)
    }

    /// Removes the sandbox of a key, with its files and with everything that runs in it; says whether there was one.
    ///
    /// # Errors
    /// Something of it could not be ended or removed; removing it again tries again.
    pub async fn remove_kept(&self, key: &str) -> Result<bool, Error> {
        let base = self.kept_base()?;
        let directory = kept::directory_of(&base, key);
        if !tokio::fs::try_exists(&directory).await.unwrap_or(true) {
            return Ok(false);
        }
        let lock = kept::lock(&base, key).await?;
        let id = kept::id_of(key);
        let work = Sandbox::own_work(&directory);
        let sandbox = Sandbox::kept(id.clone(), key.to_owned(), directory.clone(), work);
        let sandbox = match Residence::attach(&directory.join("resident")).await {
            Some(residence) => sandbox.with_residence(residence),
            None => sandbox,
        };
        sandbox.close().await?;
        self.sandboxes().open.remove(&id);
        // The lock goes while it is held, so that nobody waits for a file that nobody else sees.
        let _ = tokio::fs::remove_file(directory.with_extension("lock")).await;
        drop(lock);
        Ok(true)
    }
}
