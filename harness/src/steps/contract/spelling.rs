//! PROTO: the same request in other words of JSON, all of which mean the same.

use std::fmt::Write as _;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;

use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::composed::unknown,
};

/// Characters of one, two, three and four bytes, a slash, and nothing that a shell would take apart.
const TEXT: &str = "a/b grün 日本 😀 end";

/// Writes the line of a request in another way.
type Spelling = fn(&str) -> String;

/// What others than the contract take for the end of a line; none of it has to be escaped in JSON.
fn end_of_line(what: &str) -> Result<&'static str, Failure> {
    Ok(match what {
        "a line separator" => "\u{2028}",
        "a paragraph separator" => "\u{2029}",
        "a next line" => "\u{85}",
        other => return Err(unknown(other, "the end of a line")),
    })
}

/// A command is given a part in base64 that would be text as well, and shows what it was given in ASCII.
async fn in_base64(scene: &mut Scene, part: &str) -> StepResult {
    const SHOW: &str = "od -An -v -tx1";
    let base64 = |bytes: &[u8]| serde_json::json!({"b64": BASE64_STANDARD.encode(bytes)});
    let mut told = TEXT.as_bytes().to_vec();
    let (text, place, value): (String, &[&str], Value) = match part {
        "its text" => {
            let text = format!("printf %s '{TEXT}' | {SHOW}");
            let value = base64(text.as_bytes());
            (text, &["command", "shell"], value)
        }
        "its arguments" => {
            let script = format!("printf %s \"$1\" | {SHOW}");
            let words = ["sh", "-c", script.as_str(), "sh", TEXT].map(|word| base64(word.as_bytes()));
            (String::new(), &["command"], serde_json::json!({"argv": words}))
        }
        "a variable's value" => {
            let variable = serde_json::json!([{"name": "PROBE_BASE64", "value": base64(TEXT.as_bytes())}]);
            (
                format!("printf %s \"$PROBE_BASE64\" | {SHOW}"),
                &["env"],
                variable,
            )
        }
        "its directory" => {
            let path = scene.new_path("base64").await?;
            let word = shell::word(path.as_bytes());
            scene.prepare(format!("mkdir {word}")).await?;
            told = path.as_bytes().to_vec();
            (
                format!("printf %s \"$PWD\" | {SHOW}"),
                &["cwd"],
                base64(path.as_bytes()),
            )
        }
        other => return Err(unknown(other, "a part of a request")),
    };
    let params = scene.command(text).await?;
    let mut wire = serde_json::to_value(&params).map_err(|error| Failure::suite(error.to_string()))?;
    let part = place.iter().fold(&mut wire, |part, name| &mut part[*name]);
    *part = value;
    scene.notes.content = Some(told);
    super::proto::run_as_written(scene, params, &wire).await
}

/// A command is told bytes by a request that is written in these words, and shows them in ASCII.
pub(super) async fn run(scene: &mut Scene, how: &str) -> StepResult {
    if let Some(part) = how
        .strip_prefix("has ")
        .and_then(|rest| rest.strip_suffix(" in base64"))
    {
        return in_base64(scene, part).await;
    }
    let told = match how.strip_prefix("holds ") {
        Some(what) => format!("one{0}two{0}", end_of_line(what)?),
        None => TEXT.to_owned(),
    };
    let spelling: Spelling = match how {
        "escapes what is not ASCII" => in_ascii,
        "escapes its slashes" => |line| line.replace('/', r"\/"),
        "escapes letters of its fields' names" => with_escaped_names,
        "has blanks between its parts" => with_blanks,
        "has carriage returns between its parts" => with_carriage_returns,
        held if held.starts_with("holds ") => |line| line.to_owned(),
        "begins with its parameters" => from_behind,
        other => return Err(unknown(other, "a way to write a request")),
    };
    let params = scene
        .command(format!("printf %s '{told}' | od -An -v -tx1"))
        .await?;
    scene.notes.content = Some(told.into_bytes());
    let patience = scene.patience();
    let client = scene.client().await?;
    let exec = client.run_spelt(&params, |line| match String::from_utf8(line) {
        Ok(line) => spelling(&line).into_bytes(),
        Err(line) => line.into_bytes(),
    });
    let record = exec
        .map_err(Failure::from)?
        .wait(patience)
        .await
        // That the adapter must live through this is what is tested.
        .map_err(|fault| {
            let seen = fault.to_string();
            let _ = scene.broken(fault);
            Failure::failed("the request to be answered as any other", seen)
        })?;
    scene.keep(record);
    Ok(())
}

/// As most writers of JSON do it that were made for ASCII: beyond 16 bits by two halves.
fn in_ascii(line: &str) -> String {
    let mut ascii = String::with_capacity(line.len() * 2);
    for sign in line.chars() {
        if sign.is_ascii() {
            ascii.push(sign);
        } else {
            for unit in sign.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

/// The names of the fields that every request has and those of a command's, with an escape for a letter that needs none.
fn with_escaped_names(line: &str) -> String {
    ["method", "params", "sandbox", "command", "shell"]
        .iter()
        .fold(line.to_owned(), |line, name| {
            let escaped = format!("\"\\u{:04x}{}\":", u32::from(name.as_bytes()[0]), &name[1..]);
            line.replace(&format!("\"{name}\":"), &escaped)
        })
}

/// Blanks and tabs around all that is not text.
fn with_blanks(line: &str) -> String {
    around_signs(line, ' ', '\t')
}

/// Carriage returns, which are blanks to JSON, and end no line by themselves.
fn with_carriage_returns(line: &str) -> String {
    around_signs(line, '\r', '\r')
}

/// These before and behind all that is not text.
fn around_signs(line: &str, before: char, behind: char) -> String {
    let (mut spaced, mut in_text, mut escaped) = (String::with_capacity(line.len() * 2), false, false);
    for sign in line.chars() {
        if in_text || !"{}[]:,".contains(sign) {
            spaced.push(sign);
        } else {
            spaced.extend([before, sign, behind]);
        }
        in_text ^= sign == '"' && !escaped;
        escaped = sign == '\\' && !escaped;
    }
    spaced
}

/// The parameters first, and what kind of message it is last.
fn from_behind(line: &str) -> String {
    let Ok(request) = serde_json::from_str::<Value>(line) else {
        return line.into();
    };
    let fields = ["params", "method", "id", "jsonrpc"].map(|name| format!("\"{name}\":{}", request[name]));
    format!("{{{}}}\n", fields.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_means_the_same() {
        let line = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"exec.run\",\"params\":{\"t\":[\"a: \\\"😀\\\\\\\", /é\",{}]}}\n";
        let meant: Value = serde_json::from_str(line).unwrap();
        let slashes: Spelling = |line| line.replace('/', r"\/");
        for spelling in [in_ascii, slashes, with_blanks, with_carriage_returns, from_behind] {
            let spelt = spelling(line);
            assert_ne!(spelt, line);
            assert_eq!(spelt.matches('\n').count(), 1, "{spelt}");
            assert_eq!(serde_json::from_str::<Value>(&spelt).unwrap(), meant, "{spelt}");
        }
        assert!(in_ascii(line).contains("\\ud83d\\ude00") && in_ascii(line).is_ascii());
    }
}
