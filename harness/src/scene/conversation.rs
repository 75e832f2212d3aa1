//! A conversation with an adapter: its last lines are kept for a failure.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use herm_protocol::transcript::{Direction, Transcript};

/// Lines of conversation that are kept for a failure.
const KEPT_LINES: usize = 12;

/// Takes every line of every conversation, for people.
pub type Listener = dyn Fn(&str) + Send + Sync;

/// The last lines of a conversation, and a listener for all of them.
pub struct Conversation {
    /// Tells conversations that go on at the same time apart.
    serial: u32,
    lines: Mutex<VecDeque<String>>,
    listener: Option<Arc<Listener>>,
}

impl Conversation {
    /// A new one with nothing said yet; its number tells it apart from others.
    pub(super) fn new(serial: u32, listener: Option<Arc<Listener>>) -> Self {
        Self {
            serial,
            lines: Mutex::default(),
            listener,
        }
    }

    /// The last lines.
    pub fn last_lines(&self) -> Vec<String> {
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .collect()
    }
}

impl Transcript for Conversation {
    fn line(&self, direction: Direction, line: &[u8]) {
        let mark = match direction {
            Direction::Sent => "→",
            Direction::Received => "←",
            Direction::Log => "·",
        };
        let text = format!("{mark} {}", shorten(line));
        if let Some(listener) = &self.listener {
            listener(&format!("{}{text}", self.serial));
        }
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(text);
    }
}

/// A line of bounded length: its middle is left out when it is long. What is kept is more than what is shown in the end,
/// so that a secret that this cuts in two lies in the part that is left out when the line has been redacted.
fn shorten(line: &[u8]) -> String {
    const KEPT: usize = 4096;
    if line.len() <= 2 * KEPT {
        return String::from_utf8_lossy(line).into_owned();
    }
    let left_out = line.len() - 2 * KEPT;
    let (head, tail) = (&line[..KEPT], &line[line.len() - KEPT..]);
    format!(
        // Without spaces: redaction looks for parts of secrets beside these dots.
        "{}…{left_out} bytes…{}",
        String::from_utf8_lossy(head),
        String::from_utf8_lossy(tail)
    )
}
