//! A mistake, and the step that mends it.

use crate::validate::{Breach, Content, Read};

/// Something that is wrong, before it is put into an exchange.
#[derive(Clone, Debug)]
pub(super) struct Complaint {
    pub(super) kind: String,
    pub(super) what: String,
    pub(super) path: Option<String>,
    pub(super) rule: Option<String>,
    pub(super) to_do: String,
    /// Two with the same key are the same mistake.
    pub(super) key: String,
}

impl Complaint {
    pub(super) fn new(kind: &str, what: impl Into<String>, to_do: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            what: what.into(),
            path: None,
            rule: None,
            to_do: to_do.to_owned(),
            key: kind.to_owned(),
        }
    }

    pub(super) fn at(self, path: &str) -> Self {
        Self {
            path: Some(path.to_owned()),
            ..self
        }
    }

    /// One that is a mistake of its own in every exchange.
    pub(super) fn of_its_own(self) -> Self {
        let key = format!("{}: {}", self.kind, self.what);
        Self { key, ..self }
    }
}

/// What does not fit the schema, as a mistake.
pub(super) fn complaint_of(read: &Read, breach: &Breach, line: &[u8]) -> Complaint {
    let name = &read.name;
    let Breach {
        path,
        rule,
        expected,
        seen,
        about,
    } = breach;
    if read.content == Content::Noise {
        let quoted: String = String::from_utf8_lossy(&line[..line.len().min(400)])
            .chars()
            .take(100)
            .collect();
        return Complaint::new(
            "noise",
            format!("standard output has a line that is no message: {quoted:?}"),
            "keep standard output for messages: print whatever else there is to standard error, which is log (and give programs \
             that you start another standard output than your own)",
        );
    }
    let about = about
        .as_deref()
        .map(|about| format!(" ({})", about.trim_end_matches('.')))
        .unwrap_or_default();
    let (place, verb) = match (path.as_str(), rule.as_str()) {
        ("", _) => ("the message".to_owned(), "make"),
        (path, "required") => (path.to_owned(), "add"),
        (path, _) => (path.to_owned(), "send"),
    };
    let to_do = match verb {
        "add" => format!("add {place}, {expected}{about}"),
        "send" => format!("send {place} as {expected}{about}"),
        _ => format!("let the message have {expected}"),
    };
    let seen = match seen.strip_prefix("nothing") {
        Some(rest) => format!("{place} is missing{rest}"),
        None => format!("{place} is {seen}"),
    };
    Complaint {
        kind: "schema".into(),
        what: format!("{name}: {seen}; expected {expected}"),
        path: Some(path.clone()).filter(|path| !path.is_empty()),
        rule: Some(rule.clone()),
        to_do,
        key: if rule == "JSON-RPC" {
            format!("{rule} {path}")
        } else {
            format!("{name} {path} {rule}")
        },
    }
}
