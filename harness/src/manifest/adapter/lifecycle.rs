//! Makes, lists and destroys sandboxes.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use herm_protocol::{
    ByteString, Error,
    sandbox::{Closed, OpenParams, OpenState, Opened, SandboxInfo, SandboxList, SandboxState},
};

use super::{
    Kept, ManifestAdapter, OPERATION, Sandbox, exec::records, lines, lock, operation, spec, unavailable,
    worked,
};
use crate::manifest::{Template, file::IdFrom, id, run};

/// How long opening may take when the manifest does not say.
const OPEN: Duration = Duration::from_mins(1);

impl ManifestAdapter {
    pub(super) async fn make(&self, params: OpenParams) -> Result<Opened, Error> {
        let serial = self.serial.fetch_add(1, Ordering::SeqCst);
        let mut id = format!("herm-{}-{}-{serial}", self.run_id(), std::process::id());
        // From before there is something: what a command that was cut off has made has to go, too.
        let mut kept = match self.manifest.open.id {
            IdFrom::Given => self.keep(&id),
            IdFrom::Output => Kept::default(),
        };
        if let Some(template) = &self.manifest.open.run
            && let Some(printed) = self.run_open(template.get_ref(), &id, &params).await?
        {
            kept = self.keep(&printed);
            id = printed;
        }
        let mut spec = params.spec;
        spec.cwd = spec
            .cwd
            .or_else(|| self.manifest.open.cwd.as_deref().map(ByteString::from));
        let cwd = spec.cwd.clone();
        let sandbox = Sandbox {
            spec,
            end: Arc::default(),
            _kept: kept,
        };
        self.sandboxes().insert(id.clone(), sandbox);
        Ok(Opened {
            sandbox: id,
            state: OpenState::Created,
            exec_mode: "manifest".into(),
            cwd,
            notices: Vec::new(),
            policy: None,
        })
    }

    /// Has a sandbox closed should this process be killed.
    fn keep(&self, id: &str) -> Kept {
        match &self.manifest.close {
            Some(close) => self.keeper.run(&close.run.get_ref().fill(&self.values_of(id))),
            None => Kept::default(),
        }
    }

    /// Runs the command that makes a sandbox; says the id that it printed, if that is where the id comes from.
    async fn run_open(
        &self,
        template: &Template,
        id: &str,
        params: &OpenParams,
    ) -> Result<Option<String>, Error> {
        let what = "open a sandbox";
        let mut values = self.values_of(id);
        values.records.insert("env", records(&params.spec.env, &[]));
        spec::fill(&mut values, &params.spec);
        let within = self.manifest.open.within_s.as_ref();
        let within = within.map_or(OPEN, |within| Duration::from_secs(*within.get_ref()));
        let output = match worked(
            run::output(&template.fill(&values), None, within, run::WORDS).await,
            what,
        ) {
            Ok(output) => output,
            Err(error) => {
                self.clean_up(id).await;
                return Err(error);
            }
        };
        if self.manifest.open.id == IdFrom::Given {
            return Ok(None);
        }
        let last = lines(&output.stdout).pop();
        let id = last.ok_or_else(|| unavailable(what, "the command printed no id"))?;
        let is_option = id
            .starts_with('-')
            .then_some("its id would be taken for an option");
        match id::problem(&id).or(is_option) {
            Some(problem) => Err(unavailable(
                what,
                &format!("the command printed {id:?}; {problem}"),
            )),
            None => Ok(Some(id)),
        }
    }

    /// A command that failed half-way may have made something of the id that it was given.
    async fn clean_up(&self, id: &str) {
        if let (Some(close), IdFrom::Given) = (&self.manifest.close, self.manifest.open.id) {
            // There may be nothing to close, which is what is wanted.
            let _ = run::output(
                &close.run.get_ref().fill(&self.values_of(id)),
                None,
                OPERATION,
                run::WORDS,
            )
            .await;
        }
    }

    /// Destroys a sandbox. One that cannot be destroyed stays, and can be closed again.
    pub(super) async fn destroy(&self, id: &str) -> Result<Closed, Error> {
        let Some(sandbox) = self.sandboxes().remove(id) else {
            return Ok(Closed { existed: false });
        };
        sandbox.end.begun.store(true, Ordering::SeqCst);
        let closed = match &self.manifest.close {
            Some(close) => operation(close.run.get_ref(), &self.values_of(id), "close the sandbox")
                .await
                .map(|_| ()),
            None => Ok(()),
        };
        sandbox.end.over.notify_waiters();
        match closed {
            Ok(()) => {
                lock(&self.held).retain(|held| held.sandbox.as_deref() != Some(id));
                Ok(Closed { existed: true })
            }
            Err(error) => {
                let end = Arc::default();
                self.sandboxes().insert(id.to_owned(), Sandbox { end, ..sandbox });
                Err(error)
            }
        }
    }

    pub(super) async fn list_sandboxes(&self) -> Result<SandboxList, Error> {
        let Some(list) = &self.manifest.list else {
            return Err(Error::unsupported("sandbox.list"));
        };
        let output = operation(list.get_ref().run.get_ref(), &self.values(), "list sandboxes").await?;
        let info = |id: String| SandboxInfo {
            sandbox: id,
            key: None,
            state: SandboxState::Running,
            cwd: None,
        };
        Ok(SandboxList {
            sandboxes: lines(&output.stdout).into_iter().map(info).collect(),
        })
    }
}
