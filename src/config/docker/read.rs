//! Reading the settings of containers.

use std::{
    collections::BTreeMap,
    env,
    path::{Component, Path, PathBuf},
    time::Duration,
};

use super::{Asked, CredentialFile, DockerConfig, EgressProxy, StartIn, ThisProcess};
use crate::config::{
    Config, Origin, Problem, Problems, Secret, Sources, dotenv::Dotenv, dotenv_file, local::in_home,
    size::parse_size,
};

/// Bytes of what the settings call a MB, as Docker counts it.
const MEGABYTE: u64 = 1024 * 1024;

/// Where files of Hermes' directory appear in a container.
const HERMES_INSIDE: &str = "/root/.hermes";

impl Config {
    /// The settings that matter in containers, with the values of the variables that are passed on: those of the sources'
    /// process, and else those of `.env`. They are in nothing else. This blocks for as long as a small file takes.
    ///
    /// # Errors
    /// Everything that is wrong with them, by the name of the setting.
    pub fn docker(&self, sources: &Sources) -> Result<DockerConfig, Problems> {
        let dotenv = Dotenv::read(&dotenv_file(&sources.home), &sources.environment)?;
        let mut problems = Vec::new();
        let mut take = |problem: Problem| problems.push(problem);
        let shm_bytes = self.shm_bytes().map_err(&mut take).ok();
        let credentials = self.credential_files(&sources.home).map_err(&mut take).ok();
        let here = this_process();
        let (cwd, named_here) = self.start_in();
        let workspace = self.workspace(named_here, &here).map_err(&mut take).ok();
        let (Some(shm_bytes), Some((credential_files, missing_files)), Some(workspace)) =
            (shm_bytes, credentials, workspace)
        else {
            return Err(Problems(problems));
        };
        let value = |name: &str| {
            let own = sources.variable(name);
            own.or_else(|| dotenv.get(name).map(|(value, _)| value))
        };
        let Variables { env, unset } = self.variables(value);
        let flag = |key| self.asked(key, self.flag(key));
        let text = |key| Some(self.text(key)).filter(|text| !text.trim().is_empty());
        Ok(DockerConfig {
            image: self.asked("terminal.docker_image", self.text("terminal.docker_image")),
            cwd,
            workspace,
            env,
            unset,
            volumes: self.asked("terminal.docker_volumes", self.list("terminal.docker_volumes")),
            credential_files,
            missing_files,
            extra_args: self.asked(
                "terminal.docker_extra_args",
                self.list("terminal.docker_extra_args"),
            ),
            network: flag("terminal.docker_network"),
            shm_bytes,
            run_as_host_user: flag("terminal.docker_run_as_host_user"),
            snap_compat: flag("terminal.docker_snap_compat"),
            cpu_millis: self.asked(
                "terminal.container_cpu",
                thousandths(self.number("terminal.container_cpu")),
            ),
            memory_bytes: self.asked(
                "terminal.container_memory",
                self.megabytes("terminal.container_memory"),
            ),
            disk_bytes: self.asked(
                "terminal.container_disk",
                Some(self.megabytes("terminal.container_disk")).filter(|bytes| *bytes > 0),
            ),
            persistent: flag("terminal.container_persistent"),
            persist_across_processes: self.flag("terminal.docker_persist_across_processes"),
            orphan_reaper: self.flag("terminal.docker_orphan_reaper"),
            shared_key: text("terminal.docker_shared_container_key"),
            lifetime: Duration::from_secs(
                u64::try_from(self.integer("terminal.lifetime_seconds")).unwrap_or_default(),
            ),
            timeout: self.timeout(),
            exec_mode: self.exec_mode(),
            egress: match (self.flag("proxy.enabled"), self.flag("proxy.enforce_on_docker")) {
                (false, _) => EgressProxy::Off,
                (true, false) => EgressProxy::Preferred,
                (true, true) => EgressProxy::Required,
            },
            here,
        })
    }

    fn asked<T>(&self, key: &'static str, value: T) -> Asked<T> {
        let origin = self.get(key).map(|resolved| resolved.origin.clone());
        Asked {
            value,
            key,
            origin: origin.unwrap_or(Origin::Default),
        }
    }

    fn megabytes(&self, key: &str) -> u64 {
        u64::try_from(self.integer(key)).unwrap_or_default() * MEGABYTE
    }

    fn shm_bytes(&self) -> Result<Asked<Option<u64>>, Problem> {
        let key = "terminal.docker_shm_size";
        let text = self.text(key);
        let asked = self.asked(key, None);
        match text.trim() {
            "" | "0" => Ok(asked),
            size => match parse_size(size) {
                Some(bytes) if bytes > 0 => Ok(Asked {
                    value: Some(bytes),
                    ..asked
                }),
                _ => Err(Problem::new(
                    asked.asker(),
                    None,
                    format!("{size:?} is no size"),
                    "write a number with a unit, such as 512m or 1g; empty leaves it to the engine",
                )),
            },
        }
    }

    /// The directory that commands start in, and the one of this machine that the setting names.
    fn start_in(&self) -> (StartIn, Option<PathBuf>) {
        let text = self.text("terminal.cwd");
        let asked = self.asked("terminal.cwd", text.trim().to_owned());
        match asked.value.as_str() {
            "" | "." | "auto" => (StartIn::Default, None),
            path if is_of_this_machine(path) => {
                let here = in_home(path);
                (StartIn::OfThisMachine(asked), Some(here))
            }
            _ => (StartIn::Inside(asked), None),
        }
    }

    /// The directory that is mounted at /workspace, if one is: what `terminal.cwd` names on this machine, else the current one.
    fn workspace(
        &self,
        named: Option<PathBuf>,
        here: &ThisProcess,
    ) -> Result<Option<Asked<PathBuf>>, Problem> {
        let key = "terminal.docker_mount_cwd_to_workspace";
        if !self.flag(key) {
            return Ok(None);
        }
        let current = here.directory.clone();
        let directory = named
            .map(|named| current.clone().unwrap_or_default().join(named))
            .or(current);
        let real = directory
            .as_ref()
            .and_then(|directory| directory.canonicalize().ok());
        if let Some(real) = real.filter(|real| real.is_dir()) {
            return Ok(Some(self.asked(key, real)));
        }
        let what = match directory {
            Some(directory) => format!("{} is no directory", directory.display()),
            None => "the current directory is gone".into(),
        };
        let fix = format!("set terminal.cwd to a directory of this machine, or unset {key}");
        Err(Problem::new(key, None, what, fix))
    }

    /// The files of Hermes' directory that are asked for, and the names of those that are not there.
    fn credential_files(&self, home: &Path) -> Result<(Vec<CredentialFile>, Vec<String>), Problem> {
        let key = "terminal.credential_files";
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for name in self.list(key) {
            let inner = Path::new(name.trim());
            let inner = inner.strip_prefix(home).unwrap_or(inner);
            let plain = inner
                .components()
                .all(|part| matches!(part, Component::Normal(_)));
            if !plain || inner.as_os_str().is_empty() {
                let what = format!("{name:?} does not lie in {}", home.display());
                let fix = "name a file by its path in that directory, without \"..\"";
                return Err(Problem::new(key, None, what, fix));
            }
            let source = home.join(inner);
            // A link could lead to any file of this machine.
            let real = source.canonicalize().ok().zip(home.canonicalize().ok());
            match real {
                Some((real, home)) if real.is_file() && real.starts_with(&home) => {
                    found.push(CredentialFile {
                        target: format!("{HERMES_INSIDE}/{}", inner.display()),
                        source: real,
                    });
                }
                Some((real, home)) if !real.starts_with(&home) => {
                    let what = format!("{name:?} leads to {}, out of {}", real.display(), home.display());
                    return Err(Problem::new(key, None, what, "put the file itself there"));
                }
                _ => missing.push(name),
            }
        }
        Ok((found, missing))
    }

    /// The variables of containers; `value` knows those that are passed on.
    fn variables(&self, value: impl Fn(&str) -> Option<String>) -> Variables {
        let mut env: BTreeMap<_, _> = self
            .map("terminal.docker_env")
            .into_iter()
            .map(|(name, value)| (name, Secret::new(value)))
            .collect();
        let mut unset = Vec::new();
        for name in self.list("terminal.docker_forward_env") {
            match value(&name) {
                Some(value) => {
                    env.insert(name, Secret::new(value));
                }
                None => unset.push(name),
            }
        }
        Variables { env, unset }
    }
}

struct Variables {
    env: BTreeMap<String, Secret<String>>,
    unset: Vec<String>,
}

fn this_process() -> ThisProcess {
    ThisProcess {
        directory: env::current_dir().ok(),
        home: env::home_dir().filter(|home| home.is_absolute()),
        user: (
            rustix::process::getuid().as_raw(),
            rustix::process::getgid().as_raw(),
        ),
    }
}

/// Whether a directory is meant to be one of this machine: relative, in a place where people's own files are, or of Windows.
fn is_of_this_machine(path: &str) -> bool {
    !path.starts_with('/')
        || ["/home/", "/Users/"].iter().any(|start| path.starts_with(start))
        || matches!(path, "/home" | "/Users")
}

/// Thousandths of a number of processors; the setting's bounds keep it small and above zero.
fn thousandths(processors: f64) -> u64 {
    Duration::try_from_secs_f64(processors).map_or(0, |amount| {
        u64::try_from(amount.as_micros().div_ceil(1000)).unwrap_or(u64::MAX)
    })
}
