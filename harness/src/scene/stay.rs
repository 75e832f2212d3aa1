//! A stay: an adapter in a room of its own, what there was of it before, and others beside it that it must not touch.

use std::{path::PathBuf, process::Stdio, sync::Arc, time::Duration};

use herm_protocol::{
    client::Exec,
    method,
    sandbox::{Empty, SandboxSpec},
};
use tokio::process::{Child, Command};

use super::{
    Beat, Failure, Ledger, Sandbox, Scene, Worker, Workshop, processes_with,
    room::{Room, Rooms},
};
use crate::{
    process_table::{self, Process},
    step::StepResult,
};

/// How long what has been closed or has ended may take until it is gone, before scaling: somebody may have to reap it.
const SETTLES: Duration = Duration::from_secs(3);

/// How long what a killed adapter held may take to go, before scaling, once by itself and once with a successor there.
const CLEANED_UP: Duration = Duration::from_secs(5);

/// By how many descriptors an adapter may grow: fewer than there are commands of any one kind in a scenario.
const SLACK: usize = 4;

/// The time between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How long an adapter may take to end when its input has ended or it was signalled, before scaling.
const ENDS: Duration = Duration::from_secs(5);

/// Seconds that a stranger's process lives, so that it is not there for long whatever happens to this one.
const STRANGER_LIVES: &str = "60";

/// What strangers write into their files.
const STRANGERS_TEXT: &str = "not yours\n";

/// An adapter in a room of its own.
pub(crate) struct Stay {
    rooms: Rooms,
    room: Room,
    /// What was started: the guard, or the adapter where there is none.
    root: u32,
    guarded: bool,
    /// The adapter itself.
    adapter: Process,
    /// What there was of it before the act that the scenario is about.
    before: Ledger,
    neighbour: Option<Party>,
    strangers: Option<Strangers>,
}

/// What a scene works with, when it is another caller's.
#[derive(Default)]
struct Party {
    worker: Option<Worker>,
    own: Vec<Sandbox>,
    running: Vec<Exec>,
    beat: Option<Beat>,
    file: Option<herm_protocol::ByteString>,
}

/// Things that look like the subject's and are not.
struct Strangers {
    process: Child,
    files: Vec<PathBuf>,
}

impl Stay {
    /// Ends what is beside the adapter.
    pub(super) async fn end(self, workshop: &Arc<Workshop>) {
        if let Some(neighbour) = self.neighbour
            && let Some(worker) = neighbour.worker
        {
            drop(neighbour.running);
            workshop.give_back(worker, true).await;
        }
        if let Some(mut strangers) = self.strangers {
            let _ = strangers.process.kill().await;
        }
        self.rooms.remove().await;
    }
}

impl Scene {
    fn stay(&self) -> Result<&Stay, Failure> {
        self.stay
            .as_ref()
            .ok_or_else(|| Failure::suite("the backend has no room of its own"))
    }

    fn stay_mut(&mut self) -> Result<&mut Stay, Failure> {
        self.stay
            .as_mut()
            .ok_or_else(|| Failure::suite("the backend has no room of its own"))
    }

    /// Starts an adapter in a room of its own.
    pub(crate) async fn begin_stay(&mut self) -> StepResult {
        let workshop = self.workshop()?;
        let rooms = workshop.rooms(&self.token()).await?;
        let room = rooms.room(false).await?;
        let worker = workshop.employ_in(&room).await?;
        let root = worker.client.process_id().await.unwrap_or_default();
        // It is stopped in the end, and nobody else gets it.
        self.alone = true;
        self.worker = Some(worker);
        let guarded = workshop.guarded();
        let adapter = blocking(move || adapter_of(root, guarded)).await?;
        self.stay = Some(Stay {
            rooms,
            room,
            root,
            guarded,
            adapter: adapter.ok_or_else(|| Failure::inconclusive("the adapter's process cannot be seen"))?,
            before: Ledger::default(),
            neighbour: None,
            strangers: None,
        });
        Ok(())
    }

    /// Remembers what there is of the adapter now, once it no longer changes.
    pub(crate) async fn note_what_there_is(&mut self) -> StepResult {
        let until = tokio::time::Instant::now() + self.scaled(SETTLES);
        let mut before = self.look().await?;
        loop {
            tokio::time::sleep(LOOK_AGAIN * 2).await;
            let now = self.look().await?;
            let same = before.since(&now).told().is_empty() && now.since(&before).told().is_empty();
            before = now;
            if same || tokio::time::Instant::now() > until {
                break;
            }
        }
        self.stay_mut()?.before = before;
        Ok(())
    }

    /// What there is of the adapter, while it runs.
    async fn look(&mut self) -> Result<Ledger, Failure> {
        let stay = self.stay()?;
        let (root, scratch) = (stay.root, stay.room.scratch.clone());
        let seen = blocking(move || Ledger::look(Some(root), &scratch)).await?;
        let owned = self.owned().await?;
        Ok(seen.with_owned(owned))
    }

    /// What the subject's own ledger names; nothing where it keeps none.
    async fn owned(&mut self) -> Result<Vec<herm_protocol::ledger::LedgerItem>, Failure> {
        let declared = self.declares("ledger").await?;
        if !declared {
            return Ok(Vec::new());
        }
        let patience = self.patience();
        let client = self.client().await?;
        let ledger = client.call::<method::TakeLedger>(&Empty {}, patience).await?;
        Ok(ledger.items)
    }

    /// Where a sandbox is on this machine, as far as its backend tells and it can be seen: what of its directory and of the
    /// ledger lies in the folder that the adapter works in. A path elsewhere may be another's that is called the same.
    pub(crate) async fn places_of(&mut self, sandbox: &str) -> Result<Vec<PathBuf>, Failure> {
        let scratch = match &self.stay {
            Some(stay) => stay.room.scratch.clone(),
            None => self.workshop()?.scratch().to_owned(),
        };
        let known = self.own.iter().find(|own| own.id == sandbox);
        let told = known
            .and_then(|own| own.opened.cwd.as_ref())
            .map(|cwd| cwd.to_path());
        // Of a ledger that is shared with others only what carries the sandbox's own name is its own.
        let owned = self.owned().await?.into_iter().map(|item| item.id);
        let owned = owned
            .filter(|id| !sandbox.is_empty() && id.contains(sandbox))
            .map(PathBuf::from);
        let places = told.into_iter().chain(owned);
        Ok(places
            .filter(|place| place.starts_with(&scratch) && *place != scratch)
            .collect())
    }

    /// Whether the subject declares a capability.
    pub(crate) async fn declares(&mut self, capability: &str) -> Result<bool, Failure> {
        let capabilities = self.initialized().await?.capabilities;
        Ok(capabilities.iter().any(|name| name == capability))
    }

    /// Nothing is there of the running adapter that was not there before, soon.
    pub(crate) async fn nothing_new(&mut self) -> StepResult {
        let until = tokio::time::Instant::now() + self.scaled(SETTLES);
        loop {
            let now = self.look().await?;
            let new = now.since(&self.stay()?.before).told();
            let (grown, holders) = now.descriptors_since(&self.stay()?.before);
            if new.is_empty() && grown <= SLACK {
                return Ok(());
            }
            if tokio::time::Instant::now() > until {
                let seen = new.into_iter().chain(holders).collect();
                return Err(left(seen));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// The subject's own ledger names something that it did not name before.
    pub(crate) async fn newly_owned(&mut self) -> StepResult {
        let now = self.look().await?;
        let new = now.since(&self.stay()?.before).owned();
        if new.told().is_empty() {
            return Err(Failure::failed(
                "something of the open sandbox in the ledger",
                "nothing that was not there before it was opened",
            ));
        }
        Ok(())
    }

    /// Sends the adapter itself a signal, and waits for its end.
    pub(crate) async fn signal_adapter(&mut self, signal: rustix::process::Signal) -> StepResult {
        let adapter = self.stay()?.adapter;
        let number = i32::try_from(adapter.id)
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        let number = number.ok_or_else(|| Failure::suite("the adapter has no process number"))?;
        rustix::process::kill_process(number, signal)
            .map_err(|error| Failure::inconclusive(format!("the adapter could not be signalled: {error}")))?;
        let within = self.scaled(ENDS);
        let until = tokio::time::Instant::now() + within;
        while blocking(move || adapter.lives()).await? {
            if tokio::time::Instant::now() > until {
                let expected = format!(
                    "the adapter to end within {} ms of the signal",
                    within.as_millis()
                );
                return Err(Failure::failed(
                    expected,
                    blocking(move || adapter.describe()).await?,
                ));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.running.clear();
        if let Some(beat) = &mut self.beat {
            beat.reachable = false;
        }
        let client = self.client().await?;
        client.stop(within).await;
        if let Some(worker) = &mut self.worker {
            worker.broken = true;
        }
        Ok(())
    }

    /// Nothing is left of an adapter that has ended; `succeeded` says that what is left elsewhere may wait for the next one.
    pub(crate) async fn nothing_left(&mut self, succeeded: bool) -> StepResult {
        let workshop = self.workshop()?;
        let stay = self.stay()?;
        if !stay.guarded {
            return Err(Failure::inconclusive(
                "no guard was around the adapter to see what it leaves",
            ));
        }
        let Some(processes) = workshop.left_behind(stay.root).await else {
            return Err(Failure::inconclusive(
                "the guard of the adapter was ended before it could tell what was left",
            ));
        };
        if !processes.is_empty() {
            return Err(left(processes));
        }
        let remains = self.await_removal(None).await?;
        if !succeeded && !remains.told().is_empty() {
            return Err(left(remains.told()));
        }
        let (room, before) = (self.stay()?.room.clone(), self.stay()?.before.clone());
        let successor = workshop.employ_in(&room).await?;
        let former = self.worker.replace(successor);
        if let Some(former) = former {
            workshop.give_back(former, true).await;
        }
        // What the successor makes for itself is no remains of the other.
        let remains = self.await_removal(Some(remains)).await?;
        let owned = Ledger::default()
            .with_owned(self.owned().await?)
            .since(&before)
            .told();
        let seen: Vec<String> = remains.told().into_iter().chain(owned).collect();
        if seen.is_empty() { Ok(()) } else { Err(left(seen)) }
    }

    /// Waits until the files and processes that were not there before are gone, and gives what is not.
    async fn await_removal(&mut self, of: Option<Ledger>) -> Result<Ledger, Failure> {
        let until = tokio::time::Instant::now() + self.scaled(CLEANED_UP);
        let scratch = self.stay()?.room.scratch.clone();
        loop {
            let scratch = scratch.clone();
            let now = blocking(move || Ledger::look(None, &scratch)).await?;
            let remains = match &of {
                Some(of) => of.still_in(&now),
                None => now.since(&self.stay()?.before),
            };
            let token = self.beat.as_ref().map(|beat| beat.token.clone());
            let beating = match token {
                Some(token) => !processes_with(&token).await.is_empty(),
                None => false,
            };
            if remains.told().is_empty() && !beating {
                return Ok(remains);
            }
            if tokio::time::Instant::now() > until {
                if beating {
                    self.beat_has_stopped().await?;
                }
                return Ok(remains);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Another caller, in another run, has a sandbox with a file in it and a command that keeps a beat.
    pub(crate) async fn bring_neighbour(&mut self) -> StepResult {
        let room = self.stay()?.rooms.room(true).await?;
        let worker = self.workshop()?.employ_in(&room).await?;
        self.stay_mut()?.neighbour = Some(Party {
            worker: Some(worker),
            ..Party::default()
        });
        self.exchange()?;
        let done = self.furnish().await;
        self.exchange()?;
        self.stay_mut()?
            .neighbour
            .as_mut()
            .ok_or_else(|| Failure::suite("there is no neighbour"))?
            .file = Some(done?);
        Ok(())
    }

    async fn furnish(&mut self) -> Result<herm_protocol::ByteString, Failure> {
        self.prepare_sandbox(SandboxSpec::default()).await?;
        let path = self.new_path("mark").await?;
        let word = super::shell::word(path.as_bytes());
        self.prepare(format!("printf '{STRANGERS_TEXT}' > {word}"))
            .await?;
        let text = self.new_beat("").await?;
        let params = self.command(text).await?;
        let exec = self.start(&params).await?;
        self.running.push(exec);
        self.await_beat().await?;
        Ok(path)
    }

    /// The scene works with the neighbour's things in place of its own, or the other way round.
    fn exchange(&mut self) -> StepResult {
        let mut neighbour = self.stay_mut()?.neighbour.take();
        if let Some(party) = &mut neighbour {
            std::mem::swap(&mut party.worker, &mut self.worker);
            std::mem::swap(&mut party.own, &mut self.own);
            std::mem::swap(&mut party.running, &mut self.running);
            std::mem::swap(&mut party.beat, &mut self.beat);
        }
        self.stay_mut()?.neighbour = neighbour;
        Ok(())
    }

    /// A process and files that have the sandbox's or the room's name in theirs, and are the suite's own.
    pub(crate) async fn bring_strangers(&mut self) -> StepResult {
        let id = self.sandbox().await?.id;
        let stay = self.stay()?;
        let folder = stay.rooms.folder().to_owned();
        let files = [
            folder.join("room.txt"),
            folder.join("room-of-another").join(&id).join("file"),
        ];
        for file in &files {
            let made = async {
                if let Some(above) = file.parent() {
                    tokio::fs::create_dir_all(above).await?;
                }
                tokio::fs::write(file, STRANGERS_TEXT).await
            };
            made.await
                .map_err(|error| Failure::inconclusive(format!("failed to make a file: {error}")))?;
        }
        let process = Command::new("sh")
            .args(["-c", &format!("sleep {STRANGER_LIVES}; :"), &id])
            .arg(&stay.room.scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| Failure::inconclusive(format!("failed to start a process: {error}")))?;
        self.stay_mut()?.strangers = Some(Strangers {
            process,
            files: files.into(),
        });
        Ok(())
    }

    /// The neighbour and the strangers have all that they had.
    pub(crate) async fn others_are_untouched(&mut self) -> StepResult {
        let Stay {
            neighbour, strangers, ..
        } = self.stay_mut()?;
        let file = neighbour.as_ref().and_then(|party| party.file.clone());
        if let Some(strangers) = strangers {
            strangers.are_there().await?;
        }
        if let Some(file) = file {
            self.exchange()?;
            let there = self.neighbour_lives(&file).await;
            self.exchange()?;
            there?;
        }
        Ok(())
    }

    async fn neighbour_lives(&mut self, file: &herm_protocol::ByteString) -> StepResult {
        self.beat_goes_on().await?;
        let seen = self
            .observe(format!("cat {}", super::shell::word(file.as_bytes())))
            .await?;
        if seen != STRANGERS_TEXT.as_bytes() {
            return Err(Failure::failed(
                format!("the other caller's file to hold {STRANGERS_TEXT:?}"),
                seen.escape_ascii().to_string(),
            ));
        }
        Ok(())
    }
}

impl Strangers {
    async fn are_there(&mut self) -> StepResult {
        if let Ok(Some(status)) = self.process.try_wait() {
            return Err(Failure::failed(
                "a process of somebody else's, with the sandbox's name among its words, to live on",
                format!("it was ended: {status}"),
            ));
        }
        for file in &self.files {
            let seen = tokio::fs::read_to_string(file).await;
            if !seen.as_ref().is_ok_and(|text| text == STRANGERS_TEXT) {
                return Err(Failure::failed(
                    format!("a file of somebody else's, {}, to be as it was", file.display()),
                    format!("{seen:?}"),
                ));
            }
        }
        Ok(())
    }
}

/// Things were left.
fn left(things: Vec<String>) -> Failure {
    let more = things.len().saturating_sub(4);
    let mut seen = things.into_iter().take(4).collect::<Vec<_>>().join("; ");
    if more > 0 {
        seen.push_str(&format!("; and {more} more"));
    }
    Failure::failed("nothing that was not there before", seen)
}

/// The adapter below its guard: the first process that the guard has started.
fn adapter_of(root: u32, guarded: bool) -> Option<Process> {
    if !guarded {
        return Process::of(root);
    }
    process_table::descendants_of(root)
        .into_iter()
        .filter(|process| process.parent == root)
        .min_by_key(|process| (process.started, process.id))
}

async fn blocking<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(look)
        .await
        .map_err(|error| Failure::suite(error.to_string()))
}
