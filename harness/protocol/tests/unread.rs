//! A server whose answers nobody reads.

use std::{
    io::ErrorKind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use herm_protocol::{
    Adapter, Error, Execution, Finished, Progress,
    exec::RunParams,
    initialize::{InitializeParams, Initialized},
    sandbox::{CloseParams, Closed, OpenParams, Opened},
    serve,
};
use tokio::io::AsyncWriteExt as _;

/// Does nothing but shut down.
struct Idle(Arc<AtomicBool>);

#[async_trait]
impl Adapter for Idle {
    async fn initialize(&self, _: InitializeParams) -> Result<Initialized, Error> {
        Err(Error::unsupported("initialize"))
    }

    async fn open(&self, _: OpenParams, _: Progress) -> Result<Opened, Error> {
        Err(Error::unsupported("open"))
    }

    async fn close(&self, _: CloseParams) -> Result<Closed, Error> {
        Err(Error::unsupported("close"))
    }

    async fn run(&self, _: RunParams, _: Execution) -> Result<Finished, Error> {
        Err(Error::unsupported("run"))
    }

    async fn shutdown(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn end_of_input_ends_a_server_whose_answers_nobody_reads() {
    let (mut input, far_input) = tokio::io::duplex(1000);
    let (_unread, far_output) = tokio::io::duplex(100);
    let shut_down = Arc::new(AtomicBool::new(false));
    let server = tokio::spawn(serve(Idle(shut_down.clone()), far_input, far_output));
    // More refusals than any queue holds.
    let feed = async {
        for _ in 0..2000 {
            input.write_all(b"nonsense\n").await.unwrap();
        }
    };
    let limit = Duration::from_secs(10);
    tokio::time::timeout(limit, feed).await.unwrap();
    drop(input);
    let result = tokio::time::timeout(limit, server).await.unwrap().unwrap();
    assert_eq!(result.unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(shut_down.load(Ordering::Relaxed));
}
