//! What a parent may have taken from this process: limits of resources under which it could not do its work. They are told
//! before anything is made, so that nothing is left half-made.

use std::{
    any::Any,
    io,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
    thread,
};

use herm_harness::{tell::tell, verdict::Exit};
use rustix::{
    fs::Mode,
    process::{Resource, getrlimit, umask},
};

use super::{Refusal, fail};

/// Descriptors that a command uses at most besides those that are open at its start.
const DESCRIPTORS: usize = 48;

/// The largest file that is made, in bytes: the resident's program, with room for what it grows by.
const FILE_SIZE: u64 = 4 << 20;

/// The address space that threads and buffers take, in bytes.
const MEMORY: u64 = 512 << 20;

/// The stack that the first thread takes, in bytes.
const STACK: u64 = 512 << 10;

/// What the library says whose threads find no room.
const NO_THREAD: &str = "can't spawn";

/// What to do then.
const MORE_ROOM: &str = "threads or memory have run out: raise the limits (ulimit -u, ulimit -v), or end other processes of yours";

/// Reading the command line takes stack already.
pub(super) fn check_stack() -> Result<(), Refusal> {
    match getrlimit(Resource::Stack).current {
        Some(limit) if limit < STACK => {
            let what = format!("the limit on the stack is {limit} bytes, and herm needs {STACK}");
            let fix = format!("raise it, say with ulimit -s {}", STACK / 1024);
            Err((Exit::Broken, format!("{what}; {fix}")))
        }
        _ => Ok(()),
    }
}

/// What every command line needs to come to its end.
pub(super) fn check() -> Result<(), Refusal> {
    let refuse = |what: String, option: &str, least: u64| {
        let fix = format!("raise it, say with ulimit {option} {least}, or run herm from a shell without it");
        Err((Exit::Broken, format!("{what}; {fix}")))
    };
    if let Some(limit) = getrlimit(Resource::Fsize)
        .current
        .filter(|limit| *limit < FILE_SIZE)
    {
        let what =
            format!("the limit on the size of files is {limit} bytes, and herm writes up to {FILE_SIZE}");
        return refuse(what, "-f", FILE_SIZE / 1024);
    }
    for resource in [Resource::As, Resource::Data] {
        let Some(limit) = getrlimit(resource).current.filter(|limit| *limit < MEMORY) else {
            continue;
        };
        let what = format!("the limit on memory is {limit} bytes, and herm needs {MEMORY}");
        let option = if resource == Resource::As { "-v" } else { "-d" };
        return refuse(what, option, MEMORY / 1024);
    }
    if let Err(error) = are_left(DESCRIPTORS) {
        let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let what = format!(
            "the limit on open files is {limit}, and fewer than the {DESCRIPTORS} that herm needs are left: {error}"
        );
        return refuse(what, "-n", 256);
    }
    Ok(())
}

/// Takes that many descriptors at once, and gives them back.
fn are_left(number: usize) -> io::Result<()> {
    let taken: io::Result<Vec<_>> = (0..number / 2).map(|_| io::pipe()).collect();
    taken.map(drop)
}

/// Gives the owner their own rights to what is made from here on, whatever the umask of the parent: files that nobody can
/// read would be in the way of the next command.
pub(super) fn keep_own_rights() {
    let given = umask(Mode::RWXU | Mode::RWXG | Mode::RWXO);
    umask(given & (Mode::RWXG | Mode::RWXO));
}

/// Runs a subcommand. Threads, for which there may be no room, are started by code that panics then: that ends as every
/// other failure does.
pub(super) fn without_panic(run: impl FnOnce() -> ExitCode) -> ExitCode {
    // Whoever asks for a backtrace wants the whole of it.
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        let main = thread::current().id();
        panic::set_hook(Box::new(move |info| {
            let said = reason(info.payload());
            if said.contains(NO_THREAD) {
                tell(format_args!("herm: herm had to give up: {said}; {MORE_ROOM}"));
                // What waits for the work of that thread would wait for ever. What is open is left to its guard.
                std::process::exit(Exit::Broken.code().into());
            }
            if thread::current().id() != main {
                tell(format_args!("herm: a part of herm had to give up: {said}"));
            }
        }));
    }
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| {
        let said = reason(&*payload);
        let fix = "report it as a fault of herm's, with what RUST_BACKTRACE=1 shows";
        fail(Exit::Broken, format_args!("herm had to give up: {said}; {fix}"))
    })
}

fn reason(payload: &(dyn Any + Send)) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    let said = owned.or_else(|| payload.downcast_ref::<&str>().copied());
    said.unwrap_or("no reason was given")
}
