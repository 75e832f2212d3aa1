//! Both sides of a new connection prove that they know the same secret, without saying it.

use std::fmt;

use herm_resident::wire::{
    MAX_UNPROVED, Reply, Request, VERSION, Welcome,
    proof::{NONCE, Role, SECRET, Transcript},
};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};

use super::connection::{Frames, Lost, write_message};

/// What a client and its resident know, and nobody else. It is never shown.
#[derive(Clone)]
pub struct Secret([u8; SECRET]);

impl Secret {
    /// The secret of these bytes.
    #[must_use]
    pub fn new(bytes: [u8; SECRET]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Bytes at random from the system.
pub(super) fn random<const N: usize>() -> Result<[u8; N], Lost> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Lost::new(format!("no random bytes from the system: {error}")))?;
    Ok(bytes)
}

/// Proves, and has proved, then takes the welcome.
pub(super) async fn shake(
    frames: &mut Frames<impl AsyncRead + Unpin>,
    output: &mut (impl AsyncWrite + Unpin),
    secret: Option<&Secret>,
) -> Result<Welcome, Lost> {
    if let Some(secret) = secret {
        prove(frames, output, secret).await?;
    }
    match frames.next_reply(MAX_UNPROVED * 64).await? {
        Reply::Welcome(welcome) if welcome.version == VERSION => Ok(*welcome),
        Reply::Welcome(welcome) => Err(Lost::new(format!(
            "the resident speaks version {} of the wire, and this program {VERSION}",
            welcome.version
        ))),
        other => Err(refused(other)),
    }
}

async fn prove(
    frames: &mut Frames<impl AsyncRead + Unpin>,
    output: &mut (impl AsyncWrite + Unpin),
    secret: &Secret,
) -> Result<(), Lost> {
    let nonce: [u8; NONCE] = random()?;
    let hello = Request::Hello {
        oldest: VERSION,
        newest: VERSION,
        nonce,
    };
    write_message(output, &hello).await?;
    let (version, resident, mac) = match frames.next_reply(MAX_UNPROVED * 64).await? {
        Reply::Hello { version, nonce, mac } => (version, nonce, mac),
        other => return Err(refused(other)),
    };
    if version != VERSION {
        let problem = format!("the resident chose version {version} of the wire, which was not offered");
        return Err(Lost::new(problem));
    }
    let transcript = Transcript {
        version,
        client: nonce,
        resident,
    };
    if !transcript.is_proved(&secret.0, Role::Resident, &mac) {
        return Err(Lost::new(
            "who answered is not our resident: it does not know the secret",
        ));
    }
    let prove = Request::Prove {
        mac: transcript.prove(&secret.0, Role::Client),
    };
    write_message(output, &prove).await?;
    output.flush().await.map_err(Lost::io)
}

fn refused(reply: Reply) -> Lost {
    match reply {
        Reply::Error { error, .. } => Lost::new(format!("the resident refused us: {}", error.message)),
        _ => Lost::new("the resident answered out of turn"),
    }
}
