//! What this backend says of itself.

use herm_protocol::{
    VERSION,
    initialize::{Initialized, Limits},
};

use crate::backend::local::{Mode, SpoolFull, Streams};

/// The name of the backend, as in `terminal.backend`.
pub const BACKEND: &str = "docker";

/// How many requirements may be tested at the same time.
const PARALLELISM: u32 = 4;

const CAPABILITIES: &[&str] = &[
    "argv",
    "concurrency",
    "cwd",
    "drop_caps",
    "env",
    "host_access",
    "image",
    "inspect",
    "isolation",
    "ledger",
    "limits_cpu",
    "limits_memory",
    "limits_pids",
    "list",
    "mounts",
    "network_none",
    "no_new_privileges",
    "preflight",
    "stdin",
    "stdin_stream",
    "timeout",
    "cancel",
    "signal",
];

/// What of a sandbox's specification there is here that this machine itself has not, by the names of `check::spec`.
pub(super) const OFFERED: &[&str] = &[
    "image",
    "limits_cpu",
    "limits_memory",
    "limits_pids",
    "mounts",
    "network_none",
    "reap",
];

/// What only a resident gives.
const OF_RESIDENT: &[&str] = &[
    "attach",
    "files",
    "jobs",
    "persist_files",
    "persist_processes",
    "reap",
    "rpc",
    "sessions",
    "survive_client",
];

const CHOICES: &[(&str, &str)] = &[
    ("latency", "local"),
    ("left_behind", "keep"),
    ("missing_parent", "create"),
    ("overwrite", "replace"),
    ("relative_path", "workdir"),
    ("remove_missing", "error"),
    ("stream_bytes", "exact"),
    // A deadline of 0 is none.
    ("zero_timeout", "none"),
];

/// The answer to `initialize` where images have that shell, for commands that are run in that way.
#[must_use]
pub fn declaration(shell: &str, how: Mode, streams: Streams, spool_full: SpoolFull) -> Initialized {
    let (more, choices): (&[&str], &[(&str, &str)]) = match how {
        Mode::Native => (&[], &[("kill_scope", "group")]),
        Mode::Resident => (
            OF_RESIDENT,
            &[("kill_scope", "tree"), ("spool_full", spool_full.name())],
        ),
    };
    let apart: &[&str] = match streams {
        Streams::Apart => &["streams_apart"],
        Streams::Merged => &[],
    };
    let state = match (how, shell) {
        (Mode::Native, _) => "none",
        (Mode::Resident, "bash") => "shell",
        (Mode::Resident, _) => "cwd_env",
    };
    let choices = CHOICES.iter().chain(choices).copied();
    let choices = choices.chain([("shell", shell), ("state", state), ("streams", streams.name())]);
    let mut capabilities: Vec<String> = CAPABILITIES
        .iter()
        .chain(more)
        .chain(apart)
        .map(|&name| name.into())
        .collect();
    capabilities.sort_unstable();
    Initialized {
        protocol: VERSION.into(),
        name: "herm-docker".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        homepage: None,
        backend: Some(BACKEND.into()),
        mode: Some(how.name().into()),
        emulated: false,
        capabilities,
        choices: choices
            .map(|(name, variant)| (name.into(), variant.into()))
            .collect(),
        limits: Limits::default(),
        parallelism: PARALLELISM,
    }
}
