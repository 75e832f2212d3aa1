//! The docker backend: each sandbox is a hardened container of an engine (Docker, or podman by its socket).
//!
//! What a container may do is decided by [`crate::policy`], and applied here. In resident mode its first process is a
//! resident, which runs commands, answers for whole trees of processes, and is reached without the engine: it dials out to
//! where its client listens. In native mode the engine's own exec runs each command.
//!
//! A sandbox without a key ends with its caller, however that ends: its first process holds the other end of a pipe of the
//! caller's. One with a key is a container that any process of this user finds again by its name.

mod adapter;
mod address;
mod aside;
mod attach;
mod body;
mod carrier;
mod credentials;
mod declaration;
mod effective;
mod engine;
mod facts;
mod files;
mod find;
mod fingerprint;
mod given;
mod image;
mod keep;
mod leash;
mod left;
mod meet;
mod names;
mod native;
mod open;
mod outside;
mod ownership;
mod prepare;
mod reach;
mod reap;
mod record;
mod remembered;
mod run;
mod sandbox;
mod secret;
mod seen;
mod told;

use std::{
    collections::HashMap,
    fmt::Display,
    io::Write as _,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Instant,
};

use herm_protocol::{
    Error, Finished,
    exec::RunParams,
    sandbox::{OpenParams, Opened},
};

pub use declaration::{BACKEND, declaration};

use crate::{
    backend::local::{Mode, SpoolFull, Streams, check, guard::Guard},
    caller::{Caller, Control, Input, Output, Tools},
    config::DockerConfig,
};
use engine::Engine;
use find::Claim;
use image::{Image, Programs};
use run::Ways;
use sandbox::Sandbox;

/// How a notice begins that tells what of this machine commands reach.
pub const REACHED_BY: &str = "commands reach this machine by";

/// How a notice begins that tells what has become of the container of a key.
pub const OF_THE_CONTAINER: &str = "the container herm-";

/// The docker backend. Clones are the same backend.
#[derive(Clone, Debug)]
pub struct DockerBackend(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    mode: Mode,
    ways: Ways,
    config: DockerConfig,
    /// The engine, once it has answered.
    engine: tokio::sync::Mutex<Option<Engine>>,
    /// An image that was just looked at, by its name.
    looked: Mutex<Option<(Instant, String, Image)>>,
    /// The programs of images, by their ids.
    programs: Mutex<HashMap<String, Programs>>,
    guard: Guard,
    place: Mutex<Place>,
    sandboxes: Mutex<Sandboxes>,
    /// Whether it was looked for what others have left.
    reaped: AtomicBool,
}

/// Where what belongs to sandboxes is kept on this machine.
#[derive(Clone, Debug)]
struct Place {
    run: String,
    scratch: PathBuf,
    /// Where sandboxes are kept under a key; the user's own directory when not set.
    kept: Option<PathBuf>,
}

#[derive(Debug, Default)]
struct Sandboxes {
    shut_down: bool,
    open: HashMap<String, Arc<Sandbox>>,
}

impl DockerBackend {
    /// A backend for containers as the configuration has them. Nothing is asked of an engine yet.
    #[must_use]
    pub fn new(config: DockerConfig, mode: Mode, streams: Streams, spool_full: SpoolFull) -> Self {
        let streams = match mode {
            Mode::Native => Streams::Apart,
            Mode::Resident => streams,
        };
        Self(Arc::new(Inner {
            mode,
            ways: Ways { streams, spool_full },
            config,
            engine: tokio::sync::Mutex::default(),
            looked: Mutex::default(),
            programs: Mutex::default(),
            guard: Guard::default(),
            place: Mutex::new(Place {
                run: String::new(),
                scratch: std::env::temp_dir(),
                kept: None,
            }),
            sandboxes: Mutex::default(),
            reaped: AtomicBool::new(false),
        }))
    }

    /// Opens a sandbox, as [`herm_protocol::Adapter::open`] does, for a caller in this process.
    ///
    /// Other than there, nothing that goes on under the key is ended for what is asked for otherwise now: that is refused.
    ///
    /// # Errors
    /// As [`herm_protocol::Adapter::open`]: nothing was made then.
    pub async fn open_sandbox(&self, params: OpenParams) -> Result<Opened, Error> {
        Box::pin(self.open_and_tell(params, Claim::LeavesWhatGoesOn, None)).await
    }

    /// Runs a command to its end, as [`herm_protocol::Adapter::run`] does, for a caller in this process.
    ///
    /// # Errors
    /// As [`herm_protocol::Adapter::run`]: nothing ran then.
    pub async fn execute(
        &self,
        params: RunParams,
        caller: Caller<impl Output, impl Input, impl Tools>,
        mut control: impl Control,
    ) -> Result<Finished, Error> {
        check::command(&params, self.0.mode)?;
        let sandbox = self.sandbox(&params.sandbox)?;
        let Some(inhabited) = &sandbox.inhabited else {
            let engine = self.engine().await?;
            return Box::pin(native::run(&engine, &sandbox, params, caller, &mut control)).await;
        };
        run::run(&sandbox, inhabited, self.0.ways, params, caller, &mut control).await
    }

    /// The engine, which has answered.
    async fn engine(&self) -> Result<Engine, Error> {
        let mut known = self.0.engine.lock().await;
        if let Some(engine) = &*known {
            return Ok(engine.clone());
        }
        let base = self.owner().await?.base;
        let engine = Box::pin(Engine::connect(Some(&base))).await?;
        *known = Some(engine.clone());
        Ok(engine)
    }

    /// The same with an image, if it has that: in one call where it is not known yet that the engine answers.
    async fn engine_and_image(&self, name: &str) -> Result<(Engine, Option<Image>), Error> {
        {
            let mut known = self.0.engine.lock().await;
            if known.is_none() {
                let base = self.owner().await?.base;
                let found = Box::pin(Engine::connect_with_image(&base, name)).await?;
                if let Some((engine, image)) = found {
                    *known = Some(engine.clone());
                    return Ok((engine, image));
                }
            }
        }
        let engine = self.engine().await?;
        let image = engine.image(name).await?;
        Ok((engine, image))
    }

    fn sandbox(&self, id: &str) -> Result<Arc<Sandbox>, Error> {
        let found = self.sandboxes().open.get(id).cloned();
        found.ok_or_else(|| Error::sandbox_not_found(id))
    }

    fn sandboxes(&self) -> MutexGuard<'_, Sandboxes> {
        self.0.sandboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.0.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a line to standard error, which is log. When nobody reads it any more there is still work to do, so this never
/// panics.
fn log(message: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "herm-docker: {message}");
}
