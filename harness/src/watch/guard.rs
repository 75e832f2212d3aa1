//! Runs an adapter and sees to its end: when the adapter ends, when its caller goes away, or when it is asked to, every
//! process that the adapter has left behind is ended, too.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::{fd::AsFd, unix::process::ExitStatusExt as _},
    path::Path,
    process::{Child, Command, ExitStatus},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

use super::{descendants, left, scratch};
use crate::tell::tell;

/// How long an adapter may take to end when its caller has gone.
const GRACE: Duration = Duration::from_secs(10);

/// How long an adapter may take to end when it is asked to by a signal.
const SIGNAL_GRACE: Duration = Duration::from_secs(2);

/// How long what an adapter has left behind may take to end by itself: a watchdog of the adapter's own may be at work, and an
/// engine takes its time to remove a container.
const LEFT_GRACE: Duration = Duration::from_secs(4);

/// The same for one that was asked to end by a signal.
const SHORT_LEFT_GRACE: Duration = Duration::from_millis(500);

/// How often children that were left to this process are reaped.
const REAP: Duration = Duration::from_secs(1);

/// Runs `command` with this process's streams, in a run whose scratch folder is `scratch`, and returns its exit code.
///
/// # Errors
/// The command cannot be started, or the system refuses what is needed to watch it.
pub fn guard(scratch: &Path, command: &[OsString]) -> io::Result<u8> {
    // As long as this lock is held the janitor does not touch the scratch folder.
    let _lock = scratch::hold(scratch)?;
    descendants::adopt_orphans()?;
    let asked = heed_signals()?;
    let status = run(command, &asked)?;
    end_what_is_left(scratch, std::process::id(), &asked)?;
    Ok(code_of(status))
}

/// The signals that nobody asks a guard to end by, and that it may have been started to ignore.
const NOT_HEEDED: [i32; 4] = [SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM];

/// Notes that a signal has asked this process to end. A handler also has the adapter start with the system's own action,
/// where this process was started to ignore the signal; for others that is all that it is for.
pub(super) fn heed_signals() -> io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, asked.clone())?;
    }
    let ignored = ignored_signals();
    for signal in NOT_HEEDED {
        if ignored >> (signal - 1) & 1 == 1 {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
    }
    Ok(asked)
}

/// The signals that this process ignores, bit N - 1 for signal N. Where the system does not say, none.
#[must_use]
pub fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// Runs the adapter to its end.
pub(super) fn run(command: &[OsString], asked: &AtomicBool) -> io::Result<Option<ExitStatus>> {
    let mut child = command_of(command)?
        .spawn()
        .map_err(|error| not_started(command, &error))?;
    // The adapter's output ends when the adapter does, and not when this process does.
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    watch(&mut child, asked)
}

/// Gives what the adapter has left behind a moment to end by itself, and tells in the name of the guard of that number what
/// does not.
pub(super) fn await_and_tell(scratch: &Path, guard: u32, asked: &AtomicBool, hurry: impl Fn() -> bool) {
    let grace = if asked.load(Ordering::SeqCst) {
        SHORT_LEFT_GRACE
    } else {
        LEFT_GRACE
    };
    let left = descendants::await_end(grace, hurry);
    // Told before it is done: a guard that is killed meanwhile has said what it saw.
    if let Err(error) = left::tell_left(scratch, guard, &left) {
        tell(format_args!(
            "herm guard: failed to tell in {} of {} processes that the adapter had left behind: {error}",
            scratch.display(),
            left.len()
        ));
    }
}

/// Ends what the adapter has left behind and does not end by itself.
pub(super) fn end_what_is_left(scratch: &Path, guard: u32, asked: &AtomicBool) -> io::Result<()> {
    await_and_tell(scratch, guard, asked, || false);
    let ended = descendants::end_all()?;
    if ended > 0 {
        tell(format_args!(
            "herm guard: ended {ended} processes that the adapter had left behind"
        ));
    }
    Ok(())
}

/// The command, to be started.
pub(super) fn command_of(words: &[OsString]) -> io::Result<Command> {
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no adapter was named"))?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

/// Tells which program it was.
pub(super) fn not_started(words: &[OsString], error: &io::Error) -> io::Error {
    let program = words
        .first()
        .map(|program| program.to_string_lossy())
        .unwrap_or_default();
    io::Error::new(error.kind(), format!("failed to start {program}: {error}"))
}

/// Waits for the end of the adapter, and brings it about when it is due.
fn watch(child: &mut Child, asked: &AtomicBool) -> io::Result<Option<ExitStatus>> {
    let id = Pid::from_child(child);
    let handle = pidfd_open(id, PidfdFlags::empty())?;
    let stdin = io::stdin();
    let mut until: Option<Instant> = None;
    let mut told = false;
    loop {
        if let Some(status) = descendants::reap_ended(id) {
            return Ok(Some(ExitStatus::from_raw(status.as_raw())));
        }
        if asked.load(Ordering::SeqCst) && !told {
            told = true;
            let _ = kill_process(id, Signal::TERM);
            until = Some(Instant::now() + SIGNAL_GRACE);
        }
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            let _ = kill_process(id, Signal::KILL);
            return child.wait().map(Some);
        }
        if wait(
            &handle,
            until.is_none().then_some(&stdin),
            left.unwrap_or(REAP).min(REAP),
        )? {
            until = Some(Instant::now() + GRACE);
        }
    }
}

/// Waits for the adapter's end, a signal or a while. Says whether the caller has gone: the writing end of the adapter's
/// input is closed. Nothing is read from it.
pub(super) fn wait(handle: &impl AsFd, input: Option<&impl AsFd>, time: Duration) -> io::Result<bool> {
    let time = Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(1),
        tv_nsec: i64::from(time.subsec_nanos()),
    };
    let mut watched = vec![PollFd::new(handle, PollFlags::IN)];
    if let Some(input) = input {
        watched.push(PollFd::new(input, PollFlags::empty()));
    }
    match poll(&mut watched, Some(&time)) {
        Ok(_) => {
            let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
            Ok(watched
                .get(1)
                .is_some_and(|input| input.revents().intersects(gone)))
        }
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The exit code of an adapter, 128 + n where signal n ended it.
pub(super) fn code_of(status: Option<ExitStatus>) -> u8 {
    let code = status.and_then(|status| {
        status
            .code()
            .or_else(|| status.signal().map(|signal| 128 + signal))
    });
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
