//! Making a sandbox, and finding one again.

use std::{
    fs::Permissions,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, atomic::AtomicBool},
};

use bollard::{
    models::{ContainerCreateBody, ContainerStateStatusEnum},
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
    engine::{Engine, WORK},
    given, leash, names,
    names::Owner,
    native,
    prepare::Prepared,
    reach,
    record::Record,
    sandbox::{Inhabited, Sandbox, Ties, remove_directory},
    secret::Known,
};
use crate::{
    backend::local::{Mode, adapter::blocking, check, kept, lock},
    files::file_error,
    policy::host_access::AccessLevel,
    resident::{MEETING, MeetingDirectory},
};

/// Random characters in the name of a sandbox without a key; nobody meets or guesses it.
const RANDOM: usize = 16;

/// What a sandbox was found as.
struct Found {
    state: OpenState,
    notice: Option<String>,
}

impl DockerBackend {
    pub(super) async fn open_and_tell(
        &self,
        params: OpenParams,
        progress: Option<&Progress>,
    ) -> Result<Opened, Error> {
        check::spec(params.key.as_deref(), &params.spec, self.0.mode, OFFERED)?;
        if let Some(key) = &params.key {
            kept::check(key)?;
        }
        let engine = self.engine().await?;
        let (sandbox, found, prepared) = if let Some(key) = &params.key {
            Box::pin(self.open_kept(&engine, key, params.spec, progress)).await?
        } else {
            let prepared = Box::pin(self.prepare(&engine, &params.spec, None, progress)).await?;
            let sandbox = Box::pin(self.open_new(&engine, &prepared, params.spec)).await?;
            let state = OpenState::Created;
            (sandbox, Found { state, notice: None }, prepared)
        };
        let reached = match self.reached(&engine, &sandbox).await {
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
            state: found.state,
            exec_mode: self.0.mode.name().into(),
            cwd: Some(sandbox.cwd.as_path().into()),
            notices: of_mode
                .into_iter()
                .flatten()
                .chain(found.notice)
                .chain(prepared.notices)
                .chain(reached)
                .collect(),
        };
        self.take_in(&engine, sandbox).await?;
        Ok(opened)
    }

    /// What of this machine commands reach, a line each.
    async fn reached(&self, engine: &Engine, sandbox: &Sandbox) -> Result<Vec<String>, Error> {
        let container = engine.container(&sandbox.id).await?;
        let container = container.ok_or_else(|| Error::sandbox_not_found(&sandbox.id))?;
        let meeting = sandbox.directory.join(MEETING);
        let own = reach::identity_of(&meeting).await.into_iter().collect();
        let reach = engine.reach(&container, own).await?;
        let told = reach
            .reasons
            .iter()
            .filter(|reason| reason.level > AccessLevel::None);
        Ok(told
            .map(|reason| format!("{REACHED_BY} {}: {}", reason.what, reason.why))
            .collect())
    }

    /// Takes a sandbox among those that are open.
    async fn take_in(&self, engine: &Engine, sandbox: Sandbox) -> Result<(), Error> {
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
        prepared: &Prepared,
        spec: SandboxSpec,
    ) -> Result<Sandbox, Error> {
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
            prepared,
            name: &name,
            meeting: meeting.path(),
            secret: &secret,
            labels: owner.labels(&run),
            kept: false,
        };
        let made = self.make(engine, &making, &meeting).await;
        let inhabited = match made {
            Ok(inhabited) => inhabited,
            Err(error) => {
                remove_directory(&directory).await?;
                return Err(error);
            }
        };
        let sandbox = Sandbox {
            id: name,
            key: None,
            directory,
            cwd: start_of(spec.cwd.as_ref(), prepared),
            env: variables(prepared, Vec::new(), spec.env),
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
        Ok(sandbox)
    }

    /// Makes a container and starts it. A failure leaves nothing of it.
    async fn make(
        &self,
        engine: &Engine,
        making: &Making<'_>,
        meeting: &MeetingDirectory,
    ) -> Result<Option<Inhabited>, Error> {
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
            Err(error) => Err(error),
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
    ) -> Result<Option<Inhabited>, Error> {
        let prepared = making.prepared;
        let container = engine.container(making.name).await?;
        let container = container.ok_or_else(|| Error::sandbox_not_found(making.name))?;
        given::check(making.name, body, &container)?;
        if let Some(binary) = &prepared.binary {
            engine.carry(id, &prepared.image.id, binary).await?;
        }
        engine.start(making.name).await?;
        let inhabited = self
            .inhabit(engine, prepared, making.name, meeting, making.secret)
            .await?;
        self.check_airgap(making.name, &prepared.plan, inhabited.as_ref())
            .await?;
        Ok(inhabited)
    }

    /// The resident of a container that was started, in resident mode.
    async fn inhabit(
        &self,
        engine: &Engine,
        prepared: &Prepared,
        name: &str,
        meeting: &MeetingDirectory,
        secret: &Known,
    ) -> Result<Option<Inhabited>, Error> {
        let Some(binary) = &prepared.binary else {
            return Ok(None);
        };
        let (resident, instance) = engine.meet(name, meeting, secret.secret()).await?;
        let program = carrier::program(binary);
        Ok(Some(Inhabited::new(resident, program, &instance)))
    }

    /// Opens the sandbox of a key: the one that is there, with what it was opened with when it was made, or a new one with
    /// what is asked for.
    async fn open_kept(
        &self,
        engine: &Engine,
        key: &str,
        spec: SandboxSpec,
        progress: Option<&Progress>,
    ) -> Result<(Sandbox, Found, Prepared), Error> {
        let owner = self.owner().await?;
        let base = owner.base.clone();
        let shown = base.to_string_lossy().into_owned();
        let directory = kept::directory_of(&owner.base, key);
        let name = owner.container_of(key);
        // An image may take its time to come, for which nobody else is to wait.
        let before = blocking(&shown, {
            let (directory, key) = (directory.clone(), key.to_owned());
            move || {
                kept::private_directory(&base)?;
                Record::read(&directory, &key)
            }
        })
        .await?;
        let whole = before
            .as_ref()
            .map_or_else(|| spec.clone(), |record| record.with(&spec));
        let mut prepared = self.prepare(engine, &whole, Some(&name), progress).await?;
        let _lock = lock::lock(&owner.base, key).await?;
        let (known, meeting) = blocking(&shown, {
            let (directory, key) = (directory.clone(), key.to_owned());
            move || {
                kept::private_directory(&directory)?;
                let known = Record::read(&directory, &key)?;
                let meeting = MeetingDirectory::make(&directory)
                    .map_err(|error| file_error("make a place to meet in", &directory, &error))?;
                Ok((known, meeting))
            }
        })
        .await?;
        if let Some(record) = known.as_ref().filter(|record| before.as_ref() != Some(record)) {
            let whole = record.with(&spec);
            prepared = self.prepare(engine, &whole, Some(&name), progress).await?;
        }
        let place = (name.as_str(), directory.as_path(), &meeting);
        let finding = self.find_or_make(engine, &prepared, &owner, place, known.is_some());
        let opened = Box::pin(finding).await;
        let (inhabited, found) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                if known.is_none() {
                    remove_directory(&directory).await?;
                }
                return Err(error);
            }
        };
        let known = known.filter(|_| found.state != OpenState::Created);
        let record = Record {
            key: key.to_owned(),
            spec: match &known {
                // What it is made of is what was asked for last; what commands see besides is what was asked for first.
                Some(record) => SandboxSpec {
                    env: record.spec.env.clone(),
                    cwd: record.spec.cwd.clone(),
                    ..record.with(&spec)
                },
                None => spec.clone(),
            },
        };
        let sandbox = Sandbox {
            id: name,
            key: Some(key.to_owned()),
            directory: directory.clone(),
            cwd: start_of(spec.cwd.as_ref().or(record.spec.cwd.as_ref()), &prepared),
            env: variables(&prepared, record.spec.env.clone(), spec.env),
            volumes: prepared.volumes.clone(),
            shell: prepared.programs.shell,
            closing: AtomicBool::new(false),
            inhabited,
            ties: Mutex::default(),
        };
        let written = match self.check_start(&sandbox, spec.cwd.is_some()).await {
            Ok(()) if known.as_ref() != Some(&record) => {
                blocking(&shown, move || record.write(&directory)).await
            }
            other => other,
        };
        if let Err(error) = written {
            if known.is_none() {
                engine.remove(&sandbox.id).await?;
                engine.remove_volumes(&sandbox.volumes).await?;
                sandbox.forget().await?;
            }
            return Err(error);
        }
        Ok((sandbox, found, prepared))
    }

    /// The container of a key: the one that is there, where it is what is asked for and answers, else a new one.
    async fn find_or_make(
        &self,
        engine: &Engine,
        prepared: &Prepared,
        owner: &Owner,
        (name, directory, meeting): (&str, &Path, &MeetingDirectory),
        known: bool,
    ) -> Result<(Option<Inhabited>, Found), Error> {
        let lost = match engine.container(name).await? {
            None if known => Some(format!(
                "the container {name} was removed, with whatever was not on its volumes; this is a new one"
            )),
            None => None,
            Some(container) => {
                let labels = container
                    .config
                    .as_ref()
                    .and_then(|config| config.labels.clone())
                    .unwrap_or_default();
                if labels.get(names::OWNER) != Some(&owner.name) {
                    return Err(foreign(name));
                }
                let status = container.state.as_ref().and_then(|state| state.status);
                let secret = blocking("secret", {
                    let directory = directory.to_owned();
                    move || Ok(Known::read(&directory).ok())
                })
                .await?;
                if labels.get(names::FINGERPRINT) != Some(&prepared.fingerprint) {
                    Some(format!(
                        "the container {name} was made of something else than what is asked for now (image, mounts, limits, network, \
                         user or variables), and was replaced; what was not on its volumes is gone, and what ran in it was ended"
                    ))
                } else if let Some(secret) = secret
                    && !matches!(
                        status,
                        Some(ContainerStateStatusEnum::DEAD | ContainerStateStatusEnum::REMOVING)
                    )
                {
                    return self
                        .go_on(engine, prepared, name, meeting, &secret, &container)
                        .await;
                } else {
                    Some(format!(
                        "the container {name} could not be used any more, and was replaced; what was not on its volumes is gone"
                    ))
                }
            }
        };
        if lost.is_some() {
            engine.remove(name).await?;
        }
        let secret = Known::fresh()?;
        blocking("secret", {
            let (secret, directory) = (secret.clone(), directory.to_owned());
            move || secret.write(&directory)
        })
        .await?;
        let mut labels = owner.labels(&self.place().run);
        labels.insert(names::KEPT.to_owned(), "1".to_owned());
        let making = Making {
            prepared,
            name,
            meeting: meeting.path(),
            secret: &secret,
            labels,
            kept: true,
        };
        let inhabited = self.make(engine, &making, meeting).await?;
        let state = if lost.is_some() {
            OpenState::Recreated
        } else {
            OpenState::Created
        };
        Ok((inhabited, Found { state, notice: lost }))
    }

    /// Goes on with a container that is there.
    async fn go_on(
        &self,
        engine: &Engine,
        prepared: &Prepared,
        name: &str,
        meeting: &MeetingDirectory,
        secret: &Known,
        container: &bollard::models::ContainerInspectResponse,
    ) -> Result<(Option<Inhabited>, Found), Error> {
        let state = container.state.clone().unwrap_or_default();
        let mut found = Found {
            state: OpenState::Attached,
            notice: None,
        };
        match state.status {
            Some(ContainerStateStatusEnum::RUNNING | ContainerStateStatusEnum::RESTARTING) => {}
            Some(ContainerStateStatusEnum::PAUSED) => engine.let_go_on(name).await?,
            _ => {
                // A resident that ends in order says so with its code.
                if state.exit_code.unwrap_or_default() != 0 {
                    found.state = OpenState::Recreated;
                    found.notice = Some(format!(
                        "what ran in the container {name} was ended from outside; its files are as they were"
                    ));
                }
                engine.start(name).await?;
            }
        }
        let inhabited = self.inhabit(engine, prepared, name, meeting, secret).await?;
        self.check_airgap(name, &prepared.plan, inhabited.as_ref())
            .await?;
        Ok((inhabited, found))
    }

    /// Whose containers this backend makes and finds.
    pub(super) async fn owner(&self) -> Result<Owner, Error> {
        let named = self.place().kept.clone();
        let base = named.map_or_else(kept::default_base, Ok)?.join("docker");
        blocking("the directory of kept sandboxes", move || Ok(Owner::of(&base))).await
    }
}

/// Where commands start.
fn start_of(asked: Option<&ByteString>, prepared: &Prepared) -> PathBuf {
    asked.map_or_else(|| prepared.plan.workdir.clone().into(), ByteString::to_path)
}

/// Variables of every command: the secret ones of the configuration, what the sandbox was made with, what is asked for now.
fn variables(prepared: &Prepared, made_with: Vec<Variable>, asked: Vec<Variable>) -> Vec<Variable> {
    let secret = prepared
        .plan
        .variables
        .of_commands
        .iter()
        .map(|(name, value)| Variable::new(name.clone(), value.expose().clone()));
    secret.chain(made_with).chain(asked).collect()
}

/// A private directory with what a sandbox without a key needs on this machine. This blocks.
fn private(scratch: &Path, prefix: &str) -> Result<(PathBuf, MeetingDirectory, std::fs::File), Error> {
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

fn foreign(name: &str) -> Error {
    let message = format!("the container {name} is there, and is not ours: it does not bear our label");
    Error::new(ErrorKind::AlreadyExists, name, message)
        .with_fix("see whose it is (docker inspect), and rename or remove it; or use another key")
}
