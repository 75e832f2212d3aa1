//! The resident: one process, one thread, one loop that waits for everything at once. Nothing in it waits for a client, and
//! whatever a client can make it hold is bounded.

mod caller;
mod connection;
mod ending;
mod input;
mod job;
mod output;
mod requests;
mod spares;
mod spool;
mod start;
mod token;
mod tools;
mod upkeep;
mod whereabouts;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    fs::File,
    io,
    os::{fd::OwnedFd, unix::net::UnixListener},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

pub(crate) use tools::ToolDoor;

use crate::memory_limit::KillCounter;
use caller::Caller;
use connection::{Come, Connection};
use job::{Job, Supervisor};
use token::Token;

use crate::{
    home::Home,
    session::Sessions,
    supervisor::{Ground, find_bash},
    system::{Epoll, Interest, Ready, Signals, directory_watch, effective_user, number, peer_user, random},
    version,
    wire::{ErrorKind, Reply, VERSION, Welcome, proof::SECRET},
};

/// The most connections at a time.
const CONNECTIONS: usize = 128;

/// How long a connection has for its proof.
const PROOF_LIMIT: Duration = Duration::from_secs(10);

/// How often a connection that takes everything at once is given more before others have their turn.
const TURNS: usize = 4;

/// Bytes read from a pipe at a time.
const READ: usize = 256 * 1024;

/// What a resident is started with.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) ground: Ground,
    pub(crate) secret: [u8; SECRET],
    /// Whether clients find the secret in a file of the directory.
    pub(crate) writes_secret: bool,
    /// The directory that it is found by, if it is to see to that.
    pub(crate) home: Option<Arc<Home>>,
    /// Where clients come in.
    pub(crate) listener: Option<UnixListener>,
    /// A directory in which clients make sockets to be dialled.
    pub(crate) dial: Option<PathBuf>,
    /// Where code calls tools.
    pub(crate) tools: Option<ToolDoor>,
    /// Its end is that of the resident, too: whoever holds the other end has gone.
    pub(crate) leash: Option<OwnedFd>,
    /// How long it stays when nothing goes on; without, for ever.
    pub(crate) idle: Option<Duration>,
    /// Whether something goes on as long as a client is there or an outcome is kept; else only what clients ask counts, and
    /// what runs.
    pub(crate) stays_for_clients: bool,
}

/// What is to be done at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// Something about a job; its phase says what.
    Job(u64),
    /// A connection must have proved itself.
    Proof(u64),
    /// Code that has connected must have said what it calls.
    Caller(u64),
    /// Calls of a job are given up whose client did not come back.
    Alone(u64),
    /// Orphans of a killed supervisor are looked for.
    Orphans,
    /// It is looked whether clients find the resident.
    Home,
    /// Nothing has gone on for the whole of the idle time.
    Idle,
    /// The end is not waited for any longer.
    ShutdownLimit,
}

pub(crate) struct Resident {
    setting: Setting,
    epoll: Epoll,
    signals: Signals,
    watch: Option<File>,
    /// Names in the dialled directory that were dialled and are still there.
    dialled: BTreeSet<std::ffi::OsString>,
    welcome: Reply,
    connections: BTreeMap<u64, Connection>,
    last_connection: u64,
    callers: BTreeMap<u64, Caller>,
    last_caller: u64,
    jobs: BTreeMap<u64, Job>,
    last_job: u64,
    /// Up to which number it is noted down that jobs may have been given one.
    noted_job: u64,
    requests: HashMap<[u8; 16], u64>,
    /// Which job each supervisor is of.
    supervisors: HashMap<i32, u64>,
    /// Supervisors that wait for an exec, those that have waited longest first.
    spares: VecDeque<Supervisor>,
    last_start: Instant,
    no_spare_before: Instant,
    /// Whether a child has ended since the last look.
    reaping_due: bool,
    timers: BTreeSet<(Instant, Timer)>,
    idle_since: Option<Instant>,
    kills: Option<KillCounter>,
    /// End of file for commands that are given no input.
    null: Option<File>,
    buffer: Vec<u8>,
    sessions: Sessions,
    /// Once it is to end: the calls that wait for that.
    shutdown: Option<Vec<(u64, u32)>>,
    over: bool,
}

impl Resident {
    pub(crate) fn new(mut setting: Setting) -> io::Result<Self> {
        let signals = Signals::take(&[number::CHILD, number::TERMINATE, number::INTERRUPT])?;
        let epoll = Epoll::new()?;
        epoll.add(&signals, Token::Signals.number(), Interest::READ)?;
        if let Some(listener) = &setting.listener {
            listener.set_nonblocking(true)?;
            epoll.add(listener, Token::Listener.number(), Interest::READ)?;
        }
        if let Some(door) = &setting.tools {
            door.listener.set_nonblocking(true)?;
            epoll.add(&door.listener, Token::Tools.number(), Interest::READ)?;
        }
        if let Some(leash) = &setting.leash {
            epoll.add(leash, Token::Leash.number(), Interest::READ)?;
        }
        let watch = setting.dial.as_deref().map(directory_watch).transpose()?;
        if let Some(watch) = &watch {
            epoll.add(watch, Token::Watch.number(), Interest::READ)?;
        }
        let kills = KillCounter::find();
        setting.ground.bash = find_bash(&setting.ground);
        let welcome = Welcome {
            version: VERSION,
            instance: random()?,
            program: version(),
            pid: std::process::id(),
            uid: effective_user(),
            directory: setting
                .ground
                .directory
                .as_ref()
                .map_or_else(Vec::new, |directory| {
                    directory.as_os_str().as_encoded_bytes().to_vec()
                }),
            bash: setting.ground.bash.is_some(),
            out_of_memory_told: kills.is_some(),
        };
        let sessions = Sessions::new(setting.ground.directory.as_deref());
        let last_job = setting.home.as_ref().map_or(0, |home| home.last_job());
        Ok(Self {
            setting,
            epoll,
            signals,
            watch,
            dialled: BTreeSet::new(),
            welcome: Reply::Welcome(Box::new(welcome)),
            connections: BTreeMap::new(),
            last_connection: 0,
            callers: BTreeMap::new(),
            last_caller: 0,
            jobs: BTreeMap::new(),
            last_job,
            noted_job: last_job,
            requests: HashMap::new(),
            supervisors: HashMap::new(),
            spares: VecDeque::new(),
            last_start: Instant::now(),
            no_spare_before: Instant::now(),
            reaping_due: false,
            timers: BTreeSet::new(),
            idle_since: None,
            kills,
            null: start::open_null(),
            buffer: vec![0; READ],
            sessions,
            shutdown: None,
            over: false,
        })
    }

    /// Runs until it is shut down or has been idle for too long.
    pub(crate) fn run(mut self) -> io::Result<()> {
        self.dial();
        self.look_after_home_later();
        while !self.over {
            self.watch_idleness();
            let ready = self.epoll.wait(self.limit())?;
            if ready.is_empty() && self.wants_spare() {
                self.add_spare();
            }
            for ready in ready {
                self.handle(ready);
            }
            if self.reaping_due {
                self.reap_children();
            }
            self.go_on_with_shutdown();
            self.handle_timers();
            self.flush();
        }
        self.flush();
        self.note_last_job(self.last_job);
        Ok(())
    }

    /// How long to wait for something to come.
    fn limit(&self) -> Option<Duration> {
        if self.wants_spare() {
            return Some(Duration::ZERO);
        }
        let next = self
            .timers
            .first()
            .map(|(at, _)| at.saturating_duration_since(Instant::now()));
        if self.lacks_spares() {
            Some(next.unwrap_or(spares::SPARE_PAUSE).min(spares::SPARE_PAUSE))
        } else {
            next
        }
    }

    fn handle(&mut self, ready: Ready) {
        match Token::from_number(ready.token) {
            Some(Token::Listener) => self.accept(),
            Some(Token::Signals) => self.read_signals(),
            Some(Token::Leash) => {
                if let Some(leash) = self.setting.leash.take() {
                    self.epoll.remove(&leash);
                }
                self.begin_shutdown(None);
                self.go_on_with_shutdown();
            }
            Some(Token::Watch) => self.look_again(),
            Some(Token::Connection(id)) if ready.read => self.read_connection(id),
            // What waits to go is sent after everything that has come.
            Some(Token::Connection(_)) | None => {}
            Some(Token::Supervisor(job)) => self.hear_supervisor(job),
            Some(Token::Output(job, stream)) => self.read_output(job, stream),
            Some(Token::Input(job)) => self.feed(job),
            Some(Token::Tools) => self.accept_callers(),
            Some(Token::Caller(id)) => self.read_caller(id),
        }
    }

    fn accept(&mut self) {
        while let Some(Ok((socket, _))) = self.setting.listener.as_ref().map(UnixListener::accept) {
            let user = peer_user(&socket).ok();
            // Others cannot enter the directory; the superuser can do everything as it is.
            if user == Some(effective_user()) || user == Some(0) {
                self.admit(socket);
            }
        }
    }

    fn admit(&mut self, socket: std::os::unix::net::UnixStream) {
        let Ok(mut connection) = Connection::new(socket) else {
            return;
        };
        self.count_anew();
        self.last_connection += 1;
        let id = self.last_connection;
        if self
            .epoll
            .add(
                connection.socket(),
                Token::Connection(id).number(),
                Interest::READ,
            )
            .is_err()
        {
            return;
        }
        if self.connections.len() >= CONNECTIONS {
            let message = format!("{CONNECTIONS} connections are open, and more are not taken; close some");
            connection.refuse(ErrorKind::TooMany, message);
        }
        self.connections.insert(id, connection);
        self.timers
            .insert((Instant::now() + PROOF_LIMIT, Timer::Proof(id)));
    }

    /// Dials the sockets that are there and were not before.
    fn dial(&mut self) {
        let Some(directory) = &self.setting.dial else {
            return;
        };
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        let names: BTreeSet<_> = entries
            .map(|entry| entry.file_name())
            .take(4 * CONNECTIONS)
            .collect();
        let new: Vec<_> = names
            .difference(&self.dialled)
            // A name that begins with a dot is not ready: its client renames it when it listens.
            .filter(|name| !name.as_encoded_bytes().starts_with(b"."))
            .map(|name| directory.join(name))
            .collect();
        self.dialled = names;
        for path in new {
            if let Some(socket) = crate::dial::connect(&path) {
                self.admit(socket);
            }
        }
    }

    fn look_again(&mut self) {
        use std::io::Read as _;
        let mut events = [0; 4096];
        while let Some(Ok(1..)) = self.watch.as_mut().map(|watch| watch.read(&mut events)) {}
        self.dial();
    }

    fn read_connection(&mut self, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else {
            return;
        };
        match connection.read(&self.setting.secret, &self.welcome) {
            Come::Requests(requests) => {
                for request in requests {
                    self.answer(id, request);
                }
            }
            Come::Lost => self.drop_connection(id),
        }
    }

    /// Lets a client go. Its jobs go on.
    fn drop_connection(&mut self, id: u64) {
        let Some(connection) = self.connections.remove(&id) else {
            return;
        };
        self.epoll.remove(connection.socket());
        self.lose_server(id);
        let jobs: Vec<_> = self.jobs.keys().copied().collect();
        for job in jobs {
            let Some(found) = self.jobs.get_mut(&job) else {
                continue;
            };
            found.waiters.retain(|(waiter, _)| *waiter != id);
            found.starters.retain(|(starter, ..)| *starter != id);
            if let Some(input) = &mut found.input {
                input.feeder = input.feeder.filter(|feeder| *feeder != id);
            }
            let before = found.readers.len();
            found.readers.retain(|reader| reader.connection != id);
            if found.readers.len() != before {
                self.resume(job);
            }
        }
    }

    fn send(&mut self, connection: u64, reply: &Reply) {
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.send(reply);
        }
    }

    /// Sends everything that waits, as far as clients take it.
    fn flush(&mut self) {
        self.send_arguments();
        let ids: Vec<_> = self.connections.keys().copied().collect();
        for id in ids {
            let mut goes_on = true;
            let mut more = true;
            for _ in 0..TURNS {
                more = self.pump(id);
                let Some(connection) = self.connections.get_mut(&id) else {
                    break;
                };
                goes_on = connection.flush();
                if !goes_on || !more || connection.waiting() > 0 {
                    break;
                }
            }
            if !goes_on {
                self.drop_connection(id);
            } else if let Some(connection) = self.connections.get_mut(&id) {
                connection.update_interest(&self.epoll, Token::Connection(id).number(), more);
            }
        }
    }
}
