//! A sandbox under a key, and the callers that come and go around it, each an adapter process of its own.

use std::time::Duration;

use herm_protocol::{
    client::CallError,
    sandbox::{CloseHow, CloseParams, Opened, SandboxSpec},
};
use rustix::process::{Pid, Signal, kill_process};

use super::{Failure, Scene, Worker, stay::adapter_of};
use crate::{process_table::Process, step::StepResult};

/// How long an adapter may take to end when its input has ended or it was killed, before scaling.
const ENDS: Duration = Duration::from_secs(10);

/// The time between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

impl Scene {
    /// The key of the scenario, made when it is first asked for.
    pub(crate) fn key(&mut self) -> String {
        let token = self.token();
        self.notes.key.get_or_insert(token).clone()
    }

    /// Opens the sandbox of the scenario's key, and waits until it runs commands.
    pub(crate) async fn open_key(&mut self, spec: SandboxSpec) -> Result<Opened, CallError> {
        let key = self.key();
        let opened = self.open_keyed(Some(key), spec).await?;
        let patience = self.patience();
        if let Some(worker) = &mut self.worker {
            // One that never does is told by whatever is asked of it.
            let _ = worker.await_ready(&opened.sandbox, patience).await;
        }
        Ok(opened)
    }

    /// Another caller takes the place of the one there was, which is given.
    pub(crate) async fn another_caller(&mut self) -> Result<Option<Worker>, Failure> {
        self.alone = true;
        let workshop = self.workshop()?;
        let other = match self.stay.as_ref().map(|stay| stay.room.clone()) {
            Some(room) => workshop.employ_in(&room).await?,
            None => workshop.employ().await?,
        };
        Ok(self.worker.replace(other))
    }

    /// The former caller is the one again; the other goes.
    pub(crate) async fn back_to(&mut self, former: Option<Worker>) -> StepResult {
        let workshop = self.workshop()?;
        if let Some(other) = std::mem::replace(&mut self.worker, former) {
            workshop.give_back(other, true).await;
        }
        Ok(())
    }

    /// The caller closes its side and has gone when its adapter has ended.
    pub(crate) async fn dismiss_caller(&mut self) -> StepResult {
        self.running.clear();
        let within = self.scaled(ENDS);
        if let Some(worker) = self.worker.take() {
            worker.client.stop(within).await;
        }
        Ok(())
    }

    /// The caller's adapter is killed, so that it can do nothing any more.
    pub(crate) async fn kill_caller(&mut self) -> StepResult {
        let around = self.workshop()?.around();
        let client = self.client().await?;
        let root = client.process_id().await.unwrap_or_default();
        let find = tokio::task::spawn_blocking(move || adapter_of(root, around));
        let adapter = find.await.ok().flatten();
        let adapter = adapter.ok_or_else(|| Failure::inconclusive("the adapter's process cannot be seen"))?;
        let number = i32::try_from(adapter.id).ok().and_then(Pid::from_raw);
        let number = number.ok_or_else(|| Failure::suite("the adapter has no process number"))?;
        kill_process(number, Signal::KILL)
            .map_err(|error| Failure::inconclusive(format!("the adapter could not be killed: {error}")))?;
        let until = tokio::time::Instant::now() + self.scaled(ENDS);
        while lives(adapter).await && tokio::time::Instant::now() < until {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.dismiss_caller().await
    }

    /// Closes the sandbox in question in another way than destroying it.
    pub(crate) async fn leave(&mut self, how: CloseHow) -> StepResult {
        let sandbox = self.sandbox().await?.id;
        let deadline = self.scaled(Duration::from_secs(30));
        let params = CloseParams { sandbox, how };
        let client = self.client().await?;
        let closed = client
            .call::<herm_protocol::method::Close>(&params, deadline)
            .await?;
        if closed.existed {
            return Ok(());
        }
        Err(Failure::failed("`existed: true`", "`existed: false`"))
    }
}

async fn lives(process: Process) -> bool {
    tokio::task::spawn_blocking(move || process.lives())
        .await
        .unwrap_or(false)
}
