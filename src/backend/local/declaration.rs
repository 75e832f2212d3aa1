//! What this backend says of itself.

use herm_protocol::{
    VERSION,
    initialize::{Initialized, Limits},
};

use super::{Mode, SpoolFull, Streams};

/// The name of the backend, as in `terminal.backend`.
pub const BACKEND: &str = "local";

/// How many requirements may be tested at the same time.
const PARALLELISM: u32 = 8;

const CAPABILITIES: &[&str] = &[
    "argv",
    "cancel",
    "concurrency",
    "cwd",
    "env",
    "files",
    "inspect",
    "ledger",
    "list",
    "preflight",
    "signal",
    "stdin",
    "stdin_stream",
    "timeout",
];

/// What only a resident gives.
const OF_RESIDENT: &[&str] = &[
    "attach",
    "jobs",
    "persist_files",
    "persist_processes",
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

/// The answer to `initialize` on a machine with that variant of the choice `shell`, for commands that are run in that way.
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
        name: "herm-local".into(),
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
