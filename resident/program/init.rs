//! The resident as process 1 of a container.

use std::{
    error::Error,
    fs::OpenOptions,
    io,
    os::{
        fd::OwnedFd,
        unix::fs::{FileTypeExt as _, OpenOptionsExt as _},
    },
    path::{Path, PathBuf},
};

use crate::{
    home::Home,
    resident::{Resident, Setting},
    settings::{self, Arguments},
    supervisor::Ground,
    system::{
        effective_user,
        open::{NO_FOLLOW, NO_WAIT},
        random, set_dumpable, subreaper,
    },
};

/// Runs until it is told to end, or is idle for too long.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let (environment, given) = settings::environment()?;
    let cwd = std::env::current_dir().unwrap_or_else(|_| "/".into());
    let home = match &arguments.directory {
        Some(directory) => Some(Home::open(directory)?),
        None => temporary_home(),
    };
    if let Some(home) = &home {
        home.clean();
    }
    let (secret, listener) = if let (Some(home), Some(_)) = (&home, &arguments.directory) {
        (home.secret(given)?, Some(home.listen(&cwd)?))
    } else {
        let problem =
            "no client could prove itself: set HERM_RESIDENT_SECRET, or name a directory with --dir";
        (given.ok_or(problem)?, None)
    };
    let tools = home.as_ref().map(|home| home.open_tools(&cwd)).transpose()?;
    let leash = arguments.leash_file.as_deref().map(open_leash).transpose()?;
    subreaper()?;
    set_dumpable(false)?;
    let ground = Ground {
        environment,
        cwd,
        directory: home.as_ref().map(|home| home.path.clone()),
        bash: None,
        first_to_go: true,
    };
    let dial = arguments.dial.clone();
    Resident::new(Setting {
        ground,
        secret,
        writes_secret: false,
        home: None,
        listener,
        dial,
        tools: tools.flatten(),
        leash,
        idle: arguments.idle,
        stays_for_clients: false,
    })?
    .run()?;
    if let Some(home) = &home {
        home.clean();
    }
    Ok(())
}

/// The end of a pipe that becomes readable when nobody holds the other end any more.
fn open_leash(path: &Path) -> io::Result<OwnedFd> {
    let pipe = OpenOptions::new()
        .read(true)
        .custom_flags(NO_FOLLOW | NO_WAIT)
        .open(path)?;
    if pipe.metadata()?.file_type().is_fifo() {
        return Ok(pipe.into());
    }
    let message = format!("{} is no pipe, which a leash has to be", path.display());
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// A directory for what does not fit into memory. The same one after a restart, unless somebody else has taken its name.
fn temporary_home() -> Option<Home> {
    let named = |name: String| Home::open(&temporary_directory().join(name)).ok();
    named(format!(".herm-resident-{}", effective_user())).or_else(|| {
        let random: u64 = u64::from_le_bytes(random().ok()?);
        named(format!(".herm-resident-{random:016x}"))
    })
}

fn temporary_directory() -> PathBuf {
    std::env::temp_dir()
}
