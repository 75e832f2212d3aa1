//! `herm adapter`: a backend of the executor, served to a harness on standard input and output.

use std::{io, process::ExitCode, time::Duration};

use clap::Args;
use herm::backend::local::{self, LocalBackend};
use herm_harness::verdict::Exit;
use herm_protocol::{Adapter as _, serve_stdio};

use super::{fail, runtime::block_on, signals::EndSignals};

/// Backends and modes that are there.
const SERVED: &[(&str, &str)] = &[(local::BACKEND, local::MODE)];

/// How long answers about commands that a signal ended have to be written.
const LAST_ANSWERS: Duration = Duration::from_millis(50);

/// Serve a backend of the executor to a harness, on standard input and output.
///
/// It speaks herm/1, one JSON message a line, until its input ends; then every command is ended and every sandbox that
/// is not meant to outlive it is removed. SIGHUP, SIGINT and SIGTERM do the same.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Which backend: local
    #[arg(long, value_name = "NAME")]
    backend: String,
    /// How commands are run there: native
    #[arg(long, value_name = "MODE", default_value = local::MODE)]
    mode: String,
}

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let asked = (arguments.backend.as_str(), arguments.mode.as_str());
    if asked == (local::BACKEND, local::MODE) {
        return block_on(serve(LocalBackend::new()));
    }
    let (backend, mode) = asked;
    let there: Vec<_> = SERVED
        .iter()
        .map(|(backend, mode)| format!("{backend} ({mode})"))
        .collect();
    let there = there.join(", ");
    fail(
        Exit::Usage,
        format_args!("there is no backend {backend:?} in mode {mode:?}; there is: {there}"),
    )
}

async fn serve(backend: LocalBackend) -> ExitCode {
    let mut signals = match EndSignals::take() {
        Ok(signals) => signals,
        Err(error) => return fail(Exit::Broken, format_args!("failed to take over signals: {error}")),
    };
    // A task of its own goes on answering while the backend shuts down.
    let mut serving = tokio::spawn(serve_stdio(backend.clone()));
    tokio::select! {
        served = &mut serving => match served.map_err(io::Error::other).flatten() {
            Ok(()) => ExitCode::from(Exit::Conformant.code()),
            Err(error) => fail(Exit::Broken, format_args!("the connection to the harness broke: {error}")),
        },
        signal = signals.next() => {
            backend.shutdown().await;
            tokio::time::sleep(LAST_ANSWERS).await;
            ExitCode::from(Exit::Interrupted { signal }.code())
        }
    }
}
