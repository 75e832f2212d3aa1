//! What the program is told by its arguments and variables.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    path::PathBuf,
    time::Duration,
};

use crate::{file::Operation, wire::proof::SECRET};

/// The variable that a secret is given in, in hexadecimal.
const SECRET_VARIABLE: &str = "HERM_RESIDENT_SECRET";

/// How long a daemon stays when nothing goes on, unless it is told.
const IDLE: Duration = Duration::from_mins(15);

const USAGE: &str = "usage: init [--dial DIR] [--dir DIR] [--leash FILE] [--idle SECONDS] | \
                     daemon DIR [--idle SECONDS] [--leash] | serve DIR [--relay] [--text] [--idle SECONDS] | call TOOL | \
                     file OP PATH | --version";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Init,
    Daemon,
    Serve,
    /// Calls a tool for code of a command.
    Call,
    /// Works on files, for a host.
    File,
    Version,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) mode: Mode,
    /// The resident's own directory.
    pub(crate) directory: Option<PathBuf>,
    /// Where clients make sockets to be dialled.
    pub(crate) dial: Option<PathBuf>,
    /// `None` stays for ever.
    pub(crate) idle: Option<Duration>,
    /// Whether it ends with whoever holds the other end of its standard input.
    pub(crate) leash: bool,
    /// A pipe that somebody else holds open for writing, and with whom it ends.
    pub(crate) leash_file: Option<PathBuf>,
    pub(crate) relay: bool,
    pub(crate) text: bool,
    /// The tool to call.
    pub(crate) tool: Option<OsString>,
    /// What to do with files.
    pub(crate) operation: Option<Operation>,
}

impl Arguments {
    /// What arguments say.
    pub(crate) fn parse(arguments: &[OsString]) -> Result<Self, String> {
        let mut rest = arguments.iter();
        let mode = match rest.next().and_then(|mode| mode.to_str()) {
            Some("init") => Mode::Init,
            Some("daemon") => Mode::Daemon,
            Some("serve") => Mode::Serve,
            Some("call") => Mode::Call,
            Some("file") => Mode::File,
            Some("--version") => Mode::Version,
            _ => return Err(USAGE.into()),
        };
        let idle = Some(IDLE).filter(|_| mode != Mode::Init);
        let mut parsed = Self {
            mode,
            directory: None,
            dial: None,
            idle,
            leash: false,
            leash_file: None,
            relay: false,
            text: false,
            tool: None,
            operation: None,
        };
        if mode == Mode::Call {
            return parsed.calls(rest.as_slice());
        }
        if mode == Mode::File {
            parsed.operation = Some(Operation::parse(rest.as_slice())?);
            return Ok(parsed);
        }
        while let Some(argument) = rest.next() {
            let mut value = || {
                rest.next()
                    .ok_or_else(|| format!("{} needs a value; {USAGE}", argument.display()))
            };
            match argument.to_str() {
                Some("--dial") if mode == Mode::Init => parsed.dial = Some(value()?.into()),
                Some("--dir") if mode == Mode::Init => parsed.directory = Some(value()?.into()),
                Some("--idle") if mode != Mode::Version => parsed.idle = seconds(value()?)?,
                Some("--leash") if mode == Mode::Daemon => parsed.leash = true,
                Some("--leash") if mode == Mode::Init => parsed.leash_file = Some(value()?.into()),
                Some("--relay") if mode == Mode::Serve => parsed.relay = true,
                Some("--text") if mode == Mode::Serve => parsed.text = true,
                _ if !argument.as_encoded_bytes().starts_with(b"-")
                    && matches!(mode, Mode::Daemon | Mode::Serve)
                    && parsed.directory.is_none() =>
                {
                    parsed.directory = Some(argument.into());
                }
                _ => return Err(format!("{} is not known here; {USAGE}", argument.display())),
            }
        }
        if matches!(mode, Mode::Daemon | Mode::Serve) && parsed.directory.is_none() {
            return Err(format!("the resident's directory is missing; {USAGE}"));
        }
        Ok(parsed)
    }
}

impl Arguments {
    fn calls(self, rest: &[OsString]) -> Result<Self, String> {
        match rest {
            [tool] if !tool.is_empty() => Ok(Self {
                tool: Some(tool.clone()),
                ..self
            }),
            _ => Err(format!("one tool is called; {USAGE}")),
        }
    }
}

/// A time; 0 is for ever.
fn seconds(value: &OsStr) -> Result<Option<Duration>, String> {
    let text = value.to_str().unwrap_or_default();
    let idle = match text.strip_suffix("ms") {
        Some(number) => number.parse().map(Duration::from_millis),
        None => text.parse().map(Duration::from_secs),
    };
    let idle = idle.map_err(|_| {
        format!(
            "{} is no number of seconds, nor of milliseconds (ms)",
            value.display()
        )
    })?;
    Ok(Some(idle).filter(|idle| !idle.is_zero()))
}

/// Names with values.
pub(crate) type Variables = Vec<(OsString, OsString)>;

/// The variables of this process for commands, and the secret among them for the resident alone.
pub(crate) fn environment() -> Result<(Variables, Option<[u8; SECRET]>), String> {
    let mut secret = None;
    let mut variables = Vec::new();
    for (name, value) in env::vars_os() {
        if name == SECRET_VARIABLE {
            let problem = || format!("{SECRET_VARIABLE} is not {SECRET} bytes in hexadecimal");
            secret = Some(from_hexadecimal(value.as_encoded_bytes()).ok_or_else(problem)?);
        } else {
            variables.push((name, value));
        }
    }
    Ok((variables, secret))
}

fn from_hexadecimal(text: &[u8]) -> Option<[u8; SECRET]> {
    let text = std::str::from_utf8(text)
        .ok()
        .filter(|text| text.len() == 2 * SECRET && text.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    let mut bytes = [0; SECRET];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// The secret in a file.
pub(crate) fn secret_in(path: &std::path::Path) -> Option<[u8; SECRET]> {
    fs::read(path).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &str) -> Result<Arguments, String> {
        let arguments: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
        Arguments::parse(&arguments)
    }

    #[test]
    fn arguments_are_read_or_refused() {
        let serve = parse("serve /d --text --idle 5").unwrap();
        assert_eq!((serve.mode, serve.text, serve.relay), (Mode::Serve, true, false));
        assert_eq!(
            (serve.directory, serve.idle),
            (Some("/d".into()), Some(Duration::from_secs(5)))
        );
        assert!(parse("daemon /d --leash").unwrap().leash);
        assert_eq!(parse("init --leash /p").unwrap().leash_file, Some("/p".into()));
        assert_eq!(parse("init").unwrap().idle, None);
        assert_eq!(parse("daemon /d --idle 0").unwrap().idle, None);
        assert_eq!(parse("call tool").unwrap().tool, Some("tool".into()));
        let operation = Operation::Stat { path: "/f".into() };
        assert_eq!(parse("file stat /f").unwrap().operation, Some(operation));
        for wrong in [
            "",
            "other",
            "call",
            "call a b",
            "file",
            "file stat",
            "serve",
            "daemon",
            "init /d",
            "daemon /d --text",
            "serve /d /e",
            "serve /d --idle x",
            "serve /d --leash",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_secret_is_32_bytes_in_hexadecimal() {
        assert_eq!(from_hexadecimal("0a".repeat(32).as_bytes()), Some([10; 32]));
        for wrong in [
            "0a".repeat(31),
            "0a".repeat(33),
            "zz".repeat(32),
            "+1".repeat(32),
            "é".repeat(32),
        ] {
            assert_eq!(from_hexadecimal(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
