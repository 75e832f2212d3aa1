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

const fn row(long: &'static str, short: char, meaning: Meaning) -> Row {
    Row {
        long,
        short: if short == ' ' { None } else { Some(short) },
        meaning,
    }
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
pub(super) const OPTIONS: &[Row] = &[
    row("add-host", ' ', Value(apply::add_host)),
    row(
        "annotation",
        ' ',
        NoValue("runtimes take orders from annotations", TAKE_OUT),
    ),
    row("attach", 'a', NoValue(FOREGROUND, TAKE_OUT)),
    row("blkio-weight", ' ', NoValue(BLOCKS, TAKE_OUT)),
    row("blkio-weight-device", ' ', NoValue(BLOCKS, TAKE_OUT)),
    row("cap-add", ' ', Value(apply::cap_add)),
    row("cap-drop", ' ', Value(apply::cap_drop)),
    row(
        "cgroup-parent",
        ' ',
        NoValue("it moves the container out of its bounds", TAKE_OUT),
    ),
    row("cgroupns", ' ', Value(apply::cgroupns)),
    row(
        "cidfile",
        ' ',
        NoValue("it writes a file of this machine", TAKE_OUT),
    ),
    row("cpu-count", ' ', NoValue("it is for Windows", "use --cpus")),
    row("cpu-percent", ' ', NoValue("it is for Windows", "use --cpus")),
    row(
        "cpu-period",
        ' ',
        NoValue("it contradicts the bound of processors", "use --cpus"),
    ),
    row(
        "cpu-quota",
        ' ',
        NoValue("it contradicts the bound of processors", "use --cpus"),
    ),
    row(
        "cpu-rt-period",
        ' ',
        NoValue("it can take the host's processors away", TAKE_OUT),
    ),
    row(
        "cpu-rt-runtime",
        ' ',
        NoValue("it can take the host's processors away", TAKE_OUT),
    ),
    row("cpu-shares", 'c', Value(apply::cpu_shares)),
    row("cpus", ' ', Value(apply::cpus)),
    row("cpuset-cpus", ' ', Value(apply::cpuset_cpus)),
    row("cpuset-mems", ' ', Value(apply::cpuset_mems)),
    row("detach", 'd', NoFlag(FOREGROUND, TAKE_OUT)),
    row("detach-keys", ' ', NoValue(FOREGROUND, TAKE_OUT)),
    row(
        "device",
        ' ',
        NoValue(
            "it gives the container a device of the host",
            "use --gpus for graphics processors",
        ),
    ),
    row(
        "device-cgroup-rule",
        ' ',
        NoValue("it gives the container devices of the host", TAKE_OUT),
    ),
    row("device-read-bps", ' ', NoValue(BLOCKS, TAKE_OUT)),
    row("device-read-iops", ' ', NoValue(BLOCKS, TAKE_OUT)),
    row("device-write-bps", ' ', NoValue(BLOCKS, TAKE_OUT)),
    row("device-write-iops", ' ', NoValue(BLOCKS, TAKE_OUT)),
    row(
        "disable-content-trust",
        ' ',
        NoFlag("it takes the check of the image away", TAKE_OUT),
    ),
    row("dns", ' ', Value(apply::dns)),
    row("dns-opt", ' ', Value(apply::dns_option)),
    row("dns-option", ' ', Value(apply::dns_option)),
    row("dns-search", ' ', Value(apply::dns_search)),
    row("domainname", ' ', Value(apply::domainname)),
    row(
        "entrypoint",
        ' ',
        NoValue(
            OF_HERM,
            "put what it sets up into the image, or run it as a command",
        ),
    ),
    row("env", 'e', Value(apply::env)),
    row(
        "env-file",
        ' ',
        NoValue(
            "it brings unnamed variables in from a file",
            "name them in terminal.docker_env, or secret ones in terminal.docker_forward_env",
        ),
    ),
    row(
        "expose",
        ' ',
        NoValue("nothing reaches a port of the container", TAKE_OUT),
    ),
    row("gpus", ' ', Value(apply::gpus)),
    row("group-add", ' ', Value(apply::group_add)),
    row("health-cmd", ' ', NoValue(HEALTH, TAKE_OUT)),
    row("health-interval", ' ', NoValue(HEALTH, TAKE_OUT)),
    row("health-retries", ' ', NoValue(HEALTH, TAKE_OUT)),
    row("health-start-interval", ' ', NoValue(HEALTH, TAKE_OUT)),
    row("health-start-period", ' ', NoValue(HEALTH, TAKE_OUT)),
    row("health-timeout", ' ', NoValue(HEALTH, TAKE_OUT)),
    row(
        "help",
        ' ',
        NoFlag("nothing is run with it", "see docker run --help in a terminal"),
    ),
    row("hostname", 'h', Value(apply::hostname)),
    row("init", ' ', Flag(apply::init)),
    row("interactive", 'i', NoFlag(FOREGROUND, TAKE_OUT)),
    row("io-maxbandwidth", ' ', NoValue("it is for Windows", TAKE_OUT)),
    row("io-maxiops", ' ', NoValue("it is for Windows", TAKE_OUT)),
    row(
        "ip",
        ' ',
        NoValue("two containers could not have the same address", TAKE_OUT),
    ),
    row(
        "ip6",
        ' ',
        NoValue("two containers could not have the same address", TAKE_OUT),
    ),
    row("ipc", ' ', Value(apply::ipc)),
    row("isolation", ' ', NoValue("it is for Windows", TAKE_OUT)),
    row(
        "kernel-memory",
        ' ',
        NoValue("kernels do not have this bound any more", "use --memory"),
    ),
    row("label", 'l', Value(apply::label)),
    row(
        "label-file",
        ' ',
        NoValue("it brings unnamed labels in from a file", "use --label"),
    ),
    row(
        "link",
        ' ',
        NoValue(
            "it reaches into another container",
            "give both the same network: --network NAME",
        ),
    ),
    row(
        "link-local-ip",
        ' ',
        NoValue("two containers could not have the same address", TAKE_OUT),
    ),
    row(
        "log-driver",
        ' ',
        NoValue(
            "output of commands does not go through the engine's log",
            TAKE_OUT,
        ),
    ),
    row(
        "log-opt",
        ' ',
        NoValue(
            "output of commands does not go through the engine's log",
            TAKE_OUT,
        ),
    ),
    row(
        "mac-address",
        ' ',
        NoValue("two containers could not have the same address", TAKE_OUT),
    ),
    row("memory", 'm', Value(apply::memory)),
    row("memory-reservation", ' ', Value(apply::memory_reservation)),
    row("memory-swap", ' ', Value(apply::memory_swap)),
    row(
        "memory-swappiness",
        ' ',
        NoValue("a container of herm does not swap", TAKE_OUT),
    ),
    row("mount", ' ', Value(apply::mount)),
    row("name", ' ', NoValue(OF_HERM, "use a key: herm exec --key NAME")),
    row("net", ' ', Value(apply::network)),
    row(
        "net-alias",
        ' ',
        NoValue("containers of herm are not looked up by others", TAKE_OUT),
    ),
    row("network", ' ', Value(apply::network)),
    row(
        "network-alias",
        ' ',
        NoValue("containers of herm are not looked up by others", TAKE_OUT),
    ),
    row("no-healthcheck", ' ', Flag(apply::no_healthcheck)),
    row("oom-kill-disable", ' ', NoFlag(BOUNDS, TAKE_OUT)),
    row(
        "oom-score-adj",
        ' ',
        NoValue(
            "it can have the host's own programs end in place of the container",
            TAKE_OUT,
        ),
    ),
    row("pid", ' ', NoValue(NAMESPACE, TAKE_OUT)),
    row("pids-limit", ' ', Value(apply::pids_limit)),
    row("platform", ' ', Value(apply::platform)),
    row(
        "privileged",
        ' ',
        NoFlag(
            "it gives the container all that root of the host can do",
            "name what is needed: --gpus, or a mount in terminal.docker_volumes",
        ),
    ),
    row(
        "publish",
        'p',
        NoValue(
            "it opens a port of the host",
            "run a client as a command in the same container",
        ),
    ),
    row(
        "publish-all",
        'P',
        NoFlag(
            "it opens ports of the host",
            "run a client as a command in the same container",
        ),
    ),
    row(
        "pull",
        ' ',
        NoValue(OF_HERM, "pull the image yourself: docker pull IMAGE"),
    ),
    row("quiet", 'q', NoFlag(FOREGROUND, TAKE_OUT)),
    row("read-only", ' ', Flag(apply::read_only)),
    row("restart", ' ', NoValue(OF_HERM, TAKE_OUT)),
    row(
        "rm",
        ' ',
        NoFlag(OF_HERM, "set terminal.docker_persist_across_processes to false"),
    ),
    row("runtime", ' ', Value(apply::runtime)),
    row("security-opt", ' ', Value(apply::security_opt)),
    row("shm-size", ' ', Value(apply::shm_size)),
    row("sig-proxy", ' ', NoFlag(FOREGROUND, TAKE_OUT)),
    row("stop-signal", ' ', NoValue(OF_HERM, TAKE_OUT)),
    row("stop-timeout", ' ', NoValue(OF_HERM, TAKE_OUT)),
    row("storage-opt", ' ', Value(apply::storage_opt)),
    row("sysctl", ' ', Value(apply::sysctl)),
    row("tmpfs", ' ', Value(apply::tmpfs)),
    row("tty", 't', NoFlag(FOREGROUND, TAKE_OUT)),
    row("ulimit", ' ', Value(apply::ulimit)),
    row(
        "use-api-socket",
        ' ',
        NoFlag(
            "it gives the container the engine, and with it all of the host",
            TAKE_OUT,
        ),
    ),
    row("user", 'u', Value(apply::user)),
    row("userns", ' ', NoValue(NAMESPACE, TAKE_OUT)),
    row("uts", ' ', NoValue(NAMESPACE, TAKE_OUT)),
    row("volume", 'v', Value(apply::volume)),
    row(
        "volume-driver",
        ' ',
        NoValue(
            "it changes what every named volume is",
            "say it of one: --mount type=volume,source=NAME,target=/path,volume-driver=DRIVER",
        ),
    ),
    row(
        "volumes-from",
        ' ',
        NoValue(OF_THE_HOST, "name what is needed in terminal.docker_volumes"),
    ),
    row("workdir", 'w', Value(apply::workdir)),
];
