//! Reading options as `docker run` does: `--name value`, `--name=value`, `-n value`, `-nvalue`, `-n=value`, and several
//! short ones behind one dash.

use super::{
    ExtraArgs,
    table::{Meaning, OPTIONS, Row},
};
use crate::{
    config::near_miss,
    policy::{Refusal, mount::Here},
};

/// Reads a list of options.
///
/// # Errors
/// The first one that is not taken: its name, why, and the way out. Values of variables are not in it.
pub(in super::super) fn parse(arguments: &[String], here: &Here) -> Result<ExtraArgs, Refusal> {
    let mut asked = ExtraArgs::default();
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        if let Some(long) = argument.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            let row = OPTIONS.iter().find(|row| row.long == name);
            let row = row.ok_or_else(|| unknown(argument, name))?;
            let shown = format!("--{name}");
            one(&mut asked, row, &shown, value, &mut rest, here)?;
        } else if let Some(shorts) = argument.strip_prefix('-').filter(|shorts| !shorts.is_empty()) {
            cluster(&mut asked, shorts, &mut rest, here)?;
        } else {
            return Err(positional(argument));
        }
    }
    Ok(asked)
}

/// Several short options behind one dash; the first that has a value takes the rest of the text.
fn cluster<'a>(
    asked: &mut ExtraArgs,
    mut shorts: &'a str,
    rest: &mut impl Iterator<Item = &'a str>,
    here: &Here,
) -> Result<(), Refusal> {
    let mut letters = shorts.chars();
    while let Some(letter) = letters.next() {
        shorts = letters.as_str();
        let row = OPTIONS.iter().find(|row| row.short == Some(letter));
        let name = format!("-{letter}");
        let row = row.ok_or_else(|| unknown(&name, &name))?;
        let value = shorts
            .strip_prefix('=')
            .or(Some(shorts).filter(|_| takes_value(row)));
        let value = value.filter(|value| !value.is_empty() || shorts.starts_with('='));
        let done = takes_value(row) || shorts.starts_with('=');
        one(asked, row, &name, value, rest, here)?;
        if done {
            return Ok(());
        }
    }
    Ok(())
}

fn takes_value(row: &Row) -> bool {
    matches!(row.meaning, Meaning::Value(_) | Meaning::NoValue(..))
}

/// Carries one option out; `value` stands in the same text, and else comes from the rest where the option has one.
fn one<'a>(
    asked: &mut ExtraArgs,
    row: &Row,
    name: &str,
    value: Option<&'a str>,
    rest: &mut impl Iterator<Item = &'a str>,
    here: &Here,
) -> Result<(), Refusal> {
    let refused = |why: &str, instead: &str| Refusal::new(format!("{name} is not taken: {why}"), instead);
    let taken = match row.meaning {
        Meaning::NoValue(why, instead) => return Err(refused(why, instead)),
        Meaning::Value(apply) => {
            let value = value.or_else(|| rest.next()).ok_or_else(|| {
                Refusal::new(
                    format!("{name} has no value"),
                    format!("write it as {name}=VALUE"),
                )
            })?;
            apply(asked, value, here)
        }
        Meaning::Flag(apply) => apply(asked, flag(name, value)?),
        Meaning::NoFlag(why, instead) => {
            if flag(name, value)? {
                return Err(refused(why, instead));
            }
            Ok(())
        }
    };
    taken.map_err(|refusal| Refusal::new(format!("{name}: {}", refusal.what), refusal.fix))
}

fn flag(name: &str, value: Option<&str>) -> Result<bool, Refusal> {
    match value {
        None | Some("true" | "TRUE" | "True" | "t" | "T" | "1") => Ok(true),
        Some("false" | "FALSE" | "False" | "f" | "F" | "0") => Ok(false),
        Some(other) => Err(Refusal::new(
            format!("{name} is on or off, and not {other:?}"),
            format!("write {name} alone, or {name}=false"),
        )),
    }
}

/// What no option of `docker run` is. What stands behind an equals sign may be a secret.
fn unknown(argument: &str, name: &str) -> Refusal {
    let shown = argument.split('=').next().unwrap_or_default();
    if let Some((option, _)) = shown.split_once(char::is_whitespace) {
        return Refusal::new(
            format!("{} and its value are one item of the list", printable(option)),
            "write two items, or one with an equals sign",
        );
    }
    if name.is_empty() {
        return Refusal::new(
            "-- ends the options, and nothing stands behind them here",
            "take it out",
        );
    }
    let near = near_miss::hint(name, OPTIONS.iter().map(|row| row.long));
    Refusal::new(
        format!("{} is no option of docker run{near}", printable(shown)),
        "correct it, or take it out",
    )
}

/// A text of bounded length, with nothing in it that a terminal would obey.
fn printable(text: &str) -> String {
    text.chars().take(80).flat_map(char::escape_debug).collect()
}

fn positional(argument: &str) -> Refusal {
    // What stands behind such a sign may be the value of a variable.
    let shown: String = argument
        .split(['=', ':'])
        .next()
        .unwrap_or_default()
        .chars()
        .take(40)
        .collect();
    let what = format!("{shown:?} is no option: the image and the command are herm's to say");
    Refusal::new(
        what,
        "take it out; terminal.docker_image names the image, and a value stands behind its option",
    )
}
