//! Where secrets may not be seen.

use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{JoinHandle, sleep, spawn},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::server::{PASSWORD, USER};

/// How often the processes of this machine are looked at.
const LOOK: Duration = Duration::from_millis(20);

/// Checks that a text has no secret in it, as it is or as the configuration of the engine's client has it.
pub(crate) fn holds_no_secret(what: &str, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    for secret in [PASSWORD.to_owned(), STANDARD.encode(format!("{USER}:{PASSWORD}"))] {
        assert!(!text.contains(&secret), "{what} tells a secret: {text}");
    }
}

/// Looks at the command lines of all processes, until it is ended.
pub(crate) struct Watch {
    ended: Arc<AtomicBool>,
    looking: JoinHandle<()>,
}

impl Watch {
    pub(crate) fn start() -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let looking = spawn({
            let ended = ended.clone();
            move || {
                while !ended.load(Ordering::Relaxed) {
                    for process in fs::read_dir("/proc").unwrap().flatten() {
                        let path = process.path().join("cmdline");
                        // What is no process, and what has ended, has none.
                        let line = fs::read(&path).unwrap_or_default();
                        holds_no_secret(&path.display().to_string(), &line);
                    }
                    sleep(LOOK);
                }
            }
        });
        Self { ended, looking }
    }

    pub(crate) fn end(self) {
        self.ended.store(true, Ordering::Relaxed);
        self.looking.join().unwrap();
    }
}
