//! The smallest adapter that declares `host_access`: it judges mounts by the policy of the executor, and makes sandboxes that are
//! only names. The chapter RISK is tested with it.

use std::process::ExitCode;

use async_trait::async_trait;
use herm::policy::{
    host_access::{KnownHost, classify_texts},
    mount::Here,
};
use herm_protocol::{
    Adapter, Error, Execution, Finished, Progress, VERSION,
    exec::{Outcome, RunParams},
    initialize::{InitializeParams, Initialized, Limits},
    policy::{ClassifyParams, HostAccess},
    sandbox::{CloseParams, Closed, OpenParams, OpenState, Opened},
    serve_stdio,
};

struct JudgesMounts;

#[async_trait]
impl Adapter for JudgesMounts {
    async fn initialize(&self, _: InitializeParams) -> Result<Initialized, Error> {
        Ok(Initialized {
            protocol: VERSION.into(),
            name: "judges-mounts".into(),
            version: "1".into(),
            homepage: None,
            backend: None,
            mode: None,
            emulated: false,
            capabilities: vec!["host_access".into()],
            choices: [("latency", "local"), ("shell", "posix")]
                .map(|(name, variant)| (name.to_owned(), variant.to_owned()))
                .into(),
            limits: Limits::default(),
            parallelism: 1,
        })
    }

    async fn open(&self, _: OpenParams, _: Progress) -> Result<Opened, Error> {
        Ok(Opened {
            sandbox: "name".into(),
            state: OpenState::Created,
            exec_mode: "native".into(),
            cwd: None,
            notices: vec!["it runs nothing".into()],
            policy: None,
        })
    }

    async fn close(&self, _: CloseParams) -> Result<Closed, Error> {
        Ok(Closed { existed: true })
    }

    async fn run(&self, _: RunParams, _: Execution) -> Result<Finished, Error> {
        Ok(Outcome::Exited { code: 0 }.into())
    }

    async fn classify(&self, params: ClassifyParams) -> Result<HostAccess, Error> {
        // What `~` and `.` are is for whoever mounts something; here nobody does.
        let here = Here {
            home: Some("/home/user".into()),
            directory: Some("/home/user/project".into()),
        };
        classify_texts(&params.mounts, &here, &KnownHost::default(), |_| None)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match serve_stdio(JudgesMounts).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the connection to the harness broke: {error}");
            ExitCode::FAILURE
        }
    }
}
