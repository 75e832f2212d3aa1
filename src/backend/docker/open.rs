//! Making a sandbox, and finding one again.

use std::{
    fs::{File, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, atomic::AtomicBool},
};

use bollard::{
    models::{ContainerCreateBody, ContainerInspectResponse},
    query_parameters::CreateContainerOptionsBuilder,
};
use herm_protocol::{
    ByteString, Error, ErrorKind, Progress,
    sandbox::{OpenParams, OpenState, Opened, SandboxSpec, Variable},
};

use super::{
    DockerBackend, Place, REACHED_BY,
    body::{self, Making},
    carrier,
    declaration::OFFERED,
    effective,
    engine::{Engine, WORK},
    find::Claim,
    given, leash, names,
    names::Owner,
    native,
    prepare::Prepared,
    reach,
    sandbox::{Inhabited, Sandbox, Ties, remove_directory},
    secret::Known,
};
use crate::{
    backend::local::{Mode, adapter::blocking, check, kept},
    files::file_error,
    policy::{
        host_access::AccessLevel,
        mount::{Mount, Source},
    },
    resident::{MEETING, MeetingDirectory},
};

/// Random characters in the name of a sandbox without a key; nobody meets or guesses it.
const RANDOM: usize = 16;

/// A sandbox that was opened, and how.
pub(super) struct Opening {
    pub(super) sandbox: Sandbox,
    pub(super) state: OpenState,
    pub(super) notice: Option<String>,
    pub(super) prepared: Prepared,
    /// Its container, as it was when it had begun.
    pub(super) container: ContainerInspectResponse,
    /// What its commands reach of this machine, if that was looked at.
    pub(super) reached: Option<Reached>,
}

/// How far commands reach into this machine, and what of it they reach, a line each.
pub(super) type Reached = (AccessLevel, Vec<String>);

/// A container that runs, as the engine describes it, and who runs its commands.
pub(super) struct Begun {
    pub(super) container: ContainerInspectResponse,
    pub(super) inhabited: Option<Inhabited>,
    /// What ends it with this process, where that is to be so.
    pub(super) leash: Option<File>,
    /// What its commands reach of this machine, if that was looked at meanwhile.
    pub(super) reached: Option<Reached>,
}

impl Begun {
    /// Which start of the resident runs its commands.
    pub(super) fn start(&self) -> Option<&str> {
        self.inhabited.as_ref().map(|inhabited| inhabited.start.as_str())
    }
}

impl DockerBackend {
    pub(super) async fn open_and_tell(
        &self,
        mut params: OpenParams,
        claim: Claim,
        progress: Option<&Progress>,
    ) -> Result<Opened, Error> {
        params.key = params.key.map(|key| self.shared_key(key));
        check::spec(params.key.as_deref(), &params.spec, self.0.mode, OFFERED)?;
        if let Some(key) = &params.key {
            kept::check(key)?;
        }
        let engine = self.engine().await?;
        let Opening {
            sandbox,
            state,
            notice,
            prepared,
            container,
            reached,
        } = if let Some(key) = &params.key {
            Box::pin(self.open_kept(&engine, key, params.spec, claim, progress)).await?
        } else {
            let prepared = Box::pin(self.prepare(&engine, &params.spec, None, None, progress)).await?;
            Box::pin(self.open_new(&engine, prepared, params.spec)).await?
        };
        let looked = match reached {
            Some(reached) => Ok(reached),
            None => engine.reached(&sandbox.directory, &container).await,
        };
        let (host_access, reached) = match looked {
            Ok(reached) => reached,
            Err(error) => {
                if sandbox.key.is_none() {
                    engine.remove(&sandbox.id).await?;
                    sandbox.forget().await?;
                }
                return Err(error);
            }
        };
        let of_mode = (self.0.mode == Mode::Native).then(|| native::notices(&sandbox));
        let opened = Opened {
            sandbox: sandbox.id.clone(),
            state,
            exec_mode: self.0.mode.name().into(),
            cwd: Some(sandbox.cwd.as_path().into()),
            notices: of_mode
                .into_iter()
                .flatten()
                .chain(notice)
                .chain(prepared.notices)
                .chain(reached)
                .collect(),
            policy: Some(effective::policy(&prepared.plan, host_access)),
        };
        self.take_in(&engine, sandbox).await?;
        Ok(opened)
    }

    /// The key that sandboxes are kept under: that of the configuration, where several keys share one.
    #[must_use]
    pub fn shared_key(&self, key: String) -> String {
        self.0.config.shared_key.clone().unwrap_or(key)
    }

    /// Whether a sandbox under a key outlives the process that made it.
    #[must_use]
    pub fn persists_across_processes(&self) -> bool {
        self.0.config.persist_across_processes
    }

    /// Takes a sandbox among those that are open.
    pub(super) async fn take_in(&self, engine: &Engine, sandbox: Sandbox) -> Result<(), Error> {
        let sandbox = Arc::new(sandbox);
        let refused = {
            let mut sandboxes = self.sandboxes();
            if !sandboxes.shut_down {
                sandboxes.open.insert(sandbox.id.clone(), sandbox.clone());
            }
            sandboxes.shut_down
        };
        if refused {
            if sandbox.key.is_none() {
                engine.remove(&sandbox.id).await?;
                sandbox.forget().await?;
            }
            let message = "the backend is shutting down";
            return Err(Error::new(ErrorKind::Unavailable, "sandbox.open", message)
                .with_fix("start the backend again"));
        }
        Ok(())
    }

    /// Makes a sandbox that ends with this process. A failure leaves nothing.
    async fn open_new(
        &self,
        engine: &Engine,
        prepared: Prepared,
        spec: SandboxSpec,
    ) -> Result<Opening, Error> {
        let Place { run, scratch, .. } = self.place().clone();
        let owner = self.owner().await?;
        let shown = scratch.to_string_lossy().into_owned();
        let prefix = names::prefix(&run);
        let (directory, meeting, pipe) = blocking(&shown, move || private(&scratch, &prefix)).await?;
        let held = self.0.guard.hold(&directory);
        let name = directory
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let secret = Known::fresh()?;
        let making = Making {
            prepared: &prepared,
            name: &name,
            meeting: meeting.path(),
            secret: &secret,
            labels: owner.labels_of_process(&run),
        };
        let made = Box::pin(self.make(engine, &making, &meeting)).await;
        let Begun {
            container, inhabited, ..
        } = match made {
            Ok(begun) => begun,
            Err(error) => {
                remove_directory(&directory).await?;
                return Err(error);
            }
        };
        let sandbox = Sandbox {
            id: name,
            key: None,
            directory,
            cwd: start_of(spec.cwd.as_ref(), &prepared),
            env: variables(&prepared, Vec::new(), spec.env),
            volumes: Vec::new(),
            shell: prepared.programs.shell,
            closing: AtomicBool::new(false),
            inhabited,
            ties: Mutex::new(Ties {
                leash: Some(pipe),
                held: Some(held),
            }),
        };
        if let Err(error) = self.check_start(&sandbox, spec.cwd.is_some()).await {
            engine.remove(&sandbox.id).await?;
            sandbox.forget().await?;
            return Err(error);
        }
        Ok(Opening {
            sandbox,
            state: OpenState::Created,
            notice: None,
            prepared,
            container,
            reached: None,
        })
    }

    /// Makes a container and starts it. A failure leaves nothing of it.
    pub(super) async fn make(
        &self,
        engine: &Engine,
        making: &Making<'_>,
        meeting: &MeetingDirectory,
    ) -> Result<Begun, Error> {
        let options = CreateContainerOptionsBuilder::new().name(making.name);
        let options = match &making.prepared.plan.platform {
            Some(platform) => options.platform(platform),
            None => options,
        };
        let doing = format!("make the container {}", making.name);
        let body = body::of(making, self.0.mode)?;
        engine
            .make_volumes(making.prepared.binary.as_ref().map(carrier::wanted))
            .await?;
        engine.check_volumes(&making.prepared.plan.mounts).await?;
        let volumes = engine.make_volumes(body::volumes(making)).await?;
        let creating = engine
            .docker
            .create_container(Some(options.build()), body.clone());
        let begun = match engine.call(&doing, WORK, creating).await {
            Ok(made) => {
                let begun = Box::pin(self.begin(engine, making, &body, (&made.id, meeting))).await;
                if begun.is_err() {
                    engine.remove(making.name).await?;
                }
                begun
            }
            Err(error) => Err(of_mounts(error, &making.prepared.plan.mounts)),
        };
        if begun.is_err() {
            engine.remove_volumes(&volumes).await?;
        }
        begun
    }

    async fn begin(
        &self,
        engine: &Engine,
        making: &Making<'_>,
        body: &ContainerCreateBody,
        (id, meeting): (&str, &MeetingDirectory),
    ) -> Result<Begun, Error> {
        let prepared = making.prepared;
        let container = engine.container_there(making.name).await?;
        given::check(making.name, body, &container)?;
        if let Some(binary) = &prepared.binary {
            let labels = self.owner().await?.labels_of_process(&self.place().run);
            engine.carry(id, &prepared.image.id, binary, labels).await?;
        }
        engine.give_volumes(id, prepared).await?;
        engine.start(making.name).await?;
        let container = engine.container_there(making.name).await?;
        self.inhabit(engine, prepared, making.name, container, (meeting, making.secret))
            .await
    }

    /// A container that was started, once it does what it was made for: its resident answers, in resident mode, and it has no
    /// way out where it is to have none.
    pub(super) async fn inhabit(
        &self,
        engine: &Engine,
        prepared: &Prepared,
        name: &str,
        container: ContainerInspectResponse,
        (meeting, secret): (&MeetingDirectory, &Known),
    ) -> Result<Begun, Error> {
        let inhabited = match &prepared.binary {
            Some(binary) => {
                let (resident, instance) = engine.meet(name, &container, meeting, secret.secret()).await?;
                Some(Inhabited::new(resident, carrier::program(binary), &instance))
            }
            None => None,
        };
        self.check_airgap(name, &prepared.plan, inhabited.as_ref())
            .await?;
        Ok(Begun {
            container,
            inhabited,
            leash: None,
            reached: None,
        })
    }

    /// Whose containers this backend makes and finds.
    pub(super) async fn owner(&self) -> Result<Owner, Error> {
        let named = self.place().kept.clone();
        let base = named.map_or_else(kept::default_base, Ok)?.join("docker");
        blocking("the directory of kept sandboxes", move || Ok(Owner::of(&base))).await
    }
}

/// The error about a mount where the engine has found nothing to mount: it tells the path, and not who asks for it.
fn of_mounts(error: Error, mounts: &[Mount]) -> Error {
    let missing = mounts.iter().find_map(|mount| match &mount.source {
        Source::HostPath { path, .. } if error.message.contains(&format!("not exist: {path}")) => {
            Some((path, &mount.target))
        }
        _ => None,
    });
    let Some((path, target)) = missing else {
        return error;
    };
    let message = format!("{path} is to be mounted at {target}, and is not there on the engine's host");
    Error::new(ErrorKind::NotFound, path, message).with_fix(
        "make it, or correct what asks for it (terminal.docker_volumes, docker_extra_args, spec.mounts)",
    )
}

/// Where commands start.
pub(super) fn start_of(asked: Option<&ByteString>, prepared: &Prepared) -> PathBuf {
    asked.map_or_else(|| prepared.plan.workdir.clone().into(), ByteString::to_path)
}

/// Variables of every command: those of the configuration, what the sandbox was made with, what is asked for now.
pub(super) fn variables(
    prepared: &Prepared,
    made_with: Vec<Variable>,
    asked: Vec<Variable>,
) -> Vec<Variable> {
    let secret = prepared
        .plan
        .variables
        .iter()
        .map(|(name, value)| Variable::new(name.clone(), value.expose().clone()));
    secret.chain(made_with).chain(asked).collect()
}

/// A private directory with what a sandbox without a key needs on this machine. This blocks.
fn private(scratch: &Path, prefix: &str) -> Result<(PathBuf, MeetingDirectory, File), Error> {
    let failed = |error: std::io::Error| file_error("make a sandbox in", scratch, &error);
    let made = tempfile::Builder::new()
        .prefix(prefix)
        .rand_bytes(RANDOM)
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(scratch)
        .map_err(failed)?;
    let meeting = MeetingDirectory::make(made.path()).map_err(failed)?;
    let pipe = leash::make(meeting.path()).map_err(failed)?;
    Ok((made.keep(), meeting, pipe))
}

impl Engine {
    /// What the commands of a container reach of this machine. What lies in its directory is its own.
    ///
    /// # Errors
    /// The engine does not answer.
    pub(super) async fn reached(
        &self,
        directory: &Path,
        container: &ContainerInspectResponse,
    ) -> Result<Reached, Error> {
        let meeting = directory.join(MEETING);
        let own = reach::identity_of(&meeting).await.into_iter().collect();
        let reach = self.reach(container, own).await?;
        let told = reach
            .reasons
            .iter()
            .filter(|reason| reason.level > AccessLevel::None);
        let lines = told.map(|reason| format!("{REACHED_BY} {}: {}", reason.what, reason.why));
        Ok((reach.level, lines.collect()))
    }
}
