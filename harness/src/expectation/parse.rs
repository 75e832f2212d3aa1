//! From TOML to expectations, with the line and column of everything that is wrong.

use std::{collections::BTreeMap, fs, ops::Range, path::Path};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{near_miss::hint, verdict::Verdict};

use super::{Expectation, ExpectationError, Expectations, VERSION, error::Place};

const TOP: [&str; 3] = ["version", "subject", "expect"];
const ENTRY: [&str; 5] = ["id", "verdict", "reason", "link", "environment"];
const VERDICTS: [Verdict; 3] = [Verdict::Failed, Verdict::Inconclusive, Verdict::Error];

type Fault = (Range<usize>, String);

impl Expectations {
    /// Reads a file. `ids` are the ids of all requirements that exist.
    ///
    /// # Errors
    /// When the file cannot be read, or anything in it is not as it must be.
    pub fn load(path: &Path, ids: &[&str]) -> Result<Self, ExpectationError> {
        let text = fs::read_to_string(path).map_err(|source| ExpectationError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(path, &text, ids)
    }

    /// Reads the text of a file; `path` is for messages.
    ///
    /// # Errors
    /// When anything in it is not as it must be.
    pub fn parse(path: &Path, text: &str, ids: &[&str]) -> Result<Self, ExpectationError> {
        let fault = |(range, message): Fault| ExpectationError::Content {
            path: path.to_owned(),
            place: Place::of(text, &range),
            message,
        };
        let table = DeTable::parse(text).map_err(|error| {
            let message = format!(
                "{}; expected a TOML document",
                error.message().replace('\n', ", ")
            );
            fault((error.span().unwrap_or_default(), message))
        })?;
        let (subject, entries) = document(table.get_ref(), ids).map_err(fault)?;
        Ok(Self {
            subject,
            entries,
            file: path.to_owned(),
        })
    }
}

fn document(table: &DeTable<'_>, ids: &[&str]) -> Result<(String, Vec<Expectation>), Fault> {
    known_fields(table, &TOP)?;
    let version = required(table, "version", 0..0)?;
    match version.get_ref() {
        DeValue::Integer(number) if number.as_str() == VERSION.to_string() => {}
        _ => {
            let message = format!("this herm reads version = {VERSION} of expectation files only");
            return Err((version.span(), message));
        }
    }
    let subject = text(required(table, "subject", 0..0)?, "subject")?;
    let mut entries: Vec<Expectation> = Vec::new();
    let Some(list) = table.get("expect") else {
        return Ok((subject, entries));
    };
    let DeValue::Array(list) = list.get_ref() else {
        return Err((
            list.span(),
            "expect is not a list; write [[expect]] before each entry".into(),
        ));
    };
    for item in list {
        let DeValue::Table(fields) = item.get_ref() else {
            return Err((
                item.span(),
                "an entry of expect is a table; write [[expect]] before it".into(),
            ));
        };
        let entry = entry(fields, item.span(), ids)?;
        let twice = |other: &Expectation| other.id == entry.id && other.environment == entry.environment;
        if entries.iter().any(twice) {
            let message = format!(
                "{} has an entry for the same environment above; keep one",
                entry.id
            );
            return Err((item.span(), message));
        }
        entries.push(entry);
    }
    Ok((subject, entries))
}

fn entry(fields: &DeTable<'_>, span: Range<usize>, ids: &[&str]) -> Result<Expectation, Fault> {
    known_fields(fields, &ENTRY)?;
    let named = required(fields, "id", span.clone())?;
    let id = text(named, "id")?;
    if !ids.contains(&id.as_str()) {
        let message = format!(
            "no requirement is called {id}{}; `herm list` shows them all",
            hint(&id, ids.iter().copied())
        );
        return Err((named.span(), message));
    }
    let link = fields.get("link").map(|link| text(link, "link")).transpose()?;
    Ok(Expectation {
        id,
        verdict: verdict(required(fields, "verdict", span.clone())?)?,
        reason: text(required(fields, "reason", span)?, "reason")?,
        link,
        environment: environment(fields)?,
    })
}

fn verdict(value: &Spanned<DeValue<'_>>) -> Result<Verdict, Fault> {
    let name = text(value, "verdict")?;
    VERDICTS
        .into_iter()
        .find(|verdict| verdict.name() == name)
        .ok_or_else(|| {
            let names = VERDICTS.map(Verdict::name);
            let message = format!(
                "verdict is one of {}, not `{name}`{}",
                names.join(", "),
                hint(&name, names)
            );
            (value.span(), message)
        })
}

fn environment(fields: &DeTable<'_>) -> Result<BTreeMap<String, String>, Fault> {
    let Some(value) = fields.get("environment") else {
        return Ok(BTreeMap::new());
    };
    let DeValue::Table(variables) = value.get_ref() else {
        let message = "environment is a table of variables and their values, such as { CI = \"true\" }";
        return Err((value.span(), message.into()));
    };
    variables
        .iter()
        .map(|(name, value)| {
            let DeValue::String(text) = value.get_ref() else {
                return Err((
                    value.span(),
                    format!("the value of {} is a string", name.get_ref()),
                ));
            };
            Ok((name.get_ref().to_string(), text.to_string()))
        })
        .collect()
}

fn known_fields(table: &DeTable<'_>, known: &[&str]) -> Result<(), Fault> {
    match table.keys().find(|key| !known.contains(&key.get_ref().as_ref())) {
        None => Ok(()),
        Some(key) => {
            let name = key.get_ref();
            let near = hint(name, known.iter().copied());
            Err((
                key.span(),
                format!("unknown field `{name}`{near}; there are {}", known.join(", ")),
            ))
        }
    }
}

fn required<'a, 'i>(
    table: &'a DeTable<'i>,
    name: &str,
    span: Range<usize>,
) -> Result<&'a Spanned<DeValue<'i>>, Fault> {
    table
        .get(name)
        .ok_or_else(|| (span, format!("{name} is missing")))
}

/// A string with something in it.
fn text(value: &Spanned<DeValue<'_>>, name: &str) -> Result<String, Fault> {
    match value.get_ref() {
        DeValue::String(text) if !text.trim().is_empty() => Ok(text.to_string()),
        DeValue::String(_) if name == "reason" => Err((
            value.span(),
            "reason is empty; say why the failure is known".into(),
        )),
        DeValue::String(_) => Err((value.span(), format!("{name} is empty"))),
        _ => Err((value.span(), format!("{name} is a string in quotes"))),
    }
}
