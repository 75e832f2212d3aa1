//! A beat: proof by side effect that something runs. A worker writes a byte every 50 ms; whether it lives is seen from
//! inside, by the growth of its file, and from outside, by the processes of this machine, where they can be seen.

use std::time::Duration;

use herm_protocol::ByteString;

use super::{Failure, Scene, host::processes_given, processes_with, shell};
use crate::{process_table::Process, step::StepResult};

/// The time between two bytes.
const INTERVAL: Duration = Duration::from_millis(50);

/// How long after the first look a second one tells late from never.
const LATER: Duration = Duration::from_millis(200);

/// Beats after which a worker ends by itself, so that nothing that a broken subject leaves behind lives for long.
const MOST: u32 = 800;

/// A beat that a command keeps.
#[derive(Clone, Debug)]
pub struct Beat {
    /// An argument of whatever keeps it.
    pub token: String,
    /// The file that grows.
    pub path: ByteString,
    /// The sandbox it is kept in.
    pub sandbox: String,
    /// Whether its process was seen from outside.
    pub seen_outside: bool,
    /// Whether its sandbox is still there to look from inside.
    pub reachable: bool,
}

impl Scene {
    /// A new beat and the shell text that keeps it in the foreground, in a shell of its own.
    pub(crate) async fn new_beat(&mut self, prologue: &str) -> Result<String, Failure> {
        let token = self.token();
        let path = self.path_of(format!("beat-{token}").as_bytes()).await?;
        let sandbox = self.sandbox().await?.id;
        let text = format!(
            "sh -c '{prologue} exec 3>>\"$1\"; i=0; while [ $i -lt {MOST} ]; do printf x >&3; sleep 0.05; i=$((i+1)); done' {token} {}",
            shell::word(path.as_bytes())
        );
        self.beat = Some(Beat {
            token,
            path,
            sandbox,
            seen_outside: false,
            reachable: true,
        });
        Ok(text)
    }

    /// Waits until the beat is kept: until its process is seen from outside or, where it cannot be, its file from inside.
    pub(crate) async fn await_beat(&mut self) -> StepResult {
        let beat = self.the_beat()?;
        for _ in 0..20 {
            if !processes_given(&beat.token).await.is_empty() {
                self.beat = Some(Beat {
                    seen_outside: true,
                    ..beat
                });
                return Ok(());
            }
            tokio::time::sleep(INTERVAL / 2).await;
        }
        let deadline = tokio::time::Instant::now() + self.patience();
        while self.beat_size().await.map_err(Failure::while_preparing)? == 0 {
            if tokio::time::Instant::now() > deadline {
                return Err(Failure::inconclusive("the command never began to keep its beat"));
            }
            tokio::time::sleep(INTERVAL).await;
        }
        Ok(())
    }

    pub(crate) fn the_beat(&self) -> Result<Beat, Failure> {
        self.beat
            .clone()
            .ok_or_else(|| Failure::suite("no command keeps a beat"))
    }

    /// How often the beat was kept, seen from inside.
    pub(crate) async fn beat_size(&mut self) -> Result<u64, Failure> {
        let path = shell::word(self.the_beat()?.path.as_bytes());
        let size = self
            .observe(format!("if [ -e {path} ]; then wc -c < {path}; else echo 0; fi"))
            .await?;
        let size = String::from_utf8_lossy(&size);
        size.trim()
            .parse()
            .map_err(|_| Failure::failed("the size of a file", format!("{size:?}")))
    }

    /// The beat is over now: no process of it is left, and its file no longer grows.
    pub(crate) async fn beat_has_stopped(&mut self) -> StepResult {
        let beat = self.the_beat()?;
        let living = processes_with(&beat.token).await;
        if !living.is_empty() {
            let seen = describe(&living);
            tokio::time::sleep(LATER).await;
            let later = if processes_with(&beat.token).await.is_empty() {
                "gone; answer only when every process has been seen to be gone"
            } else {
                "still there"
            };
            let seen = format!("still running: {seen}; {} ms later: {later}", LATER.as_millis());
            return Err(Failure::failed(
                "every process of the command to have ended",
                seen,
            ));
        }
        if !beat.reachable {
            return if beat.seen_outside {
                Ok(())
            } else {
                Err(Failure::inconclusive(
                    "the sandbox is gone, and its processes cannot be seen from outside",
                ))
            };
        }
        let before = self.beat_size().await?;
        tokio::time::sleep(self.scaled(INTERVAL * 6)).await;
        let after = self.beat_size().await?;
        if after > before {
            let seen = format!(
                "it grew from {before} to {after} bytes in {} ms",
                (INTERVAL * 6).as_millis()
            );
            return Err(Failure::failed(
                "the file that the command writes to have stopped growing",
                seen,
            ));
        }
        Ok(())
    }

    /// The beat is over within a time: what has been told of it came before it could be ended.
    pub(crate) async fn beat_stops_within(&mut self, time: Duration) -> StepResult {
        let token = self.the_beat()?.token;
        let deadline = tokio::time::Instant::now() + self.scaled(time);
        while !processes_with(&token).await.is_empty() && tokio::time::Instant::now() < deadline {
            tokio::time::sleep(INTERVAL / 2).await;
        }
        self.beat_has_stopped().await
    }

    /// The beat goes on.
    pub(crate) async fn beat_goes_on(&mut self) -> StepResult {
        let before = self.beat_size().await?;
        let deadline = tokio::time::Instant::now() + self.scaled(Duration::from_secs(2));
        while self.beat_size().await? <= before + 1 {
            if tokio::time::Instant::now() > deadline {
                return Err(Failure::failed(
                    "the worker to go on",
                    format!("its file stayed at {before} bytes"),
                ));
            }
            tokio::time::sleep(INTERVAL).await;
        }
        Ok(())
    }
}

/// Processes with their parents and command lines, for people.
fn describe(processes: &[u32]) -> String {
    let found = processes.iter().take(3).filter_map(|id| Process::of(*id));
    found
        .map(|process| process.describe())
        .collect::<Vec<_>>()
        .join("; ")
}
