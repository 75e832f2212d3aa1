//! A resident in a directory of its own, and a client that blocks.

use std::{
    collections::VecDeque,
    fs,
    io::{Read, Write},
    os::unix::{fs::PermissionsExt as _, net::UnixStream},
    path::{Path, PathBuf},
    process::{Command as Process, Stdio as ProcessStdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use herm_resident::wire::{
    Command, Deframer, Ending, JobRecord, MAX_REPLY, Outcome, Reply, Request, Start, Stdin, Stream, VERSION,
    Welcome, frame,
    proof::{Role, Transcript},
    sha256,
};

/// How long anything may take in a test.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// The program, as a file.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let bytes = herm_resident::BINARY.expect("the program is embedded");
        let digest = herm_resident::DIGEST.unwrap();
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("resident-{}", &digest[..16]));
        if !path.exists() {
            let new = path.with_extension(std::process::id().to_string());
            fs::write(&new, bytes).unwrap();
            fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
            fs::rename(&new, &path).unwrap();
        }
        path
    })
}

/// A daemon with its directory. Both go when this is dropped.
pub(crate) struct Resident {
    base: tempfile::TempDir,
}

impl Resident {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        let resident = Self::prepare();
        let status = resident.daemon().args(arguments).status().unwrap();
        assert!(status.success(), "{status}");
        resident
    }

    /// A daemon with these variables besides those of the test, in whose search path this program is called `sh`.
    pub(crate) fn start_with_sh(shell: &str, variables: &[(&str, &str)]) -> Self {
        let resident = Self::prepare();
        let programs = resident.scratch().join("programs");
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        folders.extend(["/usr/bin".into(), "/bin".into()]);
        let found = folders.iter().map(|folder| folder.join(shell));
        let found = found.into_iter().find(|file| file.is_file());
        let found = found.unwrap_or_else(|| panic!("{shell} is not there; ci/setup installs it"));
        fs::create_dir(&programs).unwrap();
        std::os::unix::fs::symlink(found, programs.join("sh")).unwrap();
        folders.insert(0, programs);
        let mut daemon = resident.daemon();
        daemon.env("PATH", std::env::join_paths(folders).unwrap());
        let status = daemon.envs(variables.iter().copied()).status().unwrap();
        assert!(status.success(), "{status}");
        resident
    }

    /// The directory without a daemon.
    pub(crate) fn prepare() -> Self {
        Self {
            base: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.base.path().join("home")
    }

    /// A directory for what commands leave.
    pub(crate) fn scratch(&self) -> &Path {
        self.base.path()
    }

    pub(crate) fn daemon(&self) -> Process {
        let mut process = Process::new(program());
        process.arg("daemon").arg(self.directory());
        process
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.directory())
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        if let Ok(socket) = UnixStream::connect(self.directory().join("socket"))
            && let Ok(secret) = fs::read(self.directory().join("secret"))
            && let Ok(mut client) = Client::prove(socket, &secret.try_into().unwrap())
        {
            client.send(&Request::Shutdown { call: 1 });
            client.wait_for_end();
        }
    }
}

pub(crate) fn secret(directory: &Path) -> [u8; 32] {
    fs::read(directory.join("secret")).unwrap().try_into().unwrap()
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) job: u64,
    pub(crate) pid: u32,
    pub(crate) ending: Ending,
    pub(crate) output: [Vec<u8>; 2],
    pub(crate) gaps: Vec<(Stream, u64, u64)>,
    /// How long until the end was told.
    pub(crate) took: Duration,
}

impl Ran {
    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.output[0]).into_owned()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.output[1]).into_owned()
    }

    #[track_caller]
    pub(crate) fn assert_exited(&self, expected: u8) {
        assert_eq!(
            self.ending.outcome,
            Outcome::Exited { code: expected },
            "{self:?}"
        );
    }
}

pub(crate) struct Client {
    pub(crate) socket: UnixStream,
    deframer: Deframer,
    pub(crate) welcome: Option<Box<Welcome>>,
    /// Replies that came while others were waited for.
    aside: VecDeque<Reply>,
    calls: u32,
}

/// Credit that is never used up.
pub(crate) const PLENTY: u64 = 1 << 40;

impl Client {
    pub(crate) fn connect(directory: &Path) -> Self {
        let socket = UnixStream::connect(directory.join("socket")).unwrap();
        Self::prove(socket, &secret(directory)).unwrap()
    }

    pub(crate) fn raw(socket: UnixStream) -> Self {
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        Self {
            socket,
            deframer: Deframer::default(),
            welcome: None,
            aside: VecDeque::new(),
            calls: 0,
        }
    }

    /// Makes the proofs; the error is what the resident said instead of welcome, or a `Pong` when it said nothing.
    pub(crate) fn prove(socket: UnixStream, secret: &[u8; 32]) -> Result<Self, Reply> {
        let mut client = Self::raw(socket);
        let nonce = sha256(format!("{:?}{:?}", Instant::now(), std::thread::current().id()).as_bytes());
        client.send(&Request::Hello {
            oldest: VERSION,
            newest: VERSION,
            nonce,
        });
        let nothing = Reply::Pong { call: 0 };
        let (version, resident, mac) = match client.receive_or_end().unwrap_or(nothing.clone()) {
            Reply::Hello { version, nonce, mac } => (version, nonce, mac),
            other => return Err(other),
        };
        let transcript = Transcript {
            version,
            client: nonce,
            resident,
        };
        let proved = transcript.is_proved(secret, Role::Resident, &mac);
        client.send(&Request::Prove {
            mac: transcript.prove(secret, Role::Client),
        });
        match client.receive_or_end().unwrap_or(nothing) {
            Reply::Welcome(welcome) => {
                assert!(proved, "the resident has proved itself");
                client.welcome = Some(welcome);
                Ok(client)
            }
            other => Err(other),
        }
    }

    pub(crate) fn send(&mut self, request: &Request) {
        self.socket.write_all(&frame(&request.encode())).unwrap();
    }

    pub(crate) fn call(&mut self) -> u32 {
        self.calls += 1;
        self.calls
    }

    /// The next reply, whatever it is.
    pub(crate) fn receive(&mut self) -> Reply {
        self.receive_or_end().expect("the resident goes on talking")
    }

    pub(crate) fn receive_or_end(&mut self) -> Option<Reply> {
        loop {
            if let Some(message) = self.deframer.next(MAX_REPLY).unwrap() {
                return Some(Reply::decode(&message).unwrap());
            }
            let mut buffer = vec![0; 256 * 1024];
            match self.socket.read(&mut buffer) {
                Ok(0) => return None,
                Ok(length) => self.deframer.add(&buffer[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => panic!("nothing came: {error}"),
            }
        }
    }

    pub(crate) fn wait_for_end(&mut self) {
        while self.receive_or_end().is_some() {}
    }

    /// The next reply that is wanted; others are put aside.
    pub(crate) fn until<T>(&mut self, mut wanted: impl FnMut(&Reply) -> Option<T>) -> T {
        for index in 0..self.aside.len() {
            if let Some(found) = wanted(&self.aside[index]) {
                self.aside.remove(index);
                return found;
            }
        }
        loop {
            let reply = self.receive();
            if let Some(found) = wanted(&reply) {
                return found;
            }
            self.aside.push_back(reply);
        }
    }

    /// Sends a request about a call, and returns the answer.
    pub(crate) fn ask(&mut self, request: impl FnOnce(u32) -> Request) -> Reply {
        let call = self.call();
        self.send(&request(call));
        self.until(|reply| (call_of(reply) == Some(call)).then(|| reply.clone()))
    }

    pub(crate) fn start(&mut self, start: Start) -> u64 {
        match self.ask(|call| Request::Start {
            call,
            start: Box::new(start),
        }) {
            Reply::Started { job, .. } => job,
            other => panic!("not started: {other:?}"),
        }
    }

    /// Runs a command to its end, and forgets it.
    pub(crate) fn run(&mut self, start: Start) -> Ran {
        let began = Instant::now();
        let call = self.call();
        self.send(&Request::Start {
            call,
            start: Box::new(Start {
                attach: Some(PLENTY),
                ..start
            }),
        });
        let (job, pid) = match self.until(|reply| (call_of(reply) == Some(call)).then(|| reply.clone())) {
            Reply::Started { job, pid, .. } => (job, pid),
            other => panic!("not started: {other:?}"),
        };
        let ran = self.finish(job, pid, began);
        self.forget(job);
        ran
    }

    pub(crate) fn shell(&mut self, text: &str) -> Ran {
        self.run(shell(text))
    }

    /// Takes everything of a job that this client is attached to from the beginning.
    pub(crate) fn finish(&mut self, job: u64, pid: u32, began: Instant) -> Ran {
        let mut output = [Vec::new(), Vec::new()];
        let mut gaps = Vec::new();
        let mut reached = [0; 2];
        let mut end: Option<(Ending, Duration)> = None;
        while end.as_ref().is_none_or(|(ending, _)| reached != ending.totals) {
            let reply = self.until(|reply| (job_of(reply) == Some(job)).then(|| reply.clone()));
            match reply {
                Reply::Output {
                    stream, offset, data, ..
                } => {
                    assert_eq!(
                        offset,
                        reached[stream.index()],
                        "every byte comes once and in order"
                    );
                    reached[stream.index()] += data.len() as u64;
                    output[stream.index()].extend(data);
                }
                Reply::Gap { stream, from, to, .. } => {
                    assert_eq!(from, reached[stream.index()]);
                    reached[stream.index()] = to;
                    gaps.push((stream, from, to));
                }
                Reply::Finished { ending, .. } => end = Some((*ending, began.elapsed())),
                _ => {}
            }
        }
        let (ending, took) = end.unwrap();
        Ran {
            job,
            pid,
            ending,
            output,
            gaps,
            took,
        }
    }

    pub(crate) fn forget(&mut self, job: u64) {
        let answer = self.ask(|call| Request::Forget { call, job });
        assert!(matches!(answer, Reply::Done { .. }), "{answer:?}");
    }

    pub(crate) fn wait(&mut self, job: u64) -> Ending {
        match self.ask(|call| Request::Wait { call, job }) {
            Reply::Finished { ending, .. } => *ending,
            other => panic!("no end: {other:?}"),
        }
    }

    pub(crate) fn list(&mut self) -> Vec<JobRecord> {
        match self.ask(|call| Request::List {
            call,
            after: 0,
            most: 1000,
        }) {
            Reply::Listing { jobs, .. } => jobs,
            other => panic!("no listing: {other:?}"),
        }
    }
}

fn call_of(reply: &Reply) -> Option<u32> {
    match reply {
        Reply::Started { call, .. }
        | Reply::Finished { call, .. }
        | Reply::Listing { call, .. }
        | Reply::Data { call, .. }
        | Reply::Done { call }
        | Reply::Error { call, .. }
        | Reply::Pong { call } => Some(*call),
        _ => None,
    }
}

/// Of what an attached client gets.
fn job_of(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::Output { job, .. } | Reply::Gap { job, .. } | Reply::Finished { job, call: 0, .. } => {
            Some(*job)
        }
        _ => None,
    }
}

/// A request id that was not used before.
pub(crate) fn request_id() -> [u8; 16] {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let digest = sha256(format!("{} {number} {:?}", std::process::id(), Instant::now()).as_bytes());
    digest[..16].try_into().unwrap()
}

pub(crate) fn shell(text: &str) -> Start {
    let command = Command::Shell {
        shell: b"bash".to_vec(),
        text: text.into(),
    };
    Start::new(request_id(), command)
}

pub(crate) fn argv(arguments: &[&str]) -> Start {
    Start::new(
        request_id(),
        Command::Argv(
            arguments
                .iter()
                .map(|argument| argument.as_bytes().to_vec())
                .collect(),
        ),
    )
}

pub(crate) fn with_input(start: Start, input: &[u8]) -> Start {
    Start {
        stdin: Stdin::Bytes(input.to_vec()),
        ..start
    }
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < end, "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a file has stopped changing: what kept a beat in it is dead.
pub(crate) fn is_still(beat: &Path) -> bool {
    let before = fs::read(beat).unwrap_or_default();
    std::thread::sleep(Duration::from_millis(150));
    before == fs::read(beat).unwrap_or_default()
}

/// A process whose standard streams are not the test's.
pub(crate) fn quiet(process: &mut Process) -> &mut Process {
    process
        .stdin(ProcessStdio::null())
        .stdout(ProcessStdio::null())
        .stderr(ProcessStdio::null())
}
