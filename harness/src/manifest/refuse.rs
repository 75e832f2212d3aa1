//! What an adapter of commands refuses: what its manifest does not declare, and what cannot be.

use herm_protocol::{
    ByteString, Error,
    exec::{Command, RunParams, Stdin},
    sandbox::{Network, OpenParams, SandboxSpec, Variable},
};

use super::ManifestAdapter;

impl ManifestAdapter {
    pub(super) fn check_spec(&self, params: &OpenParams) -> Result<(), Error> {
        let SandboxSpec {
            image,
            cwd,
            env,
            mounts,
            network,
            limits,
            user,
        } = &params.spec;
        self.needs(params.key.is_some(), "attach")?;
        self.needs(image.is_some(), "image")?;
        self.needs(cwd.is_some(), "cwd")?;
        self.needs(!env.is_empty(), "env")?;
        self.needs(user.is_some(), "user")?;
        // What a manifest's command always does is not asked for by a caller.
        let never = [
            (!mounts.is_empty(), "mounts"),
            (matches!(network, Some(Network::None)), "network_none"),
            (matches!(network, Some(Network::Allow { .. })), "network_allow"),
            (limits.memory_bytes.is_some(), "limits_memory"),
            (limits.pids.is_some(), "limits_pids"),
            (limits.cpu_millis.is_some(), "limits_cpu"),
            (limits.disk_bytes.is_some(), "limits_disk"),
        ];
        if let Some((_, capability)) = never.iter().find(|(asked, _)| *asked) {
            return Err(Error::unsupported(*capability));
        }
        check_variables(env)
    }

    pub(super) fn check_run(&self, params: &RunParams) -> Result<(), Error> {
        self.needs(matches!(params.command, Command::Argv(_)), "argv")?;
        self.needs(params.cwd.is_some(), "cwd")?;
        self.needs(!params.env.is_empty(), "env")?;
        self.needs(params.stdin != Stdin::None, "stdin")?;
        self.needs(params.stdin == Stdin::Stream, "stdin_stream")?;
        self.needs(params.timeout_ms.is_some(), "timeout")?;
        self.needs(params.user.is_some(), "user")?;
        self.needs(params.pty.is_some(), "pty")?;
        self.needs(params.detach, "jobs")?;
        self.needs(params.session.is_some(), "sessions")?;
        self.needs(params.rpc.is_some(), "rpc")?;
        match &params.command {
            Command::Argv(words) if words.first().is_none_or(ByteString::is_empty) => {
                return Err(Error::invalid_argument("command.argv", "names no program"));
            }
            Command::Argv(words) if words.iter().any(ByteString::has_nul) => return Err(nul("command.argv")),
            Command::Shell(text) if text.has_nul() => return Err(nul("command.shell")),
            _ => {}
        }
        if params.cwd.as_ref().is_some_and(ByteString::has_nul) {
            return Err(nul("cwd"));
        }
        check_variables(&params.env)
    }
}

fn check_variables(env: &[Variable]) -> Result<(), Error> {
    for (index, variable) in env.iter().enumerate() {
        if variable.name.is_empty() || variable.name.as_bytes().contains(&b'=') {
            return Err(Error::invalid_argument(
                format!("env[{index}].name"),
                "is empty or has an equals sign",
            ));
        }
        if variable.name.has_nul() || variable.value.has_nul() {
            return Err(nul(&format!("env[{index}]")));
        }
    }
    Ok(())
}

pub(super) fn nul(field: &str) -> Error {
    Error::invalid_argument(field, "holds a NUL byte")
}
