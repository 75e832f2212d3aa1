//! Sessions: what one command leaves for the next, in each of the shells that carry it.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as the tests do")]

#[expect(dead_code, reason = "shared by several tests, each of which uses a part")]
#[path = "../support/mod.rs"]
mod support;

mod carried;
mod ending;
mod harm;
mod reading;

use herm_resident::wire::{Command, Request, Session, Start, StateKept};
use support::{Client, Ran, Resident, request_id};

/// A variable of every sandbox here, which no session has made. What is in it looks like what a shell lists.
const BOX: (&str, &str) = (
    "PROBE_BOX",
    "b0xed\nexport PROBE_FALSE='x'\n__herm_gone=' PATH'\nexport HOME",
);

/// A shell that carries what it knows from command to command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shell {
    Bash,
    Dash,
    BusyBox,
}

impl Shell {
    const ALL: [Self; 3] = [Self::Bash, Self::Dash, Self::BusyBox];
    const POSIX: [Self; 2] = [Self::Dash, Self::BusyBox];

    fn is_bash(self) -> bool {
        self == Self::Bash
    }

    /// What it is called in its own messages and in `$0`.
    fn name(self) -> &'static str {
        if self.is_bash() { "bash" } else { "sh" }
    }

    fn kept(self) -> StateKept {
        if self.is_bash() {
            StateKept::Shell
        } else {
            StateKept::CwdEnv
        }
    }
}

/// A resident, a client of it, and the shell that reads its texts.
struct Place {
    shell: Shell,
    client: Client,
    resident: Resident,
}

impl Place {
    fn new(shell: Shell) -> Self {
        println!("in {shell:?}");
        let program = match shell {
            Shell::BusyBox => "busybox",
            Shell::Bash | Shell::Dash => "dash",
        };
        let resident = Resident::start_with_sh(program, &[BOX]);
        Self {
            shell,
            client: resident.client(),
            resident,
        }
    }

    /// A text without a session.
    fn text(&self, text: &str) -> Start {
        let command = Command::Shell {
            shell: self.shell.name().into(),
            text: text.into(),
        };
        Start::new(request_id(), command)
    }

    /// A text of the session that the tests are about.
    fn start(&self, text: &str) -> Start {
        self.start_in("one", text)
    }

    fn start_in(&self, session: &str, text: &str) -> Start {
        Start {
            session: Some(Session {
                name: session.into(),
                kept: self.shell.kept(),
                cwd: None,
                own: Vec::new(),
                leaves: true,
            }),
            ..self.text(text)
        }
    }

    /// A text of the session with variables of its own.
    fn start_with(&self, own: &[(&str, &str)], text: &str) -> Start {
        let mut start = self.start(text);
        let own = own
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        start.env = own.map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
        if let Some(session) = &mut start.session {
            session.own = start.env.iter().map(|(name, _)| name.clone()).collect();
        }
        start
    }

    fn run(&mut self, text: &str) -> Ran {
        let start = self.start(text);
        self.client.run(start)
    }

    fn run_with(&mut self, own: &[(&str, &str)], text: &str) -> Ran {
        let start = self.start_with(own, text);
        self.client.run(start)
    }

    fn run_without_session(&mut self, text: &str) -> Ran {
        let start = self.text(text);
        self.client.run(start)
    }

    fn end(&mut self) {
        self.client.ask(|call| Request::EndSession {
            call,
            name: "one".into(),
        });
    }
}

fn in_each_shell(test: impl Fn(&mut Place)) {
    for shell in Shell::ALL {
        test(&mut Place::new(shell));
    }
}

/// Whether it was told that a state could not be saved.
fn is_told(ran: &Ran) -> bool {
    let notices = &ran.ending.notices;
    notices.iter().any(|notice| notice.contains("could not be saved"))
}
