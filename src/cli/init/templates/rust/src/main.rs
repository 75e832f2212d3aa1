//! A sandbox backend that herm can test: it speaks the protocol `herm/1` on its standard streams.

mod backend;
mod check;
mod command;

use std::process::ExitCode;

use tokio::signal::unix::{SignalKind, signal};

/// Serves until input ends, or a signal asks for the end; then ends what runs and removes what was made.
#[tokio::main]
async fn main() -> ExitCode {
    let backend = std::sync::Arc::new(backend::Backend::default());
    let asked = async {
        let (mut terminate, mut interrupt) = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        );
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        // Meanwhile the conversation goes on: commands end in order, and are answered.
        herm_protocol::Adapter::shutdown(&backend).await;
        std::io::Result::Ok(())
    };
    let served = tokio::select! {
        served = herm_protocol::serve_stdio(backend.clone()) => served,
        asked = asked => asked,
    };
    let code = match served {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("my-backend: {error}");
            1
        }
    };
    // A thread that still reads standard input would keep the process from ending by itself.
    std::process::exit(code)
}
