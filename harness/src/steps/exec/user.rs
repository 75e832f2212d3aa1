//! USER: who a command runs as, and what comes with that.

use std::time::SystemTime;

use herm_protocol::exec::{Outcome, RunParams, Stream};

use crate::{
    scene::{Failure, Scene},
    step::{StepList, StepResult},
    steps::{
        composed::unknown,
        general::{expect_outcome, new_mark, show},
        isolation::{self, r#priv},
    },
};

/// A user that no system has.
const NOBODY_KNOWN: &str = "herm-no-such-user";

/// A line each: name and value of what tells the user; what is not set has no line.
const WHO: &str = "echo \"name=$(id -un)\"; echo \"entry=$(sed -n \"s/^$(id -un):.*:\\([^:]*\\):[^:]*$/\\1/p\" /etc/passwd)\"
for name in USER LOGNAME HOME; do eval \"[ -z \\\"\\${$name+x}\\\" ] || echo \\\"$name=\\$$name\\\"\"; done
if [ -d \"${HOME-/}\" ]; then echo there=yes; fi";

pub(super) fn register(steps: &mut StepList) {
    steps
        .when("a command tells {words}", |scene, arguments| {
            Box::pin(async move {
                let text = match arguments.words(0)? {
                    "who it is" => WHO.to_owned(),
                    "the time" => "date +%s".to_owned(),
                    "the rights of a file that it makes" => {
                        let mark = new_mark(scene).await?;
                        let path = mark.trim_start_matches(": > ").to_owned();
                        format!("{mark} && ls -ld {path}")
                    }
                    other => return isolation::tell(scene, other).await,
                };
                let params = scene.command(text).await?;
                scene.run(&params).await
            })
        })
        .when(
            "a command as the user {text} tells {words}",
            |scene, arguments| {
                Box::pin(async move {
                    let user = arguments.text(0)?;
                    match arguments.words(1)? {
                        "who it is" => {}
                        "what it may do" => return r#priv::tell_by_user(scene, user).await,
                        other => return Err(unknown(other, "told")),
                    }
                    scene.notes.name = Some(user.clone());
                    let params = RunParams {
                        user: Some(user),
                        ..scene.command(WHO).await?
                    };
                    scene.run(&params).await
                })
            },
        )
        .then("the user {words}", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "is told alike, with a home that is there" => told_alike(scene),
                    "is the one that was asked for" => as_asked(scene),
                    "is refused by name" => refused_by_name(scene),
                    "can change the file, and not everybody" => owns_file(scene),
                    "is told the time of this machine, within 60 seconds" => right_time(scene),
                    other => Err(unknown(other, "seen of a user")),
                }
            })
        });
}

/// Runs a command as a user that is not there.
pub(crate) async fn run_as_unknown(scene: &mut Scene) -> StepResult {
    let text = new_mark(scene).await?;
    let params = RunParams {
        user: Some(NOBODY_KNOWN.into()),
        ..scene.command(text).await?
    };
    scene.run(&params).await
}

/// The value of a line of what was printed.
fn told<'a>(output: &'a str, name: &str) -> Option<&'a str> {
    output
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
}

fn output(scene: &Scene) -> Result<String, Failure> {
    expect_outcome(scene, &Outcome::Exited { code: 0 })?;
    Ok(String::from_utf8_lossy(&scene.record()?.bytes(Stream::Stdout)).into_owned())
}

fn told_alike(scene: &Scene) -> StepResult {
    // The last test of the text may say that there is no home, which is told below.
    let output = output(scene)?;
    let name = told(&output, "name").unwrap_or_default();
    for variable in ["USER", "LOGNAME"] {
        if let Some(value) = told(&output, variable).filter(|value| *value != name) {
            return Err(Failure::failed(
                format!("{variable} to be {name:?}, whom the command runs as, or not set"),
                format!("{value:?}"),
            ));
        }
    }
    match told(&output, "HOME") {
        Some(home) if !home.starts_with('/') || told(&output, "there").is_none() => Err(Failure::failed(
            "HOME to be a directory that is there, or not set",
            format!("{home:?}"),
        )),
        _ => Ok(()),
    }
}

fn as_asked(scene: &Scene) -> StepResult {
    let output = output(scene)?;
    let asked = scene.notes.name.clone().unwrap_or_default();
    let name = told(&output, "name").unwrap_or_default();
    if name != asked {
        return Err(Failure::failed(
            format!("the command to run as {asked:?}"),
            format!("it runs as {name:?}"),
        ));
    }
    let entry = told(&output, "entry").unwrap_or_default();
    match told(&output, "HOME") {
        Some(home) if !entry.is_empty() && home != entry => Err(Failure::failed(
            format!("HOME to be {entry:?}, as the list of users says, or not set"),
            format!("{home:?}"),
        )),
        _ => Ok(()),
    }
}

fn refused_by_name(scene: &Scene) -> StepResult {
    let said = match (&scene.refusal, scene.record()?.result()) {
        (Some(error), _) => error.message.clone(),
        (None, Some(result)) => match &result.outcome {
            Outcome::SetupFailed { message, .. } => message.clone(),
            other => {
                return Err(Failure::failed(
                    "a refusal, or a set-up that failed",
                    other.to_string(),
                ));
            }
        },
        (None, None) => return Err(Failure::suite("no command has ended")),
    };
    if said.contains(NOBODY_KNOWN) {
        return Ok(());
    }
    Err(Failure::failed(
        format!("a message that names {NOBODY_KNOWN}"),
        said,
    ))
}

fn owns_file(scene: &Scene) -> StepResult {
    let output = output(scene)?;
    let rights = output.as_bytes();
    let right = |at: usize| rights.get(at).copied().unwrap_or_default();
    if right(1) == b'r' && right(2) == b'w' && right(8) == b'-' {
        return Ok(());
    }
    Err(Failure::failed(
        "rights that let the owner read and write, and not everybody write",
        show(rights.get(..10).unwrap_or(rights)),
    ))
}

fn right_time(scene: &Scene) -> StepResult {
    let output = output(scene)?;
    let seen: u64 = output
        .trim()
        .parse()
        .map_err(|_| Failure::failed("seconds since 1970", show(output.as_bytes())))?;
    let here = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    if seen.abs_diff(here) <= 60 {
        return Ok(());
    }
    Err(Failure::failed(
        format!("about {here} seconds since 1970"),
        format!("{seen}"),
    ))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_real_shell_tells_who_it_is() {
        let run = |home: Option<&str>| {
            let mut command = Command::new("sh");
            command.args(["-c", WHO]).env("USER", "a b").env_remove("LOGNAME");
            match home {
                Some(home) => command.env("HOME", home),
                None => command.env_remove("HOME"),
            };
            String::from_utf8(command.output().unwrap().stdout).unwrap()
        };
        let seen = run(Some("/nowhere"));
        assert_eq!(
            [
                told(&seen, "USER"),
                told(&seen, "HOME"),
                told(&seen, "LOGNAME"),
                told(&seen, "there")
            ],
            [Some("a b"), Some("/nowhere"), None, None]
        );
        assert!(told(&seen, "name").is_some_and(|name| !name.is_empty()));
        assert_eq!(told(&run(None), "HOME"), None);
    }
}
