//! The resident as process 1 of a container.

use std::{error::Error, path::PathBuf};

use crate::{
    home::Home,
    resident::{Resident, Setting},
    settings::{self, Arguments},
    supervisor::Ground,
    system::{effective_user, random, set_dumpable, subreaper},
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
        leash: None,
        idle: arguments.idle,
    })?
    .run()?;
    if let Some(home) = &home {
        home.clean();
    }
    Ok(())
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
