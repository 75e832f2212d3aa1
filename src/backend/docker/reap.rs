//! Removing what nobody needs any more: what killed processes have left, and sandboxes that have been ended for long.
//!
//! What becomes of each thing is decided by [`crate::lifecycle::reaper`]. What belongs to a key is looked at and removed under
//! the key's lock, so that nobody opens it meanwhile; what somebody starts again all the same, the engine itself refuses to
//! remove. What does not bear this owner's label is not even looked at.

use std::{
    collections::{BTreeSet, HashMap},
    fs::File,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::{Duration, SystemTime},
};

use bollard::{
    models::ContainerInspectResponse,
    query_parameters::{
        ListVolumesOptionsBuilder, RemoveContainerOptionsBuilder, RemoveVolumeOptionsBuilder,
    },
};
use herm_protocol::{
    Error, ErrorKind,
    sandbox::{ReapParams, Reapable, Reaped},
};

use super::{
    DockerBackend,
    aside::{ASIDE, aside},
    body, carrier,
    engine::{ANSWER, Engine, WORK},
    meet,
    names::{self, Owner},
    record::{self, Record},
    sandbox::remove_directory,
    seen::state_of,
};
use crate::{
    backend::local::{adapter::blocking, kept, lock},
    lifecycle::{
        Clock, Maker, SystemClock, Whereabouts,
        reaper::{Bounds, Fate, Found, judge},
    },
    resident::Binary,
};

/// How old a program's volume is at least that is removed: whoever made it may be about to use it.
const PROGRAM_AGE: Duration = Duration::from_hours(24);

/// How long somebody else may take who opens, stops or removes the sandbox of a key.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a sandbox is called.
const SANDBOX: &str = "sandbox";

/// What is told when a key's lock is held.
const BUSY: &str = "somebody opens, stops or removes it now";

/// What is told when the engine refuses a removal that is not by force.
const TAKEN_UP: &str = "it was taken up again meanwhile";

impl DockerBackend {
    /// Removes what nobody needs any more of this user's, and tells what was left. What others have is not looked at.
    ///
    /// # Errors
    /// The engine does not answer, or what is kept on this machine cannot be read or removed. What was removed by then is gone.
    pub async fn reap(&self, params: ReapParams) -> Result<Reaped, Error> {
        Box::pin(self.reap_within(PATIENCE, params)).await
    }

    async fn reap_within(&self, patience: Duration, params: ReapParams) -> Result<Reaped, Error> {
        let bounds = match params.ended_for_ms {
            Some(bound) => Bounds {
                ended: Duration::from_millis(bound),
            },
            None => Bounds::of_lifetime(self.0.config.lifetime),
        };
        let mut round = Round {
            engine: self.engine().await?,
            owner: self.owner().await?,
            bounds,
            dry_run: params.dry_run,
            patience,
            told: Reaped::default(),
        };
        let containers = round.containers().await?;
        round.records(&containers).await?;
        round.volumes().await?;
        round.programs().await?;
        if !params.dry_run {
            let mut sandboxes = self.sandboxes();
            for gone in &round.told.removed {
                sandboxes.open.remove(&gone.id);
            }
        }
        round.told.removed.sort();
        round.told.kept.sort();
        Ok(round.told)
    }
}

impl DockerBackend {
    /// The same as what is configured, once for each backend that makes something: beside what it does, and told in the log.
    pub(super) fn reap_meanwhile(&self) {
        if !self.0.config.orphan_reaper || self.0.reaped.swap(true, Ordering::Relaxed) {
            return;
        }
        let backend = self.clone();
        tokio::spawn(async move {
            // Nobody waits for it, and it is in nobody's way. It ends with its process, half-way or not; what hinders it for good,
            // whoever asks for a reaper is told.
            let reaped = Box::pin(backend.reap_within(Duration::ZERO, ReapParams::default())).await;
            for Reapable { kind, id, why, .. } in reaped.unwrap_or_default().removed {
                super::log(format_args!("removed the {kind} {id}: {why}"));
            }
        });
    }
}

/// One look at everything.
struct Round {
    engine: Engine,
    owner: Owner,
    bounds: Bounds,
    dry_run: bool,
    /// How long whoever is at a key now may take.
    patience: Duration,
    told: Reaped,
}

impl Round {
    /// Every container of the owner; gives the names of those that were there.
    async fn containers(&mut self) -> Result<BTreeSet<String>, Error> {
        let listed: Vec<_> = self.engine.containers_of(&self.owner).await?.collect();
        let listed_names: BTreeSet<String> = listed.iter().map(|(name, _)| name.clone()).collect();
        let mut names = BTreeSet::new();
        for (name, container) in listed {
            let labels = container.labels.unwrap_or_default();
            let whole = name.strip_suffix(ASIDE).unwrap_or(&name);
            if whole != name && listed_names.contains(whole) {
                Box::pin(self.aside(&name)).await?;
                names.insert(name);
                continue;
            }
            match self.owner.directory_of(whole) {
                Some(directory) if labels.contains_key(names::KEPT) => {
                    Box::pin(self.kept(&name, directory)).await?;
                }
                None if labels.contains_key(names::KEPT) => {
                    let why = "it bears our label under a name that is no key's: somebody has renamed it";
                    self.keep(thing(SANDBOX, &name, None), why);
                }
                _ => Box::pin(self.tied(&name)).await?,
            }
            names.insert(name);
        }
        Ok(names)
    }

    /// The container of a key.
    async fn kept(&mut self, name: &str, directory: PathBuf) -> Result<(), Error> {
        let Some((lock, record)) = self.locked(&directory).await? else {
            self.keep(thing(SANDBOX, name, None), BUSY);
            return Ok(());
        };
        let container = self.ours(name).await?;
        if let Some(container) = container {
            let one = thing(SANDBOX, name, record.as_ref());
            let found = Found::Kept {
                state: state_of(&container),
                ended: ended(&container),
                stopped: record.as_ref().is_some_and(|record| record.stopped),
                known: record.is_some(),
                once: record.as_ref().is_some_and(|record| record.once),
            };
            let is_gone = Box::pin(self.carry_out(one, name, found)).await?;
            if is_gone && record.as_ref().is_some_and(|record| record.once) {
                self.forget(name, &directory).await?;
            }
        }
        release(directory, lock).await
    }

    /// A container whose place another one has taken, where whoever replaced it was killed before it was removed.
    async fn aside(&mut self, name: &str) -> Result<(), Error> {
        let whole = name.strip_suffix(ASIDE).unwrap_or(name);
        let Some(directory) = self.owner.directory_of(whole) else {
            return Ok(());
        };
        let Some((lock, record)) = self.locked(&directory).await? else {
            self.keep(thing(SANDBOX, name, None), BUSY);
            return Ok(());
        };
        if let (Some(_), Some(_)) = (self.ours(whole).await?, self.ours(name).await?) {
            if !self.dry_run {
                self.engine.remove(name).await?;
            }
            self.remove(
                thing(SANDBOX, name, record.as_ref()),
                "another one has taken its place",
            );
        }
        release(directory, lock).await
    }

    /// A container that ends with the process that made it.
    async fn tied(&mut self, name: &str) -> Result<(), Error> {
        let Some(container) = self.ours(name).await? else {
            return Ok(());
        };
        let labels = container
            .config
            .as_ref()
            .and_then(|config| config.labels.as_ref());
        let maker = labels.and_then(|labels| labels.get(names::MAKER)?.parse::<Maker>().ok());
        let found = Found::Tied {
            state: state_of(&container),
            maker: maker.map_or(Whereabouts::Unseen, |maker| maker.whereabouts()),
        };
        let is_sandbox = name.starts_with(names::PREFIX);
        let one = thing(if is_sandbox { SANDBOX } else { "container" }, name, None);
        if Box::pin(self.carry_out(one, name, found)).await?
            && let Some(directory) = directory_of(&container, name)
        {
            remove_directory(&directory).await?;
        }
        Ok(())
    }

    /// What is kept on this machine of keys that have no container.
    async fn records(&mut self, containers: &BTreeSet<String>) -> Result<(), Error> {
        let base = self.owner.base.clone();
        let dry_run = self.dry_run;
        let (records, unfinished) = blocking("the directory of kept sandboxes", move || {
            if !dry_run {
                lock::sweep_locks(&base);
            }
            Ok((record::all(&base), unfinished(&base)))
        })
        .await?;
        for (record, directory) in records {
            let name = self.owner.container_of(&record.key);
            if !containers.contains(&name) && !containers.contains(&aside(&name)) {
                Box::pin(self.without_container(&name, directory)).await?;
            }
        }
        for directory in unfinished {
            Box::pin(self.unfinished(directory)).await?;
        }
        Ok(())
    }

    async fn without_container(&mut self, name: &str, directory: PathBuf) -> Result<(), Error> {
        let Some((lock, record)) = self.locked(&directory).await? else {
            return Ok(());
        };
        // Somebody may have made one, or removed everything.
        if let (Some(record), None) = (&record, self.engine.container(name).await?) {
            let one = thing(SANDBOX, name, Some(record));
            match judge(
                Found::Record {
                    once: record.once || record.unfinished,
                },
                self.bounds,
                now(),
            ) {
                Fate::Keep(why) => self.keep(one, why),
                Fate::Remove(why) | Fate::RemoveByForce(why) => {
                    if !self.dry_run {
                        self.forget(name, &directory).await?;
                    }
                    self.remove(one, why);
                }
            }
        }
        release(directory, lock).await
    }

    async fn unfinished(&mut self, directory: PathBuf) -> Result<(), Error> {
        let Some((lock, record)) = self.locked(&directory).await? else {
            return Ok(());
        };
        if record.is_none() && tokio::fs::try_exists(&directory).await.unwrap_or(false) {
            let one = thing("directory", &directory.to_string_lossy(), None);
            if let Fate::Remove(why) = judge(Found::Unfinished, self.bounds, now()) {
                if !self.dry_run {
                    remove_directory(&directory).await?;
                }
                self.remove(one, why);
            }
        }
        release(directory, lock).await
    }

    /// Volumes of keys that nobody can find again. They hold files of people, and are only told.
    async fn volumes(&mut self) -> Result<(), Error> {
        for name in self.engine.volumes(&self.owner).await? {
            let container = name.rsplit_once('-').map(|(container, _)| container);
            let directory = container.and_then(|container| self.owner.directory_of(container));
            let Some(directory) = directory else { continue };
            if !tokio::fs::try_exists(&directory).await.unwrap_or(true) {
                let why = "what is kept of its key is gone, and it may hold files: look into it, and remove it by hand";
                self.keep(thing("volume", &name, None), why);
            }
        }
        Ok(())
    }

    /// Volumes with programs that no container uses: those of other versions of herm.
    async fn programs(&mut self) -> Result<(), Error> {
        let current = blocking("the resident", || {
            Ok(Binary::find().ok().map(|binary| binary.name()))
        })
        .await?;
        for (name, made) in self.engine.programs().await? {
            let is_old =
                made.is_some_and(|made| now().duration_since(made).unwrap_or_default() > PROGRAM_AGE);
            if !is_old || current.as_ref() == Some(&name) {
                continue;
            }
            if self.dry_run || self.engine.remove_unused(&name).await? {
                self.remove(
                    thing("volume", &name, None),
                    "no container uses this version of the program",
                );
            }
        }
        Ok(())
    }

    /// The lock of a key's directory, with what is written there; none where somebody else holds it.
    async fn locked(&self, directory: &Path) -> Result<Option<(File, Option<Record>)>, Error> {
        let (base, directory) = (self.owner.base.clone(), directory.to_owned());
        let patience = self.patience;
        blocking("the directory of kept sandboxes", move || {
            kept::private_directory(&base)?;
            let Some(lock) = lock::lock_within(&directory, patience) else {
                return Ok(None);
            };
            Ok(Some((lock, Record::of(&directory))))
        })
        .await
    }

    /// A container as it is now, where it is this owner's.
    async fn ours(&self, name: &str) -> Result<Option<ContainerInspectResponse>, Error> {
        let container = self.engine.container(name).await?;
        Ok(container.filter(|container| {
            let labels = container
                .config
                .as_ref()
                .and_then(|config| config.labels.as_ref());
            labels.and_then(|labels| labels.get(names::OWNER)) == Some(&self.owner.name)
        }))
    }

    /// Does what is decided about a container; says whether it is gone.
    async fn carry_out(&mut self, one: Reapable, name: &str, found: Found) -> Result<bool, Error> {
        let (why, by_force) = match judge(found, self.bounds, now()) {
            Fate::Keep(why) => {
                self.keep(one, why);
                return Ok(false);
            }
            Fate::Remove(why) => (why, false),
            Fate::RemoveByForce(why) => (why, true),
        };
        if self.dry_run {
            self.remove(one, why);
            return Ok(false);
        }
        let gone = if by_force {
            self.engine.remove(name).await?;
            true
        } else {
            self.engine.remove_ended(name).await?
        };
        if gone {
            self.remove(one, why);
        } else {
            self.keep(one, TAKEN_UP);
        }
        Ok(gone)
    }

    /// Removes what belongs to a key whose container is gone.
    async fn forget(&self, name: &str, directory: &Path) -> Result<(), Error> {
        self.engine.remove_volumes(&body::volumes_of(name)).await?;
        remove_directory(directory).await
    }

    fn keep(&mut self, one: Reapable, why: &str) {
        self.told.kept.push(Reapable {
            why: why.to_owned(),
            ..one
        });
    }

    fn remove(&mut self, one: Reapable, why: &str) {
        self.told.removed.push(Reapable {
            why: why.to_owned(),
            ..one
        });
    }
}

fn now() -> SystemTime {
    SystemClock.now()
}

fn thing(kind: &str, id: &str, record: Option<&Record>) -> Reapable {
    Reapable {
        kind: kind.to_owned(),
        id: id.to_owned(),
        key: record.map(|record| record.key.clone()),
        why: String::new(),
    }
}

/// Lets go of a key. Where nothing of it is left its lock goes, too.
async fn release(directory: PathBuf, lock: File) -> Result<(), Error> {
    blocking("the directory of kept sandboxes", move || {
        if matches!(directory.try_exists(), Ok(false)) {
            lock::remove_held(&directory, lock);
        }
        Ok(())
    })
    .await
}

/// Directories of keys in which nobody has written down what they are for. This blocks.
fn unfinished(base: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| {
        entry.file_type().is_ok_and(|kind| kind.is_dir())
            && entry.file_name().to_str().is_some_and(kept::is_id)
    });
    directories
        .map(|entry| entry.path())
        .filter(|directory| matches!(record::is_there(directory), Ok(false)))
        .collect()
}

/// The private directory on this machine of a sandbox without a key: where it was told to dial to.
fn directory_of(container: &ContainerInspectResponse, name: &str) -> Option<PathBuf> {
    let mut mounts = container.mounts.iter().flatten();
    let meeting = mounts.find(|mount| mount.destination.as_deref() == Some(meet::MOUNTED))?;
    let directory = Path::new(meeting.source.as_deref()?).parent()?;
    (directory.file_name()?.to_str() == Some(name)).then(|| directory.to_owned())
}

/// When a container has ended.
fn ended(container: &ContainerInspectResponse) -> Option<SystemTime> {
    // The engine writes the year 1 for one that has not.
    time_of(container.state.as_ref()?.finished_at.as_deref()?)
}

/// A time as engines write it; none of before 1970.
fn time_of(text: &str) -> Option<SystemTime> {
    let time: jiff::Timestamp = text.parse().ok()?;
    let since = u64::try_from(time.as_nanosecond()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(since))
}

impl Engine {
    /// Removes a container that has ended, with its volumes without a name; says whether it is gone. One that was started
    /// meanwhile stays as it is.
    async fn remove_ended(&self, name: &str) -> Result<bool, Error> {
        let options = RemoveContainerOptionsBuilder::new().force(false).v(true).build();
        let doing = format!("remove the container {name}");
        let removing = self.docker.remove_container(name, Some(options));
        match self.find(&doing, WORK, removing).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            // Engines differ in how they refuse what runs.
            Err(error) => match self.container(name).await? {
                Some(container) if container.state.as_ref().and_then(|state| state.running) == Some(true) => {
                    Ok(false)
                }
                _ => Err(error),
            },
        }
    }

    /// Volumes with programs, and when they were made.
    async fn programs(&self) -> Result<Vec<(String, Option<SystemTime>)>, Error> {
        let filters: HashMap<&str, Vec<&str>> = [("label", vec![carrier::LABEL])].into();
        let options = ListVolumesOptionsBuilder::new().filters(&filters).build();
        let listing = self.docker.list_volumes(Some(options));
        let found = self.call("list volumes", ANSWER, listing).await?;
        let volumes = found.volumes.unwrap_or_default().into_iter().map(|volume| {
            // What a time is in the library depends on what others want of it; written down it is always the same.
            let made = serde_json::to_value(volume.created_at).unwrap_or_default();
            (volume.name, made.as_str().and_then(time_of))
        });
        Ok(volumes.collect())
    }

    /// Removes a volume that no container uses; says whether it was one.
    async fn remove_unused(&self, name: &str) -> Result<bool, Error> {
        let options = RemoveVolumeOptionsBuilder::new().build();
        let doing = format!("remove the volume {name}");
        match self
            .find(&doing, WORK, self.docker.remove_volume(name, Some(options)))
            .await
        {
            Ok(removed) => Ok(removed.is_some()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use bollard::models::{ContainerState, MountPoint};

    use super::*;

    fn container(finished: &str, meeting: &str) -> ContainerInspectResponse {
        ContainerInspectResponse {
            state: Some(ContainerState {
                finished_at: Some(finished.into()),
                ..ContainerState::default()
            }),
            mounts: Some(vec![MountPoint {
                source: Some(meeting.into()),
                destination: Some(meet::MOUNTED.into()),
                ..MountPoint::default()
            }]),
            ..ContainerInspectResponse::default()
        }
    }

    #[test]
    fn it_is_known_when_a_container_ended_and_that_another_did_not() {
        let told = |text| ended(&container(text, ""));
        let expected = SystemTime::UNIX_EPOCH + Duration::from_millis(1_764_565_323_500);
        assert_eq!(told("2025-12-01T05:02:03.5Z"), Some(expected));
        for text in ["0001-01-01T00:00:00Z", "", "yesterday"] {
            assert_eq!(told(text), None, "{text}");
        }
    }

    #[test]
    fn only_a_directory_of_the_sandbox_s_own_name_is_taken_for_its_own() {
        let of = |meeting| directory_of(&container("", meeting), "herm-r-abc");
        assert_eq!(of("/tmp/herm-r-abc/dial"), Some("/tmp/herm-r-abc".into()));
        for other in ["/tmp/dial", "/home/me/dial", "dial", "/"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
