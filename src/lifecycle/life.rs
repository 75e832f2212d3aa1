//! How long a sandbox lives.

use std::time::Duration;

/// How long a sandbox lives that nobody destroys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// Whether it ends with the process that made it, however that ends.
    pub with_its_caller: bool,
    /// For how long nothing may go on in it: no command, no job, nothing that a client asks. None is no bound.
    pub idle: Option<Duration>,
    /// Whether nothing of it stays when it has ended, but what is kept in volumes.
    pub once: bool,
}

impl Life {
    /// The life of a sandbox without a key, which nobody could find again.
    pub const OF_ONE_CALLER: Self = Self {
        with_its_caller: true,
        idle: None,
        once: true,
    };

    /// The life of a sandbox under a key that nothing ends by itself.
    pub const UNTIL_REMOVED: Self = Self {
        with_its_caller: false,
        idle: None,
        once: false,
    };

    /// The life of a sandbox under a key that ends, with everything of it, when nothing has gone on in it for a while.
    #[must_use]
    pub const fn until_idle(idle: Duration) -> Self {
        Self {
            with_its_caller: false,
            idle: Some(idle),
            once: true,
        }
    }

    /// The life of a sandbox under a key. `across_processes` is whether it outlives the process that made it, `persistent`
    /// whether its files are kept from session to session, `lifetime` how long it may be idle where one of them is not so;
    /// zero is no bound.
    #[must_use]
    pub fn of_key(across_processes: bool, persistent: bool, lifetime: Duration) -> Self {
        let idle = Some(lifetime).filter(|lifetime| !lifetime.is_zero());
        match (across_processes, persistent) {
            (true, true) => Self::UNTIL_REMOVED,
            (true, false) => Self {
                with_its_caller: false,
                idle,
                once: true,
            },
            (false, _) => Self {
                idle,
                ..Self::OF_ONE_CALLER
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_kept_across_processes_with_its_files_has_no_end() {
        let lifetime = Duration::from_mins(5);
        assert_eq!(Life::of_key(true, true, lifetime), Life::UNTIL_REMOVED);
        let session = Life::of_key(true, false, lifetime);
        assert_eq!(
            (session.with_its_caller, session.idle, session.once),
            (false, Some(lifetime), true)
        );
        for persistent in [true, false] {
            let tied = Life::of_key(false, persistent, lifetime);
            assert_eq!(
                (tied.with_its_caller, tied.idle, tied.once),
                (true, Some(lifetime), true)
            );
        }
        assert_eq!(Life::of_key(true, false, Duration::ZERO).idle, None);
    }
}
