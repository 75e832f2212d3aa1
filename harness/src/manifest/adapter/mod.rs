//! Carries out a manifest: an adapter that runs the commands that a person would type.

mod condition;
mod exec;
mod files;
mod introduction;
mod keeper;
mod ledger;
mod lifecycle;
mod spec;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    env,
    ffi::OsString,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32},
    },
    time::Duration,
};

use async_trait::async_trait;
use herm_protocol::{
    Adapter, ByteString, Error, ErrorKind, Execution, Finished, Progress,
    condition::{ConditionApplied, ConditionList, ConditionParams},
    exec::RunParams,
    file::{FileContent, ReadParams, WriteParams},
    initialize::{InitializeParams, Initialized, Preflight},
    ledger::Ledger,
    sandbox::{CloseHow, CloseParams, Closed, OpenParams, Opened, SandboxList, SandboxSpec},
};
use tokio::sync::Notify;

pub(super) use ledger::listed;

use keeper::{Keeper, Kept};

use super::{
    Manifest, Template, Values,
    run::{self, Output},
};

/// How long an operation may take that is not a command of the caller's.
pub(super) const OPERATION: Duration = Duration::from_secs(30);

/// An adapter for the backend of a manifest.
pub struct ManifestAdapter {
    manifest: Manifest,
    names: Mutex<Names>,
    serial: AtomicU32,
    sandboxes: Mutex<HashMap<String, Sandbox>>,
    held: Mutex<Vec<ConditionParams>>,
    keeper: Keeper,
}

/// What `initialize` told.
#[derive(Clone, Default)]
struct Names {
    run: String,
    scratch: String,
}

/// The end of a sandbox, as commands in it see it.
#[derive(Default)]
struct End {
    /// Closing has begun: what ends from here on was lost with the sandbox.
    begun: AtomicBool,
    /// Told when closing is over.
    over: Notify,
}

/// An open sandbox.
struct Sandbox {
    /// What it was asked to be; the directory is the one that commands start in, if it is known.
    spec: SandboxSpec,
    end: Arc<End>,
    /// Closes it should this process be killed.
    _kept: Kept,
}

impl ManifestAdapter {
    /// An adapter for the backend of a manifest.
    #[must_use]
    pub fn new(manifest: Manifest) -> Self {
        Self {
            manifest,
            names: Mutex::default(),
            serial: AtomicU32::new(0),
            sandboxes: Mutex::default(),
            held: Mutex::default(),
            keeper: Keeper::default(),
        }
    }

    pub(super) fn needs(&self, asked: bool, capability: &str) -> Result<(), Error> {
        if asked && !self.manifest.declares(capability) {
            Err(Error::unsupported(capability))
        } else {
            Ok(())
        }
    }

    fn sandboxes(&self) -> MutexGuard<'_, HashMap<String, Sandbox>> {
        lock(&self.sandboxes)
    }

    fn run_id(&self) -> String {
        lock(&self.names).run.clone()
    }

    /// Values that every command may name.
    fn values(&self) -> Values {
        let names = lock(&self.names).clone();
        self.manifest.values(&names.run, &names.scratch)
    }

    /// Values of a command that is about a sandbox.
    fn values_of(&self, sandbox: &str) -> Values {
        let mut values = self.values();
        values.one.insert("sandbox", sandbox.into());
        values
    }
}

impl Manifest {
    /// Values that every command may name.
    pub(super) fn values(&self, run: &str, scratch: &str) -> Values {
        let variables = self.environment.iter().filter_map(|name| {
            let name = name.get_ref();
            let name = name.strip_suffix('?').unwrap_or(name);
            env::var_os(name).map(|value| (name.to_owned(), ByteString::from(value)))
        });
        Values {
            one: BTreeMap::from([("run", run.into()), ("scratch", scratch.into())]),
            variables: variables.collect(),
            ..Values::default()
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs an operation that has to succeed; `what` reads on after "failed to".
pub(super) async fn operation(template: &Template, values: &Values, what: &str) -> Result<Output, Error> {
    carried_out(&template.fill(values), what).await
}

/// The same with words that were filled in already.
pub(super) async fn carried_out(words: &[OsString], what: &str) -> Result<Output, Error> {
    worked(run::output(words, None, OPERATION, run::WORDS).await, what)
}

fn worked(output: std::io::Result<Output>, what: &str) -> Result<Output, Error> {
    match output {
        Ok(output) if output.code == Some(0) => Ok(output),
        Ok(output) => Err(unavailable(what, &output.complaint())),
        Err(error) => Err(unavailable(what, &error.to_string())),
    }
}

fn unavailable(what: &str, cause: &str) -> Error {
    Error::new(ErrorKind::Unavailable, what, format!("failed to {what}: {cause}"))
        .with_fix("run the manifest's command by hand, and see what it says")
}

/// The lines that say something.
pub(super) fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(bytes)
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[async_trait]
impl Adapter for ManifestAdapter {
    async fn initialize(&self, params: InitializeParams) -> Result<Initialized, Error> {
        Ok(self.introduce(params).await)
    }

    async fn preflight(&self) -> Result<Preflight, Error> {
        self.needs(true, "preflight")?;
        Ok(self.look_for_problems().await)
    }

    async fn open(&self, params: OpenParams, _: Progress) -> Result<Opened, Error> {
        self.check_spec(&params)?;
        self.make(params).await
    }

    async fn close(&self, params: CloseParams) -> Result<Closed, Error> {
        self.needs(params.how != CloseHow::Destroy, "attach")?;
        self.destroy(&params.sandbox).await
    }

    async fn list(&self) -> Result<SandboxList, Error> {
        self.list_sandboxes().await
    }

    async fn run(&self, params: RunParams, execution: Execution) -> Result<Finished, Error> {
        if !self.sandboxes().contains_key(&params.sandbox) {
            return Err(Error::sandbox_not_found(&params.sandbox));
        }
        self.check_run(&params)?;
        self.carry_out(params, execution).await
    }

    async fn read_file(&self, params: ReadParams) -> Result<FileContent, Error> {
        self.read(params).await
    }

    async fn write_file(&self, params: WriteParams) -> Result<(), Error> {
        self.write(params).await
    }

    async fn ledger(&self) -> Result<Ledger, Error> {
        self.needs(true, "ledger")?;
        self.take_ledger().await
    }

    async fn list_conditions(&self) -> Result<ConditionList, Error> {
        self.conditions()
    }

    async fn apply_condition(&self, params: ConditionParams) -> Result<ConditionApplied, Error> {
        self.apply(params).await
    }

    async fn clear_condition(&self, params: ConditionParams) -> Result<(), Error> {
        self.clear(&params).await
    }

    async fn shutdown(&self) {
        self.clear_all().await;
        let ids: Vec<String> = self.sandboxes().keys().cloned().collect();
        // What cannot be destroyed now has nobody left to be told.
        futures::future::join_all(ids.iter().map(|sandbox| self.destroy(sandbox))).await;
        self.keeper.dismiss().await;
    }
}

/// Words of a command, for those who start it.
type Words = Vec<OsString>;
