//! What is refused before anything starts: what the backend does not declare, and what no system can do.

use herm_protocol::{
    ByteString, Error,
    exec::{Command, RunParams},
    sandbox::{Network, OpenParams, Variable},
};

/// Checks a command.
///
/// # Errors
/// `unsupported` for an option that is not declared; `invalid_argument` with the field's name.
pub(crate) fn run(params: &RunParams) -> Result<(), Error> {
    refuse(&[
        (params.user.is_some(), "user"),
        (params.pty.is_some(), "pty"),
        (params.detach, "jobs"),
        (params.session.is_some(), "sessions"),
        (params.rpc.is_some(), "rpc"),
    ])?;
    match &params.command {
        Command::Argv(words) => {
            if words.first().is_none_or(ByteString::is_empty) {
                return Err(Error::invalid_argument("command.argv", "names no program"));
            }
            for (index, word) in words.iter().enumerate() {
                no_nul(&format!("command.argv[{index}]"), word)?;
            }
        }
        Command::Shell(text) => no_nul("command.shell", text)?,
    }
    if let Some(cwd) = &params.cwd {
        no_nul("cwd", cwd)?;
    }
    variables("env", &params.env)
}

/// Checks what a sandbox shall be like.
///
/// # Errors
/// As [`run`].
pub(crate) fn open(params: &OpenParams) -> Result<(), Error> {
    let (spec, limits) = (&params.spec, &params.spec.limits);
    refuse(&[
        (params.key.is_some(), "attach"),
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
    ])?;
    if let Some(cwd) = &spec.cwd {
        no_nul("spec.cwd", cwd)?;
        if !cwd.as_bytes().starts_with(b"/") {
            return Err(Error::invalid_argument("spec.cwd", "is not absolute"));
        }
    }
    variables("spec.env", &spec.env)
}

fn refuse(asked: &[(bool, &str)]) -> Result<(), Error> {
    match asked.iter().find(|(asked, _)| *asked) {
        Some((_, capability)) => Err(Error::unsupported(*capability)),
        None => Ok(()),
    }
}

fn variables(field: &str, variables: &[Variable]) -> Result<(), Error> {
    for (index, variable) in variables.iter().enumerate() {
        let name = format!("{field}[{index}].name");
        if variable.name.is_empty() {
            return Err(Error::invalid_argument(name, "is empty"));
        }
        if variable.name.as_bytes().contains(&b'=') {
            return Err(Error::invalid_argument(name, "has a \"=\" in it"));
        }
        no_nul(&name, &variable.name)?;
        no_nul(&format!("{field}[{index}].value"), &variable.value)?;
    }
    Ok(())
}

fn no_nul(field: &str, text: &ByteString) -> Result<(), Error> {
    if text.has_nul() {
        let problem = "has a NUL byte in it, which no system can pass on";
        return Err(Error::invalid_argument(field, problem));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use herm_protocol::ErrorKind;

    use super::*;

    fn refused(command: Command) -> Option<(ErrorKind, String)> {
        let error = run(&RunParams::new("s", "e", command)).err()?;
        Some((error.kind(), error.data.resource.unwrap_or_default()))
    }

    #[test]
    fn what_no_system_can_do_is_refused_by_the_name_of_its_field() {
        let invalid = |field: &str| Some((ErrorKind::InvalidArgument, field.to_owned()));
        assert_eq!(refused(Command::Argv(vec![])), invalid("command.argv"));
        let words = vec!["true".into(), "a\0".into()];
        assert_eq!(refused(Command::Argv(words)), invalid("command.argv[1]"));
        assert_eq!(
            refused(Command::Shell("a\0".into())),
            invalid("command.shell")
        );
        assert_eq!(refused(Command::Shell("".into())), None);
    }

    #[test]
    fn what_is_not_declared_is_unsupported() {
        let mut params = RunParams::new("s", "e", Command::Shell("true".into()));
        params.detach = true;
        assert_eq!(
            run(&params).map_err(|error| error.kind()),
            Err(ErrorKind::Unsupported)
        );
        let keyed = OpenParams {
            key: Some("k".into()),
            ..OpenParams::default()
        };
        assert_eq!(
            open(&keyed).map_err(|error| error.kind()),
            Err(ErrorKind::Unsupported)
        );
    }

    #[test]
    fn a_variable_needs_a_name_without_an_equals_sign() {
        for name in ["", "A=B", "A\0"] {
            let mut params = RunParams::new("s", "e", Command::Shell("true".into()));
            params.env = vec![Variable::new("OK", ""), Variable::new(name, "v")];
            let error = run(&params).map_err(|error| error.data.resource.unwrap_or_default());
            assert_eq!(error, Err("env[1].name".to_owned()));
        }
    }
}
