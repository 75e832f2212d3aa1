//! A guard of an adapter whose sandboxes may outlive it: what it leaves is kept until the run that it belongs to is over.
//!
//! There are two processes. The guard is what the run has started: it ends when the adapter does, with its exit code. The
//! keeper, below it, is the one that starts the adapter and that every orphan is given to; it stays for as long as something
//! lives and the run goes on, and ends it then, so that whatever ends the run, nothing gets away.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::{fs::OpenOptionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::Child,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{CWD, FileType, Mode, OFlags, mknodat},
    process::{Pid, PidfdFlags, Signal, getppid, kill_process, pidfd_open, set_parent_process_death_signal},
};

use super::{
    descendants,
    guard::{await_and_tell, code_of, command_of, end_what_is_left, heed_signals, not_started, run},
    kept::Kept,
    scratch,
};
use crate::{process_table, tell::tell};

/// How often is looked whether the run goes on, and whether anything is left to keep.
const LOOK: Duration = Duration::from_millis(50);

/// Starts a keeper by that command, and returns the exit code of its adapter when that has ended. The keeper must call
/// [`keeper`] with the same folders, and with the number of this process.
///
/// # Errors
/// The keeper cannot be started, or the system refuses what is needed to hear from it.
pub fn keeping_guard(scratch: &Path, kept: &Path, command: &[OsString]) -> io::Result<u8> {
    let _lock = scratch::hold(scratch)?;
    // What a keeper that is killed would have kept comes here.
    descendants::adopt_orphans()?;
    let asked = heed_signals()?;
    let path = end_told(kept, std::process::id());
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    let told = OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default())
        .open(&path);
    let ended = told.and_then(|told| {
        // Whatever is sent to the group of this process is not sent to those that it waits for.
        let keeper = command_of(command)?
            .process_group(0)
            .spawn()
            .map_err(|error| not_started(command, &error))?;
        let null = File::options().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        hear(keeper, told, &asked)
    });
    let _ = fs::remove_file(path);
    ended
}

/// Waits until the keeper tells how the adapter ended, or ends itself. Signals are passed on.
fn hear(mut keeper: Child, mut told: File, asked: &AtomicBool) -> io::Result<u8> {
    let id = Pid::from_child(&keeper);
    let handle = pidfd_open(id, PidfdFlags::empty())?;
    let mut passed_on = false;
    loop {
        let mut code = [0];
        if matches!(told.read(&mut code), Ok(1)) {
            return Ok(code[0]);
        }
        if let Some(status) = keeper.try_wait()? {
            descendants::end_all()?;
            return Ok(code_of(Some(status)));
        }
        if asked.load(Ordering::SeqCst) && !passed_on {
            passed_on = true;
            let _ = kill_process(id, Signal::TERM);
        }
        let mut watched = [
            PollFd::new(&told, PollFlags::IN),
            PollFd::new(&handle, PollFlags::IN),
        ];
        let second = Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        };
        match poll(&mut watched, Some(&second)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Runs an adapter for the guard of that process number, tells that when the adapter has ended, and keeps what it has left
/// behind until the run is over.
///
/// # Errors
/// The adapter cannot be started, or the system refuses what is needed to watch it.
pub fn keeper(scratch: &Path, kept: &Path, guard: u32, command: &[OsString]) -> io::Result<u8> {
    let _lock = scratch::hold(scratch)?;
    descendants::adopt_orphans()?;
    let asked = heed_signals()?;
    // A guard that is killed has a run that wants the adapter to end.
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let parent = getppid().map(|parent| parent.as_raw_nonzero().get().unsigned_abs());
    if parent != Some(guard) {
        return Err(io::Error::other("the guard of the adapter has ended"));
    }
    let mut guard_hears = OpenOptions::new().write(true).open(end_told(kept, guard))?;
    let code = code_of(run(command, &asked)?);
    if asked.load(Ordering::SeqCst) {
        end_what_is_left(scratch, guard, &asked)?;
        return Ok(code);
    }
    let kept = Kept::in_folder(kept);
    let record = kept.record(&living())?;
    set_parent_process_death_signal(None)?;
    if guard_hears.write_all(&[code]).is_err() {
        // It was killed at this moment.
        asked.store(true, Ordering::SeqCst);
    }
    drop(guard_hears);
    let null = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    let over = || asked.load(Ordering::SeqCst) || !kept.run_goes_on();
    await_and_tell(scratch, guard, &asked, over);
    while !over() && !descendants::are_gone() {
        std::thread::sleep(LOOK);
    }
    descendants::end_all()?;
    if let Err(error) = fs::remove_file(record) {
        tell(format_args!("herm keeper: failed to remove its record: {error}"));
    }
    Ok(code)
}

/// Every live process below this one.
fn living() -> Vec<process_table::Process> {
    descendants::are_gone();
    let mut living = process_table::descendants_of(std::process::id());
    living.retain(|process| !process.ended);
    living
}

/// Where a guard is told that its adapter has ended.
fn end_told(kept: &Path, guard: u32) -> PathBuf {
    kept.join(format!("end-{guard}"))
}
