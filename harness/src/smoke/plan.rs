//! The exchanges, in the order in which an author builds them.

/// What an exchange cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// A connection.
    Nothing,
    /// An open sandbox.
    Sandbox,
    /// A sandbox in which a command has been answered.
    Command,
}

/// One exchange of the walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) purpose: &'static str,
    pub(super) needs: Needs,
    /// The capability that it is about.
    pub(super) capability: Option<&'static str>,
}

const fn planned(
    id: &'static str,
    title: &'static str,
    purpose: &'static str,
    needs: Needs,
    capability: Option<&'static str>,
) -> Planned {
    Planned {
        id,
        title,
        purpose,
        needs,
        capability,
    }
}

/// Every exchange.
pub(super) const EXCHANGES: [Planned; 23] = [
    planned(
        "initialize",
        "initialize",
        "the handshake: who you are, and what you declare to work",
        Needs::Nothing,
        None,
    ),
    planned(
        "preflight",
        "preflight",
        "what is missing on this machine; it may be left out",
        Needs::Nothing,
        None,
    ),
    planned(
        "open",
        "sandbox.open",
        "a place to run commands in, with an id that every later call names",
        Needs::Nothing,
        None,
    ),
    planned(
        "print",
        "exec.run prints a word",
        "a command runs, its output arrives, and its end is told",
        Needs::Sandbox,
        None,
    ),
    planned(
        "exit_code",
        "exec.run exits with 7",
        "the command's own exit code arrives: a failure must not look like a success",
        Needs::Command,
        None,
    ),
    planned(
        "streams",
        "exec.run writes to both streams",
        "standard error arrives too, under its own name or merged, as you declare",
        Needs::Command,
        None,
    ),
    planned(
        "argv",
        "exec.run of an argument list",
        "arguments reach the program as they are; no shell reads them",
        Needs::Command,
        Some("argv"),
    ),
    planned(
        "env",
        "exec.run with a variable",
        "the command sees the variables that the request brings",
        Needs::Command,
        Some("env"),
    ),
    planned(
        "cwd",
        "exec.run in a directory",
        "the command starts in the directory that the request names",
        Needs::Command,
        Some("cwd"),
    ),
    planned(
        "stdin",
        "exec.run with input",
        "the command reads the bytes that the request brings, and then end of file",
        Needs::Command,
        Some("stdin"),
    ),
    planned(
        "stdin_stream",
        "exec.stdin",
        "a running command is fed, piece by piece, until end of file",
        Needs::Command,
        Some("stdin_stream"),
    ),
    planned(
        "timeout",
        "exec.run with a deadline",
        "a deadline ends the command, and not only the wait for it",
        Needs::Command,
        Some("timeout"),
    ),
    planned(
        "cancel",
        "exec.cancel",
        "a running command is ended when its caller asks for it",
        Needs::Command,
        Some("cancel"),
    ),
    planned(
        "files",
        "file.write, file.read",
        "a file comes back byte for byte, also when it is no text",
        Needs::Command,
        Some("files"),
    ),
    planned(
        "host_access",
        "policy.classify",
        "how far a mount lets commands reach out of a sandbox, before anything is mounted",
        Needs::Nothing,
        Some("host_access"),
    ),
    planned(
        "sandbox_not_found",
        "a sandbox that does not exist",
        "an unknown id is refused with a kind that a caller can act on",
        Needs::Command,
        None,
    ),
    planned(
        "unknown_method",
        "a method that does not exist",
        "what you do not know is refused, so that the protocol can grow",
        Needs::Nothing,
        None,
    ),
    planned(
        "undeclared",
        "options that are not declared",
        "an option that you do not offer is refused, and never dropped silently",
        Needs::Command,
        None,
    ),
    planned(
        "at_once",
        "two requests at once",
        "a request is answered while a command runs",
        Needs::Command,
        None,
    ),
    planned(
        "close",
        "sandbox.close",
        "the sandbox goes, with everything in it",
        Needs::Sandbox,
        None,
    ),
    planned(
        "closed",
        "exec.run in a closed sandbox",
        "what is closed is gone, for commands too",
        Needs::Command,
        None,
    ),
    planned(
        "close_again",
        "sandbox.close again",
        "closing what is not there is no error",
        Needs::Sandbox,
        None,
    ),
    planned(
        "end",
        "end of input",
        "the adapter ends by itself when its caller has gone",
        Needs::Nothing,
        None,
    ),
];
