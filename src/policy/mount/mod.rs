//! What is mounted into a container, and how people write it.

mod option;
mod path;
#[cfg(test)]
mod tests;
mod volume;
mod words;

use std::collections::BTreeMap;

use serde::Serialize;

pub(super) use self::{
    option::parse_mount_option,
    path::{is_within, target},
    volume::parse_volume,
};
pub use self::{
    path::{Here, absolute, clean},
    volume::is_volume_name,
};
use super::{Refusal, Tmpfs};
use crate::config::Secret;

/// Something from outside of a container inside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mount {
    /// What it is.
    pub source: Source,
    /// Its absolute path in the container.
    pub target: String,
    /// Whether the container can only read it.
    pub read_only: bool,
}

/// What is mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A directory or file of the engine's host.
    HostPath {
        /// Its absolute path, without `.`, `..` and doubled slashes.
        path: String,
        /// Whether mounts below it that the host makes later appear in the container.
        propagation: Propagation,
        /// How `SELinux` is to label it.
        relabel: Option<Relabel>,
        /// Whether what is mounted below it on the host stays outside.
        non_recursive: bool,
    },
    /// A path of Windows. Engines on Linux have none.
    WindowsPath(String),
    /// A volume of the engine.
    Volume {
        /// Its name; one without is made for the container and goes with it.
        name: Option<String>,
        /// Whether what the image has at the target is not copied into it when it is made.
        no_copy: bool,
        /// The path below its root that is mounted.
        subpath: Option<String>,
        /// What makes it where it is not there yet; none is the driver `local` without options.
        driver: Option<VolumeDriver>,
        /// How `SELinux` is to label it.
        relabel: Option<Relabel>,
    },
}

/// What makes a volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VolumeDriver {
    /// Its name.
    pub name: String,
    /// Its options. They may hold passwords of file servers.
    pub options: BTreeMap<String, Secret<String>>,
    /// Labels of the volume.
    pub labels: BTreeMap<String, String>,
}

/// Whether later mounts are shared. What the container mounts never reaches the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Propagation {
    /// They are not.
    #[default]
    Rprivate,
    /// The same, for what is mounted below it, too, being told apart.
    Private,
    /// Those of the host appear.
    Slave,
    /// The same, for what is mounted below it, too.
    Rslave,
}

/// How `SELinux` is to label a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relabel {
    /// For all containers (`z`).
    Shared,
    /// For this one alone (`Z`).
    Private,
}

impl Propagation {
    /// As the engine takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Rprivate => "rprivate",
            Self::Private => "private",
            Self::Slave => "slave",
            Self::Rslave => "rslave",
        }
    }
}

/// What a text asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A mount.
    Mount(Mount),
    /// A file system in memory.
    Tmpfs(Tmpfs),
}

impl Asked {
    /// The absolute path in the container.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            Self::Mount(mount) => &mount.target,
            Self::Tmpfs(tmpfs) => &tmpfs.target,
        }
    }
}

impl Mount {
    /// The options of the driver as they are, for a digest.
    pub(super) fn exposed_driver_options(&self) -> Vec<(&str, &str)> {
        let Source::Volume {
            driver: Some(driver), ..
        } = &self.source
        else {
            return Vec::new();
        };
        let options = driver.options.iter();
        options
            .map(|(name, value)| (name.as_str(), value.expose().as_str()))
            .collect()
    }
}

/// Reads a mount as `docker run` takes it: the value of `--volume`, or that of `--mount`, which begins with one of its keys.
///
/// # Errors
/// What is wrong with it, and the next step.
pub fn parse_mount(text: &str, here: &Here) -> Result<Asked, Refusal> {
    let text = text.trim();
    if option::is_mount_option(text) {
        parse_mount_option(text, here)
    } else {
        volume::parse_volume(text, here).map(Asked::Mount)
    }
}
