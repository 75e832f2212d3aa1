//! What is refused in a file `.env` because it would silently do nothing, or something else than it says.

use super::{
    super::{Place, Problem, SETTINGS},
    statement::{Fault, Statement, is_line_end},
};

/// Names that people give to the variable of the backend, and that nothing reads.
pub(in crate::config) const MISNAMED: [&str; 2] = ["TERMINAL_BACKEND", "TERMINAL_ENV_TYPE"];

/// A file that is not made of lines of text would be read as one that sets nothing. Values may have any encoding that leaves
/// ASCII as it is.
pub(super) fn encoding(name: &str, bytes: &[u8]) -> Result<(), Problem> {
    let fix = "save it as UTF-8; it is left as it is";
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        let place = Some(Place { line: 1, column: 1 });
        return Err(Problem::new(
            name,
            place,
            "the file is UTF-16, as its first bytes say",
            fix,
        ));
    }
    let forbidden = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r');
    let Some(position) = bytes.iter().position(forbidden) else {
        return Ok(());
    };
    let before = String::from_utf8_lossy(bytes.get(..position).unwrap_or_default());
    let letter = bytes.get(position).copied().unwrap_or_default();
    let what = format!("the character U+{letter:04X} cannot stand in a file of variables");
    Err(Problem::new(
        name,
        Some(Place::of(&before, before.len())),
        what,
        fix,
    ))
}

/// A statement that was meant to set the variable of a setting and does not, or that hides others.
pub(super) fn statements(name: &str, text: &str, statements: &[Statement]) -> Result<(), Problem> {
    for statement in statements {
        let lines = text.get(statement.lines.clone()).unwrap_or_default().trim();
        if let Some((what, fix)) = objection(statement, lines) {
            return Err(at(name, statement.line, what, fix));
        }
    }
    Ok(())
}

/// A setting cannot be made of a variable that is not there.
pub(super) fn references(name: &str, statements: &[Statement], unset: &[Vec<String>]) -> Result<(), Problem> {
    for (statement, unset) in statements.iter().zip(unset) {
        let key = statement.key.as_deref().unwrap_or_default();
        if let Some(missing) = unset.first().filter(|_| is_setting(key)) {
            let what = format!("{key} is made of ${{{missing}}}, and {missing} is not set");
            let fix = format!("set {missing} above it or in the environment, or write ${{{missing}:-VALUE}}");
            return Err(at(name, statement.line, what, fix));
        }
    }
    Ok(())
}

fn at(name: &str, line: usize, what: String, fix: String) -> Problem {
    Problem::new(name, Some(Place { line, column: 1 }), what, fix)
}

/// What is wrong with a statement, and what to do.
fn objection(statement: &Statement, lines: &str) -> Option<(String, String)> {
    let several = lines.contains(is_line_end);
    match statement.fault {
        Some(Fault::OpenQuote) => {
            let what = "a quote that opens the value of this line is not closed";
            return Some((what.into(), "close it, or take it out".into()));
        }
        Some(Fault::NoAssignment) if several => {
            let what = "the quote that opens the value of this line is closed on a later line, with something behind it";
            return Some((what.into(), "close each quote on its own line".into()));
        }
        _ => {}
    }
    if let Some(variable) = meant(statement, lines) {
        let what = format!("this line names {variable}, and does not set it");
        let fix = format!("write it as {variable}=VALUE, or take it out");
        return Some((what, fix));
    }
    let key = statement.key.as_deref().unwrap_or_default();
    if MISNAMED.contains(&key) {
        let what = format!("nothing reads {key}");
        let fix = "write TERMINAL_ENV, the variable of the backend, or take it out";
        return Some((what, fix.into()));
    }
    let hidden = lines
        .split(is_line_end)
        .skip(1)
        .find_map(|line| variable_in(line.split_once('=')?.0));
    hidden.map(|variable| {
        let what = format!(
            "the value of this line goes on over several lines, and holds a line that names {variable}"
        );
        (what, "close the quote where the value ends".into())
    })
}

/// The variable of a setting that a statement names before any value, without setting it.
fn meant(statement: &Statement, lines: &str) -> Option<&'static str> {
    let key = statement.key.as_deref();
    if (statement.fault.is_none() && key.is_none())
        || (statement.value.is_some() && key.is_some_and(is_setting))
    {
        return None;
    }
    let first = lines.split(is_line_end).next().unwrap_or_default();
    variable_in(first.split_once('=').map_or(first, |(name, _)| name))
}

fn variables() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().filter_map(|setting| setting.variable)
}

fn is_setting(key: &str) -> bool {
    variables().any(|variable| variable == key)
}

fn variable_in(text: &str) -> Option<&'static str> {
    let mut words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.find_map(|word| variables().find(|variable| variable.eq_ignore_ascii_case(word)))
}
