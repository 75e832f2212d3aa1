//! Ending what is left of a kept sandbox whose resident cannot be asked: it was killed, or its directory, its socket or its
//! secret was taken away. Only what is proved to be the sandbox's is ended; see [`Traces`] for what proves it.

use std::{collections::BTreeSet, io, time::Duration};

use herm_protocol::{Error, ErrorKind};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use tokio::time::{Instant, sleep};

use super::{
    process_table::{self, Process},
    traces::{Traces, command_line},
};

/// How long a resident that is asked to end may take to end everything.
const ASKED: Duration = Duration::from_secs(10);

/// How long what was killed may take to be gone.
const KILLED: Duration = Duration::from_secs(5);

/// How long after a look the next one comes.
const LOOK: Duration = Duration::from_millis(10);

/// The most processes that an error names.
const NAMED: usize = 5;

/// What is seen of a sandbox.
#[derive(Debug, Default)]
struct Remains {
    /// Residents, and supervisors without one: they end what is theirs when they are asked to.
    residents: Vec<Process>,
    /// Everything else of the sandbox.
    commands: Vec<Process>,
    /// What works in the sandbox's directory and may be a person at a terminal.
    others: Vec<Process>,
}

impl Traces {
    /// Ends everything that is left; says whether there was anything. `answered` says that the resident has ended in order,
    /// so that whatever else works in the directory is not the sandbox's.
    ///
    /// # Errors
    /// Something is left, which is named.
    pub(super) async fn end(&self, answered: bool) -> Result<bool, Error> {
        let first = self.look().await?;
        let found = !first.residents.is_empty() || !first.commands.is_empty();
        for resident in &first.residents {
            send(resident, Signal::CONT);
            send(resident, Signal::TERM);
        }
        let until = Instant::now() + ASKED;
        while first.residents.iter().any(is_there) && Instant::now() < until {
            sleep(LOOK).await;
        }
        let until = Instant::now() + KILLED;
        loop {
            let Remains {
                residents,
                commands,
                others,
            } = self.look().await?;
            let ours: Vec<_> = residents.into_iter().chain(commands).collect();
            if ours.is_empty() && (answered || others.is_empty()) {
                return Ok(found);
            }
            if ours.is_empty() {
                return Err(self.left(&others, "leave the directory or end them, and try again"));
            }
            if Instant::now() > until {
                return Err(self.left(&ours, "see what they wait for, end them, and try again"));
            }
            for process in &ours {
                send(process, Signal::KILL);
            }
            sleep(LOOK).await;
        }
    }

    /// Lets a resident go on that was stopped, and all of its sandbox: whoever has stopped the one has stopped the others, too.
    ///
    /// # Errors
    /// As [`Self::end`], where the processes cannot be seen.
    pub(super) async fn wake(&self) -> Result<(), Error> {
        let Remains {
            residents, commands, ..
        } = self.look().await?;
        for process in residents.iter().chain(&commands) {
            send(process, Signal::CONT);
        }
        Ok(())
    }

    /// # Errors
    /// The processes cannot be seen, so that nothing can be said of them.
    async fn look(&self) -> Result<Remains, Error> {
        let traces = self.clone();
        let looked = tokio::task::spawn_blocking(move || traces.look_now());
        let looked = looked.await.unwrap_or_else(|ended| Err(io::Error::other(ended)));
        looked.map_err(|error| {
            let directory = self.directory().to_string_lossy().into_owned();
            let message = format!("failed to see what is left of the sandbox in {directory}: {error}");
            Error::new(ErrorKind::Unavailable, directory, message).with_fix("mount /proc, and try again")
        })
    }

    fn look_now(&self) -> io::Result<Remains> {
        let all = process_table::all()?;
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        let own = all.iter().find(|process| process.pid == own);
        let own = own.ok_or_else(|| io::Error::other("/proc is not that of this process"))?;
        let ours = ancestors(own, &all);
        // 0 where its leader is outside the namespace of processes, as that of what is run in a container is.
        let session = own.session;
        let mut remains = Remains::default();
        let mut proved = BTreeSet::new();
        for process in all.iter().filter(|process| !ours.contains(&process.pid)) {
            if self.is_resident(process.pid) {
                remains.residents.push(*process);
            } else if self.is_marked(process.pid) {
                remains.commands.push(*process);
            } else if process.session != session && self.is_inside(process.pid) {
                // Commands have no terminal.
                let kind = if process.terminal == 0 {
                    &mut remains.commands
                } else {
                    &mut remains.others
                };
                kind.push(*process);
                continue;
            } else {
                continue;
            }
            proved.insert(process.pid);
        }
        add_descendants(&mut remains, &all, &ours, proved);
        Ok(remains)
    }

    fn left(&self, processes: &[Process], fix: &str) -> Error {
        let told: Vec<_> = processes
            .iter()
            .take(NAMED)
            .map(|process| format!("{} ({})", process.pid, command_line(process.pid)))
            .collect();
        let more = match processes.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let directory = self.directory().to_string_lossy().into_owned();
        let message = format!(
            "of the sandbox in {directory} these processes are left: {}{more}",
            told.join(", ")
        );
        Error::new(ErrorKind::TimedOut, directory, message).with_fix(fix)
    }
}

/// What was started by what is proved to be the sandbox's is the sandbox's, too.
fn add_descendants(remains: &mut Remains, all: &[Process], ours: &BTreeSet<i32>, mut proved: BTreeSet<i32>) {
    loop {
        let more: Vec<_> = all
            .iter()
            .filter(|process| proved.contains(&process.parent) && !proved.contains(&process.pid))
            .filter(|process| !ours.contains(&process.pid))
            .copied()
            .collect();
        if more.is_empty() {
            return;
        }
        for process in more {
            proved.insert(process.pid);
            remains.others.retain(|other| other.pid != process.pid);
            if !remains.commands.contains(&process) {
                remains.commands.push(process);
            }
        }
    }
}

/// This process and those above it: whoever asks for the end of a sandbox is not part of it.
fn ancestors(own: &Process, all: &[Process]) -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    let mut next = Some(own.pid);
    while let Some(pid) = next.filter(|pid| found.insert(*pid)) {
        next = all
            .iter()
            .find(|process| process.pid == pid)
            .map(|process| process.parent);
    }
    found
}

fn is_there(process: &Process) -> bool {
    process_table::live(process.pid).is_some_and(|live| live.start_time == process.start_time)
}

/// Sends a signal to that process and no other that has got its number since.
fn send(process: &Process, signal: Signal) {
    let Some(pid) = Pid::from_raw(process.pid) else {
        return;
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(handle) => {
            if is_there(process) {
                let _ = pidfd_send_signal(&handle, signal);
            }
        }
        // A kernel without such handles.
        Err(rustix::io::Errno::NOSYS) if is_there(process) => {
            let _ = kill_process(pid, signal);
        }
        Err(_) => {}
    }
}
