//! The command line of `herm exec`.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::PathBuf,
    time::Duration,
};

use clap::{
    Args,
    builder::{OsStringValueParser, TypedValueParser as _},
};
use herm::backend::local::SpoolFull;
use herm_protocol::{exec::Command, sandbox::Variable};

use super::tools::Tool;
use crate::cli::configured::BackendArguments;

/// Run one command through the executor.
///
/// Its input, unless that is a terminal, and its output are passed through byte for byte as they come. The command does
/// not see this process's environment, except for HOME, LANG, LC_*, LOGNAME, PATH, TMPDIR, TZ and USER.
///
/// When the command ends, what it left running ends too, unless the sandbox is kept under a key.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes:
  the command's own, when it ended by itself; 128 + N when signal N ended it
  2    the command line or the configuration cannot be used, or names a backend that is not there; nothing ran
  4    the executor is broken, or output cannot be written
  124  the deadline passed
  126  the program or the directory cannot be used
  127  the program or the shell is not there
  130  interrupted (Ctrl-C); 129 and 143 for SIGHUP and SIGTERM
  141  whoever read the output has gone, as after | head: the command was cancelled; with --detach the job runs, and
       standard error says its id")]
pub(in crate::cli) struct Arguments {
    #[command(flatten)]
    pub(super) backend: BackendArguments,
    /// Keep the sandbox under this key: the next command with the key finds it again, with its files and what runs in it;
    /// `herm rm` removes it
    #[arg(long, value_name = "KEY")]
    pub(super) key: Option<String>,
    /// Do not wait: print the id of a job, which `herm jobs` tells more of. It is given all of the input, unless that is a
    /// terminal, at its start: 8 MiB at most, read to its end first; with `< /dev/null` it has none
    #[arg(long, requires = "key", conflicts_with = "json")]
    pub(super) detach: bool,
    /// What happens to the output of a job that nobody reads when 64 MiB of a stream are kept: with block the job waits for a
    /// reader, with `drop_oldest` it goes on, and whoever reads is told which bytes are gone
    #[arg(long, value_name = "HOW", requires = "detach", default_value_t)]
    pub(super) spool_full: SpoolFull,
    /// Start from the state that the last command of this session left, and leave it for the next: the directory, exported
    /// variables, functions and aliases. A command that did not come to its own end leaves nothing; of several at a time each
    /// starts from what was there, and the last to end leaves all of its state. Not with --detach: a job leaves no state
    #[arg(long, value_name = "NAME", requires = "key", conflicts_with_all = ["program", "detach"])]
    pub(super) session: Option<String>,
    /// The directory that it starts in [default: what terminal.cwd of the configuration says; else with --key, or in a
    /// container, the sandbox's own, otherwise the current one]
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,
    /// A variable that it sees; can be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = OsStringValueParser::new().try_map(variable))]
    pub(super) env: Vec<Variable>,
    /// A tool that the command may call as `"$HERM_RPC" call NAME`: PROGRAM runs outside the sandbox, with the arguments on
    /// its standard input, and what it prints is the reply; what it leaves running ends with it, at the latest with this
    /// command; can be given several times
    #[arg(long, value_name = "NAME=PROGRAM", value_parser = Tool::parse, conflicts_with = "detach")]
    pub(super) rpc: Vec<Tool>,
    /// The deadline: a number with ms, s, m or h; 0s is none [default: terminal.timeout of the configuration, 180s when
    /// nobody says; none with --detach]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(super) timeout: Option<Duration>,
    /// Print one JSON object instead of the output: `outcome`, `stdout`, `stderr`, `totals`, `gaps`, `duration_ms` and
    /// `notices`; or, when nothing ran, `error` with `code`, `message` and `data`. Standard error stays
    /// empty then, but for log
    #[arg(long)]
    pub(super) json: bool,
    /// Text for the shell: bash, or sh where there is no bash
    #[arg(
        short = 'c',
        value_name = "TEXT",
        conflicts_with = "program",
        required_unless_present = "program"
    )]
    text: Option<OsString>,
    /// A program with its arguments, no shell between
    #[arg(trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

impl Arguments {
    pub(super) fn command(&self) -> Command {
        match &self.text {
            Some(text) => Command::Shell(text.clone().into()),
            None => Command::Argv(self.program.iter().cloned().map(Into::into).collect()),
        }
    }
}

fn variable(text: OsString) -> Result<Variable, String> {
    match text.as_bytes().iter().position(|byte| *byte == b'=') {
        None | Some(0) => Err("it has no name and value with \"=\" between".into()),
        Some(position) => {
            let mut name = text.into_vec();
            let value = name.split_off(position + 1);
            name.pop();
            Ok(Variable::new(name, value))
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err("it is no number with ms, s, m or h after it, such as 500ms or 5s".into()),
    };
    let number: u64 = number
        .parse()
        .map_err(|error| format!("its number cannot be used: {error}"))?;
    Ok(Duration::from_millis(number.saturating_mul(factor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        for (text, milliseconds) in [
            ("0s", 0),
            ("500ms", 500),
            ("5s", 5000),
            ("2m", 120_000),
            ("1h", 3_600_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)));
        }
        for text in ["", "5", "s", "-1s", "1.5s", "5 s", "99999999999999999999s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_variable_is_cut_at_its_first_equals_sign() {
        assert_eq!(variable("A=b=c".into()), Ok(Variable::new("A", "b=c")));
        assert_eq!(variable("A=".into()), Ok(Variable::new("A", "")));
        assert!(variable("A".into()).is_err());
        assert!(variable("=b".into()).is_err());
    }
}
