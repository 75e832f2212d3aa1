//! Somebody on this machine who listens, and remembers what was heard: what a sandbox without a network cannot reach.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UdpSocket, UnixListener},
    task::JoinHandle,
    time::{sleep, timeout},
};

/// How long somebody who has come may take to say something.
const SPEAKS: Duration = Duration::from_secs(1);

/// How long what was sent on this machine may take to arrive.
const ARRIVES: Duration = Duration::from_secs(2);

/// The time between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// What is remembered of one who has said nothing.
const SILENT: &str = "somebody who said nothing";

/// How much of what was said is remembered.
const MOST: usize = 1024;

/// What has come, in order.
type Heard = Arc<Mutex<Vec<String>>>;

/// Somebody who listens until this is dropped.
pub(super) struct Outside {
    /// The port that was given, where there is one.
    pub(super) port: u16,
    heard: Heard,
    listening: JoinHandle<()>,
    /// The file of a socket that has one.
    file: Option<PathBuf>,
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.listening.abort();
        if let Some(file) = &self.file {
            // What cannot be removed goes with the run's folder.
            let _ = std::fs::remove_file(file);
        }
    }
}

impl Outside {
    /// Listens for connections at every address of this machine.
    pub(super) async fn for_connections() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
        let (port, heard) = (listener.local_addr()?.port(), Heard::default());
        let remember = heard.clone();
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(listen_to(stream, remember.clone()));
            }
        });
        Ok(Self {
            port,
            heard,
            listening,
            file: None,
        })
    }

    /// Listens for datagrams at every address of this machine.
    pub(super) async fn for_datagrams() -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
        let (port, heard) = (socket.local_addr()?.port(), Heard::default());
        let remember = heard.clone();
        let listening = tokio::spawn(async move {
            let mut said = vec![0; MOST];
            // An error is the answer to something sent, and nothing was.
            while let Ok((length, _)) = socket.recv_from(&mut said).await {
                note(&remember, &said[..length]);
            }
        });
        Ok(Self {
            port,
            heard,
            listening,
            file: None,
        })
    }

    /// Listens at a socket of the system's own that has this file.
    pub(super) fn at_file(file: PathBuf) -> io::Result<Self> {
        let mut outside = Self::at(UnixListener::bind(&file)?);
        outside.file = Some(file);
        Ok(outside)
    }

    /// Listens at a socket of the system's own that has a name and no file.
    #[cfg(target_os = "linux")]
    pub(super) fn at_name(name: &str) -> io::Result<Self> {
        use std::os::{
            linux::net::SocketAddrExt as _,
            unix::net::{SocketAddr, UnixListener as Listener},
        };
        let listener = Listener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
        listener.set_nonblocking(true)?;
        Ok(Self::at(UnixListener::from_std(listener)?))
    }

    /// Only Linux has such sockets.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn at_name(_: &str) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn at(listener: UnixListener) -> Self {
        let heard = Heard::default();
        let remember = heard.clone();
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(listen_to(stream, remember.clone()));
            }
        });
        Self {
            port: 0,
            heard,
            listening,
            file: None,
        }
    }

    /// The file of a socket that has one.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// What was heard so far.
    pub(super) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Those of these addresses at which this machine itself can reach it by a connection, and forgets these.
    pub(super) async fn reached_by_connections(&self, addresses: Vec<Ipv4Addr>) -> Vec<Ipv4Addr> {
        let mut reached = Vec::new();
        for address in addresses {
            let to = SocketAddr::from((address, self.port));
            if let Ok(Ok(mut stream)) = timeout(SPEAKS, TcpStream::connect(to)).await {
                // Whether it has arrived is seen at the other end.
                let _ = stream.write_all(b"it works").await;
                drop(stream);
                if self.forget().await {
                    reached.push(address);
                }
            }
        }
        reached
    }

    /// The same by datagrams.
    pub(super) async fn reached_by_datagrams(&self, addresses: Vec<Ipv4Addr>) -> Vec<Ipv4Addr> {
        let mut reached = Vec::new();
        let Ok(socket) = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await else {
            return reached;
        };
        for address in addresses {
            let sent = socket.send_to(b"it works", (address, self.port)).await;
            if sent.is_ok() && self.forget().await {
                reached.push(address);
            }
        }
        reached
    }

    /// Waits until something was heard, and forgets it; whether anything was.
    async fn forget(&self) -> bool {
        let something = async {
            while self.heard().is_empty() {
                sleep(LOOK_AGAIN).await;
            }
        };
        let heard = timeout(ARRIVES, something).await.is_ok();
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clear();
        heard
    }
}

async fn listen_to(mut stream: impl AsyncRead + Unpin, heard: Heard) {
    let mut said = vec![0; MOST];
    let length = match timeout(SPEAKS, stream.read(&mut said)).await {
        Ok(Ok(length)) => length,
        // Whoever has come has come, with or without a word.
        Ok(Err(_)) | Err(_) => 0,
    };
    note(&heard, &said[..length]);
}

fn note(heard: &Heard, said: &[u8]) {
    let said = if said.is_empty() {
        SILENT.to_owned()
    } else {
        said.escape_ascii().to_string()
    };
    heard.lock().unwrap_or_else(PoisonError::into_inner).push(said);
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn is_heard(outside: &Outside, expected: &str) {
        for _ in 0..100 {
            if outside.heard() == [expected] {
                return;
            }
            sleep(LOOK_AGAIN).await;
        }
        panic!("{:?}", outside.heard());
    }

    #[tokio::test]
    async fn whoever_comes_is_heard_and_tries_of_its_own_are_forgotten() {
        let here = vec![Ipv4Addr::LOCALHOST];
        let connections = Outside::for_connections().await.unwrap();
        assert_eq!(connections.reached_by_connections(here.clone()).await, here);
        assert!(connections.heard().is_empty());
        drop(
            TcpStream::connect((Ipv4Addr::LOCALHOST, connections.port))
                .await
                .unwrap(),
        );
        is_heard(&connections, SILENT).await;
        let datagrams = Outside::for_datagrams().await.unwrap();
        assert_eq!(datagrams.reached_by_datagrams(here.clone()).await, here);
        assert!(datagrams.heard().is_empty());
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        socket
            .send_to(b"a\nword", (Ipv4Addr::LOCALHOST, datagrams.port))
            .await
            .unwrap();
        is_heard(&datagrams, "a\\nword").await;
    }

    #[tokio::test]
    async fn a_socket_goes_with_who_listens_at_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("socket");
        let outside = Outside::at_file(file.clone()).unwrap();
        assert_eq!(outside.file(), Some(file.as_path()));
        let mut stream = tokio::net::UnixStream::connect(&file).await.unwrap();
        stream.write_all(b"word").await.unwrap();
        is_heard(&outside, "word").await;
        drop(outside);
        assert!(!file.exists());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_socket_without_a_file_is_told_by_the_system() {
        let name = format!("herm-outside-{}", std::process::id());
        let outside = Outside::at_name(&name).unwrap();
        let told = || std::fs::read_to_string("/proc/net/unix").unwrap();
        assert!(told().contains(&name) && outside.heard().is_empty());
        drop(outside);
        for _ in 0..100 {
            if !told().contains(&name) {
                return;
            }
            sleep(LOOK_AGAIN).await;
        }
        panic!("{name} is still there");
    }
}
