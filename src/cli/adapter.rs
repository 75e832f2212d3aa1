//! `herm adapter`: a backend of the executor, served to a harness on standard input and output.

use std::{
    env, io,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use clap::Args;
use herm::{
    backend::{
        docker::{self, DockerBackend},
        local::{self, LocalBackend, Mode, SpoolFull, Streams},
    },
    config::{Config, Sources},
};
use herm_fixtures::condition::{self, Conditioned, DockerWorld, LocalWorld};
use herm_harness::{
    catalogue::Catalogue,
    manifest::{Manifest, ManifestAdapter},
    near_miss::hint,
    verdict::Exit,
};
use herm_protocol::{Adapter, serve_stdio};

use super::{fail, runtime::block_on, signals::EndSignals};

/// How long answers about commands that a signal ended have to be written.
const LAST_ANSWERS: Duration = Duration::from_millis(50);

/// Serve a backend of the executor to a harness, on standard input and output.
///
/// It speaks herm/1, one JSON message a line, until its input ends; then every command is ended and every sandbox that
/// is not meant to outlive it is removed. SIGHUP, SIGINT and SIGTERM do the same.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Which backend: local or docker. No configuration is read: what is tested is the same everywhere
    #[arg(long, value_name = "NAME", required_unless_present = "manifest")]
    backend: Option<String>,
    /// Serve the backend that this manifest of commands describes
    #[arg(long, value_name = "FILE", conflicts_with = "backend")]
    manifest: Option<PathBuf>,
    /// How commands are run there: resident or native
    #[arg(long, value_name = "MODE", default_value_t)]
    mode: Mode,
    /// How what commands print arrives: apart, or merged into standard output, which needs the mode resident
    #[arg(long, value_name = "HOW", default_value_t)]
    streams: Streams,
    /// What happens to the output of jobs that nobody reads: block, or `drop_oldest`, which needs the mode resident
    #[arg(long, value_name = "HOW", default_value_t)]
    spool_full: SpoolFull,
    /// The image of containers, for the backend docker [default: herm-test, or what the variable `HERM_IMAGE` names]
    #[arg(long, value_name = "NAME")]
    image: Option<String>,
}

/// The image that containers are made from unless another is named.
pub(super) const IMAGE: &str = "herm-test";

/// The variable that names another.
const IMAGE_VARIABLE: &str = "HERM_IMAGE";

/// The home of whoever has none: no file of settings is there.
const NOWHERE: &str = "/nonexistent";

/// The backends that can be served.
const BACKENDS: [&str; 2] = [local::BACKEND, docker::BACKEND];

pub(super) fn run(arguments: &Arguments) -> ExitCode {
    if let Some(path) = &arguments.manifest {
        return carry_out(path);
    }
    let backend = arguments.backend.as_deref().unwrap_or_default();
    if !BACKENDS.contains(&backend) {
        return fail(
            Exit::Usage,
            format_args!(
                "there is no backend {backend:?}{}; there are: {}",
                hint(backend, BACKENDS),
                BACKENDS.join(", ")
            ),
        );
    }
    if (arguments.mode, arguments.streams) == (Mode::Native, Streams::Merged) {
        let problem =
            "the mode native keeps the streams of a command apart; say --mode resident with --streams merged";
        return fail(Exit::Usage, problem);
    }
    if (arguments.mode, arguments.spool_full) == (Mode::Native, SpoolFull::DropOldest) {
        let problem = "the mode native has no jobs; say --mode resident with --spool-full drop_oldest";
        return fail(Exit::Usage, problem);
    }
    // A condition that an adapter is started in comes before everything else.
    if let Err(error) = condition::enter() {
        return fail(Exit::Broken, error);
    }
    let (mode, streams, spool_full) = (arguments.mode, arguments.streams, arguments.spool_full);
    if backend == docker::BACKEND {
        let image = arguments.image.clone().or_else(|| env::var(IMAGE_VARIABLE).ok());
        let image = image
            .filter(|image| !image.is_empty())
            .unwrap_or_else(|| IMAGE.into());
        return match docker_backend(&image, mode, streams, spool_full) {
            Ok(backend) => block_on(async move {
                let backend = Conditioned::new(backend, DockerWorld::default());
                serve(Arc::new(backend)).await
            }),
            Err(error) => fail(Exit::Broken, error),
        };
    }
    block_on(async move {
        let backend = LocalBackend::with_choices(mode, streams, spool_full);
        let backend = Conditioned::new(backend, LocalWorld::default());
        serve(Arc::new(backend)).await
    })
}

/// The docker backend with the defaults of its configuration, but for the image and what a condition says.
pub(super) fn docker_backend(
    image: &str,
    mode: Mode,
    streams: Streams,
    spool_full: SpoolFull,
) -> Result<DockerBackend, String> {
    let sources = Sources {
        home: NOWHERE.into(),
        ..Sources::default()
    };
    let sources = sources
        .with("--backend", "terminal.backend", Some(docker::BACKEND))
        .with("--image", "terminal.docker_image", Some(image));
    let told = condition::docker_settings().map_err(|error| error.to_string())?;
    let sources = told.iter().fold(sources, |sources, (key, value)| {
        sources.with(condition::DOCKER_VARIABLE, key, Some(value))
    });
    let config = Config::of_arguments(&sources).map_err(|problems| problems.to_string())?;
    let config = config.docker(&sources).map_err(|problems| problems.to_string())?;
    Ok(DockerBackend::new(config, mode, streams, spool_full))
}

/// Serves the backend of a manifest of commands.
fn carry_out(path: &Path) -> ExitCode {
    let manifest = Catalogue::embedded().map_err(|error| error.to_string());
    let manifest =
        manifest.and_then(|catalogue| Manifest::load(path, &catalogue).map_err(|error| error.to_string()));
    match manifest {
        Ok(manifest) => block_on(serve(Arc::new(ManifestAdapter::new(manifest)))),
        Err(error) => fail(Exit::Usage, error),
    }
}

async fn serve(backend: impl Adapter + Clone) -> ExitCode {
    let mut signals = match EndSignals::take() {
        Ok(signals) => signals,
        Err(error) => return fail(Exit::Broken, format_args!("failed to take over signals: {error}")),
    };
    // A task of its own goes on answering while the backend shuts down.
    let mut serving = tokio::spawn(serve_stdio(backend.clone()));
    tokio::select! {
        served = &mut serving => match served.map_err(io::Error::other).flatten() {
            Ok(()) => ExitCode::from(Exit::Conformant.code()),
            Err(error) => fail(Exit::Broken, format_args!("the connection to the harness broke: {error}")),
        },
        signal = signals.next() => {
            backend.shutdown().await;
            tokio::time::sleep(LAST_ANSWERS).await;
            ExitCode::from(Exit::Interrupted { signal }.code())
        }
    }
}
