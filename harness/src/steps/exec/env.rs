//! ENV: a command sees the variables it was given, and no secrets.

use herm_protocol::{
    exec::{Command, RunParams, Stream},
    sandbox::Variable,
};

use super::stdin::expect_content;
use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::{
        composed::unknown,
        general::{all_bytes, new_mark, show},
        lifecycle::open,
    },
};

/// A variable of the suite's own.
const NAME: &str = "PROBE_VALUE";

/// How many variables are many, and how the name of each begins.
const MANY: u32 = 1000;
const MANY_NAME: &str = "PROBE_MANY_";

pub(super) fn register(steps: &mut StepList) {
    steps
        .when(
            "a command with a variable that holds {words} prints it",
            |scene, arguments| Box::pin(async move { print_value(scene, arguments.words(0)?).await }),
        )
        .given(
            "a command was run with the variable {text} set to {text}",
            |scene, arguments| {
                Box::pin(async move {
                    let variable = Variable::new(arguments.text(0)?, arguments.text(1)?);
                    run_to_every_end(scene, variable)
                        .await
                        .map_err(Failure::while_preparing)
                })
            },
        )
        .when(
            "a command with the variable {text} set to {text} {words}",
            |scene, arguments| {
                Box::pin(async move {
                    let name = arguments.text(0)?;
                    let variable = Variable::new(name.as_str(), arguments.text(1)?);
                    let text = match arguments.words(2)? {
                        "behind another value prints it" => {
                            let text = print_of(&name);
                            let first = Variable::new(name.as_str(), "another value");
                            return run_with_all(scene, text, vec![first, variable]).await;
                        }
                        "prints it beside one in capital letters" => {
                            return print_both(scene, variable).await;
                        }
                        "prints it" => print_of(&name),
                        "prints it between two signs" => format!("printf '[%s]' \"${name}\""),
                        "prints the variable of its sandbox" => print_of(open::OF_SANDBOX),
                        "asks whether it is set" => ask_of(&name),
                        "prints every byte value" => shell::print(&all_bytes()),
                        "tells its time zone" => "date +%Z".to_owned(),
                        other => return Err(unknown(other, "done with a variable")),
                    };
                    run_with(scene, text, variable).await
                })
            },
        )
        .when("a command prints the variable {text}", |scene, arguments| {
            Box::pin(async move { run(scene, print_of(&arguments.text(0)?)).await })
        })
        .when(
            "a command asks whether the variable {text} is set",
            |scene, arguments| Box::pin(async move { run(scene, ask_of(&arguments.text(0)?)).await }),
        )
        .when("a command lists all its variables", |scene, _| {
            Box::pin(run(scene, "env".into()))
        })
        .then(
            "the secret that the backend was started with as {words} is not among them",
            |scene, arguments| Box::pin(async move { no_secret(scene, arguments.words(0)?) }),
        );
}

/// What asks whether a variable is set has printed nothing.
pub(crate) fn is_not_set(scene: &Scene) -> StepResult {
    scene.result()?;
    expect_content(b"\n", &scene.record()?.bytes(Stream::Stdout))
}

/// Runs the usual programs.
pub(crate) async fn use_programs(scene: &mut Scene) -> StepResult {
    run(scene, "ls / | cat | tr a-z A-Z | wc -c && sleep 0".into()).await
}

/// Runs a command with a variable whose name cannot be.
pub(crate) async fn run_with_name(scene: &mut Scene, name: &str) -> StepResult {
    let name = match name {
        "no name" => "",
        "an equals sign in its name" => "HERM=NAME",
        other => return Err(Failure::suite(format!("{other:?} is no name"))),
    };
    let mark = new_mark(scene).await?;
    run_with(scene, mark, Variable::new(name, "value")).await
}

async fn run(scene: &mut Scene, text: String) -> StepResult {
    let params = scene.command(text).await?;
    scene.run(&params).await
}

async fn run_with(scene: &mut Scene, text: String, variable: Variable) -> StepResult {
    run_with_all(scene, text, vec![variable]).await
}

async fn run_with_all(scene: &mut Scene, text: String, env: Vec<Variable>) -> StepResult {
    let params = scene.command(text).await?;
    scene.run(&RunParams { env, ..params }).await
}

/// Counts those of many variables that have arrived as they were given.
pub(crate) async fn use_many(scene: &mut Scene) -> StepResult {
    let given = |number| Variable::new(format!("{MANY_NAME}{number}").as_str(), format!("value {number}"));
    let text = format!(r"env | grep -c '^{MANY_NAME}\([0-9]*\)=value \1$'");
    run_with_all(scene, text, (0..MANY).map(given).collect()).await
}

/// Runs a program with a variable whose name is none to a shell, and has it list its variables.
pub(crate) async fn give_program(scene: &mut Scene, name: &str) -> StepResult {
    let name = match name {
        "a dot in its name" => "HERM.DOT",
        "a dash in its name" => "HERM-DASH",
        "brackets in its name" => "HERM(X)",
        "a digit before its name" => "1HERM",
        other => return Err(unknown(other, "in a name")),
    };
    let sandbox = scene.sandbox().await?.id;
    let mut params = scene.command_in(&sandbox, Command::Argv(vec!["env".into()]));
    params.env = vec![Variable::new(name, "its value")];
    scene.notes.content = Some(format!("{name}=its value").into_bytes());
    scene.run(&params).await
}

/// The variable in question is a line of what was printed.
pub(crate) fn is_listed(scene: &Scene) -> StepResult {
    scene.result()?;
    let listed = scene.record()?.bytes(Stream::Stdout);
    let expected = scene.notes.content.clone().unwrap_or_default();
    if listed.split(|byte| *byte == b'\n').any(|line| line == expected) {
        return Ok(());
    }
    Err(Failure::failed(
        format!("the line {}", show(&expected)),
        show(&listed),
    ))
}

/// A command that prints its own variable, which is its number, twice.
pub(super) async fn printing_own(scene: &mut Scene, number: u32) -> Result<RunParams, Failure> {
    let text = format!("echo \"begin ${NAME}\"; sleep 0.2; echo \"end ${NAME}\"");
    let mut params = scene.command(text).await?;
    params.env = vec![Variable::new(NAME, number.to_string())];
    Ok(params)
}

/// Shell text that tells whether a variable is set.
fn ask_of(name: &str) -> String {
    format!("echo ${{{name}+set}}")
}

/// Shell text that prints a variable as it is.
fn print_of(name: &str) -> String {
    format!("printf %s \"${name}\"")
}

async fn print_value(scene: &mut Scene, what: &str) -> StepResult {
    let value = value(what)?;
    scene.notes.content = Some(value.clone());
    run_with(scene, print_of(NAME), Variable::new(NAME, value)).await
}

/// A value in words.
pub(super) fn value(what: &str) -> Result<Vec<u8>, Failure> {
    let text = match what {
        "nothing" => String::new(),
        "spaces and quotes" => "  it's \"quoted\"  ".into(),
        "several lines" => "one\n\n three\n".into(),
        "what a shell would expand" => "$HOME `id` $(id) \\n * ~ ${x} %s".into(),
        "a tilde at its beginning" => "~/x:~".into(),
        "what looks like options" => "-n --x".into(),
        "an equals sign" => "=a=b=".into(),
        "control characters" => "\t\u{1}\r\u{1b}[1m\u{7f}\u{8}".into(),
        "backslashes" => r"\ \\ \n \".into(),
        "letters beyond ASCII" => "grün 日本 🚀".into(),
        "100000 bytes" => "0123456789".repeat(10_000),
        "what a shell once took for a function" => "() { :; }; echo broken into".into(),
        "bytes that are not valid UTF-8" => return Ok(b"a\xff\xfe\xc3 b".to_vec()),
        other => return Err(Failure::suite(format!("{other:?} is no value"))),
    };
    Ok(text.into_bytes())
}

fn no_secret(scene: &Scene, name: &str) -> StepResult {
    // A job's output was read, and is no record of a command.
    let listed = if let Some(read) = &scene.notes.content {
        read.clone()
    } else {
        scene.result()?;
        scene.record()?.bytes(Stream::Stdout)
    };
    if !listed.windows(5).any(|part| part == b"PATH=") {
        return Err(Failure::failed(
            "a list of variables with PATH in it",
            show(&listed),
        ));
    }
    let Some(secret) = scene.workshop()?.canary(name) else {
        return Err(Failure::inconclusive(format!(
            "the backend itself was not started with {name}"
        )));
    };
    let found = listed.windows(secret.len()).any(|part| part == secret.as_bytes());
    if found {
        return Err(Failure::failed(
            format!("the value of {name} not to reach commands"),
            "it is in their environment",
        ));
    }
    Ok(())
}

/// Runs commands with this variable that end by themselves, at their deadline, and before they have begun.
async fn run_to_every_end(scene: &mut Scene, variable: Variable) -> StepResult {
    let mut all = vec![scene.command("true").await?];
    if scene.declares("timeout").await? {
        let timeout_ms = Some(200);
        let command = scene.command("sleep 20").await?;
        all.push(RunParams {
            timeout_ms,
            ..command
        });
    }
    if scene.declares("cwd").await? {
        let cwd = Some("/herm-no-such-directory".into());
        let command = scene.command("true").await?;
        all.push(RunParams { cwd, ..command });
    }
    for mut params in all {
        params.env = vec![variable.clone()];
        scene.run(&params).await?;
        scene.result()?;
    }
    Ok(())
}

/// Prints a variable, and one whose name is the same in capital letters, and its value, too.
async fn print_both(scene: &mut Scene, small: Variable) -> StepResult {
    let name = small.name.to_string_lossy().into_owned();
    let capital = name.to_uppercase();
    let text = format!("printf '%s %s' \"${name}\" \"${capital}\"");
    let mut params = scene.command(text).await?;
    params.env = vec![small, Variable::new(capital.as_str(), capital.as_str())];
    scene.run(&params).await
}
