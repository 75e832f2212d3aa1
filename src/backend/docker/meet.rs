//! Reaching the resident of a container: it dials out to where its client listens, without the engine.

use std::{path::Path, time::Duration};

use bollard::{models::ContainerInspectResponse, query_parameters::LogsOptionsBuilder};
use futures::StreamExt as _;
use herm_protocol::{Error, ErrorKind};
use tokio::time::timeout;

use super::engine::{ANSWER, Engine};
use crate::resident::{DialError, Expected, MeetingDirectory, Resident, ReverseDial, Secret, Settings};

/// Lines of what a first process has said that are told.
const SAID: &str = "5";

/// Characters of them.
const LONGEST_SAID: usize = 500;

/// How long is waited for what it has said.
const SAYING: Duration = Duration::from_secs(2);

/// Where the meeting directory is mounted in a sandbox.
pub(super) const MOUNTED: &str = "/.herm/dial";

/// How clients deal with a resident of this machine's engine.
fn settings() -> Settings {
    Settings::default()
}

impl Engine {
    /// The resident of a container that runs, as it was just looked at, and which start of the resident it is.
    ///
    /// # Errors
    /// The container has ended, or its resident does not dial.
    pub(super) async fn meet(
        &self,
        name: &str,
        container: &ContainerInspectResponse,
        meeting: &MeetingDirectory,
        secret: Secret,
    ) -> Result<(Resident, [u8; 16]), Error> {
        let Some(expected) = expected(container).await else {
            return Err(self.ended(name, container).await);
        };
        let resident = Resident::new(ReverseDial::new(meeting.clone(), expected, secret), settings());
        match resident.reach().await {
            Ok(welcome) => Ok((resident, welcome.instance)),
            Err(error) => {
                let now = self.container(name).await?.unwrap_or_default();
                if expected_pid(&now).is_none() {
                    return Err(self.ended(name, &now).await);
                }
                Err(silent(name, meeting.path(), &error))
            }
        }
    }

    /// Why a container does not run, as far as it and its engine say.
    async fn ended(&self, name: &str, container: &ContainerInspectResponse) -> Error {
        let state = container.state.clone().unwrap_or_default();
        let code = state.exit_code.unwrap_or_default();
        let mut message = format!("the container {name} ended as it began, with code {code}");
        let said = self.said(name).await;
        for part in [state.error.unwrap_or_default(), said] {
            if !part.is_empty() {
                message.push_str(": ");
                message.push_str(&part);
            }
        }
        Error::new(ErrorKind::Unavailable, name, message).with_fix(
            "see whether programs of this machine's architecture run in the image, or use terminal.exec_mode native",
        )
    }

    /// The last words of a container's first process.
    async fn said(&self, name: &str) -> String {
        let options = LogsOptionsBuilder::new()
            .stdout(true)
            .stderr(true)
            .tail(SAID)
            .build();
        let mut lines = std::pin::pin!(self.docker.logs(name, Some(options)));
        let mut said = String::new();
        while let Ok(Some(Ok(line))) = timeout(SAYING, lines.next()).await {
            said.push_str(&line.to_string());
            if said.len() > LONGEST_SAID {
                break;
            }
        }
        said.trim().chars().take(LONGEST_SAID).collect()
    }

    /// Starts a container.
    ///
    /// # Errors
    /// The engine cannot.
    pub(super) async fn start(&self, name: &str) -> Result<(), Error> {
        let doing = format!("start the container {name}");
        let starting = self
            .docker
            .start_container(name, None::<bollard::query_parameters::StartContainerOptions>);
        self.call(&doing, super::engine::WORK, starting).await
    }

    /// Lets a container go on that is paused.
    ///
    /// # Errors
    /// The engine cannot.
    pub(super) async fn let_go_on(&self, name: &str) -> Result<(), Error> {
        let doing = format!("unpause the container {name}");
        self.call(&doing, ANSWER, self.docker.unpause_container(name))
            .await
    }
}

/// Who has to dial: the first process of the container, by its number where that is one of this machine's.
async fn expected(container: &ContainerInspectResponse) -> Option<Expected> {
    let pid = expected_pid(container)?;
    let id = container.id.as_deref().unwrap_or_default();
    // The engine may be in another namespace, or its containers in a machine of their own.
    let groups = tokio::fs::read_to_string(format!("/proc/{pid}/cgroup"))
        .await
        .unwrap_or_default();
    if !id.is_empty() && groups.contains(id) {
        Expected::process(pid).ok()
    } else {
        Expected::container(id).ok()
    }
}

fn expected_pid(container: &ContainerInspectResponse) -> Option<i32> {
    let pid = container.state.as_ref()?.pid?;
    i32::try_from(pid).ok().filter(|pid| *pid > 0)
}

fn silent(name: &str, meeting: &Path, error: &DialError) -> Error {
    let shown = meeting.display();
    let message = format!("the resident of {name} does not answer in {shown}: {error}");
    Error::new(ErrorKind::Unavailable, name, message).with_fix(
        "see whether the engine runs on this machine and sees that directory; else use terminal.exec_mode native",
    )
}
