//! A resident as its client sees it: a connection that is made again when it is lost.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use herm_resident::wire::{Reply, Request, Welcome};
use tokio::{
    sync::Mutex,
    time::{Instant, sleep, timeout},
};

use super::{
    Dial, DialError, Lost,
    connection::{CallFault, Connection},
};

/// How a client deals with its resident.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How long an answer may take that nothing has to be waited for.
    pub answer: Duration,
    /// How long one attempt to reach the resident may take.
    pub dial: Duration,
    /// How long it is tried to reach a resident again.
    pub patience: Duration,
}

impl Default for Settings {
    /// For a resident on this machine.
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(10),
            dial: Duration::from_secs(5),
            patience: Duration::from_secs(5),
        }
    }
}

/// The first pause between attempts; it doubles up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Why a resident could not be reached.
#[derive(Clone, Debug)]
pub(super) enum Unreached {
    /// It is gone with everything that ran.
    Gone(String),
    /// It did not answer for as long as patience lasts; it may be there.
    Away(String),
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gone(why) | Self::Away(why) => f.write_str(why),
        }
    }
}

/// A resident that was reached once. Clones share the connection.
#[derive(Clone, Debug)]
pub struct Resident(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dial: Box<dyn Dial>,
    settings: Settings,
    connection: Mutex<Option<Arc<Connection>>>,
    /// Which start of the resident the first connection met.
    instance: OnceLock<[u8; 16]>,
}

impl Resident {
    /// A resident that is reached when it is first needed.
    #[must_use]
    pub fn new(dial: impl Dial, settings: Settings) -> Self {
        Self(Arc::new(Inner {
            dial: Box::new(dial),
            settings,
            connection: Mutex::new(None),
            instance: OnceLock::new(),
        }))
    }

    /// Reaches it, and says who it is.
    ///
    /// # Errors
    /// It cannot be reached within the patience, or is gone.
    pub async fn reach(&self) -> Result<Welcome, DialError> {
        match self.connection().await {
            Ok(connection) => Ok(connection.welcome.clone()),
            Err(Unreached::Gone(why)) => Err(DialError::Gone(why)),
            Err(Unreached::Away(why)) => Err(DialError::Unreachable(std::io::Error::other(why))),
        }
    }

    /// Ends everything that runs, then the resident itself. One that is gone already is no error.
    ///
    /// # Errors
    /// It cannot be reached, or does not end everything in time.
    pub async fn shut_down(&self, within: Duration) -> Result<(), DialError> {
        let connection = match self.connection().await {
            Ok(connection) => connection,
            Err(Unreached::Gone(_)) => return Ok(()),
            Err(Unreached::Away(why)) => return Err(DialError::Unreachable(std::io::Error::other(why))),
        };
        match connection.call(|call| Request::Shutdown { call }, within).await {
            Ok(_) => Ok(()),
            Err(CallFault::Refused(refusal)) => {
                Err(DialError::Unreachable(std::io::Error::other(refusal.message)))
            }
            // The last thing that a resident does is to go.
            Err(CallFault::Lost(lost)) => match self.connection().await {
                Err(Unreached::Gone(_)) => Ok(()),
                _ => Err(DialError::Unreachable(std::io::Error::other(lost))),
            },
        }
    }

    /// Sees to it that the resident has heard all that it was told, as far as it is reached and answers in that time: what is
    /// only on its way is lost with this process.
    pub async fn settle(&self, within: Duration) {
        let kept = self.0.connection.lock().await.clone();
        if let Some(connection) = kept.filter(|connection| connection.lost().is_none()) {
            let ping = connection.call(|call| Request::Ping { call }, within);
            let _ = timeout(within, ping).await;
        }
    }

    pub(super) fn settings(&self) -> Settings {
        self.0.settings
    }

    /// The connection, made again if it was lost.
    pub(super) async fn connection(&self) -> Result<Arc<Connection>, Unreached> {
        let mut kept = self.0.connection.lock().await;
        if let Some(connection) = kept.as_ref().filter(|connection| connection.lost().is_none()) {
            return Ok(connection.clone());
        }
        *kept = None;
        let connection = Arc::new(self.make_connection().await?);
        *kept = Some(connection.clone());
        Ok(connection)
    }

    async fn make_connection(&self) -> Result<Connection, Unreached> {
        let until = Instant::now() + self.0.settings.patience;
        let mut pause = PAUSE;
        loop {
            let why = match timeout(self.0.settings.dial, self.try_once()).await {
                Ok(Ok(connection)) => return self.recognised(connection),
                Ok(Err(DialError::Gone(why))) => return Err(Unreached::Gone(why)),
                Ok(Err(DialError::Unreachable(error))) => error.to_string(),
                Err(_) => format!("no connection within {:?}", self.0.settings.dial),
            };
            if Instant::now() + pause > until {
                return Err(Unreached::Away(why));
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn try_once(&self) -> Result<Connection, DialError> {
        let channel = self.0.dial.dial().await?;
        Connection::new(channel)
            .await
            .map_err(|lost| DialError::Unreachable(std::io::Error::other(lost)))
    }

    /// A resident that was started anew knows nothing of what ran before.
    fn recognised(&self, connection: Connection) -> Result<Connection, Unreached> {
        let met = self.0.instance.get_or_init(|| connection.welcome.instance);
        if *met == connection.welcome.instance {
            Ok(connection)
        } else {
            Err(Unreached::Gone(
                "the resident was started anew; what ran before is gone".into(),
            ))
        }
    }

    /// Asks something that may safely be asked again, until it is answered.
    pub(super) async fn ask(
        &self,
        make: impl Fn(u32) -> Request,
        within: Duration,
    ) -> Result<Reply, AskFault> {
        let mut lost = None::<Lost>;
        for _ in 0..ATTEMPTS {
            let connection = self.connection().await.map_err(AskFault::Unreached)?;
            match connection.call(&make, within).await {
                Ok(reply) => return Ok(reply),
                Err(CallFault::Refused(refusal)) => return Err(AskFault::Refused(refusal)),
                Err(CallFault::Lost(why)) => lost = Some(why),
            }
        }
        let why = lost.map_or_else(String::new, |lost| lost.to_string());
        Err(AskFault::Unreached(Unreached::Away(why)))
    }
}

/// How often something is asked on a connection that is lost while it is.
pub(super) const ATTEMPTS: u32 = 20;

/// Why a question was not answered.
#[derive(Debug)]
pub(super) enum AskFault {
    Refused(herm_resident::wire::Refusal),
    Unreached(Unreached),
}
