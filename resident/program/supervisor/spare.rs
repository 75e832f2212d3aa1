//! Supervisors that wait for an exec.
//!
//! A process that was just forked has to wait for its turn, for milliseconds when the machine is busy; one that was asleep
//! is woken at once. So a few are forked before they are needed, an exec is handed to one of them, and when nothing of it is
//! left, which the system has said, that one waits for the next.

use std::{
    fs::File,
    io,
    os::fd::{AsFd as _, OwnedFd},
    time::{Duration, Instant},
};

use super::{Charge, Ground, see_through};
use crate::{
    session::Sessions,
    system::{Signals, exit_now, poll, receive_with_descriptors, send_with_descriptors},
    wire::{Request, Start},
};

/// The longest exec that is handed over, in bytes; for a longer one a supervisor is forked, which has it already.
const LONGEST: usize = 64 * 1024;

/// Job and time until the deadline, before the request itself.
const HEADER: usize = 16;

/// No deadline.
const NEVER: u64 = u64::MAX;

/// Supervises what is handed over to this process, one exec after the other, until the resident is gone.
pub(super) fn stand_by(control: &File, ground: &Ground, sessions: &Sessions, signals: &Signals) -> ! {
    loop {
        let (job, deadline, start, standard) = next(control);
        let session = start
            .session
            .as_ref()
            .and_then(|session| sessions.carry(session, job));
        let session = session.as_ref();
        see_through(
            Charge {
                job,
                start,
                deadline,
                ground,
                session,
                control,
                standard,
            },
            signals,
        );
    }
}

type HandedOver = (u64, Option<Instant>, Box<Start>, [OwnedFd; 3]);

fn next(control: &File) -> HandedOver {
    loop {
        let Ok([true]) = poll([Some(control.as_fd())], None) else {
            continue;
        };
        let mut packet = vec![0; LONGEST];
        match receive_with_descriptors(control, &mut packet) {
            Ok(Some((length, standard))) => {
                packet.truncate(length);
                if let Some((job, deadline, start)) = decode(&packet) {
                    return (job, deadline, start, standard);
                }
            }
            // An order about what has ended meanwhile.
            Ok(None) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            // The resident is gone.
            Err(_) => exit_now(0),
        }
    }
}

/// Hands an exec to a supervisor that waits; an error leaves it to another.
pub(crate) fn hand_over(
    control: &File,
    job: u64,
    start: &Start,
    deadline: Option<Instant>,
    standard: &[OwnedFd; 3],
) -> io::Result<()> {
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_micros());
    let left = left.map_or(NEVER, |left| u64::try_from(left).unwrap_or(NEVER));
    let mut packet = [job.to_le_bytes(), left.to_le_bytes()].concat();
    packet.extend(Request::encode_start(0, start));
    if packet.len() > LONGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    send_with_descriptors(control, &packet, standard)
}

fn decode(packet: &[u8]) -> Option<(u64, Option<Instant>, Box<Start>)> {
    let (header, request) = packet.split_first_chunk::<HEADER>()?;
    let (job, left) = header.split_first_chunk()?;
    let left = u64::from_le_bytes(*left.first_chunk()?);
    let Ok(Request::Start { start, .. }) = Request::decode(request) else {
        return None;
    };
    let limit = (left != NEVER).then(|| Duration::from_micros(left));
    Some((
        u64::from_le_bytes(*job),
        limit.and_then(|limit| Instant::now().checked_add(limit)),
        start,
    ))
}
