//! What a descriptor in the event loop belongs to, as the number that the system hands back.

use crate::wire::Stream;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Listener,
    Signals,
    Watch,
    Connection(u64),
    Supervisor(u64),
    Output(u64, Stream),
    Input(u64),
    Leash,
    Tools,
    Caller(u64),
}

/// The kind is in the highest byte. Numbers of jobs and connections begin at 1 and stay far below that.
const SHIFT: u32 = 56;

impl Token {
    pub(super) fn number(self) -> u64 {
        let (kind, id): (u64, u64) = match self {
            Self::Listener => (0, 0),
            Self::Signals => (1, 0),
            Self::Watch => (2, 0),
            Self::Connection(id) => (3, id),
            Self::Supervisor(job) => (4, job),
            Self::Output(job, Stream::Stdout) => (5, job),
            Self::Output(job, Stream::Stderr) => (6, job),
            Self::Input(job) => (7, job),
            Self::Leash => (8, 0),
            Self::Tools => (9, 0),
            Self::Caller(id) => (10, id),
        };
        kind << SHIFT | id
    }

    pub(super) fn from_number(number: u64) -> Option<Self> {
        let id = number & ((1 << SHIFT) - 1);
        Some(match number >> SHIFT {
            0 => Self::Listener,
            1 => Self::Signals,
            2 => Self::Watch,
            3 => Self::Connection(id),
            4 => Self::Supervisor(id),
            5 => Self::Output(id, Stream::Stdout),
            6 => Self::Output(id, Stream::Stderr),
            7 => Self::Input(id),
            8 => Self::Leash,
            9 => Self::Tools,
            10 => Self::Caller(id),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_return_as_they_were() {
        for token in [
            Token::Listener,
            Token::Signals,
            Token::Watch,
            Token::Connection(1),
            Token::Supervisor(2),
            Token::Output(3, Stream::Stdout),
            Token::Output(1 << 40, Stream::Stderr),
            Token::Input(5),
            Token::Leash,
            Token::Tools,
            Token::Caller(6),
        ] {
            assert_eq!(Token::from_number(token.number()), Some(token));
        }
        assert_eq!(Token::from_number(u64::MAX), None);
    }
}
