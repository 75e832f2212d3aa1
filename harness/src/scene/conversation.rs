//! A conversation with an adapter: its last lines, a listener for all of them, and what does not fit the schema.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use herm_protocol::transcript::{Direction, Transcript};

use super::Failure;
use crate::{redact::Redactor, validate::MessageReader};

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
    /// A secret that the adapter must not tell, while somebody listens for it.
    overhearing: Mutex<Option<Overhearing>>,
}

/// A secret, and the first line in which it was heard.
struct Overhearing {
    finder: Redactor,
    heard: Option<String>,
}

impl Overhearing {
    /// Looks for the secret in a line, in whatever way it is written there.
    fn line(&mut self, direction: Direction, line: &[u8]) {
        if direction == Direction::Sent || self.heard.is_some() {
            return;
        }
        let text = shorten_line(line);
        let without = self.finder.text(&text);
        if without != text {
            let who = if direction == Direction::Log {
                "its log"
            } else {
                "it has said"
            };
            self.heard = Some(format!("{who}: {}", beginning_at_difference(&text, &without)));
        }
    }
}

/// The part of a line without its secret that begins a little before the secret was, in the line.
fn beginning_at_difference(text: &str, without: &str) -> String {
    const BEFORE: usize = 60;
    let same = text.chars().zip(without.chars()).take_while(|(a, b)| a == b);
    let before = same.count().saturating_sub(BEFORE);
    let dots = if before == 0 { "" } else { "… " };
    format!("{dots}{}", without.chars().skip(before).collect::<String>())
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
            overhearing: Mutex::default(),
        }
    }

    /// Listens for a secret in all that the adapter says from now on, and no longer for another one.
    pub(super) fn listen_for(&self, secret: &str) {
        let finder = Redactor::new([("SECRET", secret)]);
        *self.overhearing() = Some(Overhearing { finder, heard: None });
    }

    /// The first line in which the secret was told, without it. Nobody listens any more after that.
    pub(super) fn overheard(&self) -> Option<String> {
        self.overhearing().take()?.heard
    }

    fn overhearing(&self) -> MutexGuard<'_, Option<Overhearing>> {
        self.overhearing.lock().unwrap_or_else(PoisonError::into_inner)
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
        if let Some(overhearing) = self.overhearing().as_mut() {
            overhearing.line(direction, line);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_overheard_in_answers_and_in_the_log_and_not_in_what_is_asked() {
        let heard = |direction, line: &str| {
            let conversation = Conversation::new(1, None, false);
            conversation.listen_for("secret-12");
            conversation.line(direction, line.as_bytes());
            conversation.overheard()
        };
        assert_eq!(heard(Direction::Sent, "{\"env\":\"secret-12\"}"), None);
        assert_eq!(heard(Direction::Received, "{\"env\":\"secret-1\"}"), None);
        let log = heard(Direction::Log, "started with secret-12").unwrap();
        assert_eq!(log, "its log: started with [redacted SECRET]");
        let encoded = format!("{{\"pad\":\"{}\",\"b64\":\"c2VjcmV0LTEy\"}}", "x".repeat(200));
        let answer = heard(Direction::Received, &encoded).unwrap();
        assert!(
            answer.starts_with("it has said: … xxx") && answer.contains("[redacted SECRET]"),
            "{answer}"
        );
    }
}
