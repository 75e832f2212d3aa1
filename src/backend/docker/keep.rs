//! What the backend does with sandboxes beside opening them: listing, letting go, stopping, removing.

use std::{collections::HashMap, path::PathBuf, sync::atomic::Ordering};

use bollard::{
    models::ContainerSummary,
    query_parameters::{ListContainersOptionsBuilder, StopContainerOptionsBuilder},
};
use herm_protocol::{
    Error, ErrorKind,
    ledger::{Ledger, LedgerItem},
    sandbox::{Closed, SandboxInfo, SandboxList, SandboxState},
};

use super::{
    DockerBackend,
    aside::aside,
    body,
    engine::{ANSWER, Engine, WORK},
    names::{self, Owner},
    record::{self, Record},
    sandbox::remove_directory,
};
use crate::backend::local::{Mode, adapter::blocking, kept, lock};

/// Seconds that what runs in a container that is stopped has to end.
const STOP: i32 = 10;

/// A container as the engine lists it.
#[derive(Clone, Debug)]
struct Listed {
    name: String,
    state: SandboxState,
}

impl DockerBackend {
    /// Every sandbox that is kept under a key, by key, opened here or not.
    ///
    /// # Errors
    /// The engine does not answer, or where they are kept cannot be read.
    pub async fn list_kept(&self) -> Result<Vec<SandboxInfo>, Error> {
        let owner = self.owner().await?;
        let engine = self.engine().await?;
        let listed = engine.listed(&owner).await?;
        let base = owner.base.clone();
        let records = blocking("the directory of kept sandboxes", move || Ok(record::all(&base))).await?;
        let mut found = Vec::new();
        for (record, _) in records {
            let name = owner.container_of(&record.key);
            // A record without its container is told when its key is opened again.
            if let Some(one) = listed.iter().find(|one| one.name == name) {
                found.push(SandboxInfo {
                    sandbox: name,
                    cwd: record.spec.cwd.clone(),
                    key: Some(record.key),
                    state: one.state,
                });
            }
        }
        Ok(found)
    }

    /// What whoever looks at the kept sandboxes should know besides, a line each.
    ///
    /// # Errors
    /// The engine does not answer, or where they are kept cannot be read.
    pub async fn kept_remarks(&self) -> Result<Vec<String>, Error> {
        let owner = self.owner().await?;
        let engine = self.engine().await?;
        let listed = engine.listed(&owner).await?;
        let base = owner.base.clone();
        let records = blocking("the directory of kept sandboxes", move || Ok(record::all(&base))).await?;
        // One that was to leave nothing has ended as it should.
        let lost = records
            .iter()
            .filter(|(record, _)| !record.once)
            .filter(|(record, _)| {
                let name = owner.container_of(&record.key);
                // One that is about to be replaced has another name.
                !listed
                    .iter()
                    .any(|one| one.name == name || one.name == aside(&name))
            });
        Ok(lost
            .map(|(Record { key, .. }, _)| {
                format!(
                    "the container of {key:?} was removed from outside; the next herm exec --key {key:?} makes another, and herm rm \
                     {key:?} removes its volumes"
                )
            })
            .collect())
    }

    /// Every sandbox that a caller could name: those under a key, and those that are open here.
    pub(super) async fn list_all(&self) -> Result<SandboxList, Error> {
        let mut sandboxes = match self.0.mode {
            Mode::Native => Vec::new(),
            Mode::Resident => self.list_kept().await?,
        };
        let open: Vec<_> = self.sandboxes().open.values().cloned().collect();
        for sandbox in open {
            match sandboxes.iter_mut().find(|known| known.sandbox == sandbox.id) {
                Some(known) => known.cwd = Some(sandbox.cwd.as_path().into()),
                None if sandbox.key.is_some() => {}
                None => {
                    if let Some(container) = self.engine().await?.container(&sandbox.id).await? {
                        sandboxes.push(sandbox.describe(super::sandbox::state_of(&container)));
                    }
                }
            }
        }
        sandboxes.sort_by(|left, right| left.sandbox.cmp(&right.sandbox));
        Ok(SandboxList { sandboxes })
    }

    /// Lets go of a sandbox that is kept, which goes on without this process.
    pub(super) async fn detach(&self, id: &str) -> Result<Closed, Error> {
        self.keepable("how: detach")?;
        let open = self.sandboxes().open.get(id).cloned();
        let Some(sandbox) = open else {
            return Ok(Closed { existed: false });
        };
        if sandbox.key.is_none() {
            return Err(without_key("how: detach"));
        }
        let existed = self.engine().await?.container(id).await?.is_some();
        self.sandboxes().open.remove(id);
        Ok(Closed { existed })
    }

    /// Ends everything that runs in a sandbox that is kept. Its files stay.
    pub(super) async fn stop(&self, id: &str) -> Result<Closed, Error> {
        self.keepable("how: stop")?;
        let open = self.sandboxes().open.get(id).cloned();
        if open.as_ref().is_some_and(|sandbox| sandbox.key.is_none()) {
            return Err(without_key("how: stop"));
        }
        let Some((owner, key, directory)) = self.kept_of(id).await? else {
            self.sandboxes().open.remove(id);
            return Ok(Closed { existed: false });
        };
        let lock = lock::lock(&owner.base, &key).await?;
        let engine = self.engine().await?;
        let existed = Box::pin(engine.stop(id)).await?;
        if existed {
            blocking("what is kept of the sandbox", move || {
                // Without a record it was removed meanwhile.
                let record = Record::read(&directory, &key)?;
                record.map_or(Ok(()), |record| {
                    let stopped = true;
                    Record { stopped, ..record }.write(&directory)
                })
            })
            .await?;
        }
        self.sandboxes().open.remove(id);
        drop(lock);
        Ok(Closed { existed })
    }

    /// Ends a sandbox; it is forgotten when nothing of it is left.
    pub(super) async fn destroy(&self, id: &str) -> Result<Closed, Error> {
        let open = self.sandboxes().open.get(id).cloned();
        if let Some(sandbox) = open.as_ref().filter(|sandbox| sandbox.key.is_none()) {
            sandbox.closing.store(true, Ordering::Relaxed);
            self.engine().await?.remove(&sandbox.id).await?;
            sandbox.forget().await?;
            let existed = self.sandboxes().open.remove(id).is_some();
            return Ok(Closed { existed });
        }
        let existed = match self.kept_of(id).await? {
            Some((_, key, _)) => self.remove_kept(&key).await?,
            None => false,
        };
        self.sandboxes().open.remove(id);
        Ok(Closed { existed })
    }

    /// Ends a sandbox with this process. What a key has in volumes stays for the next one.
    pub(super) async fn end(&self, id: &str) -> Result<(), Error> {
        let open = self.sandboxes().open.get(id).cloned();
        let Some((sandbox, key)) = open.and_then(|sandbox| Some((sandbox.clone(), sandbox.key.clone()?)))
        else {
            return self.destroy(id).await.map(drop);
        };
        if sandbox.volumes.is_empty() {
            self.remove_kept(&key).await?;
            return Ok(());
        }
        let owner = self.owner().await?;
        let _lock = lock::lock(&owner.base, &key).await?;
        let engine = self.engine().await?;
        if engine.is_ours(id, &owner).await? {
            engine.remove(id).await?;
        }
        self.sandboxes().open.remove(id);
        Ok(())
    }

    /// Removes the sandbox of a key, with its files and with everything that runs in it; says whether there was one.
    ///
    /// # Errors
    /// Something of it could not be ended or removed; removing it again tries again.
    pub async fn remove_kept(&self, key: &str) -> Result<bool, Error> {
        let key = &self.shared_key(key.to_owned());
        let owner = self.owner().await?;
        let directory = kept::directory_of(&owner.base, key);
        let name = owner.container_of(key);
        let engine = self.engine().await?;
        let there = tokio::fs::try_exists(&directory).await.unwrap_or(true);
        if !there && !engine.is_ours(&name, &owner).await? {
            return Ok(false);
        }
        let base = owner.base.clone();
        blocking("the directory of kept sandboxes", move || {
            kept::private_directory(&base)
        })
        .await?;
        let lock = lock::lock(&owner.base, key).await?;
        for name in [name.clone(), aside(&name)] {
            if engine.is_ours(&name, &owner).await? {
                engine.remove(&name).await?;
            }
        }
        engine.remove_volumes(&body::volumes_of(&name)).await?;
        remove_directory(&directory).await?;
        self.sandboxes().open.remove(&name);
        // The lock goes while it is held, so that nobody waits for a file that nobody else sees.
        let _ = tokio::fs::remove_file(directory.with_extension("lock")).await;
        drop(lock);
        Ok(true)
    }

    /// Everything that is there of this backend's sandboxes.
    pub(super) async fn owned(&self) -> Result<Ledger, Error> {
        let owner = self.owner().await?;
        let engine = self.engine().await?;
        let mut items: Vec<_> = engine
            .listed(&owner)
            .await?
            .into_iter()
            .map(|listed| ("container", listed.name))
            .chain(
                engine
                    .volumes(&owner)
                    .await?
                    .into_iter()
                    .map(|name| ("volume", name)),
            )
            .collect();
        let open: Vec<_> = self.sandboxes().open.values().cloned().collect();
        items.extend(
            open.iter()
                .map(|sandbox| ("directory", sandbox.directory.to_string_lossy().into_owned())),
        );
        items.sort();
        items.dedup();
        let items = items.into_iter().map(|(kind, id)| LedgerItem {
            kind: kind.into(),
            id,
        });
        Ok(Ledger {
            items: items.collect(),
        })
    }

    fn keepable(&self, what: &str) -> Result<(), Error> {
        match self.0.mode {
            Mode::Native => Err(Error::unsupported(what)),
            Mode::Resident => Ok(()),
        }
    }

    /// The key of a sandbox that is kept, by its id.
    async fn kept_of(&self, id: &str) -> Result<Option<(Owner, String, PathBuf)>, Error> {
        if self.0.mode == Mode::Native {
            return Ok(None);
        }
        let owner = self.owner().await?;
        let base = owner.base.clone();
        let records = blocking("the directory of kept sandboxes", move || Ok(record::all(&base))).await?;
        let found = records
            .into_iter()
            .find(|(record, _)| owner.container_of(&record.key) == id);
        Ok(found.map(|(record, directory)| (owner, record.key, directory)))
    }
}

impl Engine {
    /// Every container of an owner, as the engine lists it, by its name.
    pub(super) async fn containers_of(
        &self,
        owner: &Owner,
    ) -> Result<impl Iterator<Item = (String, ContainerSummary)> + use<>, Error> {
        let label = format!("{}={}", names::OWNER, owner.name);
        let filters: HashMap<&str, Vec<&str>> = [("label", vec![label.as_str()])].into();
        let options = ListContainersOptionsBuilder::new()
            .all(true)
            .filters(&filters)
            .build();
        let list = || self.docker.list_containers(Some(options.clone()));
        let containers = Box::pin(self.see("list containers", list)).await?;
        Ok(containers
            .unwrap_or_default()
            .into_iter()
            .filter_map(|container| {
                let name = container
                    .names
                    .as_ref()?
                    .first()?
                    .trim_start_matches('/')
                    .to_owned();
                Some((name, container))
            }))
    }

    /// The same, with what each does.
    async fn listed(&self, owner: &Owner) -> Result<Vec<Listed>, Error> {
        let containers = self.containers_of(owner).await?;
        let listed = containers.filter_map(|(name, container)| {
            use bollard::models::ContainerSummaryStateEnum as State;
            let state = match container.state? {
                State::RUNNING | State::RESTARTING => SandboxState::Running,
                State::PAUSED => SandboxState::Paused,
                // They are gone, or as good as gone.
                State::REMOVING | State::DEAD => return None,
                _ => SandboxState::Stopped,
            };
            Some(Listed { name, state })
        });
        Ok(listed.collect())
    }

    /// Every volume of an owner.
    pub(super) async fn volumes(&self, owner: &Owner) -> Result<Vec<String>, Error> {
        let label = format!("{}={}", names::OWNER, owner.name);
        let filters: HashMap<&str, Vec<&str>> = [("label", vec![label.as_str()])].into();
        let options = bollard::query_parameters::ListVolumesOptionsBuilder::new()
            .filters(&filters)
            .build();
        let listing = self.docker.list_volumes(Some(options));
        let found = self.call("list volumes", ANSWER, listing).await?;
        Ok(found
            .volumes
            .unwrap_or_default()
            .into_iter()
            .map(|volume| volume.name)
            .collect())
    }

    /// Whether there is a container of that name that bears an owner's label.
    async fn is_ours(&self, name: &str, owner: &Owner) -> Result<bool, Error> {
        let Some(container) = self.container(name).await? else {
            return Ok(false);
        };
        let labels = container
            .config
            .and_then(|config| config.labels)
            .unwrap_or_default();
        if labels.get(names::OWNER) == Some(&owner.name) {
            return Ok(true);
        }
        let message = format!("the container {name} is there, and is not ours: it does not bear our label");
        Err(Error::new(ErrorKind::AlreadyExists, name, message)
            .with_fix("see whose it is (docker inspect), and rename or remove it by hand"))
    }

    /// Ends everything that runs in a container; says whether there was one.
    async fn stop(&self, name: &str) -> Result<bool, Error> {
        let options = StopContainerOptionsBuilder::new().t(STOP).build();
        let doing = format!("stop the container {name}");
        let stopping = self.docker.stop_container(name, Some(options));
        let stopping = async {
            match stopping.await {
                // It is stopped already.
                Err(fault) if super::engine::status(&fault) == Some(304) => Ok(()),
                other => other,
            }
        };
        Ok(Box::pin(self.find(&doing, WORK, stopping)).await?.is_some())
    }
}

/// A sandbox without a key ends with its caller, whatever is asked.
fn without_key(what: &str) -> Error {
    let message = "the sandbox was opened without a key, and nobody could find it again";
    Error::new(ErrorKind::InvalidArgument, what, message).with_fix("open it with a key, or destroy it")
}
