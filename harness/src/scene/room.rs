//! A room: a folder of a scenario's own in which an adapter works, so that all that is in it is the adapter's.

use std::{
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use herm_protocol::remove_tree::{Locked, remove_tree};

use super::Failure;

/// What an adapter is told of its run, and where it works. The folder that it works in is called as the rooms of others are
/// and then goes on: who takes one name for the beginning of another takes what is not its own.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    /// The id of the run that the adapter is told: one of its own, since a ledger is that of a run, and others who work at the
    /// same time make things and remove them. It begins with that of the whole run and a `-`, so that whoever looks for what
    /// the whole run has left can find this, too.
    pub(crate) run: String,
    /// The folder for its temporary files.
    pub(crate) scratch: PathBuf,
}

/// The rooms of a scenario, side by side in a folder that nothing else is in.
#[derive(Debug)]
pub(crate) struct Rooms {
    folder: PathBuf,
    run: String,
}

impl Rooms {
    /// Makes the folder of a scenario in the scratch folder of a run.
    pub(super) async fn make(scratch: &str, run: &str, name: &str) -> Result<Self, Failure> {
        // As long as any other of them, so that none but the neighbour's begins with one that is another's.
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let folder = Path::new(scratch).join(name);
        make(&folder).await?;
        let serial = SERIAL.fetch_add(1, Ordering::SeqCst);
        Ok(Self {
            folder,
            run: format!("{run}-{serial:08x}"),
        })
    }

    /// The folder that the rooms are in.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the first room, or `neighbour`, which is another run's.
    pub(crate) async fn room(&self, neighbour: bool) -> Result<Room, Failure> {
        let (name, run) = if neighbour {
            ("room-2", format!("{}0", self.run))
        } else {
            ("room", self.run.clone())
        };
        let scratch = self.folder.join(name);
        make(&scratch).await?;
        Ok(Room { run, scratch })
    }
}

async fn make(folder: &Path) -> Result<(), Failure> {
    match tokio::fs::DirBuilder::new().mode(0o700).create(folder).await {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(Failure::inconclusive(format!(
            "failed to make {}: {error}",
            folder.display()
        ))),
        _ => Ok(()),
    }
}

impl Rooms {
    /// Removes them.
    pub(super) async fn remove(self) {
        // What cannot be removed here is removed with the run's scratch folder, and told then.
        let _ = tokio::task::spawn_blocking(move || remove_tree(&self.folder, Locked::Open)).await;
    }
}
