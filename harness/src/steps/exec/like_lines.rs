//! ENV: values that look like lines of a file, which whoever reads such files would change.

use herm_protocol::{
    exec::{Command, Stream},
    sandbox::{SandboxSpec, Variable},
};

use crate::{
    scene::{Failure, Scene},
    step::StepResult,
    steps::general::show,
};

/// What stands behind each value that is printed, and in none.
const END: u8 = 0x1e;

/// What is special about each value, and the value.
const VALUES: &[(&str, &str)] = &[
    ("stands in double quotes", "\"-O2 -g\""),
    ("stands in single quotes", "'one word'"),
    ("stands in backquotes", "`id`"),
    ("has blanks at both ends", " \tboth ends\t "),
    ("has a number sign behind a blank", "one # two"),
    ("begins with a number sign", "#first"),
    ("has a backslash at its end", "C:\\directory\\"),
    ("has escapes in it", "a\\nb\\tc\\\\d\\x41\\u0041"),
    ("has signs of a format in it", "100% %s %d %%"),
    ("is a variable in braces", "${PROBE_LIKE_0} ${NOT:-set} %HOME%"),
    ("begins with a tilde", "~/directory:~"),
    ("is a star", "*"),
    ("ends with a carriage return and a line feed", "end\r\n"),
    ("ends with line feeds", "end\n\n"),
    ("looks like an assignment", "export A=b"),
    ("begins with an equals sign", "=b=\"c\""),
    (
        "has a line in it that names another",
        "one\nPROBE_LIKE_0=two\nthree",
    ),
    ("is a number with noughts before it", "007"),
    ("is a word for nothing", "null"),
    ("looks like an object", "{\"a\": [1, 2]}"),
];

/// The name of one of the variables.
fn name(number: usize) -> String {
    format!("PROBE_LIKE_{number}")
}

fn variables() -> Vec<Variable> {
    let all = VALUES.iter().enumerate();
    all.map(|(number, (_, value))| Variable::new(name(number), *value))
        .collect()
}

/// Shell text that prints them all.
fn print_all() -> String {
    let words = (0..VALUES.len()).map(|number| format!(" \"${}\"", name(number)));
    format!("printf '%s\\036'{}", words.collect::<String>())
}

/// A command is given them, and prints them.
pub(crate) async fn give_command(scene: &mut Scene) -> StepResult {
    let mut params = scene.command(print_all()).await?;
    params.env = variables();
    scene.run(&params).await
}

/// A program that no shell of the backend's starts is given them, and prints them.
pub(crate) async fn give_program(scene: &mut Scene) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let words = vec!["sh".into(), "-c".into(), print_all().into()];
    let mut params = scene.command_in(&sandbox, Command::Argv(words));
    params.env = variables();
    scene.run(&params).await
}

/// A sandbox is opened with them, and one of its commands prints them.
pub(crate) async fn give_sandbox(scene: &mut Scene) -> StepResult {
    let spec = SandboxSpec {
        env: variables(),
        ..SandboxSpec::default()
    };
    scene.prepare_sandbox(spec).await?;
    let params = scene.command(print_all()).await?;
    scene.run(&params).await
}

/// Each of the values was printed as it is.
pub(super) fn each_as_given(scene: &Scene) -> StepResult {
    scene.result()?;
    let printed = scene.record()?.bytes(Stream::Stdout);
    let mut seen = printed.split(|byte| *byte == END);
    for (what, value) in VALUES {
        let seen = seen.next().unwrap_or_default();
        if seen != value.as_bytes() {
            return Err(Failure::failed(
                format!("a value that {what} to be {}", show(value.as_bytes())),
                show(seen),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_prints_each_value_as_it_is() {
        let all = VALUES.iter().enumerate();
        let printed = std::process::Command::new("sh")
            .args(["-c", &print_all()])
            .envs(all.map(|(number, (_, value))| (name(number), *value)))
            .output()
            .unwrap();
        let expected: Vec<u8> = VALUES
            .iter()
            .flat_map(|(_, value)| [value.as_bytes(), &[END]].concat())
            .collect();
        assert_eq!(show(&printed.stdout), show(&expected));
        assert!(VALUES.iter().all(|(_, value)| !value.as_bytes().contains(&END)));
    }
}
