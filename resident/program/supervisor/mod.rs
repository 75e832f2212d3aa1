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
pub(crate) use spare::hand_over;
pub(crate) use tree::{children, descendants, parent};

use report::Heard;
use spare::stand_by;
use tree::Tree;

use crate::{
    session::{Carried, Sessions},
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
    pub(crate) control: &'a File,
    /// What the command reads from and writes to.
    pub(crate) standard: [OwnedFd; 3],
}

/// Supervises an exec in this process, which was forked for it, and whatever is handed over after that.
pub(crate) fn supervise(charge: Charge, sessions: &Sessions) -> ! {
    let [input, output, error] = &charge.standard;
    let kept = [
        charge.control.as_raw_fd(),
        input.as_raw_fd(),
        output.as_raw_fd(),
        error.as_raw_fd(),
    ];
    let (control, ground) = (charge.control, charge.ground);
    match prepare(kept) {
        Ok(signals) => {
            see_through(charge, &signals);
            stand_by(control, ground, sessions, &signals)
        }
        Err(error) => {
            Report::Failed(unprepared(&error)).send(control);
            exit_now(0)
        }
    }
}

/// Makes a supervisor of this process, which was forked for that, and supervises what is handed over.
pub(crate) fn wait_for_execs(control: &File, ground: &Ground, sessions: &Sessions) -> ! {
    match prepare([control.as_raw_fd()]) {
        Ok(signals) => stand_by(control, ground, sessions, &signals),
        Err(_) => exit_now(1),
    }
}

fn unprepared(error: &io::Error) -> Failure {
    Failure::new(
        SetupFailure::ResourcesExhausted,
        format!("the command's supervisor cannot be set up: {error}"),
    )
}

fn prepare<const N: usize>(mut kept: [RawFd; N]) -> io::Result<Signals> {
    close_all_but(&mut kept);
    set_name(c"herm-exec");
    subreaper()?;
    Signals::take(&[number::CHILD])
}

/// Starts the command and stays until nothing of it is left.
fn see_through(charge: Charge, signals: &Signals) {
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
    let descriptors = [standard[0].as_fd(), standard[1].as_fd(), standard[2].as_fd()];
    let launched = launch::launch(&start, job, (ground, session), descriptors);
    // The end of a stream is seen only when nobody but the command's own processes holds it.
    drop((start, standard));
    match launched {
        Ok(launched) => {
            Report::Started { pid: launched.pid }.send(control);
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
        Err(failure) => Report::Failed(failure).send(control),
    }
    Report::Free.send(control);
}

struct Supervisor<'a> {
    control: &'a File,
    tree: Tree<'a>,
    deadline: Option<Instant>,
    grace: Duration,
    text: Option<PathBuf>,
    /// Whether the end of the command was told.
    told: bool,
}

impl Supervisor<'_> {
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
                match Order::receive(self.control) {
                    Heard::Order(Order::End(force)) => self.end(force),
                    Heard::Order(Order::Signal(number)) => self.tree.signal(number),
                    Heard::Nothing => {}
                    Heard::Lost => self.end_without_witness(),
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

    fn end_without_witness(mut self) -> ! {
        let grace = self.grace;
        if !self.tree.end(grace) {
            self.told = true;
            self.end(Force::Shutdown);
        }
        self.remove_text();
        exit_now(0)
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
            .send(self.control);
        }
    }

    fn remove_text(&mut self) {
        if let Some(text) = self.text.take() {
            let _ = fs::remove_file(text);
        }
    }
}
