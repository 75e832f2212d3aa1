//! Things of this machine that no sandbox was given: a file, a process, listeners. What a command in a sandbox has seen of
//! them, it has seen of its host; what it has done to them is seen from here.

use std::{
    os::unix::net::UnixListener,
    path::PathBuf,
    process::Stdio,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    net::TcpListener,
    process::{Child, Command},
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{Failure, Scene};

/// Says when it can be reached, and whenever a signal has reached it that harms nobody; it ends by itself.
const REACHABLE: &str =
    "trap 'echo reached' CONT; echo ready; i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done";

/// How long a process of our own may take to begin.
const BEGINS: Duration = Duration::from_secs(10);

/// How long whoever has called may take to say something.
const SPEAKS: Duration = Duration::from_secs(2);

/// Bytes of a caller that are kept.
const HEARD: usize = 1024;

/// What was put on this machine for a scenario. It goes with the scenario.
#[derive(Default)]
pub(crate) struct Machine {
    file: Option<OwnFile>,
    process: Option<OwnProcess>,
    listeners: Vec<Listening>,
    /// Names that are listened on.
    names: Vec<UnixListener>,
    /// A word that must not be seen: what a command says to those who listen, or would find.
    word: Option<String>,
    /// Paths that a command may have made here, to be removed.
    strays: Vec<PathBuf>,
}

/// A file, and what is in it and nowhere else.
#[derive(Clone, Debug)]
pub(crate) struct OwnFile {
    /// Its absolute path; its name is a word that nothing else is called.
    pub(crate) path: PathBuf,
    /// Its content, which cannot be had from its path.
    pub(crate) content: String,
}

/// A process that tells when a signal has reached it.
pub(crate) struct OwnProcess {
    child: Child,
    /// An argument of it, and of nothing else.
    pub(crate) word: String,
    /// How often it was reached.
    reached: Arc<Mutex<u32>>,
}

/// Somebody who waits to be called.
struct Listening {
    heard: Arc<Mutex<Vec<u8>>>,
    task: JoinHandle<()>,
}

impl OwnProcess {
    /// Its number on this machine.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// How often a signal has reached it.
    pub(crate) fn reached(&self) -> u32 {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Machine {
    /// The file.
    pub(crate) fn file(&self) -> Result<&OwnFile, Failure> {
        self.file
            .as_ref()
            .ok_or_else(|| Failure::suite("there is no file of this machine"))
    }

    /// The process.
    pub(crate) fn process(&self) -> Result<&OwnProcess, Failure> {
        self.process
            .as_ref()
            .ok_or_else(|| Failure::suite("there is no process of this machine"))
    }

    /// The word that must not be seen, where there is one.
    pub(crate) fn word(&self) -> Option<&str> {
        self.word.as_deref()
    }

    /// A word that must not be seen.
    pub(crate) fn set_word(&mut self, word: String) {
        self.word = Some(word);
    }

    /// Whether somebody has called a listener and said the word.
    pub(crate) fn was_called(&self) -> bool {
        let word = self.word().unwrap_or_default().as_bytes();
        self.listeners.iter().any(|listener| {
            let heard = listener.heard.lock().unwrap_or_else(PoisonError::into_inner);
            !word.is_empty() && heard.windows(word.len()).any(|part| part == word)
        })
    }

    /// Removes what is there, and ends what runs.
    pub(super) async fn end(self) {
        for path in self.file.iter().map(|file| &file.path).chain(&self.strays) {
            // What is not there any more needs no removing.
            let _ = tokio::fs::remove_file(path).await;
        }
        if let Some(mut process) = self.process {
            let _ = process.child.kill().await;
        }
    }

    /// The paths that a command may have made here.
    pub(crate) fn strays(&self) -> &[PathBuf] {
        &self.strays
    }

    /// A path that a command may have made here is removed in the end.
    pub(crate) fn remove_in_the_end(&mut self, path: PathBuf) {
        self.strays.push(path);
    }
}

impl Scene {
    /// Writes a file in the folder for the subject's temporary files, where everything on this machine may read it that may
    /// read the subject's own.
    pub(crate) async fn put_file(&mut self) -> Result<OwnFile, Failure> {
        let path = self.workshop()?.scratch().join(self.token());
        let content = format!("content {}\n", self.token());
        tokio::fs::write(&path, &content)
            .await
            .map_err(|error| Failure::inconclusive(format!("failed to write {}: {error}", path.display())))?;
        let file = OwnFile { path, content };
        self.machine.file = Some(file.clone());
        Ok(file)
    }

    /// Starts a process that has a word among its arguments.
    pub(crate) async fn put_process(&mut self) -> Result<(), Failure> {
        let word = self.token();
        let failed = |what: String| Failure::inconclusive(format!("a process of this machine: {what}"));
        let mut child = Command::new("sh")
            .args(["-c", REACHABLE, &word])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let output = child
            .stdout
            .take()
            .ok_or_else(|| failed("it has no output".into()))?;
        let mut lines = BufReader::new(output).lines();
        match timeout(BEGINS, lines.next_line()).await {
            Ok(Ok(Some(line))) if line == "ready" => {}
            other => return Err(failed(format!("it did not begin: {other:?}"))),
        }
        let reached = Arc::<Mutex<u32>>::default();
        let count = reached.clone();
        tokio::spawn(async move {
            while let Ok(Some(_)) = lines.next_line().await {
                *count.lock().unwrap_or_else(PoisonError::into_inner) += 1;
            }
        });
        self.machine.process = Some(OwnProcess { child, word, reached });
        Ok(())
    }

    /// Listens on the loopback of this machine; gives the word that is to be said, and the ports, one for each kind of address.
    pub(crate) async fn listen_on_loopback(&mut self) -> Result<(String, Vec<(&'static str, u16)>), Failure> {
        let word = self.token();
        self.machine.word = Some(word.clone());
        let mut ports = Vec::new();
        for address in ["127.0.0.1", "::1"] {
            // A machine may have only one of them.
            let Ok(listener) = TcpListener::bind((address, 0)).await else {
                continue;
            };
            let Ok(local) = listener.local_addr() else {
                continue;
            };
            ports.push((address, local.port()));
            let heard = Arc::<Mutex<Vec<u8>>>::default();
            let task = tokio::spawn(hear(listener, heard.clone()));
            self.machine.listeners.push(Listening { heard, task });
        }
        if ports.is_empty() {
            return Err(Failure::inconclusive(
                "nobody can listen on this machine's loopback",
            ));
        }
        Ok((word, ports))
    }

    /// Listens on a name in the network of this machine that is no file, where the system has such names.
    pub(crate) fn listen_on_name(&mut self) -> Result<String, Failure> {
        let name = self.token();
        let listener = bind_name(&name)
            .map_err(|error| Failure::inconclusive(format!("nobody can listen on a name: {error}")))?;
        self.machine.names.push(listener);
        self.machine.word = Some(name.clone());
        Ok(name)
    }
}

/// Keeps what callers say.
async fn hear(listener: TcpListener, heard: Arc<Mutex<Vec<u8>>>) {
    while let Ok((mut caller, _)) = listener.accept().await {
        let heard = heard.clone();
        tokio::spawn(async move {
            let mut buffer = [0; HEARD];
            while let Ok(Ok(length @ 1..)) = timeout(SPEAKS, caller.read(&mut buffer)).await {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                if heard.len() < HEARD {
                    heard.extend_from_slice(&buffer[..length]);
                }
            }
        });
        // Whoever calls again and again is not waited for.
        sleep(Duration::from_millis(1)).await;
    }
}

#[cfg(target_os = "linux")]
fn bind_name(name: &str) -> std::io::Result<UnixListener> {
    use std::os::{linux::net::SocketAddrExt as _, unix::net::SocketAddr};
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

#[cfg(not(target_os = "linux"))]
fn bind_name(_: &str) -> std::io::Result<UnixListener> {
    Err(std::io::ErrorKind::Unsupported.into())
}
