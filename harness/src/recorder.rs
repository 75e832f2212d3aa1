//! Takes events from asynchronous code to the reports, which write to disk, on a thread of their own.

use std::{
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread::{self, JoinHandle},
};

use crate::{
    event::Event,
    report::{Report, ReportError, Reports},
    runner::EventSink,
    tell::tell,
};

/// The reports of a run, on a thread of their own.
pub struct Recorder {
    events: Sender<Event>,
    thread: JoinHandle<Result<Report, ReportError>>,
}

impl Recorder {
    /// Starts the thread. A report that cannot be written is told on standard error at once, and again at the end.
    #[must_use]
    pub fn start(mut reports: Reports) -> Self {
        let (events, received) = mpsc::channel::<Event>();
        let thread = thread::spawn(move || {
            for event in received {
                if let Err(error) = reports.record(&event) {
                    tell(format_args!("herm: {error}"));
                }
            }
            reports.finish()
        });
        Self { events, thread }
    }

    /// Where to send events.
    #[must_use]
    pub fn sink(&self) -> EventSink {
        let events = self.events.clone();
        // The thread ends only after every sender has gone.
        Arc::new(move |event| drop(events.send(event)))
    }

    /// Writes the reports. Every sink must have been dropped.
    ///
    /// # Errors
    /// The first report that could not be written.
    pub fn finish(self) -> Result<Report, ReportError> {
        drop(self.events);
        match self.thread.join() {
            Ok(report) => report,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
