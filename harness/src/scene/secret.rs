//! A secret of a scenario's, and where it is found: in what the backend tells, among the command lines of this machine, in
//! its files.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::Duration,
};

use herm_protocol::sandbox::Variable;
use tokio::{sync::oneshot, task::JoinHandle, time::sleep};

use super::{Failure, Scene, processes_with};
use crate::process_table::Process;

/// The name of the variable that holds it.
const NAME: &str = "PROBE_SECRET";

/// The time between two looks at the command lines of this machine.
const LOOK_AGAIN: Duration = Duration::from_millis(15);

/// Bytes of a file that are looked through.
const OF_FILE: u64 = 16 * 1024 * 1024;

/// A secret that nothing else has in it.
#[derive(Clone, Debug)]
pub(crate) struct Secret {
    /// Its value.
    pub(crate) value: String,
    /// The command line of this machine that it was seen in, without it.
    pub(crate) seen: Option<String>,
}

impl Secret {
    /// A variable that holds it.
    pub(crate) fn variable(&self) -> Variable {
        Variable::new(NAME, self.value.as_str())
    }
}

/// A look at the command lines of all processes of this machine that goes on until it is ended.
pub(crate) struct CommandLines {
    stop: oneshot::Sender<()>,
    task: JoinHandle<Option<String>>,
}

impl CommandLines {
    /// Looks for a secret from now on.
    pub(crate) fn watch(secret: &str) -> Self {
        let (stop, mut stopped) = oneshot::channel();
        let secret = secret.to_owned();
        let task = tokio::spawn(async move {
            loop {
                if let Some(process) = processes_with(&secret).await.first() {
                    let line = Process::of(*process).map(|process| process.command_line());
                    let line = line.unwrap_or_default().replace(&secret, "[the secret]");
                    return Some(format!("process {process}, {line:?}"));
                }
                tokio::select! {
                    biased;
                    _ = &mut stopped => return None,
                    () = sleep(LOOK_AGAIN) => {}
                }
            }
        });
        Self { stop, task }
    }

    /// The first process that was seen with it among its words.
    pub(crate) async fn end(self) -> Option<String> {
        // One that has seen it does not wait for its end.
        let _ = self.stop.send(());
        self.task.await.ok().flatten()
    }
}

impl Scene {
    /// A secret of the scenario's, and an adapter that is listened to from now on.
    pub(crate) async fn new_secret(&mut self) -> Result<(), Failure> {
        let value = format!("secret{}", self.token());
        self.worker().await?.listen_for(&value);
        self.secret = Some(Secret { value, seen: None });
        Ok(())
    }

    pub(crate) fn the_secret(&self) -> Result<Secret, Failure> {
        self.secret
            .clone()
            .ok_or_else(|| Failure::suite("there is no secret"))
    }

    /// What the adapter has said with the secret in it.
    pub(crate) async fn overheard(&mut self) -> Result<Option<String>, Failure> {
        Ok(self.worker().await?.overheard())
    }

    /// The files in the adapter's folder that have the secret in them; only those that others may read, where `others` says so.
    pub(crate) async fn files_with_secret(&mut self, others: bool) -> Result<Vec<PathBuf>, Failure> {
        let secret = self.the_secret()?.value;
        let folder = self.stay()?.room.scratch.clone();
        tokio::task::spawn_blocking(move || {
            let mut found = Vec::new();
            search(&folder, secret.as_bytes(), others, &mut found);
            found
        })
        .await
        .map_err(|error| Failure::suite(error.to_string()))
    }
}

/// Looks through a folder, links not followed. Others get to a file only through folders that they may enter.
fn search(folder: &Path, secret: &[u8], others: bool, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        // What is gone by now is in nobody's way.
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        let mode = metadata.permissions().mode();
        if metadata.is_dir() && (!others || mode & 0o001 != 0) {
            search(&path, secret, others, found);
        } else if metadata.is_file()
            && (!others || mode & 0o004 != 0)
            && read(&path).is_ok_and(|bytes| bytes.windows(secret.len()).any(|part| part == secret))
        {
            found.push(path);
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(fs::File::open(path)?, OF_FILE), &mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_read_what_no_folder_keeps_from_them() {
        let top = tempfile::tempdir().unwrap();
        let write = |name: &str, folder: u32, file: u32| {
            let folder_path = top.path().join(name);
            fs::create_dir(&folder_path).unwrap();
            let path = folder_path.join("file");
            fs::write(&path, b"here: a secret!").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(file)).unwrap();
            fs::set_permissions(&folder_path, fs::Permissions::from_mode(folder)).unwrap();
            path
        };
        let open = write("open", 0o755, 0o644);
        let closed = write("closed", 0o700, 0o644);
        let own = write("own", 0o755, 0o600);
        fs::write(top.path().join("other"), b"no secre t").unwrap();
        let look = |others| {
            let mut found = Vec::new();
            search(top.path(), b"secret", others, &mut found);
            found.sort();
            found
        };
        assert_eq!(look(true), std::slice::from_ref(&open));
        assert_eq!(look(false), [closed, open, own]);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_word_of_a_process_is_seen_while_it_runs() {
        let secret = format!("secret-{}", std::process::id());
        let watch = CommandLines::watch(&secret);
        let mut child = tokio::process::Command::new("sh")
            .args(["-c", "sleep 0.3; :", &format!("NAME={secret}")])
            .spawn()
            .unwrap();
        child.wait().await.unwrap();
        let seen = watch.end().await.unwrap();
        assert!(seen.contains("NAME=[the secret]"), "{seen}");
        assert_eq!(CommandLines::watch("secret-of-nobody").end().await, None);
    }
}
