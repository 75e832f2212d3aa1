//! What this process was started to do on signals, which nothing that it starts should take over.

use std::{fs, io};

use tokio::signal::unix::{SignalKind, signal};

/// The signals that a parent may have left ignored: nohup(1) does it, a shell for what it runs in the background, and what
/// reaps no children. No handler can be set for the others, or the standard library sets back by itself.
const OFTEN_IGNORED: [u8; 7] = [1, 2, 3, 10, 12, 14, 15];

/// Has commands start with the system's own actions for signals that this process was started to ignore. A handler undoes
/// that for whatever is started; this process goes on as if it ignored them. The end of children is always handled: who
/// ignores it is told no exit status.
///
/// # Errors
/// The system refuses.
pub(super) fn hand_on_defaults() -> io::Result<()> {
    let _ = signal(SignalKind::child())?;
    let ignored = ignored(&fs::read_to_string("/proc/self/status").unwrap_or_default());
    for number in OFTEN_IGNORED {
        if ignored >> (number - 1) & 1 == 1 {
            let _ = signal(SignalKind::from_raw(number.into()))?;
        }
    }
    Ok(())
}

/// The signals that the status of a process tells as ignored, bit N - 1 for signal N. Where it does not say, none.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_the_status() {
        assert_eq!(ignored("Name:\tx\nSigIgn:\t0000000000000007\nSigCgt:\t01\n"), 7);
        assert_eq!(ignored("Name:\tx\n"), 0);
    }
}
