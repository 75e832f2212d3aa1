//! What is settled before a container is made: its image, what it may do, and the program that is its first process.

use std::{
    sync::PoisonError,
    time::{Duration, Instant},
};

use herm_protocol::{ByteString, Error, ErrorKind, Progress, sandbox::SandboxSpec};

use super::{
    DockerBackend, body,
    engine::Engine,
    facts::Said,
    files::{self, is_directory},
    fingerprint::Fingerprint,
    image::{Image, Programs},
    outside, remembered,
    sandbox::{Inhabited, Sandbox, Shell},
};
use crate::{
    backend::local::{Mode, adapter::blocking},
    files::inside,
    lifecycle::Life,
    policy::{self, NetworkMode, Plan},
    resident::Binary,
};

/// For how long what was looked at is as if it were looked at now.
const MOMENT: Duration = Duration::from_millis(500);

/// Where the kernel tells which ways out there are.
const ROUTES: &str = "/proc/self/net/route";

/// The same for the newer protocol.
const ROUTES_6: &str = "/proc/self/net/ipv6_route";

/// Everything that a container is made of.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) image: Image,
    pub(super) plan: Plan,
    /// The first process, in resident mode.
    pub(super) binary: Option<Binary>,
    /// What there is to run text, and to be the first process in native mode.
    pub(super) programs: Programs,
    /// Volumes of the sandbox's own, by the names that they get.
    pub(super) volumes: Vec<String>,
    /// What a container that is there has to have been made of to be used again.
    pub(super) fingerprint: Fingerprint,
    /// How long it lives.
    pub(super) life: Life,
    /// What the engine has said, on which this rests.
    pub(super) said: Said,
    /// What does not hold that one might count on.
    pub(super) notices: Vec<String>,
}

impl DockerBackend {
    /// Settles what the sandbox is made of. The engine is asked what it can do, unless that is known from the time when the
    /// container was made.
    ///
    /// # Errors
    /// An image that cannot be had, something that the engine's host cannot enforce, or that contradicts itself.
    pub(super) async fn prepare(
        &self,
        engine: &Engine,
        spec: &SandboxSpec,
        name: Option<&str>,
        said: Option<Said>,
        progress: Option<&Progress>,
    ) -> Result<Prepared, Error> {
        if !engine.is_near() {
            return Err(far(engine));
        }
        let said = match said {
            Some(said) => said,
            None => Said::from(&engine.info().await?),
        };
        let mut config = self.0.config.clone();
        if name.is_none() || spec.idle_ms.is_some() {
            // Nobody finds its files again.
            config.persistent.value = false;
        }
        let (plan, weakenings) = policy::plan(&config, spec, &said.host)?;
        outside::check_there(&plan.mounts, said.makes_directories).await?;
        let image = match self.just_looked_at(&plan.image) {
            Some(image) => image,
            None => engine.image_or_pull(&plan.image, progress).await?,
        };
        let programs = self.programs_of(engine, &image).await?;
        if self.0.mode == Mode::Native && programs == Programs::default() {
            return Err(nothing_to_wait(&plan.image));
        }
        let binary = match self.0.mode {
            Mode::Resident => {
                let architecture = image.architecture.clone();
                Some(blocking("the resident", move || Binary::find_for(&architecture)).await?)
            }
            Mode::Native => None,
        };
        let life = match (name, spec.idle_ms) {
            (Some(_), Some(idle)) => Life::until_idle(Duration::from_millis(idle)),
            (Some(_), None) => Life::of_key(
                config.persist_across_processes,
                config.persistent.value,
                config.lifetime,
            ),
            (None, _) => Life::OF_ONE_CALLER,
        };
        let fingerprint = Fingerprint::of(&plan, &image, self.0.mode, life)?;
        let volumes = name.map_or_else(Vec::new, |name| body::names_of(&plan.kept, name));
        Ok(Prepared {
            image,
            binary,
            programs,
            volumes,
            fingerprint,
            life,
            said,
            notices: weakenings.into_iter().map(|weakening| weakening.notice).collect(),
            plan,
        })
    }

    /// An image that was looked at a moment ago: whoever opens a sandbox as soon as it has begun need not ask twice.
    fn just_looked_at(&self, name: &str) -> Option<Image> {
        let mut looked = self.0.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, of, image) = looked.take()?;
        (of == name && at.elapsed() < MOMENT).then_some(image)
    }

    /// The programs of an image; looked for once.
    async fn programs_of(&self, engine: &Engine, image: &Image) -> Result<Programs, Error> {
        let known = {
            let programs = self.0.programs.lock().unwrap_or_else(PoisonError::into_inner);
            programs.get(&image.id).copied()
        };
        if let Some(known) = known {
            return Ok(known);
        }
        // An image never changes under its id, so that another process may have looked.
        let owner = self.owner().await?;
        let base = owner.base.clone();
        let found = if let Some(found) = remembered::programs(&base, &image.id).await {
            found
        } else {
            let labels = owner.labels_of_process(&self.place().run);
            let found = engine.programs_of(image, labels).await?;
            remembered::keep_programs(&base, &image.id, found).await;
            found
        };
        let mut programs = self.0.programs.lock().unwrap_or_else(PoisonError::into_inner);
        programs.insert(image.id.clone(), found);
        Ok(found)
    }

    /// The shell of the usual image, as the contract's choice has it. Where it cannot be known the lesser one is told.
    pub(super) async fn usual_shell(&self) -> &'static str {
        let looking = async {
            let name = &self.0.config.image.value;
            let (engine, image) = self.engine_and_image(name).await.ok()?;
            let image = image?;
            let shell = self.programs_of(&engine, &image).await.ok()?.shell;
            let mut looked = self.0.looked.lock().unwrap_or_else(PoisonError::into_inner);
            *looked = Some((Instant::now(), name.clone(), image));
            shell
        };
        match looking.await {
            Some(Shell { name: "bash", .. }) => "bash",
            _ => "posix",
        }
    }

    /// Whether sandboxes can be made here.
    ///
    /// # Errors
    /// The first thing that is missing.
    pub(super) async fn missing(&self) -> Result<(), Error> {
        let engine = self.engine().await?;
        if !engine.is_near() {
            return Err(far(&engine));
        }
        let name = &self.0.config.image.value;
        let Some(image) = engine.image(name).await? else {
            return Err(super::image::missing(
                name,
                "the engine does not have it; it would be fetched",
            ));
        };
        if self.0.mode == Mode::Resident {
            blocking("the resident", move || Binary::find_for(&image.architecture)).await?;
        }
        let spec = SandboxSpec::default();
        policy::plan(&self.0.config, &spec, &Said::from(&engine.info().await?).host)?;
        Ok(())
    }

    /// Checks that commands can start where a sandbox was asked to start them.
    ///
    /// # Errors
    /// There is no such directory.
    pub(super) async fn check_start(&self, sandbox: &Sandbox, asked: bool) -> Result<(), Error> {
        let Some(inhabited) = sandbox.inhabited.as_ref().filter(|_| asked) else {
            return Ok(());
        };
        let path = sandbox.cwd.as_path().into();
        is_directory(&sandbox.id, inhabited, &path)
            .await
            .map_err(|error| error.with_fix("name a directory that is there, or leave spec.cwd out"))
    }

    /// Checks that a container without a network has no way out, whatever the engine says of it.
    ///
    /// # Errors
    /// It has one.
    pub(super) async fn check_airgap(
        &self,
        name: &str,
        plan: &Plan,
        inhabited: Option<&Inhabited>,
    ) -> Result<(), Error> {
        let (NetworkMode::None, Some(inhabited)) = (&plan.network.mode, inhabited) else {
            return Ok(());
        };
        let read = async |path: &str| {
            let reading = inside::read(&inhabited.program, &path.into(), 0, None)?;
            let content = files::carry_out(name, inhabited, reading).await?;
            Ok::<_, Error>(content.data)
        };
        let newer = async {
            match read(ROUTES_6).await {
                // A kernel without the newer protocol has no ways out of it.
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(ByteString::default()),
                other => other,
            }
        };
        let (older, newer) = tokio::try_join!(read(ROUTES), newer)?;
        for routes in [older, newer] {
            if let Some(way) = way_out(&String::from_utf8_lossy(routes.as_bytes())) {
                let message =
                    format!("the container {name} was made without a network, and has a way out by {way}");
                return Err(Error::new(ErrorKind::Internal, name, message)
                    .with_fix("see what has connected it (docker inspect), and report it"));
            }
        }
        Ok(())
    }
}

/// What belongs to a sandbox on this machine is mounted into it, so that the engine has to be here, too.
fn far(engine: &Engine) -> Error {
    let shown = engine.address.shown();
    let message = format!(
        "the engine at {shown} is reached by the network, and sandboxes are made by an engine of this machine only"
    );
    Error::new(ErrorKind::Unavailable, shown, message)
        .with_fix("name the socket of an engine of this machine in DOCKER_HOST, or run herm where the engine is (terminal.backend ssh)")
}

/// A container is there as long as its first process is, which in native mode is one of the image.
fn nothing_to_wait(image: &str) -> Error {
    let message = format!(
        "the image {image} has neither a shell nor cat, and without one of them a container of it does not go on running in \
         native mode"
    );
    Error::new(ErrorKind::Unsupported, image, message).with_fix(
        "leave terminal.exec_mode to resident mode, which needs nothing of an image, or name another image",
    )
}

/// The first interface but the loopback that a route of a table in `/proc/net` leads to.
fn way_out(routes: &str) -> Option<&str> {
    routes
        .lines()
        .filter(|line| !line.starts_with("Iface"))
        .find_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            // The interface is the first field of the one table, and the last of the other.
            let interface = match fields.as_slice() {
                [first, .., _] if fields.len() > 10 => *first,
                [.., last] => *last,
                [] => return None,
            };
            (interface != "lo").then_some(interface)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_out_is_seen_in_both_tables() {
        let heading = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
        assert_eq!(way_out(heading), None);
        let route = format!("{heading}eth0\t00000000\t010011AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n");
        assert_eq!(way_out(&route), Some("eth0"));
        let zero = "0".repeat(32);
        let six = |interface: &str| {
            format!("{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       {interface}\n")
        };
        assert_eq!(way_out(&six("lo")), None);
        assert_eq!(way_out(&(six("lo") + &six("eth0"))), Some("eth0"));
    }
}
