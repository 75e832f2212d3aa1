//! Starting a command: its directory, its variables, its program, its descriptors.

use std::{
    collections::BTreeMap,
    ffi::{CString, OsStr, OsString},
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::{
        fd::BorrowedFd,
        unix::{ffi::OsStrExt as _, fs::OpenOptionsExt as _},
    },
    path::{Component, Path, PathBuf},
    time::Duration,
};

use super::{
    program::{self, DEFAULT_PATH},
    report::Failure,
};
use crate::{
    session::{Carried, contains},
    system::{errno, set_umask, spawn},
    wire::{Command, SetupFailure, Start},
};

/// The longest argument that the system takes, in bytes with its final NUL: 32 pages (execve(2)).
const LONGEST_ARGUMENT: usize = 128 * 1024;

/// What may come before text: the word that has a session's script read.
const ROOM: usize = 8 * 1024;

/// How often a program that is busy is tried again, and how long after. It was written a moment ago, and another process,
/// between its fork and its exec, may still hold what was the writer's descriptor.
const BUSY_TRIES: u32 = 10;
const BUSY_PAUSE: Duration = Duration::from_millis(10);

/// What every command of a resident starts from.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    /// The variables that the resident was started with, without its own.
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Where commands start that do not say where.
    pub(crate) cwd: PathBuf,
    /// The resident's own directory, for text that is too long for an argument.
    pub(crate) directory: Option<PathBuf>,
    /// Where bash was found when the resident was started, so that it need not be looked for each time.
    pub(crate) bash: Option<PathBuf>,
    /// Whether commands are to be the first that go when memory runs out.
    pub(crate) first_to_go: bool,
}

impl Ground {
    /// The `PATH` through which shells are found.
    pub(crate) fn search(&self) -> OsString {
        let path = self
            .environment
            .iter()
            .find(|(name, _)| name == "PATH")
            .map(|(_, path)| path.as_os_str());
        let mut search = path.unwrap_or_default().to_owned();
        if !search.is_empty() {
            search.push(":");
        }
        search.push(DEFAULT_PATH);
        search
    }
}

/// A command that runs.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) pid: i32,
    /// Text that is read from a file, which is to be removed when the command has ended.
    pub(crate) text: Option<PathBuf>,
}

type Environment = BTreeMap<OsString, OsString>;

/// What is executed.
struct Invocation {
    program: PathBuf,
    arguments: Vec<OsString>,
    text: Option<PathBuf>,
}

/// Starts a command. This process is left in the root directory.
pub(crate) fn launch(
    start: &Start,
    job: u64,
    (ground, session): (&Ground, Option<&Carried>),
    standard: [BorrowedFd; 3],
) -> Result<Launched, Failure> {
    let cwd = start.cwd.as_deref().map_or_else(
        || ground.cwd.clone(),
        |cwd| ground.cwd.join(OsStr::from_bytes(cwd)),
    );
    if ground.first_to_go {
        // Where it is refused, the machine's own choice stands.
        let _ = fs::write("/proc/self/oom_score_adj", "500");
    }
    let launched = launch_in(&cwd, start, job, (ground, session), standard);
    let _ = std::env::set_current_dir("/");
    launched
}

fn launch_in(
    cwd: &Path,
    start: &Start,
    job: u64,
    (ground, session): (&Ground, Option<&Carried>),
    standard: [BorrowedFd; 3],
) -> Result<Launched, Failure> {
    std::env::set_current_dir(cwd).map_err(|error| cwd_refused(cwd, &error))?;
    let mut environment = environment(start, ground, cwd);
    let invocation = invocation(start, job, (ground, session), &mut environment)?;
    let launched = execute(&invocation, &environment, start.umask, standard);
    match launched {
        Ok(pid) => Ok(Launched {
            pid,
            text: invocation.text,
        }),
        Err(failure) => {
            if let Some(text) = &invocation.text {
                let _ = fs::remove_file(text);
            }
            Err(failure)
        }
    }
}

fn cwd_refused(cwd: &Path, error: &io::Error) -> Failure {
    let shown = cwd.to_string_lossy();
    match error.raw_os_error() {
        Some(errno::ENOENT) => Failure::new(
            SetupFailure::CwdNotFound,
            format!("the directory {shown} does not exist"),
        ),
        Some(errno::ENOTDIR) if fs::metadata(cwd).is_ok() => Failure::new(
            SetupFailure::CwdNotADirectory,
            format!("the directory {shown} is not a directory"),
        ),
        Some(errno::ENOTDIR) => Failure::new(
            SetupFailure::CwdNotADirectory,
            format!("the directory {shown} leads through something that is not a directory"),
        ),
        Some(errno::EACCES) => Failure::new(
            SetupFailure::CwdDenied,
            format!("the directory {shown} may not be entered"),
        ),
        _ => Failure::new(
            SetupFailure::Other,
            format!("the directory {shown} cannot be entered: {error}"),
        ),
    }
}

fn environment(start: &Start, ground: &Ground, cwd: &Path) -> Environment {
    let mut environment = Environment::new();
    if !start.clear_env {
        environment.extend(ground.environment.iter().cloned());
    }
    environment.remove(OsStr::new("OLDPWD"));
    for (name, value) in &start.env {
        environment.insert(OsStr::from_bytes(name).into(), OsStr::from_bytes(value).into());
    }
    // A shell corrects a wrong PWD; other programs believe it.
    match logical(cwd) {
        Some(cwd) => environment.insert("PWD".into(), cwd.into()),
        None => environment.remove(OsStr::new("PWD")),
    };
    environment
}

/// The directory as `PWD` may name it: without `.` and `..` (POSIX, environment variables). This process is in it.
fn logical(cwd: &Path) -> Option<PathBuf> {
    if !cwd.is_absolute() || cwd.components().any(|part| part == Component::ParentDir) {
        return std::env::current_dir().ok();
    }
    Some(cwd.components().collect())
}

fn invocation(
    start: &Start,
    job: u64,
    (ground, session): (&Ground, Option<&Carried>),
    environment: &mut Environment,
) -> Result<Invocation, Failure> {
    match &start.command {
        Command::Argv(arguments) => {
            let arguments: Vec<OsString> = arguments
                .iter()
                .map(|argument| OsStr::from_bytes(argument).into())
                .collect();
            let name = arguments.first().map(OsString::as_os_str).unwrap_or_default();
            let search = environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
            let program = program::find(name, &search)?;
            Ok(Invocation {
                program,
                arguments,
                text: None,
            })
        }
        Command::Shell { shell, text } => {
            let (program, name) = find_shell(OsStr::from_bytes(shell), ground)?;
            let (mut argument, file) = text_argument(text, job, ground)?;
            if let Some(session) = session {
                argument = carry((session, text), environment, &name, argument);
            }
            // Text may begin with `-` or `+`.
            let arguments = vec![name, "-c".into(), "--".into(), argument];
            Ok(Invocation {
                program,
                arguments,
                text: file,
            })
        }
    }
}

/// Has the shell bring a session's state back before it comes to the text. Bash reads a script by itself; another shell is
/// told to, on the first line of the text, so that the numbers of lines stay true. A shell replaces aliases when it reads a
/// line, so text that may call trap, for which the script has one, begins a line of its own, and the numbers of lines in
/// what is said about it are one too high.
fn carry(
    (session, text): (&Carried, &[u8]),
    environment: &mut Environment,
    shell: &OsStr,
    argument: OsString,
) -> OsString {
    let variables = session.variables();
    if Path::new(shell).file_name() == Some(OsStr::new("bash")) {
        environment.extend(variables);
        if let Some(own) = environment.insert("BASH_ENV".into(), session.bash_script().into()) {
            environment.insert("HERM_SESSION_BASH_ENV".into(), own);
        }
        return argument;
    }
    session.expect_posix_script();
    let of_posix = session.posix_variables(environment.keys().map(OsString::as_os_str), text);
    environment.extend(variables);
    environment.extend(of_posix);
    let mut all = source(session.posix_script().as_os_str());
    let begins_a_line = contains(argument.as_bytes(), b"trap");
    all.push(if begins_a_line { "\n" } else { "; " });
    all.push(argument);
    all
}

/// The shell's file, and what it is called in its own messages and in `$0`. It is found through the resident's `PATH`:
/// what a caller makes of its own must not decide whether there is a shell.
fn find_shell(shell: &OsStr, ground: &Ground) -> Result<(PathBuf, OsString), Failure> {
    let wants_bash = shell.is_empty() || shell == "bash";
    if let Some(bash) = ground.bash.as_ref().filter(|bash| wants_bash && bash.is_file()) {
        return Ok((bash.clone(), "bash".into()));
    }
    let search = ground.search();
    let names: &[&OsStr] = if shell.is_empty() {
        &["bash".as_ref(), "sh".as_ref()]
    } else {
        &[shell]
    };
    let mut failure = None;
    for name in names {
        match program::find(name, &search) {
            Ok(program) => return Ok((program, (*name).to_owned())),
            Err(problem) => failure = Some(problem.message),
        }
    }
    let message = format!("no shell: {}; install one", failure.unwrap_or_default());
    Err(Failure::new(SetupFailure::ShellNotFound, message))
}

/// The argument after `-c`. Text that fits is passed as it is. Longer text is written to a file, for the user only, and the
/// argument is a command that reads it in the same shell: `$0`, line numbers, exit code and traps are as they would be.
fn text_argument(text: &[u8], job: u64, ground: &Ground) -> Result<(OsString, Option<PathBuf>), Failure> {
    if text.len() < LONGEST_ARGUMENT - ROOM {
        return Ok((OsStr::from_bytes(text).into(), None));
    }
    let Some(directory) = &ground.directory else {
        let message = "the text of the command is longer than an argument may be, and the resident has no directory \
                       to put it into; give it one";
        return Err(Failure::new(SetupFailure::ResourcesExhausted, message));
    };
    let path = directory.join(format!("text-{job}"));
    write_private(&path, text).map_err(|error| unwritten(&path, &error))?;
    Ok((source(path.as_os_str()), Some(path)))
}

/// Writes a file that only the user may read.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(content).inspect_err(|_| {
        let _ = fs::remove_file(path);
    })
}

/// `. 'PATH'`, quoted so that no byte of the path means anything to a shell.
fn source(path: &OsStr) -> OsString {
    let mut command = b". '".to_vec();
    for byte in path.as_bytes() {
        match byte {
            b'\'' => command.extend_from_slice(br"'\''"),
            byte => command.push(*byte),
        }
    }
    command.push(b'\'');
    OsStr::from_bytes(&command).into()
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    let kind = match error.raw_os_error() {
        Some(errno::ENOSPC | errno::EDQUOT | errno::EMFILE | errno::ENFILE) => {
            SetupFailure::ResourcesExhausted
        }
        _ => SetupFailure::Other,
    };
    let shown = path.to_string_lossy();
    Failure::new(
        kind,
        format!("failed to write the command's text to {shown}: {error}"),
    )
}

fn execute(
    invocation: &Invocation,
    environment: &Environment,
    umask: Option<u32>,
    standard: [BorrowedFd; 3],
) -> Result<i32, Failure> {
    let variables = environment.iter().map(|(name, value)| {
        let mut variable = name.clone();
        variable.push("=");
        variable.push(value);
        variable
    });
    let (program, arguments, variables) = (|| {
        Ok::<_, std::ffi::NulError>((
            CString::new(invocation.program.as_os_str().as_bytes())?,
            strings(invocation.arguments.iter().cloned())?,
            strings(variables)?,
        ))
    })()
    .map_err(|error| {
        Failure::new(
            SetupFailure::Other,
            format!("an argument or variable is no C string: {error}"),
        )
    })?;
    let before = umask.map(set_umask);
    let mut tries = BUSY_TRIES;
    let spawned = loop {
        match spawn(&program, &arguments, &variables, standard) {
            Err(error) if error.raw_os_error() == Some(errno::ETXTBSY) && tries > 0 => {
                tries -= 1;
                std::thread::sleep(BUSY_PAUSE);
            }
            result => break result,
        }
    };
    before.map(set_umask);
    let bytes = arguments
        .iter()
        .chain(&variables)
        .map(|string| string.as_bytes_with_nul().len())
        .sum();
    spawned.map_err(|error| refusal(&invocation.program, bytes, &error))
}

fn strings(all: impl Iterator<Item = OsString>) -> Result<Vec<CString>, std::ffi::NulError> {
    use std::os::unix::ffi::OsStringExt as _;
    all.map(|string| CString::new(string.into_vec())).collect()
}

fn refusal(program: &Path, bytes: usize, error: &io::Error) -> Failure {
    match error.raw_os_error() {
        Some(errno::E2BIG) => Failure::new(
            SetupFailure::ArgumentsTooLong,
            format!(
                "the command has {bytes} bytes of arguments and variables, or one of more than {LONGEST_ARGUMENT}, which \
                 is more than the system takes; put data in a file or on standard input"
            ),
        ),
        Some(errno::EAGAIN | errno::ENOMEM | errno::EMFILE | errno::ENFILE) => Failure::new(
            SetupFailure::ResourcesExhausted,
            format!("the system has no process, memory or descriptor left for the command: {error}"),
        ),
        Some(
            errno::ENOENT | errno::EACCES | errno::ENOEXEC | errno::EPERM | errno::ELOOP | errno::ENOTDIR,
        ) => program::refused(program, error),
        _ => Failure::new(
            SetupFailure::Other,
            format!("failed to start {}: {error}", program.to_string_lossy()),
        ),
    }
}

/// Where bash is, if it is there.
pub(crate) fn find_bash(ground: &Ground) -> Option<PathBuf> {
    find_shell("bash".as_ref(), ground)
        .ok()
        .map(|(program, _)| program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_for_the_shell() {
        assert_eq!(source(OsStr::new("/a b/it's $x")), r". '/a b/it'\''s $x'");
    }

    #[test]
    fn what_the_caller_gives_wins_and_pwd_is_true() {
        let ground = Ground {
            environment: vec![("A".into(), "resident".into()), ("OLDPWD".into(), "/old".into())],
            cwd: "/".into(),
            directory: None,
            bash: None,
            first_to_go: false,
        };
        let mut start = Start::new([0; 16], Command::Argv(Vec::new()));
        start.env = vec![
            (b"B".to_vec(), b"exec".to_vec()),
            (b"PWD".to_vec(), b"/wrong".to_vec()),
        ];
        let shown = |start: &Start| {
            let all = environment(start, &ground, Path::new("/right/./here/"));
            all.iter()
                .map(|(name, value)| format!("{}={}", name.display(), value.display()))
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(&start), ["A=resident", "B=exec", "PWD=/right/here"]);
        start.clear_env = true;
        assert_eq!(shown(&start), ["B=exec", "PWD=/right/here"]);
    }
}
