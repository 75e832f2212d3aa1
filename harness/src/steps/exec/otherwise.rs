//! A command that is run in another way than most are: what holds for those holds for it.

use herm_protocol::{
    ByteString,
    exec::{Command, Outcome, RunParams, Stdin},
    sandbox::Variable,
};

use super::{cwd, shell_text};
use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::composed::{number_in, unknown},
};

/// Bytes that make a text too long for an argument, where the backend takes a message of that size.
const LONG: usize = 200 * 1024;

/// A variable of a long text.
const VARIABLE: (&str, &str) = ("PROBE_LONG", "  it's \"its\" value  ");

/// Milliseconds of a deadline that is meant to pass.
const DEADLINE: u64 = 700;

/// A command whose parameters are these and that is run in the way of these words.
pub(crate) async fn run_as(
    scene: &mut Scene,
    mut params: RunParams,
    how: &str,
) -> Result<RunParams, Failure> {
    let Command::Shell(text) = &params.command else {
        return Err(Failure::suite("only a text can be run in another way"));
    };
    match how {
        "a program" => {
            let words = ["sh".into(), "-c".into(), text.clone()];
            params.command = Command::Argv(words.to_vec());
        }
        "a command of a session" => params.session = Some(scene.token()),
        "a long text" => {
            let text = text.as_bytes().to_vec();
            params.command = Command::Shell(long(scene, &text, LONG).await?);
        }
        other => return Err(unknown(other, "a way to run a command")),
    }
    Ok(params)
}

/// A text with so many bytes behind it that are not read by anybody. Whoever takes short messages only is not asked to take a
/// long one.
async fn long(scene: &mut Scene, text: &[u8], bytes: usize) -> Result<ByteString, Failure> {
    let stated = scene.initialized().await?.limits.max_message_bytes;
    let most = stated.map_or(usize::MAX, |most| usize::try_from(most / 2).unwrap_or(usize::MAX));
    let rest = format!(
        "\n: <<'END OF TEXT'\n{}\nEND OF TEXT\n",
        "x".repeat(bytes.min(most))
    );
    Ok([text, rest.as_bytes()].concat().into())
}

/// Runs a text that has so much behind what it does.
pub(super) async fn run_long(scene: &mut Scene, what: &str) -> StepResult {
    let (size, does) = what.split_once(" KiB behind what ").unwrap_or(("", what));
    let size = number_in::<usize>(size, "", "").ok_or_else(|| unknown(what, "said of a text"))? * 1024;
    let mut params = scene.command("true").await?;
    let (text, output) = match does {
        "counts its input" => ("wc -c".to_owned(), Vec::new()),
        "prints its variable" => {
            params.env = vec![Variable::new(VARIABLE.0, VARIABLE.1)];
            (format!("printf %s \"${}\"", VARIABLE.0), VARIABLE.1.into())
        }
        "prints its directory" => {
            let directory = cwd::make_named(scene, b"of a long text").await?;
            params.cwd = Some(directory.clone());
            ("pwd -P".to_owned(), [directory.as_bytes(), b"\n"].concat())
        }
        "repeats its input" => {
            let data = shell::numbered_bytes(LONG);
            params.stdin = Stdin::Bytes {
                data: data.clone().into(),
            };
            ("cat".to_owned(), data)
        }
        "sleeps beyond its deadline" => {
            params.timeout_ms = Some(DEADLINE);
            ("echo begun; sleep 20".to_owned(), b"begun\n".to_vec())
        }
        named => {
            let text = shell_text::named(named)?;
            (text.script.to_owned(), text.output.into())
        }
    };
    params.command = Command::Shell(long(scene, text.as_bytes(), size).await?);
    scene.notes.content = Some(output);
    scene.run(&params).await
}

/// A program prints the directory that it is in.
pub(crate) async fn print_directory(scene: &mut Scene) -> StepResult {
    let params = scene.command("pwd -P; printf .").await?;
    let params = run_as(scene, params, "a program").await?;
    scene.run(&params).await
}

/// Sends a program the signal on which it exits with that code.
pub(crate) async fn send_signal(scene: &mut Scene, code: u8, signal: i32) -> StepResult {
    let params = super::exit::waits_for_signal(scene, code, signal).await?;
    let params = run_as(scene, params, "a program").await?;
    super::exit::run_and_signal(scene, &params, signal).await?;
    match scene.result()?.outcome {
        Outcome::SetupFailed { .. } => Err(Failure::inconclusive("the program did not run")),
        _ => Ok(()),
    }
}
