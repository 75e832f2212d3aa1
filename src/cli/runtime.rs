//! The asynchronous runtime of a subcommand.

use std::{future::Future, process::ExitCode};

use herm_harness::verdict::Exit;

/// Runs work to its end. Threads that still wait for standard input then do not keep the process.
pub(super) fn block_on(work: impl Future<Output = ExitCode>) -> ExitCode {
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => {
            let exit = runtime.block_on(work);
            runtime.shutdown_background();
            exit
        }
        Err(error) => super::fail(
            Exit::Broken,
            format_args!(
                "failed to start the runtime: {error}; see whether threads or descriptors have run out"
            ),
        ),
    }
}
