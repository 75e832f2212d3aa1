//! Every setting, in the order in which they are told. What a new one needs is a row here; `docs/config` is held to it.

use super::{
    BackendName::{self, Daytona, Docker, Local, Modal, Singularity, Ssh, VercelSandbox},
    Item,
    Kind::{self, Choice, Flag, List, Map, Text as AnyText},
    Setting,
    setting::Fallback::{Empty, Flag as Is, Integer, Nothing, Number, Text},
};

/// The image of containers unless another is named.
const IMAGE: &str = "nikolaik/python-nodejs:python3.11-nodejs20";

/// The same for instances.
const INSTANCE_IMAGE: &str = "docker://nikolaik/python-nodejs:python3.11-nodejs20";

/// Who reads a setting. `HERMES`: only Hermes itself.
const HERMES: &[BackendName] = &[];
const ALL: &[BackendName] = &BackendName::ALL;
const LOCAL: &[BackendName] = &[Local];
const DOCKER: &[BackendName] = &[Docker];
const SSH: &[BackendName] = &[Ssh];
const SINGULARITY: &[BackendName] = &[Singularity];
const MODAL: &[BackendName] = &[Modal];
const DAYTONA: &[BackendName] = &[Daytona];
const VERCEL: &[BackendName] = &[VercelSandbox];
const CONTAINERS: &[BackendName] = &[Docker, Singularity, Modal, Daytona];
const SANDBOXES: &[BackendName] = &[Docker, Ssh, Singularity, Modal, Daytona, VercelSandbox];
const REMOTE: &[BackendName] = &[Ssh, Modal, Daytona, VercelSandbox];

/// Rows of: key, variable (each may be empty), type, default, readers, what it does.
macro_rules! settings {
    ($($key:literal, $variable:literal, $kind:expr, $default:expr, $readers:expr, $about:literal;)*) => {
        &[$(Setting {
            key: named($key),
            variable: named($variable),
            kind: $kind,
            default: $default,
            readers: $readers,
            about: $about,
        }),*]
    };
}

/// Every setting: those of the file by name, then those that only a variable sets.
pub const SETTINGS: &[Setting] = settings! {
    "terminal.auto_source_bashrc", "", Flag, Is(true), HERMES,
        "whether Hermes reads the user's own start-up files before a session";
    "terminal.backend", "TERMINAL_ENV", Choice(&BackendName::NAMES), Text("local"), ALL,
        "where commands run";
    "terminal.container_cpu", "TERMINAL_CONTAINER_CPU", number(0.01, 4096.0), Number(1.0), CONTAINERS,
        "processors that a sandbox may use; parts count";
    "terminal.container_disk", "TERMINAL_CONTAINER_DISK", integer(0, 1_000_000_000), Integer(51200), CONTAINERS,
        "disk space that a sandbox may use, in MB";
    "terminal.container_memory", "TERMINAL_CONTAINER_MEMORY", integer(1, 1_000_000_000), Integer(5120), CONTAINERS,
        "memory that a sandbox may use, in MB";
    "terminal.container_persistent", "TERMINAL_CONTAINER_PERSISTENT", Flag, Is(true), SANDBOXES,
        "whether a sandbox's files are kept from session to session";
    "terminal.credential_files", "", List(Item::Text), Empty, SANDBOXES,
        "files of Hermes' directory that are brought into the sandbox, read-only";
    "terminal.cwd", "TERMINAL_CWD", AnyText, Text("."), ALL,
        "the directory that commands start in; \".\" is the current one on this machine, the backend's own elsewhere";
    "terminal.daemon_term_grace_seconds", "", number(0.0, 3600.0), Number(2.0), HERMES,
        "how long Hermes lets a background process end by itself, in seconds";
    "terminal.daytona_image", "TERMINAL_DAYTONA_IMAGE", AnyText, Text(IMAGE), DAYTONA,
        "the image of sandboxes at Daytona";
    "terminal.degraded_mode", "TERMINAL_DEGRADED_MODE", AnyText, Text("warn"), HERMES,
        "what Hermes does when a remote backend cannot be reached";
    "terminal.docker_env", "TERMINAL_DOCKER_ENV", Map, Empty, DOCKER,
        "variables of commands, with their values";
    "terminal.docker_extra_args", "TERMINAL_DOCKER_EXTRA_ARGS", List(Item::Text), Empty, DOCKER,
        "more options of `docker run`; only harmless ones are taken";
    "terminal.docker_forward_env", "TERMINAL_DOCKER_FORWARD_ENV", List(Item::Variable), Empty, DOCKER,
        "names of variables whose values the container gets from this process or from .env";
    "terminal.docker_image", "TERMINAL_DOCKER_IMAGE", AnyText, Text(IMAGE), DOCKER,
        "the image of containers";
    "terminal.docker_mount_cwd_to_workspace", "TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE", Flag, Is(false), DOCKER,
        "whether the current directory is mounted at /workspace";
    "terminal.docker_network", "TERMINAL_DOCKER_NETWORK", Flag, Is(true), DOCKER,
        "whether the container has a network";
    "terminal.docker_orphan_reaper", "TERMINAL_DOCKER_ORPHAN_REAPER", Flag, Is(true), DOCKER,
        "whether containers that ended long ago, or that killed processes have left, are removed when one is made";
    "terminal.docker_persist_across_processes", "TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES", Flag, Is(true), DOCKER,
        "whether a container outlives the process that made it";
    "terminal.docker_run_as_host_user", "TERMINAL_DOCKER_RUN_AS_HOST_USER", Flag, Is(false), DOCKER,
        "whether commands run as this user's id";
    "terminal.docker_shared_container_key", "TERMINAL_DOCKER_SHARED_CONTAINER_KEY", AnyText, Text(""), DOCKER,
        "a key under which several tasks share one container; empty is one each";
    "terminal.docker_shm_size", "TERMINAL_DOCKER_SHM_SIZE", AnyText, Text("1g"), DOCKER,
        "the size of /dev/shm; empty leaves it to the engine";
    "terminal.docker_snap_compat", "TERMINAL_DOCKER_SNAP_COMPAT", Flag, Is(false), DOCKER,
        "whether no-new-privileges and the engine's own init are left out, which Docker from a snap cannot do";
    "terminal.docker_volumes", "TERMINAL_DOCKER_VOLUMES", List(Item::Mount), Empty, DOCKER,
        "mounts, as `docker run --volume` takes them";
    "terminal.env_passthrough", "", List(Item::PassedVariable), Empty, LOCAL,
        "names of variables of this process that commands see, too";
    "terminal.exec_mode", "TERMINAL_EXEC_MODE", Choice(&["auto", "resident", "native"]), Text("auto"), ALL,
        "how commands are run: by a resident, natively, or as is best";
    "terminal.home_mode", "TERMINAL_HOME_MODE", AnyText, Text("auto"), HERMES,
        "which home directory Hermes gives to commands";
    "terminal.lifetime_seconds", "TERMINAL_LIFETIME_SECONDS", integer(0, 31_536_000), Integer(300), SANDBOXES,
        "how long a sandbox may be idle before it is ended, in seconds";
    "terminal.modal_image", "TERMINAL_MODAL_IMAGE", AnyText, Text(IMAGE), MODAL,
        "the image of sandboxes at Modal";
    "terminal.modal_mode", "TERMINAL_MODAL_MODE", Choice(&["auto", "direct", "managed"]), Text("auto"), MODAL,
        "how Modal is reached: by its own interface, through a gateway, or as is possible";
    "terminal.oneshot_completion_wait_seconds", "TERMINAL_ONESHOT_COMPLETION_WAIT_SECONDS", integer(0, 31_536_000), Integer(600), HERMES,
        "how long Hermes waits for background processes at the end of a single query, in seconds";
    "terminal.persistent_shell", "TERMINAL_PERSISTENT_SHELL", Flag, Is(true), HERMES,
        "whether Hermes carries directory and variables from command to command";
    "terminal.sandbox_dir", "TERMINAL_SANDBOX_DIR", AnyText, Text(""), SINGULARITY,
        "the directory of kept sandboxes; empty is `sandboxes` in Hermes' own";
    "terminal.shell_init_files", "", List(Item::Text), Empty, HERMES,
        "files that Hermes' shell reads before a session, in place of the user's own";
    "terminal.singularity_image", "TERMINAL_SINGULARITY_IMAGE", AnyText, Text(INSTANCE_IMAGE), SINGULARITY,
        "the image of instances: a file (.sif) or an address";
    "terminal.ssh_host", "TERMINAL_SSH_HOST", AnyText, Text(""), SSH,
        "the machine that commands run on";
    "terminal.ssh_key", "TERMINAL_SSH_KEY", AnyText, Text(""), SSH,
        "the path of the private key";
    "terminal.ssh_port", "TERMINAL_SSH_PORT", integer(1, 65535), Integer(22), SSH,
        "the port of the machine's SSH server";
    "terminal.ssh_user", "TERMINAL_SSH_USER", AnyText, Text(""), SSH,
        "the user that commands run as";
    "terminal.sync_back_max_bytes", "TERMINAL_SYNC_BACK_MAX_BYTES", integer(0, i64::MAX), Integer(2_147_483_648), REMOTE,
        "how much is copied back from a remote sandbox at its end, in bytes";
    "terminal.temp_dir", "TERMINAL_TEMP_DIR", AnyText, Text(""), HERMES,
        "where Hermes keeps temporary files; empty leaves it to the system";
    "terminal.timeout", "TERMINAL_TIMEOUT", integer(0, 31_536_000), Integer(180), ALL,
        "the deadline of a command, in seconds; 0 is none";
    "terminal.vercel_image", "TERMINAL_VERCEL_IMAGE", AnyText, Text("vercel/sandbox/universal:latest"), VERCEL,
        "the image of sandboxes at Vercel";
    "terminal.vercel_runtime", "TERMINAL_VERCEL_RUNTIME", AnyText, Text(""), VERCEL,
        "the runtime of sandboxes at Vercel (deprecated: an image is used)";
    "proxy.allow_env_fallback", "", Flag, Is(false), DOCKER,
        "whether credentials come from this process where the vault cannot be read";
    "proxy.auto_install", "", Flag, Is(true), DOCKER,
        "whether the proxy is installed when it is missing";
    "proxy.credential_source", "", Choice(&["env", "bitwarden"]), Text("env"), DOCKER,
        "where credentials come from";
    "proxy.enabled", "", Flag, Is(false), DOCKER,
        "whether sandboxes reach the network through the egress proxy only";
    "proxy.enforce_on_docker", "", Flag, Is(true), DOCKER,
        "whether a container is refused when the proxy cannot be used";
    "proxy.extra_allowed_hosts", "", List(Item::Text), Empty, DOCKER,
        "hosts that sandboxes may reach besides the default ones";
    "proxy.tunnel_port", "", integer(1, 65534), Integer(9090), DOCKER,
        "the proxy's port for tunnels; the next one is for plain HTTP";
    "proxy.upstream_deny_cidrs", "", List(Item::Text), Nothing, DOCKER,
        "networks that the proxy never connects to; unset is the default list, [] is none";
    "", "HERMES_DOCKER_BINARY", AnyText, Text(""), HERMES,
        "the program that Hermes starts for containers: docker or podman";
    "", "HERMES_FORCE_FILE_SYNC", Flag, Is(false), HERMES,
        "whether Hermes synchronises files at every command";
    "", "TERMINAL_DISK_WARNING_GB", number(0.0, 1_000_000_000.0), Number(500.0), HERMES,
        "from which size of all sandboxes Hermes warns, in GB";
    "", "TERMINAL_MAX_FOREGROUND_TIMEOUT", integer(0, 31_536_000), Integer(600), HERMES,
        "the longest deadline that Hermes grants its model, in seconds";
    "", "TERMINAL_SCRATCH_DIR", AnyText, Text(""), SINGULARITY,
        "where instances keep scratch files; empty is /scratch, else the directory of sandboxes";
};

/// Other names that Hermes takes.
const ALIASES: [(&str, &str); 1] = [("terminal.env_type", "terminal.backend")];

/// The setting of a key, of another name for it, or of a variable that has no key.
#[must_use]
pub fn find(name: &str) -> Option<&'static Setting> {
    let name = ALIASES
        .iter()
        .find(|(alias, _)| *alias == name)
        .map_or(name, |(_, key)| key);
    SETTINGS.iter().find(|setting| setting.name() == name)
}

/// Every name that a setting goes by in the file.
pub(super) fn keys_of(setting: &Setting) -> impl Iterator<Item = &'static str> {
    let key = setting.key;
    let aliases = ALIASES.iter().filter(move |(_, of)| Some(*of) == key);
    key.into_iter().chain(aliases.map(|(alias, _)| *alias))
}

const fn named(name: &'static str) -> Option<&'static str> {
    if name.is_empty() { None } else { Some(name) }
}

const fn integer(least: i64, most: i64) -> Kind {
    Kind::Integer { least, most }
}

const fn number(least: f64, most: f64) -> Kind {
    Kind::Number { least, most }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_every_default_fits_its_type() {
        let order = |setting: &Setting| {
            let key = setting.key.unwrap_or_default();
            (
                setting.key.is_none(),
                !key.starts_with("terminal."),
                setting.name(),
            )
        };
        assert!(SETTINGS.is_sorted_by_key(order));
        for setting in SETTINGS {
            let default = setting.default();
            if default != super::super::Value::Nothing {
                let again = setting
                    .read_text(&default.to_variable())
                    .map_err(|misfit| misfit.what);
                assert_eq!(again, Ok(default), "{}", setting.name());
            }
            assert!(!setting.about.is_empty() && !setting.name().is_empty());
        }
    }

    #[test]
    fn a_setting_is_found_by_each_of_its_names() {
        let backend = find("terminal.backend").unwrap();
        assert_eq!(find("terminal.env_type"), Some(backend));
        let keys: Vec<_> = keys_of(backend).collect();
        assert_eq!(keys, ["terminal.backend", "terminal.env_type"]);
        assert_eq!(
            find("TERMINAL_SCRATCH_DIR").map(Setting::name),
            Some("TERMINAL_SCRATCH_DIR")
        );
        assert_eq!(find("TERMINAL_TIMEOUT"), None);
    }
}
