//! What an adapter of commands refuses: what its manifest does not declare, and what cannot be.

use herm_protocol::{
    ByteString, Error,
    exec::{Command, RunParams, Stdin},
    sandbox::{Mount, Network, OpenParams, SandboxSpec, Variable},
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
            idle_ms,
        } = &params.spec;
        self.needs(params.key.is_some(), "attach")?;
        self.needs(image.is_some(), "image")?;
        self.needs(cwd.is_some(), "cwd")?;
        self.needs(!env.is_empty(), "env")?;
        self.needs(user.is_some(), "user")?;
        self.needs(idle_ms.is_some(), "reap")?;
        self.needs(!mounts.is_empty(), "mounts")?;
        self.needs(matches!(network, Some(Network::None)), "network_none")?;
        self.needs(matches!(network, Some(Network::Allow { .. })), "network_allow")?;
        for (limit, capability, field) in [
            (limits.memory_bytes, "limits_memory", "limits.memory_bytes"),
            (limits.pids, "limits_pids", "limits.pids"),
            (limits.cpu_millis, "limits_cpu", "limits.cpu_millis"),
            (limits.disk_bytes, "limits_disk", "limits.disk_bytes"),
        ] {
            self.needs(limit.is_some(), capability)?;
            check_limit(limit, field)?;
        }
        check_image(image.as_deref())?;
        check_mounts(mounts)?;
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

/// To many tools a limit of 0 is none at all, and so is one that does not fit into a number with a sign.
fn check_limit(limit: Option<u64>, field: &str) -> Result<(), Error> {
    match limit {
        Some(0) => Err(Error::invalid_argument(
            field,
            "is 0, with which nothing could run; leave it out where there is to be no limit",
        )),
        Some(limit) if i64::try_from(limit).is_err() => Err(Error::invalid_argument(
            field,
            format!("is {limit}, which is more than any machine has"),
        )),
        _ => Ok(()),
    }
}

fn check_image(image: Option<&str>) -> Result<(), Error> {
    match image {
        Some(image) if image.is_empty() || image.starts_with('-') => Err(Error::invalid_argument(
            "image",
            format!("is {image:?}, which is empty or would be taken for an option"),
        )),
        Some(image) if image.contains('\0') => Err(nul("image")),
        _ => Ok(()),
    }
}

fn check_mounts(mounts: &[Mount]) -> Result<(), Error> {
    for (index, mount) in mounts.iter().enumerate() {
        if mount.source.has_nul() || mount.target.has_nul() {
            return Err(nul(&format!("mounts[{index}]")));
        }
        if mount.source.is_empty() || !mount.target.as_bytes().starts_with(b"/") {
            return Err(Error::invalid_argument(
                format!("mounts[{index}]"),
                "has no source, or a target that is no absolute path",
            ));
        }
    }
    Ok(())
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
