//! ARGS: long texts and lists of arguments arrive whole.

use std::fmt::Write as _;

use herm_protocol::{
    ByteString,
    exec::{Command, Stream},
    sandbox::Variable,
};

use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::{
        composed::unknown,
        general::{new_mark, show},
    },
};

const MIB: usize = 1024 * 1024;

/// Arguments as hexadecimal digits, a line each behind their number, so that a transport that damages output cannot damage
/// the proof.
const TELL_ARGUMENTS: &str = "printf '%s\\n' \"$#\"; for argument do \
                              printf '%s' \"$argument\" | od -An -v -tx1 | tr -d ' \\n'; printf '\\n'; done";

async fn run_list(scene: &mut Scene, list: Vec<ByteString>) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let params = scene.command_in(&sandbox, Command::Argv(list));
    scene.run(&params).await
}

/// An argument list of a shell with this text, and these as its parameters.
fn shell_with(text: &str, arguments: impl IntoIterator<Item = ByteString>) -> Vec<ByteString> {
    let shell = ["sh", "-c", text, "sh"].map(ByteString::from);
    shell.into_iter().chain(arguments).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

/// The program has told the arguments that it was given, in digits.
pub(crate) fn expect_told(scene: &Scene) -> StepResult {
    scene.result()?;
    let expected = scene.notes.content.clone().unwrap_or_default();
    let seen = scene.record()?.bytes(Stream::Stdout);
    if seen == expected {
        return Ok(());
    }
    Err(Failure::failed(in_words(&expected), in_words(&seen)))
}

/// What such a program tells, as people read it; the rest as it is.
fn in_words(told: &[u8]) -> String {
    let told = String::from_utf8_lossy(told);
    let Some((count, digits)) = told.split_once('\n') else {
        return show(told.as_bytes());
    };
    let words: Vec<String> = digits
        .lines()
        .map(|line| from_hexadecimal(line).map_or_else(|| line.to_owned(), |bytes| show(&bytes)))
        .collect();
    format!("{count} arguments: {}", words.join(" "))
}

fn from_hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}

fn arguments_of(kind: &str) -> Result<&'static [&'static str], Failure> {
    Ok(match kind {
        "no bytes" => &["", "a", "", ""],
        "blanks and newlines" => &[" ", "a  b", "two\nlines", "\t", "\n", "ends with one\n"],
        "quotes and backslashes" => &[
            "'",
            "\"",
            "it's",
            "\\",
            "\\n",
            "\\\\",
            "\"a b\"",
            "'a b'",
            "it's \"both\"",
            "\\'\\\"",
        ],
        "what a shell would expand" => &[
            "$HOME", "${HOME}", "$(id)", "`id`", "*", "~", "{a,b}", "!!", "a;b", "a|b", ">x", "&", "#", "%s",
            "{text}",
        ],
        "what looks like options" => &["-n", "--", "-", "--help", "-x=1", "+e", "-c"],
        "letters beyond ASCII" => &["grün", "€", "😀", "e\u{301}", "日本語"],
        other => return Err(unknown(other, "given as an argument")),
    })
}

/// A program that tells its arguments is given some of a kind.
pub(crate) async fn run_with(scene: &mut Scene, kind: &str) -> StepResult {
    if kind == "1 MiB in all" {
        let lines = shell::numbered_bytes(MIB);
        let arguments = lines.chunks(MIB / 16).map(ByteString::from);
        let arguments: Vec<_> = arguments.collect();
        scene.notes.content = Some(lines);
        return run_list(scene, shell_with("printf '%s' \"$@\"", arguments)).await;
    }
    let arguments = arguments_of(kind)?;
    let mut expected = format!("{}\n", arguments.len());
    for argument in arguments {
        expected += &hexadecimal(argument.as_bytes());
        expected.push('\n');
    }
    scene.notes.content = Some(expected.into_bytes());
    let arguments = arguments.iter().map(|argument| ByteString::from(*argument));
    run_list(scene, shell_with(TELL_ARGUMENTS, arguments)).await
}

/// A program that prints its arguments is given that many, each with its number.
pub(crate) async fn run_with_many(scene: &mut Scene, count: usize) -> StepResult {
    let arguments: Vec<String> = (0..count).map(|number| format!("argument-{number}")).collect();
    scene.notes.content = Some((arguments.join("\n") + "\n").into_bytes());
    let arguments = arguments
        .iter()
        .map(|argument| ByteString::from(argument.as_str()));
    run_list(scene, shell_with("printf '%s\\n' \"$@\"", arguments)).await
}

/// A program that prints its argument has a name with blanks, quotes and signs of a shell in it.
pub(crate) async fn run_by_a_hostile_name(scene: &mut Scene) -> StepResult {
    let program = scene.new_path("it's \"a\" tool; $x & ").await?;
    let word = shell::word(program.as_bytes());
    let content = shell::print(b"#!/bin/sh\nprintf '%s\\n' \"$1\"\n");
    scene
        .prepare(format!("{content} > {word}; chmod 0755 {word}"))
        .await?;
    scene.notes.content = Some(b"given\n".to_vec());
    run_list(scene, vec![program, "given".into()]).await
}

/// A command that leaves a mark is given more than Linux takes on any machine: one argument or variable takes up to 32 pages,
/// which are at most 64 KiB each, and all together take at most three quarters of 8 MiB (execve(2)).
pub(crate) async fn run_with_too_much(scene: &mut Scene, what: &str) -> StepResult {
    let mark = new_mark(scene).await?;
    let long = |bytes: usize| ByteString::from("x".repeat(bytes));
    match what {
        "an argument of 3 MiB" => run_list(scene, shell_with(&mark, [long(3 * MIB)])).await,
        "arguments of 8 MiB in all" => {
            let arguments = std::iter::repeat_n(long(MIB / 16), 8 * 16);
            run_list(scene, shell_with(&mark, arguments)).await
        }
        "a variable of 3 MiB" => {
            let mut params = scene.command(mark).await?;
            params.env = vec![Variable::new("PROBE_LONG", long(3 * MIB))];
            scene.run(&params).await
        }
        other => Err(unknown(other, "too much for a machine")),
    }
}

/// Text that has an argument of that kind in it and prints the argument's bytes as hexadecimal digits; and these digits.
pub(super) fn text_that_holds(kind: &str) -> Result<(Vec<u8>, Vec<u8>), Failure> {
    let many: String;
    let held: &[u8] = match kind {
        // Three bytes each: whatever the size of a block and where the first begins, in one of the two a border lies within
        // a letter.
        "30000 letters beyond ASCII" => {
            many = "\u{20ac}".repeat(30_000);
            many.as_bytes()
        }
        "a sign and 30000 letters beyond ASCII" => {
            many = format!("a{}", "\u{20ac}".repeat(30_000));
            many.as_bytes()
        }
        "some letters beyond ASCII" => "grün € 😀 e\u{301} 日本語".as_bytes(),
        "bytes that are not valid UTF-8" => b"gr\xfcn \xff\xfe \xc3( \xed\xa0\x80",
        other => return Err(unknown(other, "held by a text")),
    };
    let text = [&b"printf '%s' '"[..], held, b"' | od -An -v -tx1 | tr -d ' \\n'"].concat();
    Ok((text, hexadecimal(held).into_bytes()))
}

/// A shell that is started as a program says what it was called.
pub(crate) async fn tell_own_name(scene: &mut Scene) -> StepResult {
    let words = ["sh", "-c", "echo \"$0\""].map(ByteString::from);
    run_list(scene, words.to_vec()).await
}
