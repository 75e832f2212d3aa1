//! Every option of `docker run`, and what is done with it. What a new one needs is a row here.

use super::{
    ExtraArgs,
    apply::{self, Taken},
};
use crate::policy::mount::Here;
use Meaning::{Flag, NoFlag, NoValue, Value};

/// What an option means to us.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    /// It has a value, and becomes part of the plan.
    Value(fn(&mut ExtraArgs, &str, &Here) -> Taken),
    /// It is on or off, and becomes part of the plan.
    Flag(fn(&mut ExtraArgs, bool) -> Taken),
    /// It has a value, and is refused: why, and what to do instead.
    NoValue(&'static str, &'static str),
    /// It is on or off, and refused when it is on.
    NoFlag(&'static str, &'static str),
}

/// One option.
pub(super) struct Row {
    pub(super) long: &'static str,
    pub(super) short: Option<char>,
    pub(super) meaning: Meaning,
}

/// Rows of: long name, short name (a blank is none), meaning.
macro_rules! options {
    ($($long:literal, $short:literal, $meaning:expr;)*) => {
        &[$(Row {
            long: $long,
            short: if $short == ' ' { None } else { Some($short) },
            meaning: $meaning,
        }),*]
    };
}

const TAKE_OUT: &str = "take it out";
const OF_HERM: &str = "herm itself decides this, so that it finds, watches and ends the container";
const FOREGROUND: &str = "a container of herm runs in the background, and commands have streams of their own";
const BOUNDS: &str = "it takes a bound away, or gives more than the bound";
const NAMESPACE: &str = "it opens the container's own namespaces";
const OF_THE_HOST: &str = "it gives the container a part of the host";
const HEALTH: &str = "what it runs in the container at intervals would be beside every command";
const BLOCKS: &str = "it depends on a device of the host by its path";

/// The options, by name. Names that are older than others stand as rows of their own.
pub(super) const OPTIONS: &[Row] = options! {
    "add-host", ' ', Value(apply::add_host);
    "annotation", ' ', NoValue("runtimes take orders from annotations", TAKE_OUT);
    "attach", 'a', NoValue(FOREGROUND, TAKE_OUT);
    "blkio-weight", ' ', NoValue(BLOCKS, TAKE_OUT);
    "blkio-weight-device", ' ', NoValue(BLOCKS, TAKE_OUT);
    "cap-add", ' ', Value(apply::cap_add);
    "cap-drop", ' ', Value(apply::cap_drop);
    "cgroup-parent", ' ', NoValue("it moves the container out of its bounds", TAKE_OUT);
    "cgroupns", ' ', Value(apply::cgroupns);
    "cidfile", ' ', NoValue("it writes a file of this machine", TAKE_OUT);
    "cpu-count", ' ', NoValue("it is for Windows", "use --cpus");
    "cpu-percent", ' ', NoValue("it is for Windows", "use --cpus");
    "cpu-period", ' ', NoValue("it contradicts the bound of processors", "use --cpus");
    "cpu-quota", ' ', NoValue("it contradicts the bound of processors", "use --cpus");
    "cpu-rt-period", ' ', NoValue("it can take the host's processors away", TAKE_OUT);
    "cpu-rt-runtime", ' ', NoValue("it can take the host's processors away", TAKE_OUT);
    "cpu-shares", 'c', Value(apply::cpu_shares);
    "cpus", ' ', Value(apply::cpus);
    "cpuset-cpus", ' ', Value(apply::cpuset_cpus);
    "cpuset-mems", ' ', Value(apply::cpuset_mems);
    "detach", 'd', NoFlag(FOREGROUND, TAKE_OUT);
    "detach-keys", ' ', NoValue(FOREGROUND, TAKE_OUT);
    "device", ' ', NoValue("it gives the container a device of the host", "use --gpus for graphics processors");
    "device-cgroup-rule", ' ', NoValue("it gives the container devices of the host", TAKE_OUT);
    "device-read-bps", ' ', NoValue(BLOCKS, TAKE_OUT);
    "device-read-iops", ' ', NoValue(BLOCKS, TAKE_OUT);
    "device-write-bps", ' ', NoValue(BLOCKS, TAKE_OUT);
    "device-write-iops", ' ', NoValue(BLOCKS, TAKE_OUT);
    "disable-content-trust", ' ', NoFlag("it takes the check of the image away", TAKE_OUT);
    "dns", ' ', Value(apply::dns);
    "dns-opt", ' ', Value(apply::dns_option);
    "dns-option", ' ', Value(apply::dns_option);
    "dns-search", ' ', Value(apply::dns_search);
    "domainname", ' ', Value(apply::domainname);
    "entrypoint", ' ', NoValue(OF_HERM, "put what it sets up into the image, or run it as a command");
    "env", 'e', Value(apply::env);
    "env-file", ' ', NoValue("it brings unnamed variables in from a file", "name them in terminal.docker_env, or secret ones in terminal.docker_forward_env");
    "expose", ' ', NoValue("nothing reaches a port of the container", TAKE_OUT);
    "gpus", ' ', Value(apply::gpus);
    "group-add", ' ', Value(apply::group_add);
    "health-cmd", ' ', NoValue(HEALTH, TAKE_OUT);
    "health-interval", ' ', NoValue(HEALTH, TAKE_OUT);
    "health-retries", ' ', NoValue(HEALTH, TAKE_OUT);
    "health-start-interval", ' ', NoValue(HEALTH, TAKE_OUT);
    "health-start-period", ' ', NoValue(HEALTH, TAKE_OUT);
    "health-timeout", ' ', NoValue(HEALTH, TAKE_OUT);
    "help", ' ', NoFlag("nothing is run with it", "see docker run --help in a terminal");
    "hostname", 'h', Value(apply::hostname);
    "init", ' ', Flag(apply::init);
    "interactive", 'i', NoFlag(FOREGROUND, TAKE_OUT);
    "io-maxbandwidth", ' ', NoValue("it is for Windows", TAKE_OUT);
    "io-maxiops", ' ', NoValue("it is for Windows", TAKE_OUT);
    "ip", ' ', NoValue("two containers could not have the same address", TAKE_OUT);
    "ip6", ' ', NoValue("two containers could not have the same address", TAKE_OUT);
    "ipc", ' ', Value(apply::ipc);
    "isolation", ' ', NoValue("it is for Windows", TAKE_OUT);
    "kernel-memory", ' ', NoValue("kernels do not have this bound any more", "use --memory");
    "label", 'l', Value(apply::label);
    "label-file", ' ', NoValue("it brings unnamed labels in from a file", "use --label");
    "link", ' ', NoValue("it reaches into another container", "give both the same network: --network NAME");
    "link-local-ip", ' ', NoValue("two containers could not have the same address", TAKE_OUT);
    "log-driver", ' ', NoValue("output of commands does not go through the engine's log", TAKE_OUT);
    "log-opt", ' ', NoValue("output of commands does not go through the engine's log", TAKE_OUT);
    "mac-address", ' ', NoValue("two containers could not have the same address", TAKE_OUT);
    "memory", 'm', Value(apply::memory);
    "memory-reservation", ' ', Value(apply::memory_reservation);
    "memory-swap", ' ', Value(apply::memory_swap);
    "memory-swappiness", ' ', NoValue("a container of herm does not swap", TAKE_OUT);
    "mount", ' ', Value(apply::mount);
    "name", ' ', NoValue(OF_HERM, "use a key: herm exec --key NAME");
    "net", ' ', Value(apply::network);
    "net-alias", ' ', NoValue("containers of herm are not looked up by others", TAKE_OUT);
    "network", ' ', Value(apply::network);
    "network-alias", ' ', NoValue("containers of herm are not looked up by others", TAKE_OUT);
    "no-healthcheck", ' ', Flag(apply::no_healthcheck);
    "oom-kill-disable", ' ', NoFlag(BOUNDS, TAKE_OUT);
    "oom-score-adj", ' ', NoValue("it can have the host's own programs end in place of the container", TAKE_OUT);
    "pid", ' ', NoValue(NAMESPACE, TAKE_OUT);
    "pids-limit", ' ', Value(apply::pids_limit);
    "platform", ' ', Value(apply::platform);
    "privileged", ' ', NoFlag("it gives the container all that root of the host can do", "name what is needed: --gpus, or a mount in terminal.docker_volumes");
    "publish", 'p', NoValue("it opens a port of the host", "run a client as a command in the same container");
    "publish-all", 'P', NoFlag("it opens ports of the host", "run a client as a command in the same container");
    "pull", ' ', NoValue(OF_HERM, "pull the image yourself: docker pull IMAGE");
    "quiet", 'q', NoFlag(FOREGROUND, TAKE_OUT);
    "read-only", ' ', Flag(apply::read_only);
    "restart", ' ', NoValue(OF_HERM, TAKE_OUT);
    "rm", ' ', NoFlag(OF_HERM, "set terminal.docker_persist_across_processes to false");
    "runtime", ' ', Value(apply::runtime);
    "security-opt", ' ', Value(apply::security_opt);
    "shm-size", ' ', Value(apply::shm_size);
    "sig-proxy", ' ', NoFlag(FOREGROUND, TAKE_OUT);
    "stop-signal", ' ', NoValue(OF_HERM, TAKE_OUT);
    "stop-timeout", ' ', NoValue(OF_HERM, TAKE_OUT);
    "storage-opt", ' ', Value(apply::storage_opt);
    "sysctl", ' ', Value(apply::sysctl);
    "tmpfs", ' ', Value(apply::tmpfs);
    "tty", 't', NoFlag(FOREGROUND, TAKE_OUT);
    "ulimit", ' ', Value(apply::ulimit);
    "use-api-socket", ' ', NoFlag("it gives the container the engine, and with it all of the host", TAKE_OUT);
    "user", 'u', Value(apply::user);
    "userns", ' ', NoValue(NAMESPACE, TAKE_OUT);
    "uts", ' ', NoValue(NAMESPACE, TAKE_OUT);
    "volume", 'v', Value(apply::volume);
    "volume-driver", ' ', NoValue("it changes what every named volume is", "say it of one: --mount type=volume,source=NAME,target=/path,volume-driver=DRIVER");
    "volumes-from", ' ', NoValue(OF_THE_HOST, "name what is needed in terminal.docker_volumes");
    "workdir", 'w', Value(apply::workdir);
};
