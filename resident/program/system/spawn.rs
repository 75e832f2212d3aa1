//! Starting a program without copying this process: the C library lets the child borrow the memory until it executes.

use std::{
    ffi::{CStr, CString, c_char},
    io,
    os::fd::{AsRawFd as _, BorrowedFd},
    ptr,
};

use super::c;

const SIGNALS_DEFAULT: i16 = 0x04;
const SIGNAL_MASK: i16 = 0x08;
const NEW_SESSION: i16 = 0x80;

/// Starts a program as leader of a session of its own, with these as its standard descriptors and no others, and with no
/// signal blocked or ignored.
pub(crate) fn spawn(
    program: &CStr,
    arguments: &[CString],
    environment: &[CString],
    standard: [BorrowedFd; 3],
) -> io::Result<i32> {
    let mut attributes = Attributes::new()?;
    let mut actions = Actions::new()?;
    attributes.prepare()?;
    for (target, descriptor) in (0..).zip(standard) {
        // SAFETY: the actions were initialised.
        done(unsafe {
            c::posix_spawn_file_actions_adddup2(&raw mut actions.0, descriptor.as_raw_fd(), target)
        })?;
    }
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    let mut pid = 0;
    // SAFETY: both lists end with a null pointer and point to strings that end with a NUL; all live through the call.
    done(unsafe {
        c::posix_spawn(
            &raw mut pid,
            program.as_ptr(),
            &raw const actions.0,
            &raw const attributes.0,
            arguments.as_ptr(),
            environment.as_ptr(),
        )
    })?;
    Ok(pid)
}

fn pointers(strings: &[CString]) -> Vec<*const c_char> {
    strings
        .iter()
        .map(|string| string.as_ptr())
        .chain([ptr::null()])
        .collect()
}

/// The result of a function that returns an error number.
fn done(number: i32) -> io::Result<()> {
    if number == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(number))
    }
}

struct Attributes(c::Opaque);

impl Attributes {
    fn new() -> io::Result<Self> {
        let mut attributes = Self(c::Opaque([0; 512]));
        // SAFETY: there is more room than the structure of any C library takes.
        done(unsafe { c::posix_spawnattr_init(&raw mut attributes.0) })?;
        Ok(attributes)
    }

    fn prepare(&mut self) -> io::Result<()> {
        let (none, all) = (c::SignalSet([0; 16]), c::SignalSet([u64::MAX; 16]));
        let attributes = &raw mut self.0;
        // SAFETY: the attributes were initialised, and the sets live through the calls.
        unsafe {
            done(c::posix_spawnattr_setflags(
                attributes,
                SIGNALS_DEFAULT | SIGNAL_MASK | NEW_SESSION,
            ))?;
            done(c::posix_spawnattr_setsigmask(attributes, &raw const none))?;
            done(c::posix_spawnattr_setsigdefault(attributes, &raw const all))
        }
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        // SAFETY: they were initialised.
        unsafe { c::posix_spawnattr_destroy(&raw mut self.0) };
    }
}

struct Actions(c::Opaque);

impl Actions {
    fn new() -> io::Result<Self> {
        let mut actions = Self(c::Opaque([0; 512]));
        // SAFETY: there is more room than the structure of any C library takes.
        done(unsafe { c::posix_spawn_file_actions_init(&raw mut actions.0) })?;
        Ok(actions)
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        // SAFETY: they were initialised.
        unsafe { c::posix_spawn_file_actions_destroy(&raw mut self.0) };
    }
}
