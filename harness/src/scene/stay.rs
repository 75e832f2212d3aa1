//! A stay: an adapter in a room of its own, what there was of it before, and what is left of it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use herm_protocol::{method, sandbox::Empty};

use super::{
    Failure, Ledger, Scene, Workshop,
    others::{Party, Strangers},
    processes_with,
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

/// Things that are told of those that were left.
const TOLD: usize = 4;

/// The time between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How long an adapter may take to end when its input has ended or it was signalled, before scaling.
const ENDS: Duration = Duration::from_secs(5);

/// An adapter in a room of its own.
pub(crate) struct Stay {
    pub(super) rooms: Rooms,
    pub(super) room: Room,
    /// What was started: the guard, or the adapter where there is none.
    root: u32,
    /// Whether there is a guard.
    guarded: bool,
    /// The adapter itself.
    adapter: Process,
    /// What there was of it before the act that the scenario is about.
    before: Ledger,
    pub(super) neighbour: Option<Party>,
    pub(super) strangers: Option<Strangers>,
}

impl Stay {
    /// Ends what is beside the adapter.
    pub(super) async fn end(self, workshop: &Arc<Workshop>) {
        if let Some(neighbour) = self.neighbour {
            neighbour.end(workshop).await;
        }
        if let Some(strangers) = self.strangers {
            strangers.end().await;
        }
        self.rooms.remove().await;
    }
}

impl Scene {
    pub(super) fn stay(&self) -> Result<&Stay, Failure> {
        self.stay
            .as_ref()
            .ok_or_else(|| Failure::suite("the backend has no room of its own"))
    }

    pub(super) fn stay_mut(&mut self) -> Result<&mut Stay, Failure> {
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
        let started = worker.client.process_id().await.unwrap_or_default();
        // It is stopped in the end, and nobody else gets it.
        self.alone = true;
        self.worker = Some(worker);
        let around = workshop.around();
        let adapter = blocking(move || adapter_of(started, around)).await?;
        self.stay = Some(Stay {
            rooms,
            room,
            root: started,
            guarded: around > 0,
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
            .map(herm_protocol::ByteString::to_path);
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
            let new = now.grown_since(&self.stay()?.before).told();
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
        let (remains, beats) = self.await_removal(None).await?;
        if !succeeded && (beats || !remains.told().is_empty()) {
            return self.told_as_left(&remains, beats).await;
        }
        let room = self.stay()?.room.clone();
        let successor = workshop.employ_in(&room).await?;
        if let Some(former) = self.worker.replace(successor) {
            workshop.give_back(former, true).await;
        }
        let (remains, beats) = self.await_removal(Some(&remains)).await?;
        self.told_as_left(&remains, beats).await
    }

    async fn told_as_left(&mut self, remains: &Ledger, beats: bool) -> StepResult {
        if !remains.told().is_empty() {
            return Err(left(remains.told()));
        }
        if beats {
            self.beat_has_stopped().await
        } else {
            Ok(())
        }
    }

    /// Waits until what was not there before is gone, and gives what is not, and whether a command still keeps its beat.
    /// With a successor there, what it makes for itself is no remains of the other: only `of` them is looked for, and what
    /// the ledger names.
    async fn await_removal(&mut self, of: Option<&Ledger>) -> Result<(Ledger, bool), Failure> {
        let until = tokio::time::Instant::now() + self.scaled(CLEANED_UP);
        loop {
            let scratch = self.stay()?.room.scratch.clone();
            let now = blocking(move || Ledger::look(None, &scratch)).await?;
            let remains = match of {
                Some(of) => of
                    .still_in(&now)
                    .and(Ledger::default().with_owned(self.owned().await?)),
                None => now,
            };
            let remains = remains.since(&self.stay()?.before);
            let token = self.beat.as_ref().map(|beat| beat.token.clone());
            let beats = match token {
                Some(token) => !processes_with(&token).await.is_empty(),
                None => false,
            };
            let gone = remains.told().is_empty() && !beats;
            if gone || tokio::time::Instant::now() > until {
                return Ok((remains, beats));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

/// Things were left.
fn left(things: Vec<String>) -> Failure {
    let more = things.len().saturating_sub(TOLD);
    let mut told: Vec<String> = things.into_iter().take(TOLD).collect();
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    Failure::failed("nothing that was not there before", told.join("; "))
}

/// The adapter below so many processes of ours, each of which has started the next one before anything else.
pub(super) fn adapter_of(root: u32, around: usize) -> Option<Process> {
    (0..around).try_fold(Process::of(root)?, |parent, _| {
        process_table::descendants_of(parent.id)
            .into_iter()
            .filter(|process| process.parent == parent.id)
            .min_by_key(|process| (process.started, process.id))
    })
}

async fn blocking<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    tokio::task::spawn_blocking(look)
        .await
        .map_err(|error| Failure::suite(error.to_string()))
}
