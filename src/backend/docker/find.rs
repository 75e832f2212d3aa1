//! The sandbox of a key: the one that is there, or a new one.
//!
//! What becomes of a container that is found is decided by [`crate::lifecycle::reuse`]; here it is looked at, and done.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, atomic::AtomicBool},
    time::Duration,
};

use bollard::models::ContainerInspectResponse;
use herm_protocol::{
    Error, ErrorKind, Progress,
    sandbox::{OpenState, SandboxSpec},
};
use tokio::time::{Instant, sleep};

use super::{
    DockerBackend,
    aside::aside,
    body::{self, Making},
    engine::Engine,
    given, leash,
    names::{self, Owner},
    open::{Begun, Opening, start_of, variables},
    prepare::Prepared,
    record::{self, Record},
    remembered::SaidThen,
    sandbox::{Sandbox, Ties, remove_directory},
    secret::Known,
    seen::{Seen, state_of, whose},
};
use crate::{
    backend::local::{adapter::blocking, kept, lock},
    files::file_error,
    lifecycle::reuse::{Answer, Likeness, State, Whose, decide},
    resident::MeetingDirectory,
};

/// How long a container may be in a state that is none to stay in.
const SETTLING: Duration = Duration::from_secs(15);

/// How often is looked whether it is in another one.
const LOOK: Duration = Duration::from_millis(50);

/// How often it is tried to start a container that has ended.
const STARTS: u32 = 3;

/// How long is waited between two tries.
const START_PAUSE: Duration = Duration::from_millis(700);

/// How often a resident is called that runs and does not answer, before it counts as frozen for good.
const CALLS: u32 = 3;

/// What a caller may do to a sandbox that is there and is not what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// It may be replaced, whatever goes on in it; that is told.
    Whole,
    /// It may be replaced as long as nothing goes on in it.
    LeavesWhatGoesOn,
}

/// What is kept on this machine of a key, as it is when nobody else changes it.
struct Kept {
    name: String,
    directory: PathBuf,
    meeting: MeetingDirectory,
    record: Option<Record>,
    secret: Option<Known>,
    /// The secret of one that was being made by somebody who did not come to the end.
    next: Option<Known>,
    said: Option<SaidThen>,
    /// The start of the resident that was met last.
    start: Option<String>,
}

/// What a key's sandbox was found as.
struct Found {
    begun: Begun,
    state: OpenState,
    notice: Option<String>,
}

impl Kept {
    /// Reads it, and makes the places in which it is kept. This blocks.
    fn read(name: String, directory: PathBuf, key: &str) -> Result<Self, Error> {
        kept::private_directory(&directory)?;
        let meeting = MeetingDirectory::make(&directory)
            .map_err(|error| file_error("make a place to meet in", &directory, &error))?;
        Ok(Self {
            record: Record::read(&directory, key)?.filter(|record| !record.unfinished),
            start: record::last_start(&directory),
            secret: Known::read(&directory).ok(),
            next: Known::read_next(&directory),
            said: SaidThen::read(&directory),
            name,
            directory,
            meeting,
        })
    }
}

impl DockerBackend {
    /// Opens the sandbox of a key: the one that is there, with what it was opened with when it was made, or a new one with
    /// what is asked for.
    pub(super) async fn open_kept(
        &self,
        engine: &Engine,
        key: &str,
        spec: SandboxSpec,
        claim: Claim,
        progress: Option<&Progress>,
    ) -> Result<Opening, Error> {
        let owner = self.owner().await?;
        let base = owner.base.clone();
        let shown = base.to_string_lossy().into_owned();
        let directory = kept::directory_of(&owner.base, key);
        let name = owner.container_of(key);
        // An image may take its time to come, for which nobody else is to wait.
        let (before, said) = blocking(&shown, {
            let (directory, key) = (directory.clone(), key.to_owned());
            move || {
                kept::private_directory(&base)?;
                let record = Record::read(&directory, &key)?.filter(|record| !record.unfinished);
                Ok((record, SaidThen::read(&directory)))
            }
        })
        .await?;
        let said = said.map(|then| then.said);
        let whole = merged(before.as_ref(), &spec);
        let mut prepared = self.prepare(engine, &whole, Some(&name), said, progress).await?;
        let _lock = lock::lock(&owner.base, key).await?;
        let mut kept = blocking(&shown, {
            let (directory, key) = (directory.clone(), key.to_owned());
            move || Kept::read(name, directory, &key)
        })
        .await?;
        if let Some(next) = kept.next.take() {
            Box::pin(engine.undo_unfinished(&mut kept, &owner, next)).await?;
        }
        let whole = merged(kept.record.as_ref(), &spec);
        if kept.record.is_some() && before != kept.record {
            prepared = self
                .prepare(engine, &whole, Some(&kept.name), None, progress)
                .await?;
        }
        if kept.record.is_none() {
            // Whoever finds what is made, if this process is killed, finds for which key.
            let unfinished = Record {
                key: key.to_owned(),
                spec: whole.clone(),
                once: prepared.life.once,
                unfinished: true,
                stopped: false,
            };
            let directory = directory.clone();
            blocking(&shown, move || unfinished.write(&directory)).await?;
        }
        let opened = Box::pin(self.find_or_make(engine, &mut prepared, &owner, &kept, (&whole, claim))).await;
        match opened {
            Ok(found) => Box::pin(self.take_over(engine, key, kept, (spec, prepared), found)).await,
            Err(error) => {
                // What somebody else has left there is of use yet.
                if kept.record.is_none() && kept.secret.is_none() {
                    remove_directory(&directory).await?;
                }
                Err(error)
            }
        }
    }

    /// Makes a sandbox of what was found under a key, and writes down what it was opened with.
    async fn take_over(
        &self,
        engine: &Engine,
        key: &str,
        kept: Kept,
        (spec, prepared): (SandboxSpec, Prepared),
        found: Found,
    ) -> Result<Opening, Error> {
        let Found {
            begun:
                Begun {
                    container,
                    inhabited,
                    leash,
                    reached,
                },
            state,
            notice,
        } = found;
        let known = kept.record.filter(|_| state != OpenState::Created);
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
            once: prepared.life.once,
            unfinished: false,
            stopped: false,
        };
        let start = inhabited.as_ref().map(|inhabited| inhabited.start.clone());
        let new_start = start.filter(|start| kept.start.as_ref() != Some(start));
        let directory = kept.directory;
        let sandbox = Sandbox {
            id: kept.name,
            key: Some(key.to_owned()),
            directory: directory.clone(),
            cwd: start_of(spec.cwd.as_ref().or(record.spec.cwd.as_ref()), &prepared),
            env: variables(&prepared, record.spec.env.clone(), spec.env),
            volumes: prepared.volumes.clone(),
            shell: prepared.programs.shell,
            closing: AtomicBool::new(false),
            inhabited,
            ties: Mutex::new(Ties { leash, held: None }),
        };
        let written = match self.check_start(&sandbox, spec.cwd.is_some()).await {
            Ok(()) if known.as_ref() != Some(&record) || new_start.is_some() => {
                blocking("what is kept of a sandbox", move || {
                    if let Some(start) = new_start {
                        record::keep_start(&directory, &start)?;
                    }
                    record.write(&directory)
                })
                .await
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
        Ok(Opening {
            sandbox,
            state,
            notice,
            prepared,
            container,
            reached,
        })
    }

    /// The container of a key: the one that is there, where it is what is asked for and answers, else a new one. What the
    /// engine has said may be from the time when the container was made, which is good enough to find it the same.
    async fn find_or_make(
        &self,
        engine: &Engine,
        prepared: &mut Prepared,
        owner: &Owner,
        kept: &Kept,
        (spec, claim): (&SandboxSpec, Claim),
    ) -> Result<Found, Error> {
        let name = kept.name.as_str();
        let then = kept.said.as_ref().filter(|then| then.said == prepared.said);
        let mut of_then = then.map(|then| then.container.as_str());
        let end = Instant::now() + SETTLING;
        let mut looked_aside = false;
        let lost = loop {
            let container = engine.container(name).await?;
            if container.is_none() && !looked_aside {
                looked_aside = true;
                if Box::pin(engine.bring_back(name, owner)).await? {
                    continue;
                }
            }
            let seen = self.see(container.as_ref(), owner, prepared, kept)?;
            let is_that = container.as_ref().and_then(|found| found.id.as_deref()) == of_then;
            if of_then.is_some()
                && !(is_that && seen.state == State::Running && seen.likeness == Likeness::Same)
            {
                // It has to be asked what the engine can do now.
                *prepared = self.prepare(engine, spec, Some(name), None, None).await?;
                of_then = None;
                continue;
            }
            match decide(seen.state, seen.whose, seen.likeness) {
                // One that is to end by itself has done so, and nobody has to be told.
                Answer::Make if prepared.life.once => break None,
                Answer::Make => {
                    break kept.record.is_some().then(|| {
                        format!(
                            "the container {name} was removed, with whatever was not on its volumes; this is a new one"
                        )
                    });
                }
                Answer::Refuse => return Err(foreign(name)),
                Answer::Wait if Instant::now() < end => sleep(LOOK).await,
                Answer::Wait => return Err(stuck(name, seen.state)),
                Answer::Replace => {
                    if let (Claim::LeavesWhatGoesOn, Some(container)) = (claim, &container) {
                        engine.check_nothing_goes_on(kept, container, &seen).await?;
                    }
                    break Some(seen.replaced(name, prepared, container.as_ref()));
                }
                answer @ (Answer::Attach | Answer::LetGoOn | Answer::Start) => {
                    let container = container.ok_or_else(|| Error::sandbox_not_found(name))?;
                    match Box::pin(self.go_on(engine, prepared, kept, container, answer)).await {
                        Ok(found) => return Ok(found),
                        // An engine finishes what it was asked for, though whoever asked has been killed and holds no lock any more.
                        Err(Unfit::Engine(error))
                            if error.kind() == ErrorKind::SandboxNotFound && Instant::now() < end =>
                        {
                            sleep(LOOK).await;
                        }
                        Err(Unfit::Engine(error)) => return Err(error),
                        Err(Unfit::Container(why)) => {
                            break Some(format!(
                                "the container {name} could not be used any more ({why}), and was replaced; what was not on its \
                                 volumes is gone, and what ran in it was ended"
                            ));
                        }
                    }
                }
            }
        };
        if lost.is_some() {
            // It is there until the new one is.
            Box::pin(engine.put_aside(name)).await?;
        }
        let begun = match Box::pin(self.make_kept(engine, prepared, owner, kept)).await {
            Ok(begun) => begun,
            Err(error) => {
                Box::pin(engine.bring_back(name, owner)).await?;
                return Err(error);
            }
        };
        if lost.is_some() {
            engine.remove(&aside(name)).await?;
        }
        let state = match (&lost, &kept.record) {
            // What was begun and never finished has nobody who could miss it.
            (Some(_), Some(_)) => OpenState::Recreated,
            _ => OpenState::Created,
        };
        Ok(Found {
            begun,
            state,
            notice: lost,
        })
    }

    /// What a container is that has the name of a key.
    fn see(
        &self,
        container: Option<&ContainerInspectResponse>,
        owner: &Owner,
        prepared: &Prepared,
        kept: &Kept,
    ) -> Result<Seen, Error> {
        let Some(container) = container else {
            return Ok(Seen::NOTHING);
        };
        let labels = container
            .config
            .as_ref()
            .and_then(|config| config.labels.as_ref());
        let label = |name: &str| labels.and_then(|labels| labels.get(name)).map(String::as_str);
        let whose = whose(container, owner);
        let made_otherwise = if label(names::FINGERPRINT) == Some(&prepared.fingerprint.whole) {
            Vec::new()
        } else {
            let changed = prepared.fingerprint.changed(label(names::PARTS));
            if changed.is_empty() {
                vec!["something".to_owned()]
            } else {
                changed
            }
        };
        // What it was made of says nothing of what somebody has changed since.
        let changed_since = match (whose, &kept.secret) {
            (Whose::Ours, Some(secret)) if made_otherwise.is_empty() => {
                let making = self.making(prepared, owner, kept, secret);
                given::unheard(&body::of(&making, self.0.mode)?, container)
            }
            _ => Vec::new(),
        };
        Ok(Seen {
            state: state_of(container),
            whose,
            likeness: if made_otherwise.is_empty() && changed_since.is_empty() {
                Likeness::Same
            } else {
                Likeness::Other
            },
            made_otherwise,
            changed_since,
        })
    }

    /// What the container of a key is made of.
    fn making<'a>(
        &self,
        prepared: &'a Prepared,
        owner: &Owner,
        kept: &'a Kept,
        secret: &'a Known,
    ) -> Making<'a> {
        let mut labels = owner.labels(&self.place().run);
        labels.insert(names::KEPT.to_owned(), "1".to_owned());
        Making {
            prepared,
            name: &kept.name,
            meeting: kept.meeting.path(),
            secret,
            labels,
        }
    }

    /// Makes the container of a key.
    async fn make_kept(
        &self,
        engine: &Engine,
        prepared: &Prepared,
        owner: &Owner,
        kept: &Kept,
    ) -> Result<Begun, Error> {
        let secret = Known::fresh()?;
        let leash = blocking("secret", {
            let (secret, directory) = (secret.clone(), kept.directory.clone());
            let meeting = prepared
                .life
                .with_its_caller
                .then(|| kept.meeting.path().to_owned());
            move || {
                secret.write_next(&directory)?;
                let held = meeting.map(|meeting| leash::make(&meeting));
                let failed = |error: std::io::Error| {
                    file_error("tie a sandbox to this process in", &directory, &error)
                };
                held.transpose().map_err(failed)
            }
        })
        .await?;
        let making = self.making(prepared, owner, kept, &secret);
        let made = Box::pin(self.make(engine, &making, &kept.meeting)).await;
        let begun = blocking("secret", {
            let directory = kept.directory.clone();
            move || {
                let failed =
                    |error: std::io::Error| file_error("keep the secret of a sandbox in", &directory, &error);
                match made {
                    Ok(begun) => Known::take_next(&directory).map(|()| begun).map_err(failed),
                    Err(error) => {
                        Known::forget_next(&directory);
                        Err(error)
                    }
                }
            }
        })
        .await?;
        self.reap_meanwhile();
        let then = SaidThen {
            container: begun.container.id.clone().unwrap_or_default(),
            said: prepared.said,
        };
        let directory: &Path = &kept.directory;
        let directory = directory.to_owned();
        blocking("what the engine has said", move || {
            then.write(&directory);
            Ok(())
        })
        .await?;
        Ok(Begun { leash, ..begun })
    }

    /// Goes on with a container that is there.
    async fn go_on(
        &self,
        engine: &Engine,
        prepared: &Prepared,
        kept: &Kept,
        container: ContainerInspectResponse,
        answer: Answer,
    ) -> Result<Found, Unfit> {
        let name = kept.name.as_str();
        let Some(secret) = &kept.secret else {
            return Err(Unfit::Container("the secret of its resident is lost".to_owned()));
        };
        let code = container.state.as_ref().and_then(|state| state.exit_code);
        let container = match answer {
            Answer::LetGoOn => {
                engine.let_go_on(name).await?;
                engine.container_there(name).await?
            }
            Answer::Start => {
                engine.start_again(name).await?;
                engine.container_there(name).await?
            }
            _ => container,
        };
        let mut calls = 1;
        let begun = loop {
            let meeting = (&kept.meeting, secret);
            let inhabiting = self.inhabit(engine, prepared, name, container.clone(), meeting);
            let (begun, reached) = tokio::join!(inhabiting, engine.reached(&kept.directory, &container));
            match begun {
                Ok(begun) => {
                    break Begun {
                        reached: Some(reached?),
                        ..begun
                    };
                }
                Err(error) if error.kind() != ErrorKind::Unavailable => {
                    return Err(Unfit::of(engine, name, error).await);
                }
                Err(error) if calls == CALLS => return Err(Unfit::of(engine, name, error).await),
                Err(_) => calls += 1,
            }
        };
        let in_memory = prepared.plan.tmpfs.iter().map(|tmpfs| tmpfs.target.as_str());
        let in_memory = in_memory.collect::<Vec<_>>().join(", ");
        // A resident that ends in order says so with its code.
        let (state, notice) = match (answer, code.unwrap_or_default()) {
            (Answer::Start, 0) => (
                OpenState::Attached,
                Some(format!(
                    "the container {name} had been stopped, and was started again: nothing of what ran in it goes on; its files \
                     are as they were, but for those in memory ({in_memory})"
                )),
            ),
            (Answer::Start, _) => (
                OpenState::Recreated,
                Some(format!(
                    "the container {name} was ended from outside, with what ran in it; its files are as they were, but for those in \
                     memory ({in_memory})"
                )),
            ),
            // Somebody has started the container anew meanwhile.
            _ if kept
                .start
                .as_ref()
                .is_some_and(|start| begun.start() != Some(start.as_str())) =>
            {
                (
                    OpenState::Recreated,
                    Some(format!(
                        "the container {name} was started anew from outside: what ran in it has ended; its files are as \
                         they were, but for those in memory ({in_memory})"
                    )),
                )
            }
            _ => (OpenState::Attached, None),
        };
        Ok(Found { begun, state, notice })
    }
}

impl Engine {
    /// Undoes what somebody began who did not come to the end: one that was to take the place of another was given to nobody, and
    /// that other one has its place again. One that took nobody's place is as good as any.
    async fn undo_unfinished(&self, kept: &mut Kept, owner: &Owner, next: Known) -> Result<(), Error> {
        let name = kept.name.as_str();
        let is_ours = |container: ContainerInspectResponse| whose(&container, owner) == Whose::Ours;
        let was_aside = self.container(&aside(name)).await?.is_some_and(is_ours);
        if was_aside {
            if self.container(name).await?.is_some_and(is_ours) {
                self.remove(name).await?;
            }
            self.bring_back(name, owner).await?;
        } else {
            kept.secret = Some(next);
        }
        let directory = kept.directory.clone();
        blocking("secret", move || {
            if was_aside {
                Known::forget_next(&directory);
                return Ok(());
            }
            let failed = |error| file_error("keep the secret of a sandbox in", &directory, &error);
            Known::take_next(&directory).map_err(failed)
        })
        .await
    }

    /// Starts a container that has ended. An engine that was killed itself may know of its end only a moment later.
    async fn start_again(&self, name: &str) -> Result<(), Unfit> {
        let mut tries = 1;
        loop {
            match self.start(name).await {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == ErrorKind::TimedOut => return Err(Unfit::Engine(error)),
                Err(_) if tries < STARTS => {
                    tries += 1;
                    sleep(START_PAUSE).await;
                }
                Err(error) => return Err(Unfit::of(self, name, error).await),
            }
        }
    }

    /// Sees to it that nothing goes on in a container that is to be replaced, as far as its resident tells.
    async fn check_nothing_goes_on(
        &self,
        kept: &Kept,
        container: &ContainerInspectResponse,
        seen: &Seen,
    ) -> Result<(), Error> {
        let name = kept.name.as_str();
        let going_on = match (seen.state, &kept.secret) {
            (State::Paused, _) => "it is paused".to_owned(),
            (State::Running, Some(secret)) => {
                // One that does not answer is of no use to anybody.
                let Ok((resident, _)) = self.meet(name, container, &kept.meeting, secret.secret()).await
                else {
                    return Ok(());
                };
                match resident.going_on(name).await? {
                    0 => return Ok(()),
                    1 => "one command or job goes on in it".to_owned(),
                    several => format!("{several} commands and jobs go on in it"),
                }
            }
            _ => return Ok(()),
        };
        let what = seen.otherwise().unwrap_or_default();
        let message = format!("the container {name} {what}, and {going_on}: it was left as it is");
        Err(Error::new(ErrorKind::AlreadyExists, name, message).with_fix(
            "ask for what it was made of, wait for the end of what goes on (herm jobs KEY wait JOB) or end it, or remove the sandbox (herm rm KEY)",
        ))
    }
}

/// What is asked for now, and where nothing is, what a sandbox that is known was made with.
fn merged(known: Option<&Record>, spec: &SandboxSpec) -> SandboxSpec {
    known.map_or_else(|| spec.clone(), |record| record.with(spec))
}

/// Why a container that is there is not gone on with.
enum Unfit {
    /// The engine has not done its part: nothing is known of the container.
    Engine(Error),
    /// It is of no use, for that reason.
    Container(String),
}

impl Unfit {
    /// Whose fault it is that a container does not answer: that of an engine which does not answer either is not its own.
    async fn of(engine: &Engine, name: &str, error: Error) -> Self {
        match engine.container(name).await {
            Ok(Some(_)) => Self::Container(error.message),
            Ok(None) => Self::Engine(Error::sandbox_not_found(name)),
            Err(error) => Self::Engine(error),
        }
    }
}

impl From<Error> for Unfit {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

fn foreign(name: &str) -> Error {
    let message = format!("the container {name} is there, and is not ours: it does not bear our label");
    Error::new(ErrorKind::AlreadyExists, name, message)
        .with_fix("see whose it is (docker inspect), and rename or remove it; or use another key")
}

fn stuck(name: &str, state: State) -> Error {
    let message = format!("the container {name} has been {} for {SETTLING:?}", state.name());
    Error::new(ErrorKind::TimedOut, name, message)
        .with_fix("see what the engine says of it (docker inspect), and remove it (docker rm --force)")
}
