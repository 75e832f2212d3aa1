//! What becomes of the sandbox that is found under a key, by the state that it is in, by whose it is, and by whether it is
//! what is asked for.
//!
//! The contract asks for the same from outside, as far as a state can be brought about there: REUSE-001, -004, -008 and -009.

use std::fmt;

/// The state of what is found under the name of a key, in the words of engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing has that name.
    Gone,
    /// It was made and never started: whoever made it did not come to the end.
    Created,
    /// It runs.
    Running,
    /// Everything in it is held.
    Paused,
    /// It has ended, and is about to be started again.
    Restarting,
    /// It has ended.
    Exited,
    /// It has ended, and could not be taken apart.
    Dead,
    /// It is being removed.
    Removing,
}

impl State {
    /// All.
    pub const ALL: [Self; 8] = [
        Self::Gone,
        Self::Created,
        Self::Running,
        Self::Paused,
        Self::Restarting,
        Self::Exited,
        Self::Dead,
        Self::Removing,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Created => "created",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Restarting => "restarting",
            Self::Exited => "exited",
            Self::Dead => "dead",
            Self::Removing => "removing",
        }
    }
}

/// Whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// It bears the mark of whoever looks for it.
    Ours,
    /// It bears another's mark, or none: whatever else is known of it, it is neither used nor removed.
    Others,
}

/// Whether it is what is asked for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// It was made of what is asked for.
    Same,
    /// Something that cannot be changed of it is asked for otherwise: the image, mounts, the network, limits, the user.
    Other,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// One is made.
    Make,
    /// It is used as it is, once a command has run in it.
    Attach,
    /// It is let go on, and used.
    LetGoOn,
    /// It is started again, and used. What ran in it has ended.
    Start,
    /// It is in no state to stay: it is waited for, for a bounded time, and looked at again.
    Wait,
    /// It is removed, and another one is made. What is lost by that is told.
    Replace,
    /// The name is taken: an error, and nothing is touched.
    Refuse,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Make => "make",
            Self::Attach => "attach",
            Self::LetGoOn => "let go on",
            Self::Start => "start",
            Self::Wait => "wait",
            Self::Replace => "replace",
            Self::Refuse => "refuse",
        })
    }
}

/// What is done with ours: where it is what is asked for, and where it is not.
const fn ours(state: State) -> (Answer, Answer) {
    match state {
        State::Gone => (Answer::Make, Answer::Make),
        State::Running => (Answer::Attach, Answer::Replace),
        State::Paused => (Answer::LetGoOn, Answer::Replace),
        State::Exited => (Answer::Start, Answer::Replace),
        State::Restarting => (Answer::Wait, Answer::Replace),
        State::Removing => (Answer::Wait, Answer::Wait),
        State::Created | State::Dead => (Answer::Replace, Answer::Replace),
    }
}

/// What becomes of what is found.
#[must_use]
pub const fn decide(state: State, whose: Whose, likeness: Likeness) -> Answer {
    let (same, other) = ours(state);
    match (state, whose, likeness) {
        (State::Gone, ..) => Answer::Make,
        (_, Whose::Others, _) => Answer::Refuse,
        (_, Whose::Ours, Likeness::Same) => same,
        (_, Whose::Ours, Likeness::Other) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_ours_is_never_touched() {
        for state in State::ALL {
            for likeness in [Likeness::Same, Likeness::Other] {
                let answer = decide(state, Whose::Others, likeness);
                let expected = match state {
                    State::Gone => Answer::Make,
                    _ => Answer::Refuse,
                };
                assert_eq!(answer, expected, "{}", state.name());
            }
        }
    }

    #[test]
    fn what_is_not_asked_for_is_never_used() {
        for state in State::ALL {
            let answer = decide(state, Whose::Ours, Likeness::Other);
            assert!(
                matches!(answer, Answer::Make | Answer::Replace | Answer::Wait),
                "{}",
                state.name()
            );
        }
    }
}
