//! A sandbox: a container, and what belongs to it on this machine.

use std::{
    collections::BTreeMap,
    fs::File,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bollard::{
    models::{ContainerInspectResponse, ContainerStateStatusEnum, Volume, VolumeCreateRequest},
    query_parameters::{InspectContainerOptions, RemoveContainerOptionsBuilder, RemoveVolumeOptionsBuilder},
};
use herm_protocol::{
    ByteString, Error, ErrorKind, hexadecimal,
    sandbox::{SandboxInfo, SandboxState, Variable},
};

use super::{
    engine::{Engine, WORK},
    names,
};
use crate::{
    backend::local::guard::Held,
    files::remove_tree,
    policy::mount::{Mount, Source},
    resident::Resident,
};

/// How long the removal of a container that is being removed already may take.
const REMOVAL: Duration = Duration::from_secs(10);

/// How often is looked whether it is gone.
const LOOK: Duration = Duration::from_millis(20);

/// Bytes of the name of a start of the resident that the ids of its jobs carry.
const START_BYTES: usize = 4;

/// A sandbox that is open here.
#[derive(Debug)]
pub(super) struct Sandbox {
    /// Its id, which is the name of its container.
    pub(super) id: String,
    /// The key that it is kept under; without one it ends with this process.
    pub(super) key: Option<String>,
    /// The private directory on this machine: where clients and the resident meet.
    pub(super) directory: PathBuf,
    /// Where commands start.
    pub(super) cwd: PathBuf,
    /// Variables of every command.
    pub(super) env: Vec<Variable>,
    /// Volumes of its own, which go with it.
    pub(super) volumes: Vec<String>,
    /// The shell that runs text, where the image has one in one of the usual places.
    pub(super) shell: Option<Shell>,
    /// Whether it is being destroyed.
    pub(super) closing: AtomicBool,
    /// Who runs its commands; in native mode the engine does.
    pub(super) inhabited: Option<Inhabited>,
    /// What goes with this process when it is killed.
    pub(super) ties: Mutex<Ties>,
}

/// A shell of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shell {
    /// What it is called in its own messages and in `$0`: `bash` or `sh`.
    pub(super) name: &'static str,
    /// Where it is.
    pub(super) path: &'static str,
    /// Where one is that takes what POSIX has.
    pub(super) posix: &'static str,
}

/// What ties a sandbox without a key to this process.
#[derive(Debug, Default)]
pub(super) struct Ties {
    /// The pipe whose end is that of the resident.
    pub(super) leash: Option<File>,
    /// Until the directory is removed, the guard answers for it.
    #[expect(dead_code, reason = "it is held, and not looked at")]
    pub(super) held: Option<Held>,
}

/// A container whose first process is a resident.
#[derive(Debug)]
pub(super) struct Inhabited {
    pub(super) resident: Resident,
    /// The path of its program in the sandbox.
    pub(super) program: String,
    /// Which start of the resident this is: its jobs are not those of another one.
    pub(super) start: String,
}

impl Inhabited {
    pub(super) fn new(resident: Resident, program: String, instance: &[u8; 16]) -> Self {
        Self {
            resident,
            program,
            start: hexadecimal(&instance[..START_BYTES]),
        }
    }

    /// The id of a job. A resident that was started anew counts from 1 again, so that its start is a part of it.
    pub(super) fn job_id(&self, number: u64) -> String {
        format!("{number}-{}", self.start)
    }

    /// The number of a job by its id. What is only written like one, or was of an earlier start, is no job.
    ///
    /// # Errors
    /// There is no such job.
    pub(super) fn job_number(&self, id: &str) -> Result<u64, Error> {
        let number = id
            .split_once('-')
            .filter(|(_, start)| *start == self.start)
            .and_then(|(number, _)| number.parse().ok())
            .filter(|number| self.job_id(*number) == id);
        number.ok_or_else(|| {
            Error::new(ErrorKind::JobNotFound, id, format!("there is no job {id:?}"))
                .with_fix("list the jobs of the sandbox; each says its id")
        })
    }
}

impl Sandbox {
    /// The path that a caller means: absolute, or from the directory that commands start in.
    pub(super) fn resolve(&self, path: &ByteString) -> PathBuf {
        self.cwd.join(path.to_path())
    }

    /// What the shell that runs text is called.
    pub(super) fn shell_name(&self) -> &'static str {
        self.shell.map_or("sh", |shell| shell.name)
    }

    /// Whether it ends with this process.
    pub(super) fn is_tied(&self) -> bool {
        let ties = self.ties.lock().unwrap_or_else(PoisonError::into_inner);
        ties.leash.is_some()
    }

    /// Whether it is being destroyed.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Who runs its commands.
    ///
    /// # Errors
    /// Nobody who could do that: in native mode what is asked is not supported.
    pub(super) fn inhabited(&self, what: &str) -> Result<&Inhabited, Error> {
        self.inhabited.as_ref().ok_or_else(|| Error::unsupported(what))
    }

    /// Its description, while its container is in that state.
    pub(super) fn describe(&self, state: SandboxState) -> SandboxInfo {
        SandboxInfo {
            sandbox: self.id.clone(),
            key: self.key.clone(),
            state,
            cwd: Some(self.cwd.as_path().into()),
        }
    }

    /// Removes the directory on this machine, and lets go of what tied it to this process.
    ///
    /// # Errors
    /// It cannot be removed.
    pub(super) async fn forget(&self) -> Result<(), Error> {
        let ties = std::mem::take(&mut *self.ties.lock().unwrap_or_else(PoisonError::into_inner));
        remove_directory(&self.directory).await?;
        drop(ties);
        Ok(())
    }
}

/// Removes a private directory. One that is not there is no error.
pub(super) async fn remove_directory(directory: &Path) -> Result<(), Error> {
    let removed = directory.to_owned();
    let done = tokio::task::spawn_blocking(move || remove_tree(&removed)).await;
    done.map_err(std::io::Error::other).flatten().map_err(|error| {
        let shown = directory.to_string_lossy();
        let message = format!("the sandbox is removed, and its directory {shown} could not be: {error}");
        Error::new(ErrorKind::Internal, shown.clone(), message)
            .with_fix("see who may write there, and remove it")
    })
}

impl Engine {
    /// A container by its name or id, if it is there.
    ///
    /// # Errors
    /// The engine does not answer.
    pub(super) async fn container(&self, name: &str) -> Result<Option<ContainerInspectResponse>, Error> {
        let look = || {
            self.docker
                .inspect_container(name, None::<InspectContainerOptions>)
        };
        let doing = format!("look at the container {name}");
        let found = Box::pin(self.see(&doing, look)).await?;
        // Names may be beginnings of ids, too.
        let is_it = |found: &ContainerInspectResponse| {
            let own = found.name.as_deref().unwrap_or_default();
            own.trim_start_matches('/') == name || found.id.as_deref() == Some(name)
        };
        Ok(found.filter(is_it))
    }

    /// The same, where it has to be there.
    ///
    /// # Errors
    /// It is not there, or the engine does not answer.
    pub(super) async fn container_there(&self, name: &str) -> Result<ContainerInspectResponse, Error> {
        let found = self.container(name).await?;
        found.ok_or_else(|| Error::sandbox_not_found(name))
    }

    /// Removes a container with everything that runs in it, and its volumes without a name; says whether there was one.
    ///
    /// # Errors
    /// It is there yet.
    pub(super) async fn remove(&self, name: &str) -> Result<bool, Error> {
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        let doing = format!("remove the container {name}");
        let removing = self
            .find(&doing, WORK, self.docker.remove_container(name, Some(options)))
            .await;
        match removing {
            Ok(removed) => Ok(removed.is_some()),
            // Somebody else removes it: whoever asks wants it gone.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let end = tokio::time::Instant::now() + REMOVAL;
                while self.container(name).await?.is_some() {
                    if tokio::time::Instant::now() > end {
                        return Err(error);
                    }
                    tokio::time::sleep(LOOK).await;
                }
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// Makes volumes that are not there yet; gives the names of those. A failure leaves none of them.
    ///
    /// # Errors
    /// One cannot be made, or what has its name is not ours.
    pub(super) async fn make_volumes(
        &self,
        wanted: impl IntoIterator<Item = VolumeCreateRequest>,
    ) -> Result<Vec<String>, Error> {
        let mut made = Vec::new();
        for volume in wanted {
            match Box::pin(self.make_volume(volume)).await {
                Ok(name) => made.extend(name),
                Err(error) => {
                    self.remove_volumes(&made).await?;
                    return Err(error);
                }
            }
        }
        Ok(made)
    }

    /// Makes a volume, and gives its name, unless it is there.
    async fn make_volume(&self, wanted: VolumeCreateRequest) -> Result<Option<String>, Error> {
        let name = wanted.name.clone().unwrap_or_default();
        match self.volume(&name).await? {
            Some(there) if is_as_wanted(&there, &wanted) => Ok(None),
            Some(_) => Err(not_our_volume(&name)),
            None => {
                let doing = format!("make the volume {name}");
                self.call(&doing, WORK, self.docker.create_volume(wanted)).await?;
                Ok(Some(name))
            }
        }
    }

    /// Sees to it that volumes which are there were made as the configuration has them: the engine takes one by its name,
    /// whatever else is asked for.
    ///
    /// # Errors
    /// One was made otherwise.
    pub(super) async fn check_volumes(&self, mounts: &[Mount]) -> Result<(), Error> {
        for mount in mounts {
            let Source::Volume {
                name: Some(name),
                driver: Some(driver),
                ..
            } = &mount.source
            else {
                continue;
            };
            let Some(there) = self.volume(name).await? else {
                continue;
            };
            let asked = driver.options.iter().map(|(name, value)| (name, value.expose()));
            let same = there.driver == driver.name
                && there.options.iter().collect::<BTreeMap<_, _>>() == asked.collect();
            if !same {
                let message = format!(
                    "the volume {name} is there, and was made with another driver or other options than are asked for at {}",
                    mount.target
                );
                return Err(Error::new(ErrorKind::AlreadyExists, name, message)
                    .with_fix("ask for those (docker volume inspect), or for a volume of another name"));
            }
        }
        Ok(())
    }

    /// Removes volumes; those that are not there are no error.
    ///
    /// # Errors
    /// One is there yet.
    pub(super) async fn remove_volumes(&self, all: &[String]) -> Result<(), Error> {
        for name in all {
            // What somebody else has given such a name is not ours to remove.
            let there = self.volume(name).await?;
            if !there.is_some_and(|volume| volume.labels.contains_key(names::OWNER)) {
                continue;
            }
            let options = RemoveVolumeOptionsBuilder::new().build();
            let doing = format!("remove the volume {name}");
            self.find(&doing, WORK, self.docker.remove_volume(name, Some(options)))
                .await?;
        }
        Ok(())
    }
}

/// Whether a volume is one that we have made: it bears the labels that it would be made with, but for those that say by which
/// run.
fn is_as_wanted(there: &Volume, wanted: &VolumeCreateRequest) -> bool {
    let labels = wanted.labels.iter().flatten();
    let same =
        |(name, value): (&String, &String)| name == names::RUN || there.labels.get(name) == Some(value);
    let options = wanted.driver_opts.clone().unwrap_or_default();
    labels.into_iter().all(same) && there.driver == "local" && there.options == options
}

fn not_our_volume(name: &str) -> Error {
    let message = format!(
        "the volume {name} is there, and is not ours: it does not bear our label, or mounts something else"
    );
    Error::new(ErrorKind::AlreadyExists, name, message)
        .with_fix("see whose it is (docker volume inspect), and rename or remove it")
}

/// What the state of a container is in the words of the protocol.
pub(super) fn state_of(container: &ContainerInspectResponse) -> SandboxState {
    match container.state.as_ref().and_then(|state| state.status) {
        Some(ContainerStateStatusEnum::RUNNING | ContainerStateStatusEnum::RESTARTING) => {
            SandboxState::Running
        }
        Some(ContainerStateStatusEnum::PAUSED) => SandboxState::Paused,
        _ => SandboxState::Stopped,
    }
}
