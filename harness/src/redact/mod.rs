//! Secrets are taken out of everything before it is written or shown.

mod cut;
mod decode;
mod secret;

use serde_json::Value;

pub use secret::Secret;

use crate::{event::Event, verdict::Verdict};

use decode::View;

/// Secrets shorter than this are not redacted: they would be found everywhere.
pub const SHORTEST: usize = 6;
/// What a secret is replaced by, in order of preference; the first that contains no secret itself.
const MASKS: [&str; 4] = ["[redacted NAME]", "[redacted]", "[hidden]", "[***]"];
/// Replacing may put a secret together from its neighbours; this many times is looked again.
const ROUNDS: usize = 8;

/// Replaces secrets by `[redacted NAME]`.
///
/// It looks at decoded bytes: a secret is found as it is, with JSON or debug escapes (also twice over), within each of
/// these percent-encoded (also twice over), and within each of these in hexadecimal and as part of base64 at any
/// alignment. It sees one string at a time: what splits text must do so after it, or half a secret survives. Of text that was
/// shortened before, the parts of a secret that are left on either side of a `…` are found, too.
#[derive(Debug, Default)]
pub struct Redactor {
    /// Longest first.
    secrets: Vec<Named>,
    too_short: Vec<String>,
}

#[derive(Debug)]
struct Named {
    forms: Vec<Secret>,
    mask: String,
}

/// What is left as it is.
#[derive(Clone, Copy)]
struct Keep {
    field: fn(&str) -> bool,
    /// The string in a field.
    word: fn(&str, &str) -> bool,
}

/// A place in a text that must go, and what comes there instead.
#[derive(Clone, Copy)]
struct Span<'a> {
    start: usize,
    end: usize,
    mask: &'a str,
}

impl Redactor {
    /// A redactor of these secrets, each with the name that is shown instead.
    pub fn new<N: Into<String>, S: Into<Vec<u8>>>(secrets: impl IntoIterator<Item = (N, S)>) -> Self {
        let all: Vec<(String, Vec<u8>)> = secrets
            .into_iter()
            .map(|(name, bytes)| (name.into(), bytes.into()))
            .collect();
        let (mut long, short): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(_, bytes)| bytes.len() >= SHORTEST);
        long.sort_by_key(|(_, bytes)| std::cmp::Reverse(bytes.len()));
        let named = long.iter().map(|(name, bytes)| Named {
            forms: forms(bytes),
            mask: mask(name, &long),
        });
        Self {
            secrets: named.collect(),
            too_short: short.into_iter().map(|(name, _)| name).collect(),
        }
    }

    /// The names of the secrets that are too short to be redacted; worth a warning.
    #[must_use]
    pub fn too_short(&self) -> &[String] {
        &self.too_short
    }

    /// The text without secrets.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for _ in 0..ROUNDS {
            let spans = self.spans(&text);
            if spans.is_empty() {
                return text;
            }
            text = replaced(&text, &spans);
        }
        MASKS[MASKS.len() - 1].to_owned()
    }

    /// Redacts every string in a value, keys too.
    pub fn value(&self, value: &mut Value) {
        self.walk(
            value,
            Keep {
                field: |_| false,
                word: |_, _| false,
            },
        );
    }

    /// The event without secrets. The words of the format (field names, verdicts, levels, kinds of events) stay, so that it
    /// is still an event whatever the secrets are.
    ///
    /// # Errors
    /// When the event cannot be written as JSON and read again, which no event of this crate is.
    pub fn event(&self, event: &Event) -> serde_json::Result<Event> {
        if self.secrets.is_empty() {
            return Ok(event.clone());
        }
        let mut value = serde_json::to_value(event)?;
        self.walk(
            &mut value,
            Keep {
                field: is_field,
                word: is_word,
            },
        );
        serde_json::from_value(value)
    }

    fn walk(&self, value: &mut Value, keep: Keep) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.walk(value, keep)),
            Value::Object(map) => {
                for (key, mut value) in std::mem::take(map) {
                    if !value.as_str().is_some_and(|word| (keep.word)(&key, word)) {
                        self.walk(&mut value, keep);
                    }
                    let clean = if (keep.field)(&key) { key } else { self.text(&key) };
                    let mut unique = clean.clone();
                    let mut number = 2;
                    while map.contains_key(&unique) {
                        unique = format!("{clean} ({number})");
                        number += 1;
                    }
                    map.insert(unique, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Where the secrets are, apart from each other and in order.
    fn spans(&self, text: &str) -> Vec<Span<'_>> {
        if self.secrets.is_empty() || text.len() < SHORTEST {
            return Vec::new();
        }
        let mut spans: Vec<Span<'_>> = Vec::new();
        each_view(text, |view| {
            let bytes: Vec<u8> = view.iter().map(|unit| unit.byte).collect();
            for secret in &self.secrets {
                for form in &secret.forms {
                    spans.extend(places(&bytes, form.expose()).map(|place| Span {
                        start: view[place].start,
                        end: view[place + form.expose().len() - 1].end,
                        mask: &secret.mask,
                    }));
                    for place in cut::places(text, view, &bytes, form.expose()) {
                        spans.push(Span {
                            start: view[place.start].start,
                            end: view[place.end - 1].end,
                            mask: &secret.mask,
                        });
                    }
                }
            }
        });
        merged(spans)
    }
}

/// The bytes of a secret, and what is left of bytes that are no UTF-8 in a string.
fn forms(bytes: &[u8]) -> Vec<Secret> {
    let mut forms = vec![Secret::new(bytes)];
    let lossy = String::from_utf8_lossy(bytes).into_owned().into_bytes();
    if lossy != bytes {
        forms.push(Secret::new(lossy));
    }
    forms
}

fn mask(name: &str, secrets: &[(String, Vec<u8>)]) -> String {
    let clean = |mask: &str| {
        !secrets
            .iter()
            .any(|(_, bytes)| places(mask.as_bytes(), bytes).next().is_some())
    };
    let masks = MASKS.map(|mask| mask.replace("NAME", name));
    let [.., last] = &masks;
    masks.iter().find(|mask| clean(mask)).unwrap_or(last).clone()
}

/// Shows every view in which a secret is looked for, one after the other.
fn each_view(text: &str, mut visit: impl FnMut(&View)) {
    let plain = decode::plain(text);
    let once = decode::unescaped(&plain);
    let twice = once.as_ref().and_then(decode::unescaped);
    for escaped in [Some(plain), once, twice].into_iter().flatten() {
        if let Some(form) = decode::percent_decoded(&escaped, true) {
            visit(&form);
        }
        let percent = decode::percent_decoded(&escaped, false);
        let percent_twice = percent
            .as_ref()
            .and_then(|view| decode::percent_decoded(view, false));
        for layer in [Some(escaped), percent, percent_twice].into_iter().flatten() {
            visit(&layer);
            (0..2).for_each(|offset| visit(&decode::hex_decoded(&layer, offset)));
            (0..4).for_each(|offset| visit(&decode::base64_decoded(&layer, offset)));
        }
    }
}

/// Where `needle` stands in `bytes`, overlapping places too.
fn places<'a>(bytes: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let last = (bytes.len() + 1).saturating_sub(needle.len());
    let first = needle.first().copied();
    let starts = bytes[..last]
        .iter()
        .enumerate()
        .filter(move |(_, byte)| Some(**byte) == first);
    starts
        .map(|(place, _)| place)
        .filter(move |place| bytes[*place..].starts_with(needle))
}

/// Overlapping spans become one, under the mask of the longest secret among them.
fn merged(mut spans: Vec<Span<'_>>) -> Vec<Span<'_>> {
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut apart: Vec<(Span<'_>, usize)> = Vec::new();
    for span in spans {
        let length = span.end - span.start;
        match apart.last_mut() {
            Some((last, longest)) if span.start < last.end => {
                last.end = last.end.max(span.end);
                if length > *longest {
                    (last.mask, *longest) = (span.mask, length);
                }
            }
            _ => apart.push((span, length)),
        }
    }
    apart.into_iter().map(|(span, _)| span).collect()
}

/// Decoded bytes start and end anywhere, so a span may cut a character; the whole character goes.
fn replaced(text: &str, spans: &[Span<'_>]) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut place = 0;
    for span in spans {
        let start = text.floor_char_boundary(span.start).max(place);
        clean.push_str(&text[place..start]);
        clean.push_str(span.mask);
        place = text.ceil_char_boundary(span.end).max(start);
    }
    clean.push_str(&text[place..]);
    clean
}

/// The field names of events are public; a secret that is one of them is none.
fn is_field(name: &str) -> bool {
    const FIELDS: &str = "backend broken capabilities certify chapter choices detail duration_ms emulated event example expected \
                          format homepage id interrupted kind level location mode name note parallelism reason reproduce \
                          rows run seen skipped started step subject suite_version title transcript untested verdict version why";
    FIELDS.split(' ').any(|field| field == name)
}

/// So are the kinds of events, the verdicts and the levels, in the fields that hold them.
fn is_word(field: &str, word: &str) -> bool {
    const EVENTS: [&str; 6] = [
        "run_started",
        "subject_planned",
        "requirement_started",
        "requirement_finished",
        "subject_skipped",
        "run_finished",
    ];
    match field {
        "event" => EVENTS.contains(&word),
        "verdict" | "skipped" => Verdict::ALL.iter().any(|verdict| verdict.name() == word),
        "level" => ["may", "should", "must"].contains(&word),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
