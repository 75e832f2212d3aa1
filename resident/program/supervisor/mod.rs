//! The supervisor of one exec: a process of its own between the resident and the command.
//!
//! It is a subreaper, so nothing that the command starts can get out from under it, and it stays as long as anything of
//! the exec is left. It knows the command's status, keeps its deadline, and ends its tree. When the resident is gone it
//! ends everything.

mod launch;
mod program;
mod report;
mod spare;
mod tree;

use std::{
    fs::{self, File},
    io,
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd},
    path::PathBuf,
    time::{Duration, Instant},
};

pub(crate) use launch::{Ground, find_bash, write_private};
pub(crate) use report::{Failure, Force, Order, Report};
pub(crate) use spare::{hand_over, stand_by};
pub(crate) use tree::{children, descendants};

use report::Heard;
use tree::Tree;

use crate::{
    session::Carried,
    system::{Signals, close_all_but, exit_now, number, poll, set_name, subreaper},
    wire::{SetupFailure, Start},
};

/// How often a tree that could not be killed is tried again.
const KILL_AGAIN: Duration = Duration::from_millis(500);

/// What a supervisor is given.
pub(crate) struct Charge<'a> {
    pub(crate) job: u64,
    pub(crate) start: Box<Start>,
    pub(crate) deadline: Option<Instant>,
    pub(crate) ground: &'a Ground,
    pub(crate) session: Option<&'a Carried>,
    /// Its end of the connection to the resident.
    pub(crate) control: File,
    /// What the command reads from and writes to.
    pub(crate) standard: [OwnedFd; 3],
}

/// Supervises an exec in this process, which was forked for it, to the end.
pub(crate) fn supervise(charge: Charge) -> ! {
    let [input, output, error] = &charge.standard;
    let kept = [
        charge.control.as_raw_fd(),
        input.as_raw_fd(),
        output.as_raw_fd(),
        error.as_raw_fd(),
    ];
    let prepared = prepare(kept);
    see_through(charge, prepared)
}

/// Makes a supervisor of this process, which was forked for it and keeps only these descriptors.
fn prepare<const N: usize>(mut kept: [RawFd; N]) -> io::Result<Signals> {
    close_all_but(&mut kept);
    set_name(c"herm-exec");
    subreaper()?;
    Signals::take(&[number::CHILD])
}

fn see_through(charge: Charge, prepared: io::Result<Signals>) -> ! {
    let Charge {
        job,
        start,
        deadline,
        ground,
        session,
        control,
        standard,
    } = charge;
    let grace = Duration::from_millis(start.grace_ms.into());
    let launched = prepared
        .map_err(|error| {
            Failure::new(
                SetupFailure::ResourcesExhausted,
                format!("no supervisor: {error}"),
            )
        })
        .and_then(|signals| {
            let standard = [standard[0].as_fd(), standard[1].as_fd(), standard[2].as_fd()];
            launch::launch(&start, job, (ground, session), standard).map(|launched| (signals, launched))
        });
    // The end of a stream is seen only when nobody but the command's own processes holds it.
    drop((start, standard));
    match launched {
        Ok((signals, launched)) => {
            Report::Started { pid: launched.pid }.send(&control);
            let tree = Tree::new(signals, launched.pid);
            Supervisor {
                control,
                tree,
                deadline,
                grace,
                text: launched.text,
                told: false,
            }
            .run();
        }
        Err(failure) => Report::Failed(failure).send(&control),
    }
    exit_now(0)
}

struct Supervisor {
    control: File,
    tree: Tree,
    deadline: Option<Instant>,
    grace: Duration,
    text: Option<PathBuf>,
    /// Whether the end of the command was told.
    told: bool,
}

impl Supervisor {
    fn run(mut self) {
        loop {
            let gone = self.tree.is_gone();
            if self.tree.status.is_some() {
                self.tell(None, gone);
            }
            if gone {
                return;
            }
            let deadline = self.deadline.filter(|_| !self.told);
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                self.end(Force::Deadline);
                continue;
            }
            let limit = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let ready = poll(
                [Some(self.control.as_fd()), Some(self.tree.signals().as_fd())],
                limit,
            );
            if ready.is_ok_and(|[control, _]| control) {
                match Order::receive(&self.control) {
                    Heard::Order(Order::End(force)) => self.end(force),
                    Heard::Order(Order::Signal(number)) => self.tree.signal(number),
                    Heard::Nothing => {}
                    Heard::Lost => return self.end_without_witness(),
                }
            }
        }
    }

    /// Ends everything. The answer does not wait for what cannot be killed, but the killing goes on.
    fn end(&mut self, force: Force) {
        let mut gone = self.tree.end(self.grace);
        self.tell(Some(force), gone);
        while !gone {
            std::thread::sleep(KILL_AGAIN);
            gone = self.tree.kill();
        }
    }

    fn end_without_witness(mut self) {
        let grace = self.grace;
        if !self.tree.end(grace) {
            self.told = true;
            self.end(Force::Shutdown);
        }
        self.remove_text();
    }

    fn tell(&mut self, force: Option<Force>, gone: bool) {
        if !self.told {
            self.told = true;
            self.remove_text();
            Report::Ended {
                status: self.tree.status,
                force,
                gone,
            }
            .send(&self.control);
        }
    }

    fn remove_text(&mut self) {
        if let Some(text) = self.text.take() {
            let _ = fs::remove_file(text);
        }
    }
}
