//! A client's connection: its proof, what comes from it, what waits to go to it.

use std::{
    collections::BTreeSet,
    io::{self, Read as _, Write as _},
    os::{fd::AsFd, unix::net::UnixStream},
};

use crate::{
    system::{Epoll, Interest, random},
    wire::{
        Deframer, ErrorKind, MAX_REQUEST, MAX_UNPROVED, Refusal, Reply, Request, Stream, VERSION, frame_into,
        frame_start, output_start,
        proof::{Role, SECRET, Transcript},
    },
};

/// Output is handed to a connection as long as fewer bytes than this wait to go.
pub(super) const HIGH: usize = 512 * 1024;

/// Above this nothing more is read from a client that does not take its answers.
const TOO_MUCH: usize = 1024 * 1024;

/// Above this the client is let go.
const FAR_TOO_MUCH: usize = 8 * 1024 * 1024;

/// From this number of bytes on, an empty buffer is given back.
const LARGE: usize = 1024 * 1024;

const READ: usize = 64 * 1024;

/// How far the proof is.
#[derive(Debug)]
enum State {
    /// Nothing was said.
    New,
    /// The resident has said its part.
    Greeted(Transcript),
    /// The client is let in.
    Proved,
}

#[derive(Debug)]
pub(super) struct Connection {
    socket: UnixStream,
    state: State,
    deframer: Deframer,
    out: Vec<u8>,
    /// How much of `out` has gone.
    gone: usize,
    interest: Interest,
    /// Jobs whose output goes here.
    pub(super) attached: BTreeSet<u64>,
    /// The job that had its turn last.
    pub(super) turn: u64,
    /// What is said is still sent, and then the connection ends.
    closing: bool,
}

/// What came of reading from a client.
#[derive(Debug)]
pub(super) enum Come {
    /// These, and nothing more for now.
    Requests(Vec<Request>),
    /// The client is gone, or was let go.
    Lost,
}

impl Connection {
    pub(super) fn new(socket: UnixStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        crate::system::large_buffer(&socket, 1024 * 1024);
        Ok(Self {
            socket,
            state: State::New,
            deframer: Deframer::default(),
            out: Vec::new(),
            gone: 0,
            interest: Interest::READ,
            attached: BTreeSet::new(),
            turn: 0,
            closing: false,
        })
    }

    pub(super) fn socket(&self) -> impl AsFd {
        &self.socket
    }

    pub(super) fn is_proved(&self) -> bool {
        matches!(self.state, State::Proved)
    }

    pub(super) fn waiting(&self) -> usize {
        self.out.len() - self.gone
    }

    /// Reads what there is. Requests of a client that has not proved itself are answered here.
    pub(super) fn read(&mut self, secret: &[u8; SECRET], welcome: &Reply) -> Come {
        if self.closing {
            return Come::Lost;
        }
        let mut buffer = vec![0; READ];
        let mut requests = Vec::new();
        match self.socket.read(&mut buffer) {
            Ok(0) => return Come::Lost,
            Ok(length) => self.deframer.add(buffer.get(..length).unwrap_or_default()),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) => {}
            Err(_) => return Come::Lost,
        }
        while !self.closing {
            let limit = if self.is_proved() {
                MAX_REQUEST
            } else {
                MAX_UNPROVED
            };
            match self.deframer.next(limit) {
                Ok(Some(message)) => match Request::decode(&message) {
                    Ok(request) if self.is_proved() => requests.push(request),
                    Ok(request) => self.prove(&request, secret, welcome),
                    Err(error) => self.refuse(ErrorKind::Protocol, error.to_string()),
                },
                Ok(None) => break,
                Err(error) => self.refuse(ErrorKind::Protocol, error.to_string()),
            }
        }
        Come::Requests(requests)
    }

    fn prove(&mut self, request: &Request, secret: &[u8; SECRET], welcome: &Reply) {
        match (&self.state, request) {
            (
                State::New,
                Request::Hello {
                    oldest,
                    newest,
                    nonce,
                },
            ) => {
                if !(*oldest..=*newest).contains(&VERSION) {
                    let message = format!("version {VERSION} is spoken here; use a client that speaks it");
                    return self.refuse(ErrorKind::Version, message);
                }
                let Ok(own) = random() else {
                    return self.refuse(ErrorKind::Internal, "the system has no random numbers".into());
                };
                let transcript = Transcript {
                    version: VERSION,
                    client: *nonce,
                    resident: own,
                };
                let mac = transcript.prove(secret, Role::Resident);
                self.send(&Reply::Hello {
                    version: VERSION,
                    nonce: own,
                    mac,
                });
                self.state = State::Greeted(transcript);
            }
            (State::Greeted(transcript), Request::Prove { mac }) => {
                if transcript.is_proved(secret, Role::Client, mac) {
                    self.state = State::Proved;
                    self.send(welcome);
                } else {
                    let message = "the proof is wrong; use the secret of this resident";
                    self.refuse(ErrorKind::Unauthenticated, message.into());
                }
            }
            _ => self.refuse(
                ErrorKind::Protocol,
                "a proof comes first: Hello, then Prove".into(),
            ),
        }
    }

    /// Says why the connection ends.
    pub(super) fn refuse(&mut self, kind: ErrorKind, message: String) {
        let resource = "connection".into();
        self.send(&Reply::Error {
            call: 0,
            error: Refusal {
                kind,
                resource,
                message,
            },
        });
        self.closing = true;
    }

    pub(super) fn send(&mut self, reply: &Reply) {
        let out = &mut self.out;
        frame_into(&reply.encode(), |piece| out.extend_from_slice(piece));
    }

    /// Sends output, which is copied once: `fill` adds exactly `length` bytes.
    pub(super) fn send_output<E>(
        &mut self,
        (job, stream, offset): (u64, Stream, u64),
        length: usize,
        fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let before = self.out.len();
        let start = output_start(job, stream, offset, length);
        self.out.extend_from_slice(&frame_start(start.len() + length));
        self.out.extend_from_slice(&start);
        let expected = self.out.len() + length;
        let filled = fill(&mut self.out);
        if filled.is_err() || self.out.len() != expected {
            self.out.truncate(before);
        }
        filled
    }

    /// Sends what waits, as far as the client takes it; returns whether the connection goes on.
    pub(super) fn flush(&mut self) -> bool {
        while self.gone < self.out.len() {
            match self.socket.write(self.out.get(self.gone..).unwrap_or_default()) {
                Ok(0) => return false,
                Ok(length) => self.gone += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        if self.gone == self.out.len() {
            self.gone = 0;
            self.out.clear();
            if self.out.capacity() > LARGE {
                self.out = Vec::new();
            }
            return !self.closing;
        }
        if self.gone > HIGH {
            self.out.drain(..self.gone);
            self.gone = 0;
        }
        self.waiting() < FAR_TOO_MUCH
    }

    /// Waits for what is of use now; `more` says that there is more to send than what waits already.
    pub(super) fn update_interest(&mut self, epoll: &Epoll, token: u64, more: bool) {
        let waiting = self.waiting();
        let interest = Interest {
            read: waiting < TOO_MUCH && !self.closing,
            write: waiting > 0 || more,
        };
        if interest != self.interest && epoll.modify(&self.socket, token, interest).is_ok() {
            self.interest = interest;
        }
    }
}
