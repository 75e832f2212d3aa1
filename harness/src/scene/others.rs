//! Others beside an adapter in a room of its own: another caller in another run, and things that only look like the
//! subject's. It must touch none of them.

use std::{path::PathBuf, process::Stdio, sync::Arc};

use herm_protocol::{ByteString, client::Exec, sandbox::SandboxSpec};
use tokio::process::{Child, Command};

use super::{Beat, Failure, Sandbox, Scene, Stay, Worker, Workshop, shell};
use crate::step::StepResult;

/// Seconds that a stranger's process lives, so that it is not there for long whatever happens to this one.
const STRANGER_LIVES: &str = "60";

/// What strangers write into their files.
const STRANGERS_TEXT: &str = "not yours\n";

/// What a scene works with, when it is another caller's.
#[derive(Default)]
pub(super) struct Party {
    worker: Option<Worker>,
    own: Vec<Sandbox>,
    running: Vec<Exec>,
    beat: Option<Beat>,
    file: Option<ByteString>,
}

/// Things that look like the subject's and are not.
pub(super) struct Strangers {
    process: Child,
    files: Vec<PathBuf>,
}

impl Party {
    /// Ends its adapter, and with it whatever it holds.
    pub(super) async fn end(self, workshop: &Arc<Workshop>) {
        drop(self.running);
        if let Some(worker) = self.worker {
            workshop.give_back(worker, true).await;
        }
    }
}

impl Scene {
    /// Another caller, in another run, has a sandbox with a file in it and a command that keeps a beat.
    pub(crate) async fn bring_neighbour(&mut self) -> StepResult {
        let room = self.stay()?.rooms.room(true).await?;
        let worker = self.workshop()?.employ_in(&room).await?;
        self.stay_mut()?.neighbour = Some(Party {
            worker: Some(worker),
            ..Party::default()
        });
        self.exchange()?;
        let done = self.furnish().await;
        self.exchange()?;
        self.stay_mut()?
            .neighbour
            .as_mut()
            .ok_or_else(|| Failure::suite("there is no neighbour"))?
            .file = Some(done?);
        Ok(())
    }

    async fn furnish(&mut self) -> Result<ByteString, Failure> {
        self.prepare_sandbox(SandboxSpec::default()).await?;
        let path = self.new_path("mark").await?;
        let word = shell::word(path.as_bytes());
        self.prepare(format!("printf '{STRANGERS_TEXT}' > {word}"))
            .await?;
        let text = self.new_beat("").await?;
        let params = self.command(text).await?;
        let exec = self.start(&params).await?;
        self.running.push(exec);
        self.await_beat().await?;
        Ok(path)
    }

    /// The scene works with the neighbour's things in place of its own, or the other way round.
    fn exchange(&mut self) -> StepResult {
        let mut neighbour = self.stay_mut()?.neighbour.take();
        if let Some(party) = &mut neighbour {
            std::mem::swap(&mut party.worker, &mut self.worker);
            std::mem::swap(&mut party.own, &mut self.own);
            std::mem::swap(&mut party.running, &mut self.running);
            std::mem::swap(&mut party.beat, &mut self.beat);
        }
        self.stay_mut()?.neighbour = neighbour;
        Ok(())
    }

    /// A process and files that have the sandbox's or the room's name in theirs, and are the suite's own.
    pub(crate) async fn bring_strangers(&mut self) -> StepResult {
        let id = self.sandbox().await?.id;
        let stay = self.stay()?;
        let folder = stay.rooms.folder().to_owned();
        let files = [
            folder.join("room.txt"),
            folder.join("room-of-another").join(&id).join("file"),
        ];
        for file in &files {
            let made = async {
                if let Some(above) = file.parent() {
                    tokio::fs::create_dir_all(above).await?;
                }
                tokio::fs::write(file, STRANGERS_TEXT).await
            };
            made.await
                .map_err(|error| Failure::inconclusive(format!("failed to make a file: {error}")))?;
        }
        let process = Command::new("sh")
            .args(["-c", &format!("sleep {STRANGER_LIVES}; :"), &id])
            .arg(&stay.room.scratch)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| Failure::inconclusive(format!("failed to start a process: {error}")))?;
        self.stay_mut()?.strangers = Some(Strangers {
            process,
            files: files.into(),
        });
        Ok(())
    }

    /// The neighbour and the strangers have all that they had.
    pub(crate) async fn others_are_untouched(&mut self) -> StepResult {
        let Stay {
            neighbour, strangers, ..
        } = self.stay_mut()?;
        let file = neighbour.as_ref().and_then(|party| party.file.clone());
        if let Some(strangers) = strangers {
            strangers.are_there().await?;
        }
        if let Some(file) = file {
            self.exchange()?;
            let there = self.neighbour_lives(&file).await;
            self.exchange()?;
            there?;
        }
        Ok(())
    }

    async fn neighbour_lives(&mut self, file: &ByteString) -> StepResult {
        self.beat_goes_on().await?;
        let seen = self
            .observe(format!("cat {}", shell::word(file.as_bytes())))
            .await?;
        if seen != STRANGERS_TEXT.as_bytes() {
            return Err(Failure::failed(
                format!("the other caller's file to hold {STRANGERS_TEXT:?}"),
                seen.escape_ascii().to_string(),
            ));
        }
        Ok(())
    }
}

impl Strangers {
    /// Ends the process; the files are in the scenario's folder and go with it.
    pub(super) async fn end(mut self) {
        let _ = self.process.kill().await;
    }

    async fn are_there(&mut self) -> StepResult {
        if let Ok(Some(status)) = self.process.try_wait() {
            return Err(Failure::failed(
                "a process of somebody else's, with the sandbox's name among its words, to live on",
                format!("it was ended: {status}"),
            ));
        }
        for file in &self.files {
            let seen = tokio::fs::read_to_string(file).await;
            if !seen.as_ref().is_ok_and(|text| text == STRANGERS_TEXT) {
                return Err(Failure::failed(
                    format!("a file of somebody else's, {}, to be as it was", file.display()),
                    format!("{seen:?}"),
                ));
            }
        }
        Ok(())
    }
}
