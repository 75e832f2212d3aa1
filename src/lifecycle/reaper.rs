//! What is removed of that which is left, by what it is and how long nobody has used it.
//!
//! Whoever reaps is one of several: what was decided on holds only while nobody else can change it (the lock of a key), and
//! nothing is removed by force that somebody may have taken up again.

use std::time::{Duration, SystemTime};

use super::{maker::Whereabouts, reuse::State};

/// The shortest time that counts as a life, for the bound that follows from it.
const SHORTEST_LIFE: Duration = Duration::from_mins(1);

/// How long nobody must have used what is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How long a sandbox under a key must have been ended.
    pub ended: Duration,
}

impl Bounds {
    /// The bounds that follow from how long a sandbox may be idle: one that has been ended for twice that is nobody's.
    #[must_use]
    pub fn of_lifetime(lifetime: Duration) -> Self {
        Self {
            ended: lifetime.max(SHORTEST_LIFE) * 2,
        }
    }
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A sandbox under a key, which nobody makes, opens or removes now.
    Kept {
        /// What it does.
        state: State,
        /// Since when it has ended, where that is known.
        ended: Option<SystemTime>,
        /// Whether its caller has stopped it, who was promised that its files stay.
        stopped: bool,
        /// Whether anybody could find it again: what is kept on this machine of its key is there.
        known: bool,
        /// Whether nothing of it is to stay when it has ended.
        once: bool,
    },
    /// What ends with the process that made it: a sandbox without a key, a helper.
    Tied {
        /// What it does.
        state: State,
        /// Where that process is.
        maker: Whereabouts,
    },
    /// What is kept on this machine of a key whose sandbox is gone.
    Record {
        /// Whether nothing of it was to stay.
        once: bool,
    },
    /// What somebody began to keep of a key, and did not finish.
    Unfinished,
}

/// What becomes of it, and why, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Keep(&'static str),
    /// It goes.
    Remove(&'static str),
    /// It goes, although it runs: nobody can take it up again.
    RemoveByForce(&'static str),
}

/// What becomes of what was found, at that time.
#[must_use]
pub fn judge(found: Found, bounds: Bounds, now: SystemTime) -> Fate {
    match found {
        Found::Kept {
            state,
            ended,
            stopped,
            known,
            once,
        } => match state {
            State::Gone | State::Removing => Fate::Keep("it is being removed"),
            State::Created => Fate::Remove("it was made and never started, and nobody is at it"),
            State::Dead => Fate::Remove("it has ended, and could not be taken apart"),
            State::Running | State::Restarting if known => Fate::Keep("it runs"),
            State::Paused if known => Fate::Keep("it is paused"),
            State::Running | State::Restarting | State::Paused => Fate::Keep(
                "it is not ended, and what is kept of its key is gone, so that nobody can reach it: end it by hand, or bring its \
                 directory back",
            ),
            State::Exited if once => Fate::Remove("it has ended, and nothing of it was to stay"),
            State::Exited if stopped && known => {
                Fate::Keep("its caller has stopped it, and was promised its files")
            }
            State::Exited => match ended.map(|ended| now.duration_since(ended).unwrap_or_default()) {
                Some(since) if since >= bounds.ended => {
                    Fate::Remove("it has ended, and nobody has opened it for long enough")
                }
                Some(_) => Fate::Keep("it has ended not long ago"),
                None => Fate::Keep("it has ended, and it is not known when"),
            },
        },
        Found::Tied { state, maker } => match (maker, state) {
            (_, State::Gone | State::Removing) => Fate::Keep("it is being removed"),
            (Whereabouts::There, _) => Fate::Keep("the process that made it is there"),
            (Whereabouts::Unseen, _) => Fate::Keep("the process that made it cannot be seen from here"),
            (Whereabouts::Gone, State::Running | State::Paused | State::Restarting) => {
                Fate::RemoveByForce("the process that made it is gone")
            }
            (Whereabouts::Gone, _) => Fate::Remove("the process that made it is gone"),
        },
        Found::Record { once: true } => Fate::Remove("its sandbox has ended, and nothing of it was to stay"),
        Found::Record { once: false } => {
            Fate::Keep("its sandbox was removed, and its volumes are there for the next one under the key")
        }
        Found::Unfinished => Fate::Remove("whoever began to make it did not come to the end"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::{Clock as _, ManualClock};

    const BOUNDS: Bounds = Bounds {
        ended: Duration::from_mins(10),
    };

    fn kept(state: State, ended: Option<SystemTime>) -> Found {
        Found::Kept {
            state,
            ended,
            stopped: false,
            known: true,
            once: false,
        }
    }

    #[test]
    fn the_bound_is_twice_the_lifetime_and_two_minutes_at_least() {
        for (lifetime, ended) in [(300, 600), (60, 120), (1, 120), (0, 120)] {
            let bounds = Bounds::of_lifetime(Duration::from_secs(lifetime));
            assert_eq!(bounds.ended, Duration::from_secs(ended));
        }
    }

    #[test]
    fn what_has_ended_goes_when_its_time_has_come_and_not_a_moment_earlier() {
        let ended = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let clock = ManualClock::at(ended);
        let found = kept(State::Exited, Some(ended));
        assert!(matches!(judge(found, BOUNDS, clock.now()), Fate::Keep(_)));
        let moment = Duration::from_millis(1);
        clock.advance(BOUNDS.ended.saturating_sub(moment));
        assert!(matches!(judge(found, BOUNDS, clock.now()), Fate::Keep(_)));
        clock.advance(moment);
        assert!(matches!(judge(found, BOUNDS, clock.now()), Fate::Remove(_)));
        // A clock that was set back makes nothing older.
        let before = ManualClock::at(ended - Duration::from_hours(1));
        assert!(matches!(judge(found, BOUNDS, before.now()), Fate::Keep(_)));
        assert!(matches!(
            judge(kept(State::Exited, None), BOUNDS, clock.now()),
            Fate::Keep(_)
        ));
    }

    #[test]
    fn what_was_promised_stays_for_ever() {
        let ended = SystemTime::UNIX_EPOCH;
        let promised = Found::Kept {
            state: State::Exited,
            ended: Some(ended),
            stopped: true,
            known: true,
            once: false,
        };
        let now = ended + Duration::from_hours(24 * 365);
        assert!(matches!(judge(promised, BOUNDS, now), Fate::Keep(_)));
        let record = Found::Record { once: false };
        assert!(matches!(judge(record, BOUNDS, now), Fate::Keep(_)));
    }

    #[test]
    fn what_goes_on_under_a_key_is_never_removed() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365);
        for state in State::ALL {
            for (stopped, known, once) in [
                (false, true, false),
                (true, true, false),
                (false, false, false),
                (false, true, true),
                (false, false, true),
            ] {
                let fate = judge(
                    Found::Kept {
                        state,
                        ended: Some(SystemTime::UNIX_EPOCH),
                        stopped,
                        known,
                        once,
                    },
                    BOUNDS,
                    now,
                );
                assert!(!matches!(fate, Fate::RemoveByForce(_)), "{}", state.name());
                let goes_on = matches!(
                    state,
                    State::Running | State::Paused | State::Restarting | State::Removing
                );
                assert!(!goes_on || matches!(fate, Fate::Keep(_)), "{}", state.name());
            }
        }
    }

    #[test]
    fn what_is_tied_to_a_process_goes_with_it_and_never_before() {
        let now = SystemTime::UNIX_EPOCH;
        for state in State::ALL {
            for maker in [Whereabouts::There, Whereabouts::Unseen] {
                let fate = judge(Found::Tied { state, maker }, BOUNDS, now);
                assert!(matches!(fate, Fate::Keep(_)), "{}", state.name());
            }
        }
        let gone = |state| {
            judge(
                Found::Tied {
                    state,
                    maker: Whereabouts::Gone,
                },
                BOUNDS,
                now,
            )
        };
        assert!(matches!(gone(State::Created), Fate::Remove(_)));
        assert!(matches!(gone(State::Running), Fate::RemoveByForce(_)));
    }
}
