//! Opening, listing and closing sandboxes.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{ByteString, policy::AccessLevel};

/// Parameters of `sandbox.open`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenParams {
    /// The caller's stable name: opening a known key attaches. Needs the capability `attach`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What the sandbox shall be like.
    #[serde(default)]
    pub spec: SandboxSpec,
}

/// What a sandbox shall be like. Every part is optional; a part whose capability was not declared is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxSpec {
    /// The image or template to start from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The absolute path of the directory that commands start in; the backend's own working directory when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<ByteString>,
    /// Variables that every command sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<Variable>,
    /// Directories of the host inside the sandbox. Needs `mounts`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// What of the network is reachable. `none` needs `network_none`, `allow` needs `network_allow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Bounds on resources; each needs its capability.
    #[serde(default)]
    pub limits: ResourceLimits,
    /// The user that commands run as, by name or number. Needs `user`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// How long nothing may go on in it, in milliseconds, before it is ended and everything of it goes: no command, no job,
    /// nothing that is asked of what is in it. A caller that only has it open or looks at it from outside (`sandbox.list`,
    /// `sandbox.inspect`) does not keep it. No bound when not given; 0 is refused. Needs a key, and `reap`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
}

/// An environment variable. Names and values are bytes; neither holds NUL, a name is not empty and has no `=`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Variable {
    /// Its name.
    pub name: ByteString,
    /// Its value.
    pub value: ByteString,
}

impl Variable {
    /// A variable.
    pub fn new(name: impl Into<ByteString>, value: impl Into<ByteString>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
        }
    }
}

/// A directory of the host inside the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mount {
    /// The path on the host, or a volume's name.
    pub source: ByteString,
    /// The path in the sandbox.
    pub target: ByteString,
    /// Whether the sandbox can only read it.
    #[serde(default)]
    pub read_only: bool,
}

/// What of the network a sandbox reaches. `hosts` go with the mode `allow`: a request that names some and asks for another
/// mode contradicts itself, and is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "mode")]
pub enum Network {
    /// Whatever the backend gives.
    Default,
    /// Nothing but its own loopback.
    None,
    /// Only these hosts.
    Allow {
        /// Host names, addresses or address ranges.
        hosts: Vec<String>,
    },
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "snake_case")]
        enum Mode {
            Default,
            None,
            Allow,
        }
        #[derive(Deserialize)]
        struct Wish {
            mode: Mode,
            hosts: Option<Vec<String>>,
        }
        let Wish { mode, hosts } = Wish::deserialize(deserializer)?;
        let contradiction = hosts.as_ref().is_some_and(|hosts| !hosts.is_empty());
        match mode {
            Mode::Allow => hosts
                .map(|hosts| Self::Allow { hosts })
                .ok_or_else(|| de::Error::missing_field("hosts")),
            _ if contradiction => Err(de::Error::custom(
                "`hosts` goes with the mode allow; leave it out, or ask for that mode",
            )),
            Mode::None => Ok(Self::None),
            Mode::Default => Ok(Self::Default),
        }
    }
}

/// Bounds on resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceLimits {
    /// Bytes of memory. Needs `limits_memory`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Number of processes. Needs `limits_pids`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pids: Option<u64>,
    /// Thousandths of a processor. Needs `limits_cpu`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_millis: Option<u64>,
    /// Bytes of disk. Needs `limits_disk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
}

/// Answer to `sandbox.open`: the sandbox runs commands from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Opened {
    /// The id that every later call names.
    pub sandbox: String,
    /// How it came to be.
    pub state: OpenState,
    /// How commands are run in it, for example `native` or `resident`.
    pub exec_mode: String,
    /// The directory that commands start in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<ByteString>,
    /// What the caller should know: what was lost, healed or weakened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
    /// What it may do, where the backend knows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<EffectivePolicy>,
}

/// What a sandbox may do, as it was really made. What is not told is not known; what is told holds for every command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EffectivePolicy {
    /// The network: `none` where nothing but its own loopback is reached, else what it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// Who commands run as that ask for nobody else, by name or number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The capabilities of Linux that no command has more than, without `CAP_`, sorted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// Whether no program gives more privileges than its caller has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_new_privileges: Option<bool>,
    /// Whether the file system can only be read but where something is mounted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only_root: Option<bool>,
    /// What commands may use up together; a bound that is not told is none.
    #[serde(default)]
    pub limits: ResourceLimits,
    /// How far commands reach out of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_access: Option<AccessLevel>,
}

/// How an opened sandbox came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpenState {
    /// It was made now.
    Created,
    /// It was there and goes on as it was.
    Attached,
    /// One was there that could not be used; this is a new one. A notice says what was lost.
    Recreated,
}

/// Notification `sandbox.progress` while an open is under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgressParams {
    /// For people.
    pub message: String,
}

/// Parameters of `sandbox.close`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CloseParams {
    /// Which.
    pub sandbox: String,
    /// How.
    #[serde(default)]
    pub how: CloseHow,
}

/// What closing does to a sandbox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CloseHow {
    /// It runs on without this caller. Needs `attach`.
    Detach,
    /// Its processes end, its files stay. Needs `attach` and `persist_files`.
    Stop,
    /// Everything of it goes.
    #[default]
    Destroy,
}

/// Answer to `sandbox.close`. Closing what is not there is no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Closed {
    /// Whether there was anything to close.
    pub existed: bool,
}

/// Parameters of `sandbox.reap`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReapParams {
    /// How long a sandbox must have been ended, in milliseconds, by whatever but its own caller, to be of no use to anybody; what
    /// is configured when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_for_ms: Option<u64>,
    /// Whether it is only told what would be removed.
    #[serde(default)]
    pub dry_run: bool,
}

/// Answer to `sandbox.reap`: what was found of this subject's that nobody has open under a key or without one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reaped {
    /// What was removed, or would be.
    pub removed: Vec<Reapable>,
    /// What was looked at and left, because somebody may need it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Reapable>,
}

/// Something that somebody may have left behind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Reapable {
    /// What it is, as a ledger calls it; `sandbox` for a whole one.
    pub kind: String,
    /// Which. For a sandbox this is its id.
    pub id: String,
    /// The key of a sandbox, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Why it was removed or left, for people.
    pub why: String,
}

/// Parameters of the calls that only name a sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxRef {
    /// Which.
    pub sandbox: String,
}

/// Answer to `sandbox.list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxList {
    /// Every sandbox that this caller could name.
    pub sandboxes: Vec<SandboxInfo>,
}

/// A sandbox as listed or inspected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxInfo {
    /// Its id.
    pub sandbox: String,
    /// Its key, if it was opened with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What it is doing.
    pub state: SandboxState,
    /// The directory that commands start in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<ByteString>,
}

/// What a sandbox is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SandboxState {
    /// Being made.
    Starting,
    /// Runs commands.
    Running,
    /// Its processes are held.
    Paused,
    /// Its processes are gone, its files are not.
    Stopped,
}

/// An empty answer or empty parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Empty {}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json, to_value};

    use super::*;

    #[test]
    fn a_network_is_asked_for_in_one_way() {
        let hosts = vec!["a.example".to_owned()];
        for (wire, network) in [
            (json!({"mode": "default"}), Network::Default),
            (json!({"mode": "none"}), Network::None),
            (
                json!({"mode": "allow", "hosts": ["a.example"]}),
                Network::Allow { hosts },
            ),
        ] {
            assert_eq!(from_value::<Network>(wire.clone()).unwrap(), network);
            assert_eq!(to_value(&network).unwrap(), wire);
        }
        let read = |wire: Value| from_value::<Network>(wire).map_err(|error| error.to_string());
        assert_eq!(
            read(json!({"mode": "none", "hosts": [], "new": 1})),
            Ok(Network::None)
        );
        for mode in ["none", "default"] {
            let error = read(json!({"mode": mode, "hosts": ["a.example"]})).unwrap_err();
            assert!(error.contains("goes with the mode allow"), "{error}");
        }
        assert!(
            read(json!({"mode": "allow"}))
                .unwrap_err()
                .contains("missing field `hosts`")
        );
        assert!(read(json!({"mode": "some"})).is_err() && read(json!({})).is_err());
    }
}
