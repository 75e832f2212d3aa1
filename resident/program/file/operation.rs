//! What the arguments behind `file` ask for.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::PathBuf,
};

use crate::wire::decode_base64;

/// The word that says that paths are in base64: for channels that carry only text.
const IN_BASE64: &str = "--base64";

const USAGE: &str = "usage: file [--base64] read PATH OFFSET LENGTH | write PATH LENGTH | stat PATH | list PATH | \
                     remove PATH [recursive] | mkdir PATH | move FROM TO | chmod PATH OCTAL";

/// One operation on files. Numbers are bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Read {
        path: PathBuf,
        offset: u64,
        length: u64,
    },
    /// So many bytes of standard input become the content; what follows them is not read.
    Write {
        path: PathBuf,
        length: u64,
    },
    Stat {
        path: PathBuf,
    },
    List {
        path: PathBuf,
    },
    Remove {
        path: PathBuf,
        recursive: bool,
    },
    MakeDirectory {
        path: PathBuf,
    },
    Move {
        from: PathBuf,
        to: PathBuf,
    },
    ChangeMode {
        path: PathBuf,
        mode: u32,
    },
}

impl Operation {
    /// What arguments say. Each stands at its place, so that no path is taken for anything else.
    pub(crate) fn parse(arguments: &[OsString]) -> Result<Self, String> {
        let (in_base64, arguments) = match arguments {
            [first, rest @ ..] if first == IN_BASE64 => (true, rest),
            all => (false, all),
        };
        let [word, arguments @ ..] = arguments else {
            return Err(USAGE.into());
        };
        let path = |argument: &OsString| path(argument, in_base64);
        Ok(match (word.to_str().unwrap_or_default(), arguments) {
            ("read", [at, offset, length]) => Self::Read {
                path: path(at)?,
                offset: number(offset)?,
                length: number(length)?,
            },
            ("write", [at, length]) => Self::Write {
                path: path(at)?,
                length: number(length)?,
            },
            ("stat", [at]) => Self::Stat { path: path(at)? },
            ("list", [at]) => Self::List { path: path(at)? },
            ("remove", [at]) => Self::Remove {
                path: path(at)?,
                recursive: false,
            },
            ("remove", [at, how]) if how == "recursive" => Self::Remove {
                path: path(at)?,
                recursive: true,
            },
            ("mkdir", [at]) => Self::MakeDirectory { path: path(at)? },
            ("move", [from, to]) => Self::Move {
                from: path(from)?,
                to: path(to)?,
            },
            ("chmod", [at, mode]) => Self::ChangeMode {
                path: path(at)?,
                mode: octal(mode)?,
            },
            _ => return Err(USAGE.into()),
        })
    }
}

fn path(argument: &OsStr, in_base64: bool) -> Result<PathBuf, String> {
    let bytes = if in_base64 {
        let problem = || format!("{} is no base64; {USAGE}", argument.display());
        decode_base64(argument.as_bytes()).ok_or_else(problem)?
    } else {
        argument.as_bytes().to_vec()
    };
    if bytes.is_empty() || bytes.contains(&0) {
        return Err(format!("a path is empty, or has a NUL byte in it; {USAGE}"));
    }
    Ok(OsString::from_vec(bytes).into())
}

fn number(argument: &OsStr) -> Result<u64, String> {
    let digits = argument
        .to_str()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits.and_then(|digits| digits.parse().ok());
    number.ok_or_else(|| format!("{} is no number of bytes; {USAGE}", argument.display()))
}

fn octal(argument: &OsStr) -> Result<u32, String> {
    let digits = argument
        .to_str()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let mode = digits.and_then(|digits| u32::from_str_radix(digits, 8).ok());
    mode.ok_or_else(|| format!("{} is no mode in octal; {USAGE}", argument.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Operation, String> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        Operation::parse(&arguments)
    }

    #[test]
    fn every_argument_stands_at_its_place() {
        assert_eq!(
            parse(&["read", "--base64", "1", "2"]),
            Ok(Operation::Read {
                path: "--base64".into(),
                offset: 1,
                length: 2
            })
        );
        assert_eq!(
            parse(&["remove", "recursive"]),
            Ok(Operation::Remove {
                path: "recursive".into(),
                recursive: false
            })
        );
        assert_eq!(
            parse(&["chmod", "/f", "4755"]),
            Ok(Operation::ChangeMode {
                path: "/f".into(),
                mode: 0o4755
            })
        );
        let bytes = OsString::from_vec(b"/\xff".to_vec());
        assert_eq!(
            parse(&["--base64", "stat", "L/8="]),
            Ok(Operation::Stat { path: bytes.into() })
        );
        for wrong in [
            &[][..],
            &["--base64"],
            &["other", "/f"],
            &["stat"],
            &["stat", ""],
            &["stat", "/a", "/b"],
            &["read", "/f", "0"],
            &["read", "/f", "-1", "1"],
            &["read", "/f", "+1", "1"],
            &["read", "/f", "0", "18446744073709551616"],
            &["write", "/f"],
            &["write", "/f", "x"],
            &["remove", "/f", "other"],
            &["chmod", "/f", "8"],
            &["chmod", "/f", "u+x"],
            &["--base64", "stat", "/f"],
            &["--base64", "stat", "AA=="],
            &["--base64", "stat", ""],
        ] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
