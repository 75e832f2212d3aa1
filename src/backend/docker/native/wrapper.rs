//! A command in words for the engine's exec, which takes text only.

use std::fmt::Write as _;

use super::super::sandbox::Shell;
use herm_protocol::{
    ByteString,
    exec::{Command, SetupFailure},
    sandbox::Variable,
};

/// What becomes the command.
const SCRIPT: &str = include_str!("wrapper.sh");

/// The longest word that a system takes, in bytes with its final NUL (execve(2)).
const LONGEST_WORD: usize = 128 * 1024;

/// Words of a command as the engine is asked to run them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) argv: Vec<String>,
    /// Variables that the shell which becomes the command is started with.
    pub(super) env: Vec<String>,
}

impl Words {
    /// Bytes of all of them.
    pub(super) fn size(&self) -> usize {
        self.argv.iter().chain(&self.env).map(|word| word.len() + 1).sum()
    }
}

/// What a command has told before it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It runs, as the process of that number in its sandbox, where so many were killed for lack of memory before.
    Runs(u32, Option<u64>),
    /// There is no command.
    Refused(SetupFailure, String),
}

/// How a command is asked for. A shell text is the argument of `shell`; where it is too long for that, it is in `text_file`.
pub(super) fn words(
    secret: &str,
    command: &Command,
    (shell, text_file): (Shell, Option<&str>),
    cwd: &ByteString,
    variables: &[Variable],
) -> Words {
    let mut argv = vec![
        shell.posix.to_owned(),
        "-c".into(),
        SCRIPT.into(),
        "sh".into(),
        secret.into(),
    ];
    argv.push(word(cwd.as_bytes()));
    let (mut env, mut exported, mut odd) = (Vec::new(), Vec::new(), Vec::new());
    for Variable { name, value } in variables {
        let whole = [name.as_bytes(), b"=", value.as_bytes()].concat();
        if !is_identifier(name.as_bytes()) {
            odd.push(whole);
            continue;
        }
        match String::from_utf8(whole) {
            Ok(text) => env.push(text),
            Err(bytes) => exported.push(word(bytes.as_bytes())),
        }
    }
    argv.push(exported.len().to_string());
    argv.extend(exported);
    argv.push(odd.len().to_string());
    let of_command: Vec<Vec<u8>> = match command {
        Command::Argv(words) => words.iter().map(|word| word.as_bytes().to_vec()).collect(),
        Command::Shell(text) => {
            let text = match text_file {
                Some(file) => format!(". '{file}'").into_bytes(),
                None => text.as_bytes().to_vec(),
            };
            vec![
                shell.path.into(),
                b"-c".to_vec(),
                b"--".to_vec(),
                text,
                shell.name.into(),
            ]
        }
    };
    let words: Vec<Vec<u8>> = odd.into_iter().chain(of_command).collect();
    let plain: Result<Vec<String>, _> = words.iter().cloned().map(String::from_utf8).collect();
    if let Ok(plain) = plain {
        argv.push("all".into());
        argv.extend(plain);
    } else {
        argv.push(words.len().to_string());
        argv.extend(words.iter().map(|bytes| word(bytes)));
    }
    Words { argv, env }
}

/// Whether a text has to go by a file.
pub(super) fn is_long(text: &ByteString) -> bool {
    word(text.as_bytes()).len() >= LONGEST_WORD
}

/// A word as the script reads it.
fn word(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => format!("={text}"),
        Err(_) => bytes.iter().fold(String::from("%"), |mut word, byte| {
            // Writing to a string does not fail.
            let _ = match byte {
                b'\\' => write!(word, "\\\\"),
                b' '..=b'~' => write!(word, "{}", char::from(*byte)),
                _ => write!(word, "\\0{byte:03o}"),
            };
            word
        }),
    }
}

fn is_identifier(name: &[u8]) -> bool {
    let first = name
        .first()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    first
        && name
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// What a line tells, if it begins with the secret word.
pub(super) fn told(line: &[u8], secret: &str, command: &Command) -> Option<Told> {
    let line = line.strip_prefix(secret.as_bytes())?.strip_prefix(b" ")?;
    let line = String::from_utf8_lossy(line);
    if let Some(numbers) = line.strip_prefix("yes ") {
        let (pid, killed) = numbers.trim().split_once(' ')?;
        return Some(Told::Runs(pid.parse().ok()?, killed.parse().ok()));
    }
    let reason = line.strip_prefix("no ")?.trim_end();
    let (kind, about) = reason.split_once(' ').unwrap_or((reason, ""));
    let program = match command {
        Command::Argv(words) => words
            .first()
            .map(|word| String::from_utf8_lossy(word.as_bytes()).into_owned())
            .unwrap_or_default(),
        Command::Shell(_) => "the shell".into(),
    };
    let is_text = matches!(command, Command::Shell(_));
    Some(match kind {
        "cwd_denied" => Told::Refused(
            SetupFailure::CwdDenied,
            "the directory to start in may not be entered".into(),
        ),
        "cwd_not_a_directory" => Told::Refused(
            SetupFailure::CwdNotADirectory,
            "the path to start in is no directory".into(),
        ),
        "cwd_not_found" => Told::Refused(
            SetupFailure::CwdNotFound,
            "the directory to start in does not exist".into(),
        ),
        "program_not_found" if is_text => {
            Told::Refused(SetupFailure::ShellNotFound, "there is no shell in PATH".into())
        }
        "program_not_found" => Told::Refused(
            SetupFailure::ProgramNotFound,
            format!("program {program} does not exist, or is not in PATH"),
        ),
        "program_denied" => Told::Refused(
            SetupFailure::ProgramDenied,
            format!("program {program} cannot be run: {about}"),
        ),
        "no_env" => Told::Refused(
            SetupFailure::Other,
            "a variable has a name that no shell holds, and there is no env in the image to pass it on"
                .into(),
        ),
        other => Told::Refused(SetupFailure::Other, other.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command as Process;

    use super::*;

    const SH: Shell = Shell {
        name: "sh",
        path: "/bin/sh",
        posix: "/bin/sh",
    };

    fn run(command: &Command, cwd: &str, variables: &[Variable]) -> (Option<i32>, Vec<u8>, Vec<u8>) {
        let words = words("s3cret", command, (SH, None), &cwd.into(), variables);
        let env = words.env.iter().map(|variable| variable.split_once('=').unwrap());
        let output = Process::new(&words.argv[0])
            .args(&words.argv[1..])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .envs(env)
            .output()
            .unwrap();
        (output.status.code(), output.stdout, output.stderr)
    }

    fn argv(words: &[&[u8]]) -> Command {
        Command::Argv(words.iter().map(|word| word.to_vec().into()).collect())
    }

    /// What the command itself has printed: the line that tells of it is on both streams.
    fn printed(stdout: &[u8]) -> &[u8] {
        let length = stdout.iter().position(|byte| *byte == b'\n').unwrap();
        let told = told(&stdout[..length], "s3cret", &argv(&[b"true"]));
        assert!(matches!(told, Some(Told::Runs(..))), "{told:?}");
        &stdout[length + 1..]
    }

    #[test]
    fn a_program_is_called_by_the_name_that_it_was_given() {
        let tells: &[u8] = b"tr '\\0' ' ' </proc/$$/cmdline | cut -d' ' -f1";
        for name in ["sh", "/bin/sh"] {
            let (_, stdout, stderr) = run(&argv(&[name.as_bytes(), b"-c", tells]), "/", &[]);
            let shown = String::from_utf8_lossy(&stderr);
            assert_eq!(printed(&stdout), format!("{name}\n").as_bytes(), "{shown}");
        }
        // Not what the shell itself has by that name.
        let (code, stdout, _) = run(&argv(&[b"echo", b"--version"]), "/", &[]);
        assert_eq!(code, Some(0));
        assert!(printed(&stdout).starts_with(b"echo ("));
    }

    #[test]
    fn words_and_variables_arrive_byte_for_byte() {
        let odd: &[&[u8]] = &[
            b"printf",
            b"%s\\n",
            b"",
            b"a b'\"$x\n",
            b"=c%d\\n",
            b"\xff\\%\n\x01\n",
        ];
        let variables = [
            Variable::new("A", "x\ny\n"),
            Variable::new("B", b"\xfe\n".to_vec()),
        ];
        let (code, stdout, stderr) = run(&argv(odd), "/", &variables);
        assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&stderr));
        assert_eq!(
            printed(&stdout),
            odd[2..]
                .iter()
                .flat_map(|word| [word, &b"\n"[..]].concat())
                .collect::<Vec<_>>()
        );
        let told = told(&stderr, "s3cret", &argv(odd));
        assert!(matches!(told, Some(Told::Runs(..))), "{told:?}");
        let text = Command::Shell("printf '%s|' \"$A\" \"$B\" \"$0\" $#; pwd".into());
        let (_, stdout, _) = run(&text, "/tmp", &variables);
        assert_eq!(printed(&stdout), b"x\ny\n|\xfe\n|sh|0|/tmp\n");
    }

    #[test]
    fn many_words_take_little_time() {
        let many: Vec<Vec<u8>> = (0..10_000).map(|number: u32| number.to_string().into()).collect();
        let words = [b"printf".to_vec(), b"%s\n".to_vec()].into_iter().chain(many);
        let command = Command::Argv(words.map(Into::into).collect());
        let begun = std::time::Instant::now();
        let (_, stdout, _) = run(&command, "/", &[]);
        assert_eq!(printed(&stdout).split(|byte| *byte == b'\n').count() - 1, 10_000);
        assert!(begun.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn why_there_is_no_command_is_told_apart() {
        for (command, cwd, expected) in [
            (argv(&[b"true"]), "/no/where", SetupFailure::CwdNotFound),
            (argv(&[b"true"]), "/etc/passwd", SetupFailure::CwdNotADirectory),
            (argv(&[b"no-such-program"]), "/", SetupFailure::ProgramNotFound),
            (argv(&[b"/no/such"]), "/", SetupFailure::ProgramNotFound),
            (argv(&[b"/etc"]), "/", SetupFailure::ProgramDenied),
            (argv(&[b"/etc/passwd"]), "/", SetupFailure::ProgramDenied),
        ] {
            let (code, _, stderr) = run(&command, cwd, &[]);
            assert_eq!(code, Some(125));
            match told(&stderr, "s3cret", &command) {
                Some(Told::Refused(kind, _)) => assert_eq!(kind, expected),
                other => panic!("{expected:?}: {other:?}"),
            }
        }
        assert_eq!(told(b"other yes 1", "s3cret", &argv(&[b"true"])), None);
    }

    #[test]
    fn a_name_that_no_shell_holds_reaches_a_program_all_the_same() {
        let odd = [Variable::new("a-b", "c d"), Variable::new("P", "q")];
        let (code, stdout, stderr) = run(&argv(&[b"env"]), "/", &odd);
        assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&stderr));
        let told = String::from_utf8(stdout).unwrap();
        assert!(told.contains("a-b=c d\n") && told.contains("P=q\n"), "{told}");
    }
}
