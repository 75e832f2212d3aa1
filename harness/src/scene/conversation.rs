//! A conversation with an adapter: its last lines, a listener for all of them, and what does not fit the schema.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use herm_protocol::transcript::{Direction, Transcript};

use super::Failure;
use crate::validate::MessageReader;

/// Lines of conversation that are kept for a failure.
const KEPT_LINES: usize = 12;

/// Messages that do not fit, of one requirement, that are told.
const MISFITS: usize = 5;

/// The word for machines of a message that does not fit.
const MISFIT: &str = "message_invalid";

/// Takes every line of every conversation, for people.
pub type Listener = dyn Fn(&str) + Send + Sync;

/// The last lines of a conversation, and a listener for all of them.
pub struct Conversation {
    /// Tells conversations that go on at the same time apart.
    serial: u32,
    lines: Mutex<VecDeque<String>>,
    listener: Option<Arc<Listener>>,
    /// Every message held against the schema, when that was asked for.
    validation: Option<Mutex<Validation>>,
}

/// What messages of an adapter do not fit the schema.
#[derive(Default)]
struct Validation {
    reader: MessageReader,
    misfits: Vec<String>,
    more: u32,
}

impl Conversation {
    /// A new one with nothing said yet; its number tells it apart from others. Every message is held against the schema
    /// when `validate` says so.
    pub(super) fn new(serial: u32, listener: Option<Arc<Listener>>, validate: bool) -> Self {
        Self {
            serial,
            lines: Mutex::default(),
            listener,
            validation: validate.then(Mutex::default),
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

    /// What came since this was last asked and does not fit the schema: the message, the path in it, and the rule.
    pub fn misfit(&self) -> Option<Failure> {
        let validation = self.validation.as_ref()?;
        let (misfits, more) = {
            let mut validation = validation.lock().unwrap_or_else(PoisonError::into_inner);
            (
                std::mem::take(&mut validation.misfits),
                std::mem::take(&mut validation.more),
            )
        };
        if misfits.is_empty() {
            return None;
        }
        let more = if more > 0 {
            format!("; and {more} more")
        } else {
            String::new()
        };
        Some(
            Failure {
                expected: Some("every message to fit the schema herm-1.json".into()),
                ..Failure::suite(format!("{}{more}", misfits.join("; ")))
            }
            .of_kind(MISFIT),
        )
    }
}

impl Validation {
    fn line(&mut self, direction: Direction, line: &[u8]) {
        match direction {
            Direction::Sent => self.reader.sent(line),
            Direction::Log => {}
            Direction::Received => {
                let read = self.reader.received(line);
                for breach in &read.breaches {
                    let misfit = format!("{}: {breach}", read.name);
                    if self.misfits.contains(&misfit) || self.misfits.len() >= MISFITS {
                        self.more += 1;
                    } else {
                        self.misfits.push(misfit);
                    }
                }
            }
        }
    }
}

impl Transcript for Conversation {
    fn line(&self, direction: Direction, line: &[u8]) {
        if let Some(validation) = &self.validation {
            validation
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .line(direction, line);
        }
        let mark = match direction {
            Direction::Sent => "→",
            Direction::Received => "←",
            Direction::Log => "·",
        };
        let text = format!("{mark} {}", shorten_line(line));
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
pub(crate) fn shorten_line(line: &[u8]) -> String {
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
