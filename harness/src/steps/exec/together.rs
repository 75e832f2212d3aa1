//! Many commands of one step, and what each of them should have been answered.

use std::time::Duration;

use futures::future::join_all;
use herm_protocol::{
    ByteString,
    client::{Exec, ExecRecord},
    exec::{Capture, Command, Outcome, Stream},
    hexadecimal,
    sandbox::Variable,
};
use sha2::{Digest as _, Sha256};

use super::named_alike;
use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::{
        composed::unknown,
        general::{difference, show},
    },
};

/// Bytes that each of several commands prints that print much.
const MUCH: usize = 256 * 1024;

/// How long commands that run at the same time may take.
const TOGETHER: Duration = Duration::from_secs(30);

/// Seconds that each of several commands runs of which one ends early.
const RUNS: &str = "1";

/// The deadline of the one that ends early, in milliseconds.
const EARLY: u64 = 300;

/// The deadline of the others, where they have one, in milliseconds: long after their end.
const LATE: u64 = 60_000;

/// What one of several commands should have been answered.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    /// Its exit code.
    pub(crate) code: u8,
    /// What it printed.
    pub(crate) output: Vec<u8>,
    /// Whether only the digest of what it printed is told.
    pub(crate) by_digest: bool,
}

impl Expected {
    /// A success with this output.
    pub(crate) fn output(output: impl Into<Vec<u8>>) -> Self {
        Self {
            code: 0,
            output: output.into(),
            by_digest: false,
        }
    }
}

pub(super) fn register(steps: &mut StepList) {
    steps
        .when(
            "{int} commands that {words} run at the same time",
            |scene, arguments| {
                Box::pin(async move { run_together(scene, arguments.int(0)?, arguments.words(1)?).await })
            },
        )
        .when("one of {int} commands {words}", |scene, arguments| {
            Box::pin(async move { end_one(scene, arguments.int(0)?, arguments.words(1)?).await })
        })
        .then("each {words}", |scene, arguments| {
            Box::pin(async move { each(scene, arguments.words(0)?).await })
        });
}

async fn each(scene: &mut Scene, what: &str) -> StepResult {
    match what {
        "has received its own number and nothing else"
        | "of the others has received its own number and nothing else"
        | "has been answered with its own output and its own code"
        | "has been answered with the digest of its own output"
        | "has found what is its own, and nothing else"
        | "has stood in its own directory and seen its own variable" => expect_each(scene),
        "thing in it is told once, as what it is, in the order of the bytes of its name" => {
            crate::steps::files::tree::all_listed(scene).await
        }
        "is as it was given" => super::like_lines::each_as_given(scene),
        "is told with its size" => crate::steps::files::large::each_with_its_size(scene),
        "job is told as it ended" => super::job::each_as_it_ended(scene).await,
        "was answered once, and truly" => super::cancel::answered_truly(scene),
        "was answered once, as lost, ended or refused" => super::race::answered_after_close(scene),
        other => Err(unknown(other, "seen of each")),
    }
}

/// Waits for commands that were started together, and keeps what was seen of them.
pub(crate) async fn await_all(scene: &mut Scene, execs: Vec<Exec>, patience: Duration) -> StepResult {
    let records = join_all(execs.into_iter().map(|exec| exec.wait(patience))).await;
    let records: Result<Vec<_>, _> = records.into_iter().collect();
    scene.notes.records = records.map_err(|fault| scene.broken(fault))?;
    Ok(())
}

async fn run_together(scene: &mut Scene, count: u32, what: &str) -> StepResult {
    let mut prepared = Vec::new();
    for number in 0..count {
        prepared.push(prepare(scene, number, what).await?);
    }
    let mut execs = Vec::new();
    for (params, expected) in prepared {
        execs.push(scene.start(&params).await?);
        scene.notes.expected.push(expected);
    }
    let patience = scene.scaled(TOGETHER);
    await_all(scene, execs, patience).await
}

/// One of several commands, and what it should be answered.
async fn prepare(
    scene: &mut Scene,
    number: u32,
    what: &str,
) -> Result<(herm_protocol::exec::RunParams, Expected), Failure> {
    match what {
        "print their own number" | "print their own number under names that hardly differ" => {
            let mut params = scene
                .command(format!("echo begin {number}; sleep 0.2; echo end {number}"))
                .await?;
            if what.ends_with("hardly differ") {
                params.exec = hardly_different(scene, number);
            }
            Ok((
                params,
                Expected::output(format!("begin {number}\nend {number}\n")),
            ))
        }
        "print their own variable" => {
            let params = super::env::printing_own(scene, number).await?;
            let output = format!("begin {number}\nend {number}\n");
            Ok((params, Expected::output(output)))
        }
        "read their input to its end" => {
            let params = scene.command(format!("cat; echo {number}")).await?;
            Ok((params, Expected::output(format!("{number}\n"))))
        }
        "print much of their own" => {
            let line = format!("this is of number {number:03}\n").into_bytes();
            let text = format!("yes {} | head -c {MUCH}", shell::word(line.trim_ascii_end()));
            let mut params = scene.command(text).await?;
            params.capture = Some(Capture {
                head: 0,
                tail: 0,
                digest: true,
            });
            let mut output = line.repeat(MUCH / line.len() + 1);
            output.truncate(MUCH);
            Ok((
                params,
                Expected {
                    by_digest: true,
                    ..Expected::output(output)
                },
            ))
        }
        "tell their own directory and their own variable again and again" => {
            let name = format!("of-{}{number}", scene.token());
            let path = scene.path_of(name.as_bytes()).await?;
            scene
                .prepare(format!("mkdir -p {}", shell::word(path.as_bytes())))
                .await?;
            let tell = "basename \"$(pwd -P)\"; echo \"$PROBE_OWN\"; sleep 0.1";
            let sandbox = scene.sandbox().await?.id;
            let text = format!("{tell}; {tell}; {tell}");
            let mut params = scene.command_in(&sandbox, Command::Shell(ByteString::from(text)));
            params.cwd = Some(path);
            params.env = vec![Variable::new("PROBE_OWN", name.as_str())];
            Ok((params, Expected::output(format!("{name}\n{name}\n").repeat(3))))
        }
        other => Err(unknown(other, "done by several commands")),
    }
}

/// A name that others of the scenario differ from in one sign, or in how that is written.
fn hardly_different(scene: &mut Scene, number: u32) -> String {
    const SIGNS: [&str; 8] = [
        "a.b",
        "a b",
        "a_b",
        "A_b",
        "a/b",
        "a\u{e9}",
        "ae\u{301}",
        "a\u{fc}",
    ];
    let token = scene.token();
    let stem = scene.notes.name.get_or_insert(token);
    format!("{stem}{}", SIGNS[number as usize % SIGNS.len()])
}

/// One of several commands that run at the same time ends before the others. It is the last command from here on; the others
/// are those that are looked at together.
async fn end_one(scene: &mut Scene, count: usize, how: &str) -> StepResult {
    if let Some(how) = how.strip_prefix("whose names are alike ") {
        return named_alike::mean_one(scene, count, how).await;
    }
    let (deadline, of_others) = match how {
        "is cancelled" => (None, None),
        "runs into its deadline" => (Some(EARLY), None),
        "that have a deadline each runs into its own" => (Some(EARLY), Some(LATE)),
        other => return Err(unknown(other, "the end of one of several commands")),
    };
    let chosen = count / 2;
    let mut execs = Vec::new();
    for number in 0..count {
        let text = format!("echo begin {number}; sleep {RUNS}; echo end {number}");
        let mut params = scene.command(text).await?;
        params.timeout_ms = if number == chosen { deadline } else { of_others };
        execs.push(scene.start(&params).await?);
        let output = format!("begin {number}\nend {number}\n");
        scene.notes.expected.push(Expected::output(output));
    }
    let patience = scene.patience();
    let exec = execs
        .get_mut(chosen)
        .ok_or_else(|| Failure::suite("no command runs"))?;
    if deadline.is_none() {
        exec.wait_until(patience, |record| !record.pieces.is_empty())
            .await?;
        exec.cancel(patience).await?;
    }
    await_all(scene, execs, patience).await?;
    scene.notes.expected.remove(chosen);
    let ended = scene.notes.records.remove(chosen);
    scene.notes.number = deadline;
    scene.keep(ended);
    Ok(())
}

/// Each of several commands was answered with what is its own.
pub(crate) fn expect_each(scene: &Scene) -> StepResult {
    let (records, expected) = (&scene.notes.records, &scene.notes.expected);
    if records.is_empty() || records.len() != expected.len() {
        return Err(Failure::suite(
            "several commands are to be looked at, and none were run",
        ));
    }
    for (place, (record, expected)) in records.iter().zip(expected).enumerate() {
        let which = format!("number {} of the {} that are looked at", place + 1, records.len());
        expect_one(record, expected, &which)?;
    }
    Ok(())
}

fn expect_one(record: &ExecRecord, expected: &Expected, which: &str) -> StepResult {
    let code = i32::from(expected.code);
    let result = match &record.answer {
        Some(Ok(result)) if result.outcome == (Outcome::Exited { code }) => result,
        answer => {
            let seen = match answer {
                Some(Ok(result)) => result.outcome.to_string(),
                Some(Err(error)) => error.to_string(),
                None => "it was not answered".into(),
            };
            let output = show(&record.bytes(Stream::Stdout));
            return Err(Failure::failed(
                format!("each command to come to its own end, and {which} to exit with code {code}"),
                format!("{which} was told as {seen}; its output was {output}"),
            ));
        }
    };
    if expected.by_digest {
        let digest = hexadecimal(&Sha256::digest(&expected.output));
        let right = result.stdout.sha256.as_ref() == Some(&digest)
            && result.stdout.bytes == expected.output.len() as u64;
        return if right {
            Ok(())
        } else {
            Err(Failure::failed(
                format!(
                    "{which} to have written {} bytes, SHA-256 {digest}",
                    expected.output.len()
                ),
                super::out::in_words(&result.stdout),
            ))
        };
    }
    let seen = record.bytes(Stream::Stdout);
    if seen == expected.output {
        return Ok(());
    }
    Err(Failure::failed(
        format!("{which} to have written {}", show(&expected.output)),
        format!("{}{}", show(&seen), difference(&expected.output, &seen)),
    ))
}
