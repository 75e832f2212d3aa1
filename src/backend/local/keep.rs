//! What the backend does with sandboxes that are kept under a key.

use std::{os::unix::ffi::OsStrExt as _, path::PathBuf};

use herm_protocol::{
    ByteString, Error, ErrorKind,
    sandbox::{
        Closed, OpenState, Opened, ReapParams, Reapable, Reaped, SandboxInfo, SandboxSpec, SandboxState,
        Variable,
    },
};

use super::{
    LocalBackend, Mode,
    adapter::blocking,
    inherited, kept, lock, open,
    residence::Residence,
    sandbox::Sandbox,
    traces::{MARK, Traces},
};
use crate::resident::Binary;

impl LocalBackend {
    /// Opens the sandbox of a key: the one that is there, or a new one, which outlives this process.
    pub(super) async fn open_kept(&self, key: &str, spec: SandboxSpec) -> Result<Opened, Error> {
        let asked = spec.cwd.as_ref().map(ByteString::to_path);
        if let Some(cwd) = asked.clone() {
            blocking("spec.cwd", move || open::check_start(&cwd)).await?;
        }
        let base = self.kept_base()?;
        let binary = self.0.binary.get_or_init(Binary::find).clone()?;
        let kept::Kept {
            sandbox,
            state,
            notice,
        } = kept::open(&base, key, &spec, &binary, &self.0.ground.environment).await?;
        let sandbox = match asked {
            Some(cwd) => sandbox.with_cwd(cwd),
            None => sandbox,
        };
        let mark = Variable::new(MARK, sandbox.directory.as_os_str().as_bytes());
        let sandbox = sandbox.with_env(spec.env.into_iter().chain([mark]).collect());
        let mut opened = open::opened(&sandbox, self.0.mode);
        opened.state = state;
        opened.notices.extend(notice);
        if state == OpenState::Attached
            && let Some(resident) = sandbox.residence()
            && let Some(pid) = resident.pid().await
        {
            let lower = blocking("limits", move || Ok(inherited::lower_limits(pid)));
            opened.notices.extend(lower.await?);
        }
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
            let running = Residence::attach(&kept::home_in(&one.directory)).await.is_some();
            found.push(SandboxInfo {
                sandbox: one.id,
                key: Some(one.key),
                state: if running {
                    SandboxState::Running
                } else {
                    SandboxState::Stopped
                },
                cwd: Some(one.work.as_path().into()),
            });
        }
        Ok(found)
    }

    /// What whoever looks at the kept sandboxes should know besides, a line each: which have lost what ran in them, and which
    /// cannot be listed.
    ///
    /// # Errors
    /// Where they are kept cannot be read.
    pub async fn kept_remarks(&self) -> Result<Vec<String>, Error> {
        let base = self.kept_base()?;
        let resource = base.to_string_lossy().into_owned();
        let kept_in = base.clone();
        let (lying, damaged) = blocking(&resource, move || {
            Ok((kept::list(&kept_in)?, kept::damaged(&kept_in)))
        })
        .await?;
        let mut remarks = Vec::new();
        for one in lying {
            let home = kept::home_in(&one.directory);
            // A resident that ends in order takes its socket along.
            let socket = home.join("socket");
            if Residence::attach(&home).await.is_some() {
                continue;
            }
            let key = one.key;
            let (kept_in, looked_for) = (base.clone(), key.clone());
            let lock = blocking(&resource, move || Ok(lock::try_lock(&kept_in, &looked_for))).await?;
            // Somebody opens or removes it just now, or has done so meanwhile.
            if lock.is_none() || Residence::attach(&home).await.is_some() {
                continue;
            }
            let looked = blocking(&resource, move || {
                Ok((kept::is_inhabited(&home), socket.exists()))
            });
            match looked.await? {
                (true, _) => remarks.push(format!(
                    "the resident of {key:?} runs and cannot be reached; try again in a moment, or herm rm {key:?}"
                )),
                (false, true) => remarks.push(format!(
                    "the resident of {key:?} was ended from outside, and is gone with its jobs; its files are there, and the \
                     next herm exec --key {key:?} starts another"
                )),
                (false, false) => {}
            }
        }
        remarks.extend(damaged);
        Ok(remarks)
    }

    /// Tells which sandboxes are kept. Nothing of this machine has to be reaped: what runs in one is ended with it, its files
    /// are promised to the next command under its key, and what killed clients leave is removed by every look.
    ///
    /// # Errors
    /// Where they are kept cannot be read.
    pub async fn reap(&self, _: ReapParams) -> Result<Reaped, Error> {
        let kept = self.list_kept().await?.into_iter().map(|info| Reapable {
            kind: "sandbox".into(),
            id: info.sandbox,
            key: info.key,
            why: match info.state {
                SandboxState::Running => "it runs".into(),
                _ => "its files are there for the next command under its key".into(),
            },
        });
        Ok(Reaped {
            removed: Vec::new(),
            kept: kept.collect(),
        })
    }

    /// Those of them that this backend's callers may see: none where nothing can be kept.
    pub(super) async fn kept(&self) -> Result<Vec<SandboxInfo>, Error> {
        match self.0.mode {
            Mode::Native => Ok(Vec::new()),
            Mode::Resident => self.list_kept().await,
        }
    }

    /// Lets go of a sandbox that is kept, which goes on without this process.
    pub(super) fn detach(&self, id: &str) -> Result<Closed, Error> {
        self.keepable("how: detach")?;
        let mut sandboxes = self.sandboxes();
        match sandboxes.open.get(id) {
            Some(sandbox) if sandbox.key.is_none() => Err(without_key("how: detach")),
            found => {
                let existed = found.is_some_and(|sandbox| sandbox.check_there().is_ok());
                sandboxes.open.remove(id);
                Ok(Closed { existed })
            }
        }
    }

    /// Ends everything that runs in a sandbox that is kept. Its files stay.
    pub(super) async fn stop(&self, id: &str) -> Result<Closed, Error> {
        self.keepable("how: stop")?;
        let open = self.sandboxes().open.get(id).cloned();
        if open.as_ref().is_some_and(|sandbox| sandbox.key.is_none()) {
            return Err(without_key("how: stop"));
        }
        let Some(key) = self.key_of(id).await? else {
            self.sandboxes().open.remove(id);
            return Ok(Closed { existed: false });
        };
        let base = self.kept_base()?;
        let lock = lock::lock(&base, &key).await?;
        let home = kept::home_of(&base, &key);
        let residence = Residence::attach(&home).await;
        if let Some(residence) = &residence {
            residence.end().await?;
        }
        Traces::of(&home).await.end(residence.is_some()).await?;
        self.sandboxes().open.remove(id);
        drop(lock);
        Ok(Closed { existed: true })
    }

    /// Removes the sandbox of an id, opened here or not, if there is one that is kept.
    pub(super) async fn end_kept(&self, id: &str) -> Result<Closed, Error> {
        let existed = match self.key_of(id).await? {
            Some(key) => self.remove_kept(&key).await?,
            None => false,
        };
        self.sandboxes().open.remove(id);
        Ok(Closed { existed })
    }

    fn keepable(&self, what: &str) -> Result<(), Error> {
        match self.0.mode {
            Mode::Native => Err(Error::unsupported(what)),
            Mode::Resident => Ok(()),
        }
    }

    /// The key of a sandbox that lies there.
    async fn key_of(&self, id: &str) -> Result<Option<String>, Error> {
        if self.0.mode == Mode::Native || !kept::is_id(id) {
            return Ok(None);
        }
        let base = self.kept_base()?;
        let resource = base.to_string_lossy().into_owned();
        let lying = blocking(&resource, move || kept::list(&base)).await?;
        Ok(lying.into_iter().find(|one| one.id == id).map(|one| one.key))
    }

    /// Removes the sandbox of a key, with its files and with everything that runs in it; says whether there was one.
    ///
    /// # Errors
    /// Something of it could not be ended or removed; removing it again tries again.
    pub async fn remove_kept(&self, key: &str) -> Result<bool, Error> {
        let base = self.kept_base()?;
        let directory = kept::directory_of(&base, key);
        let traces = Traces::of(&kept::home_of(&base, key)).await;
        if !tokio::fs::try_exists(&directory).await.unwrap_or(true) {
            // Whoever has removed the directory has not ended what ran in it.
            return traces.end(false).await;
        }
        let lock = lock::lock(&base, key).await?;
        let id = kept::id_of(key);
        let work = Sandbox::own_work(&directory);
        let sandbox = Sandbox::kept(key.to_owned(), directory.clone(), work);
        let residence = Residence::attach(&kept::home_of(&base, key)).await;
        if let Some(residence) = &residence {
            residence.end().await?;
        }
        traces.end(residence.is_some()).await?;
        sandbox.close().await?;
        let open = self.sandboxes().open.get(&id).cloned();
        if let Some(open) = open {
            // Whoever waits for a command in it is answered first.
            open.close().await?;
        }
        self.sandboxes().open.remove(&id);
        // The lock goes while it is held, so that nobody waits for a file that nobody else sees.
        let _ = tokio::fs::remove_file(directory.with_extension("lock")).await;
        drop(lock);
        Ok(true)
    }
}

/// A sandbox without a key ends with its caller, whatever is asked.
fn without_key(what: &str) -> Error {
    let message = "the sandbox was opened without a key, and nobody could find it again";
    Error::new(ErrorKind::InvalidArgument, what, message).with_fix("open it with a key, or destroy it")
}
