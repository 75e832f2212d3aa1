//! Conditions: bringing about what the subject's own interface has no word for, and undoing it whatever happens.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use herm_protocol::{
    Error, ErrorKind,
    client::{CallError, Client},
    condition::{ConditionInfo, ConditionParams},
    exec::{Command, RunParams},
    initialize::Preflight,
    method,
    sandbox::{Empty, OpenParams, Opened, SandboxInfo, SandboxSpec, Variable},
};

use super::{Failure, Scene, Worker};
use crate::{catalogue::Catalogue, step::StepResult};

/// How long bringing a condition about, or undoing it, may take, before scaling.
const LIMIT: Duration = Duration::from_secs(30);

/// How the names of conditions end that take away something that a backend needs.
const MISSING: &str = ".missing";

/// Conditions that a scenario has brought about.
#[derive(Default)]
pub(crate) struct Held {
    conditions: Vec<(Arc<Client>, ConditionParams)>,
    /// Adapters that were put aside for one that was started in a condition.
    aside: Vec<Worker>,
}

/// How a backend was while something that it needs was missing. What it was not asked is `None`.
#[derive(Debug)]
pub(crate) struct Without {
    /// What was missing.
    pub(crate) condition: ConditionInfo,
    /// Why it could not be talked to at all.
    pub(crate) silent: Option<Failure>,
    /// What it said is missing.
    pub(crate) preflight: Option<Result<Preflight, CallError>>,
    /// How it answered to every opening, and how long that took.
    pub(crate) openings: Vec<(Result<Opened, CallError>, Duration)>,
    /// What it listed after that and had not listed before: others of this run may have left something to be found again.
    pub(crate) listed: Option<Result<Vec<SandboxInfo>, CallError>>,
    /// Whether a command has run on this machine.
    pub(crate) ran_here: bool,
    /// Why a sandbox could not be used when nothing was missing any more.
    pub(crate) back: Option<StepResult>,
}

impl Scene {
    /// The conditions that the subject offers; none when it offers none at all.
    pub(crate) async fn conditions(&mut self) -> Result<Vec<ConditionInfo>, Failure> {
        let patience = self.patience();
        let client = self.client().await?;
        match client.call::<method::ListConditions>(&Empty {}, patience).await {
            Ok(list) => Ok(list.conditions),
            Err(CallError::Refused(error)) if error.kind() == ErrorKind::Unsupported => Ok(Vec::new()),
            Err(CallError::Refused(error)) => Err(broken("condition.list", &error)),
            Err(CallError::Fault(fault)) => Err(self.broken(fault)),
        }
    }

    /// Brings a condition about, for a sandbox or for the subject. One that has to be started in takes effect on the adapter
    /// that the scenario goes on with, which is a new one.
    pub(crate) async fn bring_about(&mut self, name: &str, sandbox: Option<String>) -> StepResult {
        let offered = self.conditions().await?;
        if !offered.iter().any(|condition| condition.name == name) {
            return Err(not_offered(name));
        }
        let variables = self.apply(name, sandbox).await?;
        if variables.is_empty() {
            return Ok(());
        }
        if !self.own.is_empty() {
            return Err(Failure::suite(
                "a condition of the whole subject comes before any sandbox",
            ));
        }
        self.held.aside.extend(self.worker.take());
        self.alone = true;
        self.worker = Some(self.workshop()?.employ_with(&variables).await?);
        Ok(())
    }

    async fn apply(&mut self, name: &str, sandbox: Option<String>) -> Result<Vec<Variable>, Failure> {
        let params = ConditionParams {
            name: name.into(),
            sandbox,
        };
        let limit = self.scaled(LIMIT);
        let client = self.client().await?;
        // It is undone even if no answer comes.
        self.held.conditions.push((client.clone(), params.clone()));
        match client.call::<method::ApplyCondition>(&params, limit).await {
            Ok(applied) => Ok(applied.environment),
            Err(CallError::Refused(error)) => {
                self.held.conditions.pop();
                Err(broken(name, &error))
            }
            Err(CallError::Fault(fault)) => Err(self.broken(fault)),
        }
    }

    /// Undoes every condition that holds, the latest first.
    pub(crate) async fn clear_conditions(&mut self) -> StepResult {
        let mut result = Ok(());
        // It is forgotten when it was undone, and not before: this may be given up in the middle, and tried again.
        while let Some((client, params)) = self.held.conditions.last().cloned() {
            if let Err(error) = self.clear(&client, &params).await {
                let seen = format!("the condition {} could not be undone: {error}", params.name);
                result = result.and(Err(Failure::suite(seen).of_kind("condition")));
            }
            self.held.conditions.pop();
        }
        while let Some(worker) = self.held.aside.pop() {
            self.workshop()?.give_back(worker, false).await;
        }
        result
    }

    async fn clear(&mut self, client: &Client, params: &ConditionParams) -> Result<(), String> {
        let limit = self.last_patience();
        let cleared = match client.call::<method::ClearCondition>(params, limit).await {
            Err(CallError::Fault(_)) => {
                // What has broken meanwhile could not undo it; another adapter of the subject can.
                let employed = match self.workshop() {
                    Ok(workshop) => workshop.employ().await,
                    Err(failure) => Err(failure),
                };
                let other = employed.map_err(|failure| failure.seen)?;
                let cleared = other.client.call::<method::ClearCondition>(params, limit).await;
                self.held.aside.push(other);
                cleared
            }
            cleared => cleared,
        };
        cleared.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Uses the backend, by adapters of their own, without each thing in turn that it needs and that can be taken away.
    /// `again` opens twice, and looks besides whether all is well when nothing is missing any more.
    pub(crate) async fn do_without(&mut self, again: bool) -> StepResult {
        let offered = self.conditions().await?;
        let missing: Vec<_> = offered
            .into_iter()
            .filter(|condition| condition.name.ends_with(MISSING))
            .collect();
        if missing.is_empty() {
            return Err(not_offered("*.missing"));
        }
        for condition in missing {
            let without = self.use_without(condition, again).await?;
            self.notes.without.push(without);
        }
        Ok(())
    }

    /// Opens the scenario's key by adapters of their own, without each thing in turn that the subject needs and that can be
    /// taken away: what came of it, by the names of what was missing.
    pub(crate) async fn open_key_without(&mut self) -> Result<Vec<(String, Result<Opened, Error>)>, Failure> {
        let offered = self.conditions().await?;
        let missing: Vec<_> = offered
            .into_iter()
            .filter(|condition| condition.name.ends_with(MISSING))
            .collect();
        if missing.is_empty() {
            return Err(not_offered("*.missing"));
        }
        let params = OpenParams {
            key: Some(self.key()),
            spec: SandboxSpec::default(),
        };
        let patience = self.patience();
        let mut all = Vec::new();
        for condition in missing {
            let variables = self.apply(&condition.name, None).await?;
            let worker = self.workshop()?.employ_with(&variables).await?;
            let opened = worker.client.call::<method::Open>(&params, patience).await;
            self.workshop()?.give_back(worker, true).await;
            self.clear_conditions().await?;
            match opened {
                Ok(opened) => all.push((condition.name, Ok(opened))),
                Err(CallError::Refused(error)) => all.push((condition.name, Err(error))),
                Err(CallError::Fault(fault)) => return Err(self.broken(fault)),
            }
        }
        Ok(all)
    }

    async fn use_without(&mut self, condition: ConditionInfo, again: bool) -> Result<Without, Failure> {
        let variables = self.apply(&condition.name, None).await?;
        let employed = self.workshop()?.employ_with(&variables).await;
        let mut without = Without {
            condition,
            silent: None,
            preflight: None,
            openings: Vec::new(),
            listed: None,
            ran_here: false,
            back: None,
        };
        match employed {
            Ok(mut worker) => {
                self.ask(&mut worker, &mut without, if again { 2 } else { 1 })
                    .await;
                self.workshop()?.give_back(worker, true).await;
            }
            Err(failure) => without.silent = Some(failure),
        }
        self.clear_conditions().await?;
        if again {
            without.back = Some(self.use_new().await);
        }
        Ok(without)
    }

    async fn ask(&mut self, worker: &mut Worker, without: &mut Without, openings: u32) {
        let patience = self.patience();
        let declares = |name: &str| worker.initialized.capabilities.iter().any(|known| known == name);
        let client = worker.client.clone();
        if declares("preflight") {
            without.preflight = Some(client.call::<method::CheckPreflight>(&Empty {}, patience).await);
        }
        let before = match client.call::<method::List>(&Empty {}, patience).await {
            Ok(list) if declares("list") => list.sandboxes,
            // Who cannot look now is asked again later.
            _ => Vec::new(),
        };
        for _ in 0..openings {
            let asked = Instant::now();
            let opened = client
                .call::<method::Open>(&OpenParams::default(), patience)
                .await;
            without.openings.push((opened, asked.elapsed()));
        }
        if declares("list") {
            let listed = client.call::<method::List>(&Empty {}, patience).await;
            let is_new = |info: &SandboxInfo| before.iter().all(|known| known.sandbox != info.sandbox);
            without.listed = Some(listed.map(|list| list.sandboxes.into_iter().filter(is_new).collect()));
        }
        without.ran_here = self.runs_here(&client, without).await;
        for (opened, _) in &without.openings {
            if let Ok(opened) = opened {
                worker.close(&opened.sandbox, patience).await;
            }
        }
    }

    /// Sends a command after an opening, whatever became of that, and looks whether it has run on this machine.
    async fn runs_here(&mut self, client: &Arc<Client>, without: &Without) -> bool {
        let token = self.token();
        let opened = without
            .openings
            .iter()
            .find_map(|(opened, _)| opened.as_ref().ok());
        let sandbox = opened.map_or_else(|| self.token(), |opened| opened.sandbox.clone());
        let Ok(workshop) = self.workshop() else {
            return false;
        };
        let mark = workshop.scratch().join(format!("here-{token}"));
        let text = format!(": > {}", super::shell::word(mark.as_os_str().as_encoded_bytes()));
        let params = RunParams::new(&sandbox, token, Command::Shell(text.into()));
        if let Ok(exec) = client.run(&params) {
            // Whether it is refused or lost: what counts is what it has done.
            let _ = exec.wait(self.patience()).await;
        }
        let ran = tokio::fs::try_exists(&mark).await.unwrap_or(false);
        let _ = tokio::fs::remove_file(&mark).await;
        ran
    }

    /// Opens a sandbox by a new adapter and runs a command in it.
    async fn use_new(&mut self) -> StepResult {
        let patience = self.patience();
        let workshop = self.workshop()?;
        let mut worker = workshop.employ().await?;
        let used = worker.try_out(patience).await;
        workshop.give_back(worker, true).await;
        used
    }
}

/// A condition that broke.
fn broken(name: &str, error: &Error) -> Failure {
    Failure::suite(format!(
        "the condition {name} could not be brought about: {error}"
    ))
    .of_kind("condition")
}

/// A condition that the subject does not offer, with what the catalogue says of it.
fn not_offered(name: &str) -> Failure {
    let explained = Catalogue::embedded()
        .ok()
        .and_then(|catalogue| Some(catalogue.conditions.get(name)?.explains.clone()))
        .map(|explains| format!(" ({explains})"))
        .unwrap_or_default();
    let what = match name.strip_prefix("*.") {
        Some(rest) => format!("a condition whose name ends in .{rest}"),
        None => format!("the condition {name}{explained}"),
    };
    Failure::inconclusive(format!(
        "the subject does not offer {what}; to have this tested, bring it about in [conditions] of its manifest, or answer condition.list with it"
    ))
    .of_kind("condition")
}
