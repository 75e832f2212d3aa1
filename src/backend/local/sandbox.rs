//! A sandbox: a private directory, and everything that runs in it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use herm_protocol::{ByteString, Error, ErrorKind, exec::Outcome, sandbox::Variable};
use tokio::sync::watch;

use super::{group::Group, guard::Held, kept, process_table::Process, residence::Residence};
use crate::files::remove_tree;

/// How often it is looked whether the sandbox is still there, where a command was killed whose caller takes no output.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// How long a close waits until everything of the sandbox is gone.
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// A sandbox of the local backend.
#[derive(Debug)]
pub(super) struct Sandbox {
    pub(super) id: String,
    /// The key that it is kept under; without one it ends with this process.
    pub(super) key: Option<String>,
    /// The private directory, removed on close.
    pub(super) directory: PathBuf,
    /// Where commands start.
    pub(super) cwd: PathBuf,
    /// Variables of every command.
    pub(super) env: Vec<Variable>,
    /// Who runs its commands, unless this process does so itself.
    residence: Option<Residence>,
    activity: watch::Sender<Activity>,
    groups: Mutex<Vec<Weak<Group>>>,
    texts: AtomicU64,
    /// Until the directory is removed, the guard answers for it.
    held: Mutex<Option<Held>>,
    /// Tells other processes that this one has the directory.
    lock: Option<fs::File>,
}

/// What goes on in a sandbox.
#[derive(Clone, Copy, Debug, Default)]
struct Activity {
    closing: bool,
    /// Commands that run, and groups that live on after their command.
    inside: usize,
}

impl Sandbox {
    pub(super) fn new(id: String, directory: PathBuf, cwd: PathBuf, env: Vec<Variable>, held: Held) -> Self {
        Self {
            id,
            key: None,
            directory,
            cwd,
            env,
            residence: None,
            activity: watch::Sender::default(),
            groups: Mutex::default(),
            texts: AtomicU64::default(),
            held: Mutex::new(Some(held)),
            lock: None,
        }
    }

    /// A sandbox that is kept under a key. It outlives this process, so that the guard does not hold it.
    pub(super) fn kept(key: String, directory: PathBuf, cwd: PathBuf) -> Self {
        let mut sandbox = Self::new(kept::id_of(&key), directory, cwd, Vec::new(), Held::default());
        sandbox.key = Some(key);
        sandbox
    }

    /// The same with what tells other processes that this one has the directory.
    pub(super) fn with_lock(mut self, lock: Option<fs::File>) -> Self {
        self.lock = lock;
        self
    }

    /// More variables of every command; they win over those before.
    pub(super) fn with_env(mut self, env: Vec<Variable>) -> Self {
        self.env.extend(env);
        self
    }

    /// The directory that commands start in, in place of the own one.
    pub(super) fn with_cwd(mut self, cwd: PathBuf) -> Self {
        self.cwd = cwd;
        self
    }

    /// The same with a resident that runs its commands.
    pub(super) fn with_residence(mut self, residence: Residence) -> Self {
        self.residence = Some(residence);
        self
    }

    /// Who runs its commands, unless this process does so itself.
    pub(super) fn residence(&self) -> Option<&Residence> {
        self.residence.as_ref()
    }

    /// The directory of the sandbox's own that commands start in unless another was asked for.
    pub(super) fn own_work(directory: &Path) -> PathBuf {
        directory.join("work")
    }

    /// Whether the private directory is still there: whoever removes it has removed the sandbox. This blocks.
    ///
    /// # Errors
    /// It is not.
    pub(super) fn check_there(&self) -> Result<(), Error> {
        match fs::symlink_metadata(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = self.directory.to_string_lossy();
                let message = format!(
                    "sandbox {:?} is not there any more: its directory {directory} was removed",
                    self.id
                );
                Err(Error::new(ErrorKind::SandboxNotFound, &self.id, message)
                    .with_fix("close it, and open another; herm exec does so when it is run again"))
            }
            _ => Ok(()),
        }
    }

    /// The path that a caller means: absolute, or from the directory that commands start in.
    pub(super) fn resolve(&self, path: &ByteString) -> PathBuf {
        self.cwd.join(path.to_path())
    }

    /// Makes the sandbox's own working directory again when a command has removed it; says whether it did.
    pub(super) fn heal(&self) -> io::Result<bool> {
        if self.cwd != Self::own_work(&self.directory) || fs::symlink_metadata(&self.cwd).is_ok() {
            return Ok(false);
        }
        fs::create_dir(&self.cwd).map(|()| true)
    }

    /// A path in the private directory that was not used before.
    pub(super) fn text_path(&self) -> PathBuf {
        let number = self.texts.fetch_add(1, Ordering::Relaxed);
        self.directory.join(format!("text-{number}.sh"))
    }

    /// Lets a command in; a sandbox that is closing takes none.
    pub(super) fn admit(self: &Arc<Self>) -> Result<Admission, Error> {
        let admitted = self.activity.send_if_modified(|activity| {
            activity.inside += usize::from(!activity.closing);
            !activity.closing
        });
        if admitted {
            Ok(Admission(self.clone()))
        } else {
            Err(Error::sandbox_not_found(&self.id))
        }
    }

    /// Every live process of the sandbox.
    pub(super) async fn processes(&self) -> Vec<Process> {
        if let Some(residence) = &self.residence {
            return residence.processes().await;
        }
        let groups: Vec<_> = self.lock_groups().iter().filter_map(Weak::upgrade).collect();
        let mut processes = Vec::new();
        for group in groups {
            processes.extend(group.members().await.unwrap_or_default());
        }
        processes
    }

    /// Ends everything that runs here, tells the callers, and removes the directory.
    ///
    /// # Errors
    /// When something could not be ended or removed; closing again tries again.
    pub(super) async fn close(&self) -> Result<(), Error> {
        self.activity.send_modify(|activity| activity.closing = true);
        if let Some(residence) = &self.residence {
            residence.end().await?;
        }
        let mut activity = self.activity.subscribe();
        let empty = activity.wait_for(|activity| activity.inside == 0);
        if tokio::time::timeout(CLOSE_LIMIT, empty).await.is_err() {
            let left: Vec<_> = self.processes().await.iter().map(|process| process.pid).collect();
            let message = format!("processes of sandbox {:?} could not be ended: {left:?}", self.id);
            return Err(Error::new(ErrorKind::TimedOut, &self.id, message)
                .with_fix("see what they wait for, and close again"));
        }
        let directory = self.directory.clone();
        tokio::task::spawn_blocking(move || remove_tree(&directory))
            .await
            .map_err(io::Error::other)
            .flatten()
            .map_err(|error| {
                let directory = self.directory.to_string_lossy();
                let left = left_in(&self.directory);
                let message = format!(
                    "nothing runs in sandbox {:?} any more, and its directory {directory} could not be removed: {error}; {left}",
                    self.id
                );
                let kind = match error.kind() {
                    io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::PermissionDenied,
                    _ => ErrorKind::Internal,
                };
                Error::new(kind, directory.clone(), message)
                    .with_fix("see who may write to it and to the directory that it is in, and remove the sandbox again")
            })?;
        drop(self.lock_held().take());
        Ok(())
    }

    fn lock_held(&self) -> std::sync::MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_groups(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Group>>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is left of a directory that could not be removed, for a person. This blocks, shortly.
fn left_in(directory: &Path) -> String {
    match fs::read_dir(directory).map(|entries| entries.flatten().map(|entry| entry.file_name())) {
        Ok(names) => {
            let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
            names.sort();
            if names.is_empty() {
                "its files are gone, and the empty directory is left".to_owned()
            } else {
                format!("these are left in it: {}", names.join(", "))
            }
        }
        Err(error) => format!("what is left in it cannot be listed: {error}"),
    }
}

/// What could not be closed is left to the guard.
impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Some(held) = self.lock_held().take() {
            held.abandon();
        }
    }
}

/// The right to run something in a sandbox; a close waits until all are given back.
#[derive(Debug)]
pub(super) struct Admission(Arc<Sandbox>);

impl Admission {
    /// Lists a group among those of the sandbox for as long as it is held.
    pub(super) fn enlist(&self, group: &Arc<Group>) {
        let mut groups = self.0.lock_groups();
        groups.retain(|group| group.strong_count() > 0);
        groups.push(Arc::downgrade(group));
    }

    /// The outcome of a command that has ended: one that was killed together with its sandbox is lost with it.
    pub(super) async fn as_seen_from_outside(&self, outcome: Outcome) -> Outcome {
        if matches!(outcome, Outcome::Signaled { .. }) && !self.is_there().await {
            Outcome::SandboxLost
        } else {
            outcome
        }
    }

    async fn is_there(&self) -> bool {
        let sandbox = self.0.clone();
        let there = tokio::task::spawn_blocking(move || sandbox.check_there().is_ok()).await;
        there.unwrap_or(true)
    }

    /// Resolves when the sandbox was removed from outside.
    pub(super) async fn removed(&self) {
        while self.is_there().await {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Resolves when the sandbox is being closed.
    pub(super) async fn closing(&self) {
        let mut activity = self.0.activity.subscribe();
        // The sender lives in the sandbox, which this keeps.
        let _ = activity.wait_for(|activity| activity.closing).await;
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.0.activity.send_modify(|activity| activity.inside -= 1);
    }
}
