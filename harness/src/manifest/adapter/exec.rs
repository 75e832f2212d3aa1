//! Runs a caller's command.

use std::{
    collections::BTreeMap,
    process::Stdio,
    sync::{Arc, atomic::Ordering},
};

use herm_protocol::{
    ByteString, Error, Execution, Finished,
    exec::{Command, Outcome, RunParams, Stdin, Stream},
    sandbox::Variable,
};
use tokio::{sync::watch, task::JoinSet};

use super::{End, ManifestAdapter, Words, spec};
use crate::manifest::{Values, run};

/// Variables of the sandbox and of the command; the command's win.
pub(super) fn records(sandbox: &[Variable], command: &[Variable]) -> Vec<BTreeMap<&'static str, ByteString>> {
    let kept = sandbox
        .iter()
        .filter(|variable| command.iter().all(|other| other.name != variable.name));
    kept.chain(command)
        .map(|variable| BTreeMap::from([("name", variable.name.clone()), ("value", variable.value.clone())]))
        .collect()
}

impl ManifestAdapter {
    /// The words that run a caller's command.
    pub(super) fn words(&self, params: &RunParams) -> Result<(Words, Arc<End>), Error> {
        let mut values = self.values_of(&params.sandbox);
        let sandboxes = self.sandboxes();
        let sandbox = sandboxes
            .get(&params.sandbox)
            .ok_or_else(|| Error::sandbox_not_found(&params.sandbox))?;
        let command = match &params.command {
            Command::Argv(words) => words.clone(),
            Command::Shell(text) => self.shell(text, &values),
        };
        values.many.insert("command", command);
        spec::fill(&mut values, &sandbox.spec);
        if let Some(cwd) = &params.cwd {
            values.one.insert("cwd", cwd.clone());
        }
        if let Some(user) = &params.user {
            values.one.insert("user", user.as_str().into());
        }
        if params.stdin != Stdin::None {
            values.one.insert("stdin", "".into());
        }
        values
            .records
            .insert("env", records(&sandbox.spec.env, &params.env));
        Ok((
            self.manifest.exec.run.get_ref().fill(&values),
            sandbox.end.clone(),
        ))
    }

    /// The words that run the text of a shell.
    fn shell(&self, text: &ByteString, values: &Values) -> Vec<ByteString> {
        let mut values = values.clone();
        values.one.insert("text", text.clone());
        let words = self.manifest.exec.shell.get_ref().fill(&values);
        words.into_iter().map(ByteString::from).collect()
    }

    pub(super) async fn carry_out(&self, params: RunParams, execution: Execution) -> Result<Finished, Error> {
        let (words, end) = self.words(&params)?;
        let over = end.over.notified();
        let stdin = if params.stdin == Stdin::None {
            Stdio::null()
        } else {
            Stdio::piped()
        };
        let mut child = match run::start(&words, stdin) {
            Ok(child) => child,
            Err(error) => return run::not_started(&error).map(Finished::from),
        };
        let _kept = child.id().map(|group| self.keeper.kill_group(group));
        execution.output.started().await;
        let (ended, told) = watch::channel(false);
        let mut pumps = JoinSet::new();
        let output = execution.output;
        pumps.spawn(run::pump(
            child.stdout.take(),
            output.clone(),
            Stream::Stdout,
            told.clone(),
        ));
        pumps.spawn(run::pump(child.stderr.take(), output, Stream::Stderr, told));
        let feeder = tokio::spawn(run::feed(child.stdin.take(), params.stdin, execution.input));
        let outcome = tokio::select! {
            status = child.wait() => match status {
                Ok(_) if end.begun.load(Ordering::SeqCst) => Outcome::SandboxLost,
                Ok(status) => run::outcome_of(status),
                Err(_) => Outcome::TransportLost,
            },
            () = over => run::lost(&mut child).await,
        };
        // Pumps that have ended already do not listen any more.
        let _ = ended.send(true);
        run::drain(&mut pumps, outcome == Outcome::SandboxLost).await;
        feeder.abort();
        Ok(outcome.into())
    }
}
