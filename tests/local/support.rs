//! A running adapter with one open sandbox.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use herm_protocol::{
    ByteString, Error, Method, VERSION,
    client::{CallError, Client, ClientOptions, Exec, ExecRecord, Launch},
    exec::{Command, Outcome, RunParams, Stream},
    initialize::{InitializeParams, Initialized},
    method::{Close, Initialize, Open, TakeLedger},
    sandbox::{CloseHow, CloseParams, Closed, Empty, OpenParams, Opened, SandboxSpec},
    transcript::NoTranscript,
};
use tempfile::TempDir;

/// Longer than anything here may take.
pub(crate) const SOON: Duration = Duration::from_secs(10);

static NEXT: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Subject {
    pub(crate) client: Arc<Client>,
    pub(crate) declared: Initialized,
    pub(crate) opened: Opened,
    pub(crate) scratch: TempDir,
}

impl Subject {
    /// An adapter with a sandbox whose commands start in its own directory.
    pub(crate) async fn start() -> Self {
        Self::start_with(SandboxSpec::default(), &[]).await
    }

    pub(crate) async fn start_with(spec: SandboxSpec, environment: &[(&str, &str)]) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let (client, declared) = connect(scratch.path(), environment).await;
        let open = OpenParams { key: None, spec };
        let opened = client.call::<Open>(&open, SOON).await.unwrap();
        Self {
            client,
            declared,
            opened,
            scratch,
        }
    }

    pub(crate) fn command(&self, command: Command) -> RunParams {
        let exec = format!("e{}", NEXT.fetch_add(1, Ordering::Relaxed));
        RunParams::new(&self.opened.sandbox, exec, command)
    }

    pub(crate) fn text(&self, text: &str) -> RunParams {
        self.command(Command::Shell(text.into()))
    }

    pub(crate) fn argv(&self, arguments: &[&str]) -> RunParams {
        self.command(Command::Argv(
            arguments.iter().map(|argument| (*argument).into()).collect(),
        ))
    }

    pub(crate) fn begin(&self, params: &RunParams) -> Exec {
        self.client.run(params).unwrap()
    }

    /// Runs a command to its end; whether it was refused stands in the record.
    pub(crate) async fn run(&self, params: &RunParams) -> ExecRecord {
        self.begin(params).wait(SOON).await.unwrap()
    }

    /// What shell text prints.
    pub(crate) async fn print(&self, text: &str) -> String {
        let record = self.run(&self.text(text)).await;
        assert_eq!(
            record.outcome(),
            Outcome::Exited { code: 0 },
            "{text}: {}",
            record.stderr()
        );
        record.stdout()
    }

    pub(crate) async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Answer, Error> {
        match self.client.call::<M>(params, SOON).await {
            Ok(answer) => Ok(answer),
            Err(CallError::Refused(error)) => Err(error),
            Err(CallError::Fault(fault)) => panic!("{fault}"),
        }
    }

    pub(crate) async fn close(&self) -> Closed {
        let params = CloseParams {
            sandbox: self.opened.sandbox.clone(),
            how: CloseHow::Destroy,
        };
        self.call::<Close>(&params).await.unwrap()
    }

    /// The process numbers in the ledger.
    pub(crate) async fn processes(&self) -> Vec<i32> {
        let ledger = self.call::<TakeLedger>(&Empty {}).await.unwrap();
        ledger
            .items
            .iter()
            .filter(|item| item.kind == "process")
            .map(|item| item.id.split(':').next().unwrap().parse().unwrap())
            .collect()
    }

    pub(crate) fn cwd(&self) -> PathBuf {
        self.opened.cwd.as_ref().unwrap().to_path()
    }

    pub(crate) fn path(&self, name: &str) -> ByteString {
        self.cwd().join(name).as_path().into()
    }
}

/// An adapter whose sandboxes are made in that directory.
pub(crate) async fn connect(scratch: &Path, environment: &[(&str, &str)]) -> (Arc<Client>, Initialized) {
    let path = std::env::var_os("PATH").unwrap();
    let own = environment
        .iter()
        .map(|(name, value)| (name.into(), value.into()));
    let launch = Launch {
        program: env!("CARGO_BIN_EXE_herm").into(),
        arguments: ["adapter", "--backend", "local", "--mode", "native"]
            .map(Into::into)
            .into(),
        environment: [("PATH".into(), path)].into_iter().chain(own).collect(),
        directory: None,
    };
    let client = Client::start(&launch, ClientOptions::default(), Arc::new(NoTranscript)).unwrap();
    let params = InitializeParams {
        protocol: vec![VERSION.into()],
        run: "test".into(),
        scratch: scratch.to_str().unwrap().into(),
    };
    let declared = client.call::<Initialize>(&params, SOON).await.unwrap();
    (Arc::new(client), declared)
}

pub(crate) trait Seen {
    fn outcome(&self) -> Outcome;
    fn error(&self) -> Error;
    fn stdout(&self) -> String;
    fn stderr(&self) -> String;
}

impl Seen for ExecRecord {
    fn outcome(&self) -> Outcome {
        self.answer.clone().unwrap().unwrap().outcome
    }

    fn error(&self) -> Error {
        self.answer.clone().unwrap().unwrap_err()
    }

    fn stdout(&self) -> String {
        String::from_utf8(self.bytes(Stream::Stdout)).unwrap()
    }

    fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.bytes(Stream::Stderr)).into_owned()
    }
}

/// Whether a process is there and no zombie.
pub(crate) fn lives(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
}

/// Waits until something holds; fails when it does not within a few seconds.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < Duration::from_secs(5),
            "{what} did not come to hold"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Ends a process that a test has let live on.
pub(crate) fn kill(pid: i32) {
    let status = std::process::Command::new("kill")
        .args(["-9", &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}
