//! Carries out a manifest: an adapter that runs the commands that a person would type.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    process::Stdio,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use herm_protocol::{
    Adapter, ByteString, Error, ErrorKind, Execution, Finished, Progress, VERSION,
    exec::{Command, Outcome, RunParams, Stdin, Stream},
    file::{FileContent, ReadParams, WriteParams},
    initialize::{InitializeParams, Initialized, Limits, Preflight, Problem},
    sandbox::{
        CloseHow, CloseParams, Closed, OpenParams, OpenState, Opened, SandboxInfo, SandboxList, SandboxState,
        Variable,
    },
};
use tokio::{
    sync::{Notify, watch},
    task::JoinSet,
};

use super::{
    Manifest, Template, Values,
    file::IdFrom,
    refuse::nul,
    run::{self, Output},
};

/// How long an operation may take that is not a command of the caller's.
const OPERATION: Duration = Duration::from_secs(30);

/// How long opening may take when the manifest does not say.
const OPEN: Duration = Duration::from_mins(1);

/// An adapter for the backend of a manifest.
pub struct ManifestAdapter {
    manifest: Manifest,
    names: Mutex<Names>,
    serial: AtomicU32,
    sandboxes: Mutex<HashMap<String, Sandbox>>,
}

/// What `initialize` told.
#[derive(Clone, Default)]
struct Names {
    run: String,
    scratch: String,
}

/// The end of a sandbox, as commands in it see it.
#[derive(Default)]
struct End {
    /// Closing has begun: what ends from here on was lost with the sandbox.
    begun: AtomicBool,
    /// Told when closing is over.
    over: Notify,
}

/// An open sandbox.
struct Sandbox {
    env: Vec<Variable>,
    cwd: Option<ByteString>,
    end: Arc<End>,
}

impl ManifestAdapter {
    /// An adapter for the backend of a manifest.
    #[must_use]
    pub fn new(manifest: Manifest) -> Self {
        Self {
            manifest,
            names: Mutex::default(),
            serial: AtomicU32::new(0),
            sandboxes: Mutex::default(),
        }
    }

    pub(super) fn declares(&self, capability: &str) -> bool {
        self.manifest
            .capabilities
            .iter()
            .any(|name| name.get_ref() == capability)
    }

    pub(super) fn needs(&self, asked: bool, capability: &str) -> Result<(), Error> {
        if asked && !self.declares(capability) {
            Err(Error::unsupported(capability))
        } else {
            Ok(())
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Sandbox>> {
        self.sandboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Values that every command may name.
    fn values(&self, sandbox: &str) -> Values {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let one = [
            ("run", names.run),
            ("scratch", names.scratch),
            ("sandbox", sandbox.to_owned()),
        ];
        Values {
            one: one.map(|(name, value)| (name, value.into())).into(),
            ..Values::default()
        }
    }

    async fn operation(&self, template: &Template, values: &Values, what: &str) -> Result<Output, Error> {
        let output = run::output(&template.fill(values), None, OPERATION).await;
        let output = output.map_err(|error| unavailable(what, &error.to_string()))?;
        if output.code == Some(0) {
            Ok(output)
        } else {
            Err(unavailable(what, &output.complaint()))
        }
    }

    /// A command that failed half-way may have made something of the id that it was given.
    async fn clean_up(&self, id: &str) {
        if let (Some(close), IdFrom::Given) = (&self.manifest.close, self.manifest.open.id) {
            // There may be nothing to close, which is what is wanted.
            let _ = run::output(&close.run.get_ref().fill(&self.values(id)), None, OPERATION).await;
        }
    }

    /// The words that run a caller's command.
    fn words(&self, params: &RunParams) -> Result<(Vec<OsString>, Arc<End>), Error> {
        let sandboxes = self.lock();
        let sandbox = sandboxes
            .get(&params.sandbox)
            .ok_or_else(|| Error::sandbox_not_found(&params.sandbox))?;
        let mut values = self.values(&params.sandbox);
        let command = match &params.command {
            Command::Argv(words) => words.clone(),
            Command::Shell(text) => {
                let text = BTreeMap::from([("text", text.clone())]);
                let shell = Values {
                    one: text,
                    ..Values::default()
                };
                self.manifest
                    .exec
                    .shell
                    .get_ref()
                    .fill(&shell)
                    .into_iter()
                    .map(ByteString::from)
                    .collect()
            }
        };
        values.many.insert("command", command);
        if let Some(cwd) = params.cwd.as_ref().or(sandbox.cwd.as_ref()) {
            values.one.insert("cwd", cwd.clone());
        }
        if let Some(user) = &params.user {
            values.one.insert("user", user.as_str().into());
        }
        if params.stdin != Stdin::None {
            values.one.insert("stdin", "".into());
        }
        values.records.insert("env", records(&sandbox.env, &params.env));
        Ok((
            self.manifest.exec.run.get_ref().fill(&values),
            sandbox.end.clone(),
        ))
    }
}

/// Variables of the sandbox and of the command; the command's win.
fn records(sandbox: &[Variable], command: &[Variable]) -> Vec<BTreeMap<&'static str, ByteString>> {
    let kept = sandbox
        .iter()
        .filter(|variable| command.iter().all(|other| other.name != variable.name));
    kept.chain(command)
        .map(|variable| BTreeMap::from([("name", variable.name.clone()), ("value", variable.value.clone())]))
        .collect()
}

fn unavailable(what: &str, cause: &str) -> Error {
    Error::new(ErrorKind::Unavailable, what, format!("failed to {what}: {cause}"))
        .with_fix("run the manifest's command by hand, and see what it says")
}

#[async_trait]
impl Adapter for ManifestAdapter {
    async fn initialize(&self, params: InitializeParams) -> Result<Initialized, Error> {
        *self.names.lock().unwrap_or_else(PoisonError::into_inner) = Names {
            run: params.run,
            scratch: params.scratch,
        };
        let version = match &self.manifest.version {
            Some(version) => {
                let output = run::output(&version.get_ref().fill(&self.values("")), None, OPERATION).await;
                output
                    .ok()
                    .and_then(|output| first_line(&output.stdout))
                    .unwrap_or_default()
            }
            None => String::new(),
        };
        let words =
            |values: &[toml::Spanned<String>]| values.iter().map(|value| value.get_ref().clone()).collect();
        Ok(Initialized {
            protocol: VERSION.into(),
            name: self.manifest.name.get_ref().clone(),
            version,
            homepage: self.manifest.homepage.clone(),
            backend: self.manifest.backend.clone(),
            mode: Some("manifest".into()),
            emulated: false,
            capabilities: words(&self.manifest.capabilities),
            choices: self
                .manifest
                .choices
                .iter()
                .map(|(name, variant)| (name.clone(), variant.get_ref().clone()))
                .collect(),
            limits: Limits::default(),
            parallelism: self.manifest.parallelism,
        })
    }

    async fn preflight(&self) -> Result<Preflight, Error> {
        let mut problems = Vec::new();
        for check in &self.manifest.preflight {
            let output = run::output(&check.run.get_ref().fill(&self.values("")), None, OPERATION).await;
            let complaint = match output {
                Ok(output) if output.code == Some(0) => continue,
                Ok(output) => output.complaint(),
                Err(error) => error.to_string(),
            };
            problems.push(Problem {
                what: format!("{} ({complaint})", check.missing),
                fix: check.fix.clone(),
            });
        }
        Ok(Preflight { problems })
    }

    async fn open(&self, params: OpenParams, _: Progress) -> Result<Opened, Error> {
        self.check_spec(&params)?;
        let serial = self.serial.fetch_add(1, Ordering::SeqCst);
        let run = self
            .names
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .run
            .clone();
        let mut id = format!("herm-{run}-{}-{serial}", std::process::id());
        if let Some(template) = &self.manifest.open.run {
            let mut values = self.values(&id);
            values.records.insert("env", records(&params.spec.env, &[]));
            if let Some(cwd) = &params.spec.cwd {
                values.one.insert("cwd", cwd.clone());
            }
            let within = self.manifest.open.within_s.map_or(OPEN, Duration::from_secs);
            let output = run::output(&template.get_ref().fill(&values), None, within).await;
            let output = match output {
                Ok(output) if output.code == Some(0) => output,
                failed => {
                    self.clean_up(&id).await;
                    let cause = failed.map_or_else(|error| error.to_string(), |output| output.complaint());
                    return Err(unavailable("open a sandbox", &cause));
                }
            };
            if self.manifest.open.id == IdFrom::Output {
                let last = last_line(&output.stdout);
                id = last.ok_or_else(|| unavailable("open a sandbox", "the command printed no id"))?;
            }
        }
        let cwd = params
            .spec
            .cwd
            .or_else(|| self.manifest.open.cwd.as_deref().map(ByteString::from));
        let sandbox = Sandbox {
            env: params.spec.env,
            cwd: cwd.clone(),
            end: Arc::default(),
        };
        self.lock().insert(id.clone(), sandbox);
        let (state, exec_mode) = (OpenState::Created, "manifest".to_owned());
        Ok(Opened {
            sandbox: id,
            state,
            exec_mode,
            cwd,
            notices: Vec::new(),
        })
    }

    async fn close(&self, params: CloseParams) -> Result<Closed, Error> {
        self.needs(params.how != CloseHow::Destroy, "attach")?;
        let Some(sandbox) = self.lock().remove(&params.sandbox) else {
            return Ok(Closed { existed: false });
        };
        sandbox.end.begun.store(true, Ordering::SeqCst);
        let closed = match &self.manifest.close {
            Some(close) => {
                let values = self.values(&params.sandbox);
                self.operation(close.run.get_ref(), &values, "close the sandbox")
                    .await
                    .map(|_| ())
            }
            None => Ok(()),
        };
        sandbox.end.over.notify_waiters();
        closed.map(|()| Closed { existed: true })
    }

    async fn list(&self) -> Result<SandboxList, Error> {
        let Some(list) = &self.manifest.list else {
            return Err(Error::unsupported("sandbox.list"));
        };
        let output = self
            .operation(list.run.get_ref(), &self.values(""), "list sandboxes")
            .await?;
        let text = String::from_utf8_lossy(&output.stdout);
        let ids = text.lines().map(str::trim).filter(|id| !id.is_empty());
        let info = |id: &str| SandboxInfo {
            sandbox: id.into(),
            key: None,
            state: SandboxState::Running,
            cwd: None,
        };
        Ok(SandboxList {
            sandboxes: ids.map(info).collect(),
        })
    }

    async fn run(&self, params: RunParams, execution: Execution) -> Result<Finished, Error> {
        if !self.lock().contains_key(&params.sandbox) {
            return Err(Error::sandbox_not_found(&params.sandbox));
        }
        self.check_run(&params)?;
        let (words, end) = self.words(&params)?;
        let over = end.over.notified();
        let stdin = if params.stdin == Stdin::None {
            Stdio::null()
        } else {
            Stdio::piped()
        };
        let mut child = match run::start(&words, stdin) {
            Ok(child) => child,
            Err(error) => return Ok(run::not_started(&error).into()),
        };
        execution.output.started().await;
        let (ended, told) = watch::channel(false);
        let mut pumps = JoinSet::new();
        pumps.spawn(run::pump(
            child.stdout.take(),
            execution.output.clone(),
            Stream::Stdout,
            told.clone(),
        ));
        pumps.spawn(run::pump(
            child.stderr.take(),
            execution.output.clone(),
            Stream::Stderr,
            told,
        ));
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

    async fn read_file(&self, params: ReadParams) -> Result<FileContent, Error> {
        let Some(files) = &self.manifest.files else {
            return Err(Error::unsupported("file.read"));
        };
        let values = self.values_of_file(&params.sandbox, &params.path)?;
        let output = self
            .operation(files.read.get_ref(), &values, "read the file")
            .await?;
        let from = usize::try_from(params.offset)
            .unwrap_or(usize::MAX)
            .min(output.stdout.len());
        let length = params
            .length
            .map_or(usize::MAX, |length| usize::try_from(length).unwrap_or(usize::MAX));
        let to = from.saturating_add(length).min(output.stdout.len());
        Ok(FileContent {
            data: output.stdout[from..to].into(),
            size: output.stdout.len() as u64,
        })
    }

    async fn write_file(&self, params: WriteParams) -> Result<(), Error> {
        let Some(files) = &self.manifest.files else {
            return Err(Error::unsupported("file.write"));
        };
        let values = self.values_of_file(&params.sandbox, &params.path)?;
        let output = run::output(&files.write.get_ref().fill(&values), Some(params.data), OPERATION).await;
        let output = output.map_err(|error| unavailable("write the file", &error.to_string()))?;
        if output.code == Some(0) {
            Ok(())
        } else {
            Err(unavailable("write the file", &output.complaint()))
        }
    }

    async fn shutdown(&self) {
        let ids: Vec<String> = self.lock().keys().cloned().collect();
        let closes = ids.into_iter().map(|sandbox| {
            self.close(CloseParams {
                sandbox,
                how: CloseHow::Destroy,
            })
        });
        futures::future::join_all(closes).await;
    }
}

impl ManifestAdapter {
    fn values_of_file(&self, sandbox: &str, path: &ByteString) -> Result<Values, Error> {
        if !self.lock().contains_key(sandbox) {
            return Err(Error::sandbox_not_found(sandbox));
        }
        if path.has_nul() {
            return Err(nul("path"));
        }
        let mut values = self.values(sandbox);
        values.one.insert("path", path.clone());
        Ok(values)
    }
}

fn first_line(bytes: &[u8]) -> Option<String> {
    String::from_utf8_lossy(bytes)
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .map(str::to_owned)
}

fn last_line(bytes: &[u8]) -> Option<String> {
    String::from_utf8_lossy(bytes)
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty())
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    #[tokio::test]
    async fn an_opening_that_fails_half_way_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join("made");
        let text = format!(
            r#"
name = "half"
[open]
run = ["sh", "-c", "touch '{made}'; echo no room >&2; exit 3"]
[exec]
run = ["{{command}}"]
shell = ["sh", "-c", "--", "{{text}}"]
[close]
run = ["rm", "-f", "{made}"]
"#,
            made = made.display()
        );
        let path = folder.path().join("half.toml");
        std::fs::write(&path, text).unwrap();
        let manifest = Manifest::load(&path, &Catalogue::embedded().unwrap()).unwrap();
        let (lines, _kept) = tokio::sync::mpsc::channel(1);
        let adapter = ManifestAdapter::new(manifest);
        let error = adapter
            .open(OpenParams::default(), Progress::to(lines))
            .await
            .unwrap_err();
        assert!(error.message.contains("code 3: no room"), "{error}");
        assert!(!made.exists());
    }
}
