//! Whether what a caller asks can be done at all. Everything here is answered before anything is started or made.

use herm_protocol::{
    ByteString, Error,
    exec::{Command, RunParams},
    rpc::{Rpc, is_name},
    sandbox::{Network, SandboxSpec, Variable},
};

use super::Mode;

/// The longest argument or variable that the system takes, in bytes with its final NUL: 32 pages (execve(2)).
pub(super) const LONGEST_STRING: usize = 128 * 1024;

/// The longest name of a session, in bytes.
const LONGEST_SESSION: usize = 256;

/// Checks a command.
///
/// # Errors
/// An invalid argument names its field; an option that this backend does not have is unsupported.
pub(in crate::backend) fn command(params: &RunParams, mode: Mode) -> Result<(), Error> {
    if params.user.is_some() {
        return Err(Error::unsupported("user"));
    }
    if params.pty.is_some() {
        return Err(Error::unsupported("pty"));
    }
    if params.detach && mode == Mode::Native {
        return Err(Error::unsupported("detach"));
    }
    if params.detach && params.capture.is_some() {
        let problem = "cannot go with detach: what a job writes is kept, and read by job.output";
        return Err(Error::invalid_argument("capture", problem));
    }
    if let Some(rpc) = &params.rpc {
        if mode == Mode::Native {
            return Err(Error::unsupported("rpc"));
        }
        tools(rpc, params.detach)?;
    }
    if let Some(name) = &params.session {
        session(name, mode)?;
        if let Command::Argv(_) = params.command {
            let problem =
                "is the state of a shell, and an argument list has none; send text, or leave it out";
            return Err(Error::invalid_argument("session", problem));
        }
    }
    match &params.command {
        Command::Argv(arguments) => argument_list(arguments)?,
        Command::Shell(text) => no_nul("command.shell", text)?,
    }
    if let Some(cwd) = &params.cwd {
        path("cwd", cwd)?;
    }
    variables("env", &params.env)
}

/// The most tools that one command may call.
const MOST_TOOLS: usize = 1024;

fn tools(rpc: &Rpc, detach: bool) -> Result<(), Error> {
    if detach {
        let problem = "cannot go with detach: nobody waits for a job who could be asked";
        return Err(Error::invalid_argument("rpc", problem));
    }
    if rpc.allow.len() > MOST_TOOLS {
        let problem = format!("names {} tools, and {MOST_TOOLS} is the most", rpc.allow.len());
        return Err(Error::invalid_argument("rpc.allow", problem));
    }
    for (index, name) in rpc.allow.iter().enumerate() {
        if !is_name(name) {
            let problem = "is no name of a tool: letters, digits, \".\", \"_\" and \"-\", at most 128";
            return Err(Error::invalid_argument(format!("rpc.allow[{index}]"), problem));
        }
    }
    Ok(())
}

/// Checks the name of a session.
///
/// # Errors
/// Native mode has no sessions; an invalid argument says what a name is.
pub(in crate::backend) fn session(name: &str, mode: Mode) -> Result<(), Error> {
    if mode == Mode::Native {
        return Err(Error::unsupported("session"));
    }
    if name.is_empty() || name.len() > LONGEST_SESSION {
        let problem = format!(
            "has {} bytes; the name of a session has 1 to {LONGEST_SESSION}",
            name.len()
        );
        return Err(Error::invalid_argument("session", problem));
    }
    Ok(())
}

fn argument_list(arguments: &[ByteString]) -> Result<(), Error> {
    let Some(program) = arguments.first() else {
        return Err(Error::invalid_argument(
            "command.argv",
            "is empty; its first element names the program",
        ));
    };
    if program.is_empty() {
        return Err(Error::invalid_argument(
            "command.argv[0]",
            "is empty; it names the program",
        ));
    }
    for (index, argument) in arguments.iter().enumerate() {
        let field = format!("command.argv[{index}]");
        no_nul(&field, argument)?;
        not_too_long(&field, argument.len())?;
    }
    Ok(())
}

/// Checks variables; `field` is the name of their list.
///
/// # Errors
/// An invalid argument names the variable's place in the list.
pub(crate) fn variables(field: &str, variables: &[Variable]) -> Result<(), Error> {
    for (index, Variable { name, value }) in variables.iter().enumerate() {
        let name_field = format!("{field}[{index}].name");
        if name.is_empty() {
            return Err(Error::invalid_argument(name_field, "is empty"));
        }
        if name.as_bytes().contains(&b'=') {
            return Err(Error::invalid_argument(name_field, "has a \"=\" in it"));
        }
        no_nul(&name_field, name)?;
        let value_field = format!("{field}[{index}].value");
        no_nul(&value_field, value)?;
        not_too_long(&value_field, name.len() + 1 + value.len())?;
    }
    Ok(())
}

/// Checks a path.
///
/// # Errors
/// An invalid argument names the field.
pub(in crate::backend) fn path(field: &str, path: &ByteString) -> Result<(), Error> {
    if path.is_empty() {
        return Err(Error::invalid_argument(field, "is empty"));
    }
    no_nul(field, path)
}

fn no_nul(field: &str, text: &ByteString) -> Result<(), Error> {
    if text.has_nul() {
        return Err(Error::invalid_argument(
            field,
            "has a NUL byte in it, which the system cannot pass on",
        ));
    }
    Ok(())
}

fn not_too_long(field: &str, length: usize) -> Result<(), Error> {
    if length >= LONGEST_STRING {
        let problem = format!(
            "has {length} bytes, and the system takes fewer than {LONGEST_STRING}; \
             put the data in a file or on standard input"
        );
        return Err(Error::invalid_argument(field, problem));
    }
    Ok(())
}

/// Checks what a sandbox shall be like; a key needs a mode in which it can be kept. `offered` names what the backend has
/// of what this machine has not: images, mounts, networks, limits.
///
/// # Errors
/// A part whose capability this backend does not declare is unsupported; an invalid argument names its field.
pub(in crate::backend) fn spec(
    key: Option<&str>,
    spec: &SandboxSpec,
    mode: Mode,
    offered: &[&str],
) -> Result<(), Error> {
    let limits = &spec.limits;
    let unsupported = [
        (key.is_some() && mode == Mode::Native, "attach"),
        (spec.image.is_some(), "image"),
        (!spec.mounts.is_empty(), "mounts"),
        (matches!(spec.network, Some(Network::None)), "network_none"),
        (
            matches!(spec.network, Some(Network::Allow { .. })),
            "network_allow",
        ),
        (limits.memory_bytes.is_some(), "limits_memory"),
        (limits.pids.is_some(), "limits_pids"),
        (limits.cpu_millis.is_some(), "limits_cpu"),
        (limits.disk_bytes.is_some(), "limits_disk"),
        (spec.user.is_some(), "user"),
        (spec.idle_ms.is_some(), "reap"),
        // Only a resident counts.
        (spec.idle_ms.is_some() && mode == Mode::Native, "spec.idle_ms"),
    ];
    if let Some((_, what)) = unsupported
        .iter()
        .find(|(asked, what)| *asked && !offered.contains(what))
    {
        return Err(Error::unsupported(*what));
    }
    match (spec.idle_ms, key) {
        (Some(0), _) => {
            let problem = "is 0, which would end it at once; leave it out for no bound";
            return Err(Error::invalid_argument("spec.idle_ms", problem));
        }
        (Some(_), None) => {
            let problem = "is for sandboxes under a key: without one it ends with its caller";
            return Err(Error::invalid_argument("spec.idle_ms", problem));
        }
        _ => {}
    }
    if let Some(cwd) = &spec.cwd {
        path("spec.cwd", cwd)?;
        if cwd.as_bytes()[0] != b'/' {
            return Err(Error::invalid_argument(
                "spec.cwd",
                format!("is not absolute: {cwd:?}"),
            ));
        }
    }
    variables("spec.env", &spec.env)
}

#[cfg(test)]
mod tests {
    use herm_protocol::{
        ErrorKind,
        sandbox::{Mount, ResourceLimits},
    };

    use super::*;

    fn refusal(change: impl FnOnce(&mut RunParams)) -> (ErrorKind, String) {
        let mut params = RunParams::new("s", "e", Command::Shell("true".into()));
        change(&mut params);
        let error = command(&params, Mode::Native).unwrap_err();
        (error.kind(), error.data.resource.unwrap())
    }

    fn argv(arguments: &[&str]) -> Command {
        Command::Argv(arguments.iter().map(|argument| (*argument).into()).collect())
    }

    #[test]
    fn what_cannot_be_passed_on_is_refused_by_the_name_of_its_field() {
        let long = "x".repeat(LONGEST_STRING);
        for (command, field) in [
            (argv(&[]), "command.argv"),
            (argv(&["", "a"]), "command.argv[0]"),
            (argv(&["a", "b\0"]), "command.argv[1]"),
            (argv(&["a", "b", &long]), "command.argv[2]"),
            (Command::Shell("a\0b".into()), "command.shell"),
        ] {
            let refused = refusal(|params| params.command = command);
            assert_eq!(refused, (ErrorKind::InvalidArgument, field.to_owned()));
        }
        for (name, value, field) in [
            ("", "v", "env[1].name"),
            ("A=B", "v", "env[1].name"),
            ("A\0", "v", "env[1].name"),
            ("A", "v\0", "env[1].value"),
            ("A", &long, "env[1].value"),
        ] {
            let refused = refusal(|params| {
                params.env = vec![Variable::new("OK", ""), Variable::new(name, value)];
            });
            assert_eq!(refused, (ErrorKind::InvalidArgument, field.to_owned()));
        }
        let refusal_of_tools = |rpc: Rpc, detach| {
            let mut params = RunParams::new("s", "e", Command::Shell("true".into()));
            (params.rpc, params.detach) = (Some(rpc), detach);
            command(&params, Mode::Resident)
                .unwrap_err()
                .data
                .resource
                .unwrap()
        };
        assert_eq!(
            refusal_of_tools(Rpc::allowing(["a", "b c"]), false),
            "rpc.allow[1]"
        );
        assert_eq!(refusal_of_tools(Rpc::allowing(["a"]), true), "rpc");
        for cwd in ["", "/a\0"] {
            let refused = refusal(|params| params.cwd = Some(cwd.into()));
            assert_eq!(refused, (ErrorKind::InvalidArgument, "cwd".to_owned()));
        }
    }

    #[test]
    fn empty_arguments_empty_values_and_long_text_are_fine() {
        let mut params = RunParams::new("s", "e", argv(&["a", "", "b"]));
        params.env = vec![
            Variable::new("A", ""),
            Variable::new("not-an-identifier()", "v=w"),
        ];
        assert_eq!(command(&params, Mode::Native), Ok(()));
        params.command = Command::Shell("x".repeat(2 * LONGEST_STRING).into());
        assert_eq!(command(&params, Mode::Native), Ok(()));
        params.command = Command::Shell("".into());
        assert_eq!(command(&params, Mode::Native), Ok(()));
        params.detach = true;
        assert_eq!(command(&params, Mode::Resident), Ok(()));
    }

    #[test]
    fn a_session_has_a_name_and_a_shell() {
        let refused = |name: &str, text: Command, mode| {
            let mut params = RunParams::new("s", "e", text);
            params.session = Some(name.into());
            command(&params, mode).err().map(|error| error.kind())
        };
        let text = || Command::Shell("true".into());
        let long = "x".repeat(257);
        assert_eq!(refused("a b", text(), Mode::Resident), None);
        assert_eq!(refused(&long[1..], text(), Mode::Resident), None);
        assert_eq!(refused("a", text(), Mode::Native), Some(ErrorKind::Unsupported));
        for (name, command) in [("", text()), (&long, text()), ("a", argv(&["true"]))] {
            assert_eq!(
                refused(name, command, Mode::Resident),
                Some(ErrorKind::InvalidArgument)
            );
        }
    }

    #[test]
    fn what_is_not_declared_is_unsupported() {
        let limits = |change: fn(&mut ResourceLimits)| {
            let mut spec = SandboxSpec::default();
            change(&mut spec.limits);
            spec
        };
        let mount = Mount {
            source: "/a".into(),
            target: "/b".into(),
            read_only: true,
        };
        let base = SandboxSpec::default;
        #[rustfmt::skip]
        let specs = [
            ("image", SandboxSpec { image: Some("i".into()), ..base() }),
            ("mounts", SandboxSpec { mounts: vec![mount], ..base() }),
            ("network_none", SandboxSpec { network: Some(Network::None), ..base() }),
            ("network_allow", SandboxSpec { network: Some(Network::Allow { hosts: vec![] }), ..base() }),
            ("limits_memory", limits(|limits| limits.memory_bytes = Some(1))),
            ("limits_pids", limits(|limits| limits.pids = Some(1))),
            ("limits_cpu", limits(|limits| limits.cpu_millis = Some(1))),
            ("limits_disk", limits(|limits| limits.disk_bytes = Some(1))),
            ("user", SandboxSpec { user: Some("u".into()), ..base() }),
        ];
        for (what, asked) in specs {
            let error = spec(None, &asked, Mode::Resident, &[]).unwrap_err();
            assert_eq!(
                (error.kind(), error.data.resource),
                (ErrorKind::Unsupported, Some(what.into()))
            );
            assert_eq!(spec(None, &asked, Mode::Resident, &[what]), Ok(()));
        }
        assert_eq!(
            spec(Some("k"), &base(), Mode::Native, &[]).unwrap_err().kind(),
            ErrorKind::Unsupported
        );
        let plain = SandboxSpec {
            network: Some(Network::Default),
            cwd: Some("/tmp".into()),
            ..base()
        };
        assert_eq!(spec(None, &plain, Mode::Native, &[]), Ok(()));
        assert_eq!(spec(Some("k"), &plain, Mode::Resident, &[]), Ok(()));
    }
}
