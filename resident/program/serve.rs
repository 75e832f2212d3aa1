//! A channel to the daemon: what comes on standard input goes to it, what it says goes to standard output.

use std::{
    error::Error,
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::{AsFd as _, BorrowedFd},
        unix::net::UnixStream,
    },
    path::Path,
    process::{self, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    dial,
    home::Home,
    settings::{self, Arguments},
    system::{enlarge_pipe, poll, random, set_dumpable},
    wire::{
        Deframer, MAX_REPLY, Reply, Request, VERSION, frame,
        proof::{Role, SECRET, Transcript},
        text::{PIECE, Receiver, Sender},
    },
};

/// How long the daemon has for its start and for its part of the proof.
const LIMIT: Duration = Duration::from_secs(10);

const BUFFER: usize = 256 * 1024;

/// What standard output holds, if it is a pipe.
const PIPE: i32 = 1024 * 1024;

/// Connects standard input and output to the daemon until one of them ends.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    // The secret passes through here.
    set_dumpable(false)?;
    let home = Home::open(arguments.directory.as_deref().unwrap_or(Path::new("")))?;
    let end = Instant::now() + LIMIT;
    let mut socket = loop {
        if let Some(socket) = dial::connect(&home.join("socket")) {
            break socket;
        }
        start_daemon(&home, arguments)?;
        if Instant::now() > end {
            return Err(format!(
                "the daemon of {} does not listen; see its log there",
                home.path.display()
            )
            .into());
        }
    };
    socket.set_nonblocking(false)?;
    let mut first = Vec::new();
    if !arguments.relay {
        let (_, given) = settings::environment()?;
        let secret = given.or_else(|| settings::secret_in(&home.join("secret")));
        let secret = secret.ok_or_else(|| format!("{} cannot be read", home.join("secret").display()))?;
        first = prove(&mut socket, &secret)?;
    }
    if arguments.text {
        relay_text(socket, &first)?;
    } else {
        relay(&socket, &first)?;
    }
    Ok(())
}

fn start_daemon(home: &Home, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let idle = arguments.idle.map_or(0, |idle| idle.as_secs());
    let output = Command::new("/proc/self/exe")
        .arg("daemon")
        .arg(&home.path)
        .args(["--idle", &idle.to_string()])
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned().into())
}

/// Makes both proofs, and returns what the daemon said after them.
fn prove(socket: &mut UnixStream, secret: &[u8; SECRET]) -> Result<Vec<u8>, Box<dyn Error>> {
    socket.set_read_timeout(Some(LIMIT))?;
    let client = random()?;
    let hello = Request::Hello {
        oldest: VERSION,
        newest: VERSION,
        nonce: client,
    };
    socket.write_all(&frame(&hello.encode()))?;
    let mut deframer = Deframer::default();
    let (version, resident, mac) = match next(socket, &mut deframer)? {
        Reply::Hello { version, nonce, mac } => (version, nonce, mac),
        other => return Err(format!("the daemon does not greet: {other:?}").into()),
    };
    let transcript = Transcript {
        version,
        client,
        resident,
    };
    if !transcript.is_proved(secret, Role::Resident, &mac) {
        return Err("what listens there does not know the secret of the directory".into());
    }
    let prove = Request::Prove {
        mac: transcript.prove(secret, Role::Client),
    };
    socket.write_all(&frame(&prove.encode()))?;
    let welcome = next(socket, &mut deframer)?;
    socket.set_read_timeout(None)?;
    match welcome {
        // Nothing else was asked for, so nothing else has come.
        Reply::Welcome(_) => Ok(frame(&welcome.encode())),
        other => Err(format!("the daemon does not let this client in: {other:?}").into()),
    }
}

fn next(socket: &mut UnixStream, deframer: &mut Deframer) -> Result<Reply, Box<dyn Error>> {
    loop {
        if let Some(message) = deframer.next(MAX_REPLY)? {
            return Ok(Reply::decode(&message)?);
        }
        let mut buffer = [0; 1024];
        match socket.read(&mut buffer)? {
            0 => return Err("the daemon has closed the connection".into()),
            length => deframer.add(buffer.get(..length).unwrap_or_default()),
        }
    }
}

/// Passes bytes on in both directions. It never returns but by an error: the end of either side is the end of the process.
fn relay(socket: &UnixStream, first: &[u8]) -> io::Result<()> {
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    output.write_all(first)?;
    enlarge_pipe(&output, PIPE);
    let to_daemon = socket.try_clone()?;
    std::thread::Builder::new().spawn(move || {
        let input = io::stdin();
        let _ = pass_on(input.as_fd(), to_daemon.as_fd());
        // The client is gone.
        process::exit(0);
    })?;
    pass_on(socket.as_fd(), output.as_fd())
}

/// Copies everything from one to the other. (The system could move it without a copy, but Linux 6.18 was seen to lose bytes
/// when it splices from a Unix socket into a pipe that is full.)
fn pass_on(from: BorrowedFd, to: BorrowedFd) -> io::Result<()> {
    let (mut from, mut to) = (
        File::from(from.try_clone_to_owned()?),
        File::from(to.try_clone_to_owned()?),
    );
    let mut buffer = vec![0; BUFFER];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => to.write_all(buffer.get(..length).unwrap_or_default())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Passes bytes on as lines. What was lost or damaged on the way is sent again when the client asks for it.
fn relay_text(mut socket: UnixStream, first: &[u8]) -> io::Result<()> {
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let (mut sender, mut receiver) = (Sender::default(), Receiver::default());
    let mut buffer = vec![0; PIECE];
    let (lines, _) = sender.send(first);
    output.write_all(lines.as_bytes())?;
    loop {
        let from_daemon = Some(socket.as_fd()).filter(|_| sender.room() > 0);
        let [client, daemon] = poll([Some(input.as_fd()), from_daemon], None)?;
        if client {
            let length = input.read(&mut buffer)?;
            if length == 0 {
                return Ok(());
            }
            let came = receiver.receive(buffer.get(..length).unwrap_or_default());
            socket.write_all(&came.bytes)?;
            if let Some(number) = came.acknowledged {
                sender.acknowledged(number);
            }
            let again = came
                .resend
                .map_or_else(String::new, |number| sender.again(number));
            output.write_all((came.answer + &again).as_bytes())?;
        }
        if daemon {
            let room = sender.room().min(buffer.len());
            let length = socket.read(buffer.get_mut(..room).unwrap_or_default())?;
            if length == 0 {
                return Ok(());
            }
            let (lines, _) = sender.send(buffer.get(..length).unwrap_or_default());
            output.write_all(lines.as_bytes())?;
        }
    }
}
