//! `herm exec`: one command through the executor.

mod arguments;
mod live;
mod record;
mod result;

use std::{
    io::IsTerminal as _,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use herm::{
    backend::local::{self, LocalBackend},
    caller::Output,
};
use herm_harness::verdict::Exit;
use herm_protocol::{
    Adapter as _, Error, Finished, Interrupt,
    exec::{RunParams, Stdin},
    initialize::InitializeParams,
    sandbox::{OpenParams, SandboxSpec},
};
use tokio::sync::mpsc;

pub(super) use self::arguments::Arguments;
use self::{
    live::{Live, OwnStdin, Wishes},
    record::Record,
    result::{Ended, exit_code, print_json},
};
use super::{fail, runtime::block_on, signals::EndSignals};

pub(super) fn run(arguments: Arguments) -> ExitCode {
    if arguments.backend != local::BACKEND {
        let backend = &arguments.backend;
        return fail(
            Exit::Usage,
            format_args!("there is no backend {backend:?}; there is: {}", local::BACKEND),
        );
    }
    block_on(execute(arguments))
}

async fn execute(arguments: Arguments) -> ExitCode {
    let signals = match EndSignals::take() {
        Ok(signals) => signals,
        Err(error) => return fail(Exit::Broken, format_args!("failed to take over signals: {error}")),
    };
    let (wishes, asked) = mpsc::unbounded_channel();
    let signal = listen(signals, wishes.clone());
    let json = arguments.json;
    let ended = if json {
        let record = Record::default();
        let ended = in_a_sandbox(arguments, record.clone(), Wishes(asked)).await;
        print_json(&ended, &record);
        ended
    } else {
        in_a_sandbox(arguments, Live::new(wishes), Wishes(asked)).await
    };
    exit_code(&ended, signal.load(Ordering::Relaxed), json)
}

/// Turns the first signal into a wish to cancel; its number can be read later, and is 0 before.
fn listen(mut signals: EndSignals, wishes: mpsc::UnboundedSender<Interrupt>) -> Arc<AtomicU8> {
    let number = Arc::new(AtomicU8::new(0));
    let heard = number.clone();
    tokio::spawn(async move {
        heard.store(signals.next().await, Ordering::Relaxed);
        let _ = wishes.send(Interrupt::Cancel);
    });
    number
}

/// Runs the command in a sandbox of its own, which is gone afterwards.
async fn in_a_sandbox(arguments: Arguments, output: impl Output, wishes: Wishes) -> Ended {
    let started = std::time::Instant::now();
    let backend = LocalBackend::new();
    let finished = run_in(&backend, arguments, output, wishes).await;
    let duration = started.elapsed();
    backend.shutdown().await;
    Ended { finished, duration }
}

async fn run_in(
    backend: &LocalBackend,
    arguments: Arguments,
    output: impl Output,
    wishes: Wishes,
) -> Result<Finished, Error> {
    let here = std::env::current_dir().map_err(|error| {
        Error::invalid_argument("the current directory", format!("cannot be used: {error}"))
    })?;
    backend
        .initialize(InitializeParams {
            protocol: Vec::new(),
            run: format!("exec-{}", std::process::id()),
            scratch: String::new(),
        })
        .await?;
    let cwd = match &arguments.cwd {
        Some(cwd) => here.join(cwd),
        None => here,
    };
    let spec = SandboxSpec {
        cwd: Some(cwd.as_path().into()),
        env: arguments.env.clone(),
        ..SandboxSpec::default()
    };
    let opened = backend.open_sandbox(OpenParams { key: None, spec }).await?;
    let mut params = RunParams::new(opened.sandbox, "exec", arguments.command());
    params.timeout_ms = arguments
        .timeout
        .map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
    if !std::io::stdin().is_terminal() {
        params.stdin = Stdin::Stream;
    }
    backend.execute(params, output, OwnStdin::default(), wishes).await
}
