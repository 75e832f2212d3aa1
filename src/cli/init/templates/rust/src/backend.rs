//! The backend as the protocol sees it: each sandbox is a directory of this machine.
//!
//! Replace what is done here, method by method, with what your own tool does. Whatever you cannot do yet, take out of
//! `CAPABILITIES`, refuse it in `check`, and it is no longer tested. `herm list capabilities` and `herm list choices`
//! explain the words.

use std::{
    collections::{BTreeMap, HashMap},
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use herm_protocol::{
    Adapter, Error, ErrorKind, Execution, Finished, Progress, VERSION,
    exec::RunParams,
    initialize::{InitializeParams, Initialized, Limits},
    remove_tree::{Locked, remove_tree},
    sandbox::{
        CloseHow, CloseParams, Closed, OpenParams, OpenState, Opened, SandboxInfo, SandboxList,
        SandboxRef, SandboxState, Variable,
    },
};
use tokio::sync::{RwLock, watch};

use crate::{check, command};

/// The backend's name in reports.
const NAME: &str = "my-backend";

/// What works. Everything else is refused, in `check`.
const CAPABILITIES: &[&str] = &[
    "argv",
    "cancel",
    "concurrency",
    "cwd",
    "env",
    "inspect",
    "list",
    "signal",
    "stdin",
    "stdin_stream",
    "streams_apart",
    "timeout",
];

/// Where both ways are right, which one is this backend's.
const CHOICES: &[(&str, &str)] = &[
    ("kill_scope", "group"), // a deadline ends the command's process group
    ("latency", "local"),
    ("left_behind", "end"), // what a command leaves in the background ends with it
    ("relative_path", "workdir"),
    ("shell", "posix"),
    ("state", "none"), // every command starts in a shell of its own
    ("stream_bytes", "exact"),
    ("streams", "apart"),
    ("zero_timeout", "none"),
];

/// How long the commands of a sandbox may take to end when it is closed.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// An open sandbox.
pub(crate) struct Sandbox {
    id: String,
    /// Where it is on the disk, and where its commands start unless they say otherwise.
    directory: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) env: Vec<Variable>,
    /// Becomes true when it is being closed: its commands end then.
    pub(crate) closing: watch::Sender<bool>,
    /// Every command reads it while it runs, so that closing can wait for them all.
    pub(crate) running: RwLock<()>,
}

impl Sandbox {
    fn info(&self) -> SandboxInfo {
        SandboxInfo {
            sandbox: self.id.clone(),
            key: None,
            state: SandboxState::Running,
            cwd: Some(self.cwd.as_path().into()),
        }
    }
}

/// Sandboxes that are directories of this machine.
#[derive(Default)]
pub(crate) struct Backend {
    /// What `initialize` told: the run's id, and where to make things.
    place: Mutex<(String, PathBuf)>,
    serial: AtomicU32,
    sandboxes: Mutex<HashMap<String, Arc<Sandbox>>>,
}

impl Backend {
    fn sandboxes(&self) -> MutexGuard<'_, HashMap<String, Arc<Sandbox>>> {
        self.sandboxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn sandbox(&self, id: &str) -> Result<Arc<Sandbox>, Error> {
        let found = self.sandboxes().get(id).cloned();
        found.ok_or_else(|| Error::sandbox_not_found(id))
    }
}

#[async_trait]
impl Adapter for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<Initialized, Error> {
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) =
            (params.run, params.scratch.into());
        let text = |pair: &(&str, &str)| (pair.0.to_owned(), pair.1.to_owned());
        Ok(Initialized {
            protocol: VERSION.into(),
            name: NAME.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            homepage: None,
            backend: Some("local".into()),
            mode: Some("native".into()),
            emulated: false,
            capabilities: CAPABILITIES.iter().map(|&name| name.into()).collect(),
            choices: CHOICES.iter().map(text).collect::<BTreeMap<_, _>>(),
            limits: Limits::default(),
            parallelism: 4,
        })
    }

    async fn open(&self, params: OpenParams, _: Progress) -> Result<Opened, Error> {
        check::open(&params)?;
        let (run, scratch) = self
            .place
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let serial = self.serial.fetch_add(1, Ordering::SeqCst);
        let id = format!("{NAME}-{run}-{}-{serial}", std::process::id());
        let directory = scratch.join(&id);
        tokio::fs::create_dir(&directory).await.map_err(|error| {
            let shown = directory.to_string_lossy();
            let message = format!("the sandbox's directory {shown} cannot be made: {error}");
            Error::new(ErrorKind::Unavailable, shown, message)
                .with_fix("see whether its parent can be written")
        })?;
        let sandbox = Sandbox {
            id: id.clone(),
            cwd: params
                .spec
                .cwd
                .map_or_else(|| directory.clone(), |cwd| cwd.to_path()),
            directory,
            env: params.spec.env,
            closing: watch::Sender::new(false),
            running: RwLock::new(()),
        };
        let cwd = Some(sandbox.cwd.as_path().into());
        self.sandboxes().insert(id.clone(), Arc::new(sandbox));
        Ok(Opened {
            sandbox: id,
            state: OpenState::Created,
            exec_mode: "native".into(),
            cwd,
            notices: Vec::new(),
            policy: None,
        })
    }

    async fn close(&self, params: CloseParams) -> Result<Closed, Error> {
        if params.how != CloseHow::Destroy {
            return Err(Error::unsupported("attach"));
        }
        let Ok(sandbox) = self.sandbox(&params.sandbox) else {
            return Ok(Closed { existed: false });
        };
        // Its commands end, and no other starts; then its files go.
        sandbox.closing.send_replace(true);
        let idle = tokio::time::timeout(CLOSE_LIMIT, sandbox.running.write()).await;
        if idle.is_err() {
            let message = format!(
                "commands of sandbox {} did not end within {CLOSE_LIMIT:?}",
                sandbox.id
            );
            return Err(
                Error::new(ErrorKind::TimedOut, &sandbox.id, message).with_fix("close it again")
            );
        }
        // Another caller may have closed it while this one waited.
        if self.sandbox(&params.sandbox).is_err() {
            return Ok(Closed { existed: false });
        }
        let directory = sandbox.directory.clone();
        let removed =
            tokio::task::spawn_blocking(move || remove_tree(&directory, Locked::Open)).await;
        removed
            .map_err(std::io::Error::other)
            .flatten()
            .map_err(|error| Error::internal("remove the sandbox's directory", error))?;
        // It is forgotten when nothing of it is left, so that what could not be removed is still listed.
        let existed = self.sandboxes().remove(&params.sandbox).is_some();
        Ok(Closed { existed })
    }

    async fn run(&self, params: RunParams, execution: Execution) -> Result<Finished, Error> {
        check::run(&params)?;
        let sandbox = self.sandbox(&params.sandbox)?;
        let _running = sandbox.running.read().await;
        if *sandbox.closing.borrow() {
            return Err(Error::sandbox_not_found(&params.sandbox));
        }
        command::run(&sandbox, params, execution).await
    }

    async fn list(&self) -> Result<SandboxList, Error> {
        let sandboxes = self
            .sandboxes()
            .values()
            .map(|sandbox| sandbox.info())
            .collect();
        Ok(SandboxList { sandboxes })
    }

    async fn inspect(&self, params: SandboxRef) -> Result<SandboxInfo, Error> {
        Ok(self.sandbox(&params.sandbox)?.info())
    }

    async fn shutdown(&self) {
        let ids: Vec<_> = self.sandboxes().keys().cloned().collect();
        let closing = ids.into_iter().map(|sandbox| {
            self.close(CloseParams {
                sandbox,
                how: CloseHow::Destroy,
            })
        });
        for closing in closing {
            if let Err(error) = closing.await {
                eprintln!("{NAME}: {error}");
            }
        }
    }
}
