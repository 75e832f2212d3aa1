//! What stands where in a container's tree.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use herm_protocol::{ByteString, Error, ErrorKind, sandbox::Mount as Wish};

use super::{
    super::{
        Refusal, Weakening,
        extra::ExtraArgs,
        mount::{self, Asked as Parsed, Here, Mount, Propagation, Source, is_volume_name, is_within},
    },
    KeptArea, Limits, Tmpfs,
    user::User,
};
use crate::config::{Asked, DockerConfig};

/// Where commands work, and where a directory of this machine is mounted when it is asked for.
pub(super) const WORKSPACE: &str = "/workspace";

/// The home of root.
pub(super) const HOME: &str = "/root";

const MIB: u64 = 1024 * 1024;
const GIB: u64 = 1024 * MIB;

/// What is in memory in every container: target, bytes, whether its programs run, permissions. Tools build in /tmp.
const IN_MEMORY: [(&str, u64, bool, u32); 3] = [
    ("/tmp", 512 * MIB, true, 0o1777),
    ("/var/tmp", 256 * MIB, false, 0o1777),
    ("/run", 64 * MIB, false, 0o755),
];

/// Where people's files are: target, word, bytes and permissions where they are in memory.
const AREAS: [(&str, &str, u64, u32); 2] = [
    (HOME, "root", GIB, 0o700),
    (WORKSPACE, "workspace", 10 * GIB, 0o755),
];

/// Everything that stands somewhere.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) mounts: Vec<Mount>,
    pub(super) tmpfs: Vec<Tmpfs>,
    pub(super) kept: Vec<KeptArea>,
}

/// What is mounted from outside or in memory because somebody asks for it, by target, with who does.
#[derive(Debug, Default)]
pub(super) struct Wishes(BTreeMap<String, (Parsed, String)>);

/// What the configuration and the caller ask for.
pub(super) fn wishes(
    config: &DockerConfig,
    mounts: &[Wish],
    extra: &ExtraArgs,
    told: &mut Vec<Weakening>,
) -> Result<Wishes, Error> {
    let here = Here::of(&config.here);
    let mut wishes = Wishes::default();
    let volumes = &config.volumes;
    for text in &volumes.value {
        let parsed = mount::parse_mount(text, &here).map_err(|refusal| refusal.of_setting(volumes))?;
        wishes.add(parsed, volumes.key)?;
    }
    let more = extra.mounts.iter().cloned().map(Parsed::Mount);
    for parsed in more.chain(extra.tmpfs.iter().cloned().map(Parsed::Tmpfs)) {
        wishes.add(parsed, config.extra_args.key)?;
    }
    if let Some(workspace) = &config.workspace {
        wishes.add_workspace(workspace, told)?;
    }
    for file in &config.credential_files {
        let key = "terminal.credential_files";
        let source = text_of(&file.source).map_err(|refusal| refusal.about(key))?;
        wishes.add(Parsed::Mount(of_host(source, file.target.clone(), true)), key)?;
    }
    if !config.missing_files.is_empty() {
        let names = config.missing_files.join(", ");
        let notice =
            format!("not in the sandbox, because they are not there: {names} (terminal.credential_files)");
        told.push(Weakening::new("credential_files", notice));
    }
    let mut own = BTreeMap::new();
    for (index, wish) in mounts.iter().enumerate() {
        let field = format!("spec.mounts[{index}]");
        let parsed = of_caller(wish).map_err(|refusal| refusal.about(&field))?;
        if let Some(other) = own.insert(parsed.target().to_owned(), field.clone()) {
            return Err(twice(&field, parsed.target(), &other));
        }
        wishes.put(parsed, &field, told);
    }
    wishes.check()?;
    Ok(wishes)
}

impl Wishes {
    fn add(&mut self, parsed: Parsed, key: &str) -> Result<(), Error> {
        let target = parsed.target().to_owned();
        match self.0.insert(target.clone(), (parsed, key.to_owned())) {
            Some((_, other)) => Err(twice(key, &target, &other)),
            None => Ok(()),
        }
    }

    /// A caller's mount, in place of what the configuration has there.
    fn put(&mut self, parsed: Parsed, field: &str, told: &mut Vec<Weakening>) {
        let target = parsed.target().to_owned();
        if let Some((_, other)) = self.0.insert(target.clone(), (parsed, field.to_owned())) {
            let notice = format!("{other} has nothing at {target} of this sandbox: {field} is mounted there");
            told.push(Weakening::new("mounts", notice));
        }
    }

    /// The directory of this machine at /workspace; what somebody mounts there is meant more than that.
    fn add_workspace(&mut self, workspace: &Asked<PathBuf>, told: &mut Vec<Weakening>) -> Result<(), Error> {
        if let Some((_, other)) = self.0.get(WORKSPACE) {
            let notice = format!(
                "{} is not mounted at {WORKSPACE} ({}): {other} mounts something there",
                workspace.value.display(),
                workspace.key
            );
            told.push(Weakening::new("mounts", notice));
            return Ok(());
        }
        let source = text_of(&workspace.value).map_err(|refusal| refusal.of_setting(workspace))?;
        self.add(
            Parsed::Mount(of_host(source, WORKSPACE.into(), false)),
            workspace.key,
        )
    }

    fn check(&self) -> Result<(), Error> {
        for (parsed, asker) in self.0.values() {
            if let Parsed::Mount(Mount {
                source: Source::WindowsPath(path),
                ..
            }) = parsed
            {
                let what = format!("{path:?} is a path of Windows, and containers run on Linux");
                let fix = "write the path as the engine's host has it, such as /mnt/c/work";
                return Err(Refusal::new(what, fix).about(asker));
            }
        }
        Ok(())
    }

    /// Who asks for something that a path lies in, and where that stands.
    fn around(&self, path: &str) -> Option<(&str, &str)> {
        let mut all = self.0.iter();
        let found = all.find(|(target, _)| is_within(path, target));
        found.map(|(target, (_, asker))| (target.as_str(), asker.as_str()))
    }

    /// Everything that stands somewhere: what is asked for, and the defaults beside it.
    pub(super) fn places(
        self,
        config: &DockerConfig,
        limits: &Limits,
        volume_quota: bool,
        user: &User,
        told: &mut Vec<Weakening>,
    ) -> Places {
        let mut places = Places::default();
        let bound = |bytes: u64| limits.memory_bytes.map_or(bytes, |memory| bytes.min(memory));
        for (target, bytes, exec, mode) in IN_MEMORY {
            match self.around(target) {
                None => places.tmpfs.push(Tmpfs {
                    target: target.into(),
                    size_bytes: Some(bound(bytes)),
                    exec,
                    mode,
                    owner: None,
                    read_only: false,
                }),
                Some((place, _)) if place == target => {}
                Some((place, asker)) => told.push(Weakening::new(
                    "tmpfs",
                    format!("{target} is not in memory, and has no bound of its own: {asker} mounts {place}"),
                )),
            }
        }
        for (target, role, bytes, mode) in AREAS {
            if self.around(target).is_some() {
                continue;
            }
            if config.persistent.value {
                places.kept.push(KeptArea {
                    target: target.into(),
                    role,
                    size_bytes: limits.disk_bytes.filter(|_| volume_quota),
                    of_user: user.is_ordinary(),
                });
            } else {
                places.tmpfs.push(Tmpfs {
                    target: target.into(),
                    size_bytes: Some(
                        limits
                            .disk_bytes
                            .map_or(bound(bytes), |disk| bound(bytes).min(disk)),
                    ),
                    exec: true,
                    // Whoever is known by name only is not known to the kernel.
                    mode: if user.is_ordinary() && user.numbers.is_none() {
                        0o1777
                    } else {
                        mode
                    },
                    owner: user.numbers.filter(|_| user.is_ordinary()),
                    read_only: false,
                });
            }
        }
        for (parsed, _) in self.0.into_values() {
            match parsed {
                Parsed::Mount(mount) => places.mounts.push(mount),
                Parsed::Tmpfs(tmpfs) => places.tmpfs.push(Tmpfs {
                    size_bytes: tmpfs.size_bytes.or(limits.memory_bytes),
                    ..tmpfs
                }),
            }
        }
        places.tmpfs.sort_by(|one, other| one.target.cmp(&other.target));
        places
    }
}

fn twice(resource: &str, target: &str, other: &str) -> Error {
    let message = format!("{resource} mounts something at {target}, and so does {other}");
    Error::new(ErrorKind::InvalidArgument, resource, message)
        .with_fix("leave one of the two, or mount it elsewhere")
}

fn of_host(path: String, target: String, read_only: bool) -> Mount {
    Mount {
        source: Source::HostPath {
            path,
            propagation: Propagation::default(),
            relabel: None,
            non_recursive: false,
        },
        target,
        read_only,
    }
}

/// A caller's mount: an absolute path or the name of a volume. Nothing is put in for `~` or a relative path, whose meaning the
/// caller knows and we do not.
fn of_caller(wish: &Wish) -> Result<Parsed, Refusal> {
    let source = text(&wish.source, "source")?;
    let target = mount::target(text(&wish.target, "target")?)?;
    if source.starts_with('/') {
        return Ok(Parsed::Mount(of_host(
            mount::clean(source),
            target,
            wish.read_only,
        )));
    }
    if !is_volume_name(source) {
        return Err(Refusal::new(
            format!("its source {source:?} is neither an absolute path nor the name of a volume"),
            "write one of these",
        ));
    }
    Ok(Parsed::Mount(Mount {
        source: Source::Volume {
            name: Some(source.to_owned()),
            no_copy: false,
            subpath: None,
            driver: None,
            relabel: None,
        },
        target,
        read_only: wish.read_only,
    }))
}

/// The text of bytes that a caller sent; engines take nothing else.
fn text<'a>(bytes: &'a ByteString, what: &str) -> Result<&'a str, Refusal> {
    let text = str::from_utf8(bytes.as_bytes()).ok();
    let text = text.filter(|text| !text.chars().any(char::is_control));
    text.ok_or_else(|| {
        Refusal::new(
            format!("its {what} {bytes:?} is no text without control characters, which is all that an engine takes"),
            "rename it",
        )
    })
}

fn text_of(path: &Path) -> Result<String, Refusal> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        let what = format!(
            "{} is no UTF-8, which is all that an engine takes",
            path.display()
        );
        Refusal::new(what, "rename it")
    })
}
