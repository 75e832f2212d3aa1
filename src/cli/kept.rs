//! `herm ps`, `herm rm` and `herm reap`: sandboxes that are kept under a key.

use std::process::ExitCode;

use clap::Args;
use herm::backend::{Backend, docker::OF_THE_CONTAINER, local::LOWER_LIMITS};
use herm_harness::{tell::tell, verdict::Exit};
use herm_protocol::{
    Error, ErrorKind,
    sandbox::{OpenState, Opened, ReapParams, Reapable, Reaped, SandboxState},
};

use super::{configured::BackendArguments, fail, list::print, runtime::block_on};

/// What is told of a sandbox that was opened: what was lost of one that is kept, and, once to each user, what does not hold in
/// a container although it is asked for, and what of this machine it lets commands reach.
pub(super) async fn losses(opened: &Opened, backend: &Backend) -> Vec<String> {
    let lost = opened.state == OpenState::Recreated;
    let is_loss =
        |notice: &&String| lost || notice.starts_with(LOWER_LIMITS) || notice.starts_with(OF_THE_CONTAINER);
    let (mut told, others): (Vec<_>, Vec<_>) = opened.notices.iter().partition(is_loss);
    let mut news = Vec::new();
    if let Backend::Docker(docker) = backend {
        news = docker.not_told_yet(others.into_iter().cloned().collect()).await;
    }
    told.extend(&news);
    told.into_iter().cloned().collect()
}

/// List the sandboxes that are kept under a key (`herm exec --key`).
#[derive(Debug, Args)]
pub(super) struct ListArguments {
    #[command(flatten)]
    backend: BackendArguments,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Remove what nobody needs any more: what killed processes have left, and kept sandboxes that were ended from outside long ago.
///
/// What runs stays, and so does what `herm` itself has stopped. Files in volumes stay for the next sandbox under the key. What
/// bears no label of this user's is not even looked at.
///
/// Exit codes: 0 done; 2 usage; 4 something could not be looked at or removed.
#[derive(Debug, Args)]
pub(super) struct ReapArguments {
    #[command(flatten)]
    backend: BackendArguments,
    /// Tell what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// How long a sandbox must have been ended, instead of twice `terminal.lifetime_seconds` (two minutes at least)
    #[arg(long, value_name = "SECONDS")]
    ended_for: Option<u32>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn reap(arguments: &ReapArguments) -> ExitCode {
    let backend = match arguments.backend.open_to_look_after() {
        Ok(backend) => backend,
        Err((exit, message)) => return fail(exit, message),
    };
    block_on(async {
        let reaped = backend
            .reap(ReapParams {
                ended_for_ms: arguments.ended_for.map(|seconds| u64::from(seconds) * 1000),
                dry_run: arguments.dry_run,
            })
            .await;
        match reaped {
            Ok(reaped) if arguments.json => print(&serde_json::to_string_pretty(&reaped).unwrap_or_default()),
            Ok(reaped) => print(&in_lines(&reaped, arguments.dry_run)),
            Err(error) => fail(refused(&error), error),
        }
    })
}

/// What was removed and what was left, a line each.
fn in_lines(reaped: &Reaped, dry_run: bool) -> String {
    let removed = if dry_run { "would go" } else { "removed" };
    let line = |word: &str, one: &Reapable| {
        let key = one.key.as_deref().map(|key| format!(" of {}", on_one_line(key)));
        let (kind, id, why) = (&one.kind, on_one_line(&one.id), &one.why);
        format!("{word:<8}  {kind} {id}{}: {why}", key.unwrap_or_default())
    };
    let gone = reaped.removed.iter().map(|one| line(removed, one));
    let lines: Vec<_> = gone
        .chain(reaped.kept.iter().map(|one| line("stays", one)))
        .collect();
    if lines.is_empty() {
        "nothing was left by anybody".into()
    } else {
        lines.join("\n")
    }
}

/// Remove sandboxes that are kept under a key, with their files and with everything that runs in them.
///
/// Exit codes: 0 they are gone; 1 there was none under a key, or something of it stays; 2 usage.
#[derive(Debug, Args)]
pub(super) struct RemoveArguments {
    #[command(flatten)]
    backend: BackendArguments,
    /// The keys
    #[arg(required = true, value_name = "KEY")]
    keys: Vec<String>,
}

pub(super) fn list(arguments: &ListArguments) -> ExitCode {
    let backend = match arguments.backend.open_to_look_after() {
        Ok(backend) => backend,
        Err((exit, message)) => return fail(exit, message),
    };
    block_on(async {
        let sandboxes = match backend.list_kept().await {
            Ok(sandboxes) => sandboxes,
            Err(error) => return fail(refused(&error), error),
        };
        // The list is there; what else there is to say does not make it wrong.
        for remark in backend.kept_remarks().await.unwrap_or_default() {
            tell(format_args!("herm: {remark}"));
        }
        if arguments.json {
            return print(&serde_json::to_string_pretty(&sandboxes).unwrap_or_default());
        }
        if sandboxes.is_empty() {
            return print("no sandbox is kept; herm exec --key KEY keeps one");
        }
        let lines: Vec<_> = sandboxes
            .iter()
            .map(|sandbox| {
                let state = match sandbox.state {
                    SandboxState::Starting => "starting",
                    SandboxState::Running => "running",
                    SandboxState::Paused => "paused",
                    SandboxState::Stopped => "stopped",
                };
                let directory = sandbox.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned());
                let key = on_one_line(sandbox.key.as_deref().unwrap_or_default());
                format!("{state:<8}  {key}  {}", directory.unwrap_or_default())
            })
            .collect();
        print(&lines.join("\n"))
    })
}

pub(super) fn remove(arguments: &RemoveArguments) -> ExitCode {
    let backend = match arguments.backend.open_to_look_after() {
        Ok(backend) => backend,
        Err((exit, message)) => return fail(exit, message),
    };
    block_on(async {
        let mut worst = ExitCode::SUCCESS;
        for key in &arguments.keys {
            worst = match backend.remove_kept(key).await {
                Ok(true) => continue,
                Ok(false) => fail(
                    Exit::NotConformant,
                    format_args!("no sandbox is kept under {key:?}; herm ps lists those that are"),
                ),
                Err(error) if error.kind() == ErrorKind::InvalidArgument => fail(Exit::Usage, error),
                Err(error) => fail(Exit::NotConformant, error),
            };
        }
        worst
    })
}

/// A text that keeps to its line of a list: what would leave it, or change the terminal, is shown escaped.
pub(super) fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '"' | '\'' => line.push(letter),
            _ => line.extend(letter.escape_debug()),
        }
    }
    line
}

/// The exit code for an error of the executor.
pub(super) fn refused(error: &Error) -> Exit {
    match error.kind() {
        ErrorKind::InvalidArgument => Exit::Usage,
        ErrorKind::JobNotFound | ErrorKind::SandboxNotFound => Exit::NotConformant,
        _ => Exit::Broken,
    }
}
