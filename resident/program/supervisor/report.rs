//! What a supervisor and the resident say to each other, a message a packet.

use std::{
    fs::File,
    io::{Read as _, Write as _},
};

use crate::{system::Status, wire::SetupFailure};

/// The longest packet.
const LONGEST: usize = 4096;

/// Why everything of an exec is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Force {
    Deadline,
    Cancel,
    Shutdown,
}

const FORCES: [Force; 3] = [Force::Deadline, Force::Cancel, Force::Shutdown];

/// Why nothing of a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: SetupFailure,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(kind: SetupFailure, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message }
    }
}

/// From a supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The command runs.
    Started { pid: i32 },
    /// It does not, and nothing of it is there.
    Failed(Failure),
    /// The command has ended, or was ended.
    Ended {
        /// How; `None` when a killed one has not gone, which waits for a device.
        status: Option<Status>,
        /// Why it was ended, unless it ended by itself.
        force: Option<Force>,
        /// Whether nothing of its tree is left: the system has said so.
        gone: bool,
    },
    /// Nothing of the exec is left, and another may be handed over.
    Free,
}

/// To a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Ends everything.
    End(Force),
    /// Sends a signal to the command's process group.
    Signal(u8),
}

impl Report {
    /// Sends it. The packets of one exec are few and fit into any buffer; when the resident is gone, nobody wants them.
    pub(crate) fn send(&self, mut control: &File) {
        let _ = control.write(&self.encode());
    }

    fn encode(&self) -> Vec<u8> {
        match self {
            Self::Started { pid } => [&[1], pid.to_le_bytes().as_slice()].concat(),
            Self::Failed(failure) => {
                let mut message = failure.message.as_str();
                while message.len() > LONGEST - 2 {
                    message = &message[..message.floor_char_boundary(LONGEST - 2)];
                }
                [&[2, failure.kind.number()], message.as_bytes()].concat()
            }
            Self::Free => vec![4],
            Self::Ended { status, force, gone } => {
                let (kind, number) = match status {
                    None | Some(Status::Stopped) => (0, 0),
                    Some(Status::Exited(code)) => (1, *code),
                    Some(Status::Signaled(number)) => (2, *number),
                };
                vec![
                    3,
                    kind,
                    number,
                    force.map_or(0, |force| force as u8 + 1),
                    u8::from(*gone),
                ]
            }
        }
    }

    fn decode(packet: &[u8]) -> Option<Self> {
        Some(match *packet {
            [1, a, b, c, d] => Self::Started {
                pid: i32::from_le_bytes([a, b, c, d]),
            },
            [2, kind, ref message @ ..] => Self::Failed(Failure::new(
                SetupFailure::from_number(kind)?,
                String::from_utf8_lossy(message),
            )),
            [3, kind, number, force, gone] => Self::Ended {
                status: match kind {
                    1 => Some(Status::Exited(number)),
                    2 => Some(Status::Signaled(number)),
                    _ => None,
                },
                force: usize::from(force)
                    .checked_sub(1)
                    .and_then(|index| FORCES.get(index))
                    .copied(),
                gone: gone == 1,
            },
            [4] => Self::Free,
            _ => return None,
        })
    }

    /// The next report of a supervisor, if one has come.
    pub(crate) fn receive(mut control: &File) -> Option<Self> {
        let mut packet = [0; LONGEST];
        let length = control.read(&mut packet).ok()?;
        Self::decode(packet.get(..length)?)
    }
}

/// What a supervisor hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Order(Order),
    Nothing,
    /// The resident is gone.
    Lost,
}

impl Order {
    pub(crate) fn send(self, mut control: &File) {
        let packet = match self {
            Self::End(force) => [1, force as u8],
            Self::Signal(number) => [2, number],
        };
        let _ = control.write(&packet);
    }

    pub(crate) fn receive(mut control: &File) -> Heard {
        let mut packet = [0; 2];
        match control.read(&mut packet) {
            Ok(2) => match packet {
                [1, force] => FORCES
                    .get(usize::from(force))
                    .map_or(Heard::Nothing, |force| Heard::Order(Self::End(*force))),
                [_, number] => Heard::Order(Self::Signal(number)),
            },
            Ok(0) => Heard::Lost,
            Ok(_) => Heard::Nothing,
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
                ) =>
            {
                Heard::Nothing
            }
            Err(_) => Heard::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_and_orders_arrive_as_they_were() {
        let [left, right] = crate::system::message_pair().unwrap();
        for report in [
            Report::Free,
            Report::Started { pid: 70_000 },
            Report::Failed(Failure::new(
                SetupFailure::CwdDenied,
                "the directory /x may not be entered",
            )),
            Report::Ended {
                status: Some(Status::Exited(255)),
                force: None,
                gone: true,
            },
            Report::Ended {
                status: Some(Status::Signaled(9)),
                force: Some(Force::Shutdown),
                gone: false,
            },
            Report::Ended {
                status: None,
                force: Some(Force::Deadline),
                gone: false,
            },
        ] {
            report.send(&left);
            assert_eq!(Report::receive(&right), Some(report));
        }
        Report::Failed(Failure::new(SetupFailure::Other, "ä".repeat(LONGEST))).send(&left);
        assert!(matches!(Report::receive(&right), Some(Report::Failed(_))));
        assert_eq!(Report::receive(&right), None);
        assert_eq!(Order::receive(&left), Heard::Nothing);
        for order in [Order::End(Force::Cancel), Order::Signal(64)] {
            order.send(&right);
            assert_eq!(Order::receive(&left), Heard::Order(order));
        }
        drop(right);
        assert_eq!(Order::receive(&left), Heard::Lost);
    }
}
