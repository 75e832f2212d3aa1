//! What commands may use up. A bound that somebody asks for holds, or is an error; one that is a default holds, or is told.

use herm_protocol::{Error, ErrorKind, sandbox::SandboxSpec};

use super::{
    super::{HostFacts, Refusal, Weakening, extra::ExtraArgs},
    Limits,
};
use crate::config::{Asked, DockerConfig};

/// Processes and threads of a container that nobody says otherwise of.
const PIDS: u64 = 256;

/// The least memory that engines bound a container to.
const LEAST_MEMORY: u64 = 6 * 1024 * 1024;

/// Billionths of a processor in a thousandth, and the least that engines take.
const NANO: u64 = 1_000_000;
const LEAST_NANO: u64 = 10_000_000;

/// A bound with who asks for it; nobody does when it is a default.
struct Bound {
    amount: u64,
    by: Option<Asker>,
}

/// The resource of an error, and its name for people.
#[derive(Clone)]
struct Asker {
    resource: String,
    name: String,
}

/// What a bound is called, and how it is missed.
struct Kind {
    subject: &'static str,
    /// Reads on after "cannot bound".
    what: &'static str,
    /// What happens without.
    without: &'static str,
    fix: String,
}

/// What the limits are decided from.
pub(super) struct Sources<'a> {
    pub(super) config: &'a DockerConfig,
    pub(super) spec: &'a SandboxSpec,
    pub(super) extra: &'a ExtraArgs,
    pub(super) facts: &'a HostFacts,
    /// Whether files are kept in volumes, which are not the container's own layer.
    pub(super) keeps: bool,
}

/// All limits.
pub(super) fn decide(from: &Sources, told: &mut Vec<Weakening>) -> Result<Limits, Error> {
    let (config, extra) = (from.config, from.extra);
    let memory_bytes = from.memory(told)?;
    let swap = from.facts.swap && memory_bytes.is_some();
    Ok(Limits {
        pids: from.pids(told)?,
        memory_bytes,
        memory_and_swap_bytes: memory_bytes.filter(|_| swap),
        memory_reservation_bytes: extra.memory_reservation_bytes,
        nano_cpus: from.processors(told)?,
        cpu_shares: from.chosen(extra.cpu_shares, "--cpu-shares", from.facts.cpu_shares, "cpu")?,
        cpuset_cpus: from.chosen(
            extra.cpuset_cpus.clone(),
            "--cpuset-cpus",
            from.facts.cpuset,
            "cpuset",
        )?,
        cpuset_mems: from.chosen(
            extra.cpuset_mems.clone(),
            "--cpuset-mems",
            from.facts.cpuset,
            "cpuset",
        )?,
        disk_bytes: from.disk(told)?,
        shm_bytes: shm(&config.shm_bytes, extra).map_err(|refusal| refusal.of_setting(&config.extra_args))?,
        ulimits: extra.ulimits.clone(),
    })
}

impl Sources<'_> {
    fn pids(&self, told: &mut Vec<Weakening>) -> Result<Option<u64>, Error> {
        let default = Bound {
            amount: PIDS,
            by: None,
        };
        let fix = "take it out; a caller can ask for more by spec.limits.pids";
        let bound = self.bound(
            "pids",
            self.spec.limits.pids,
            self.extra.pids,
            "--pids-limit",
            default,
            fix,
        )?;
        let kind = Kind {
            subject: "pids",
            what: "the number of processes",
            without: "a command can take every process that the host has",
            fix: self.facts.controller_fix("pids"),
        };
        enforce(&bound, self.facts.pids, kind, told)
    }

    fn memory(&self, told: &mut Vec<Weakening>) -> Result<Option<u64>, Error> {
        let bound = self.bound(
            "memory_bytes",
            self.spec.limits.memory_bytes,
            self.extra.memory_bytes,
            "--memory",
            of_setting(&self.config.memory_bytes),
            "take it out, and set terminal.container_memory",
        )?;
        not_too_small(
            &bound,
            LEAST_MEMORY,
            "terminal.container_memory",
            "6 MB of memory, the least that engines take",
        )?;
        self.of_memory(&bound)?;
        let kind = Kind {
            subject: "memory",
            what: "memory",
            without: "a command can take all that the host has",
            fix: self.facts.controller_fix("memory"),
        };
        let memory = enforce(&bound, self.facts.memory, kind, told)?;
        if memory.is_some() {
            let kind = Kind {
                subject: "swap",
                what: "memory and swap together",
                without: "what exceeds the bound of memory goes to the host's swap in place of ending",
                fix: "boot the engine's host with swapaccount=1, or with cgroup v2".into(),
            };
            enforce(&bound, self.facts.swap, kind, told)?;
        }
        Ok(memory)
    }

    /// What further options say of memory fits its bound.
    fn of_memory(&self, bound: &Bound) -> Result<(), Error> {
        let refused =
            |what: String, fix: &str| Err(Refusal::new(what, fix).of_setting(&self.config.extra_args));
        match (
            self.extra.memory_and_swap_bytes,
            self.extra.memory_reservation_bytes,
        ) {
            (Some(both), _) if both != bound.amount => refused(
                format!(
                    "--memory-swap is {both} bytes, and memory with swap is the bound of memory, {} bytes",
                    bound.amount
                ),
                "take it out: a container does not swap",
            ),
            (_, Some(reserved)) if reserved > bound.amount => refused(
                format!(
                    "--memory-reservation is {reserved} bytes, and the bound of memory {}",
                    bound.amount
                ),
                "make it smaller, or take it out",
            ),
            _ => Ok(()),
        }
    }

    fn processors(&self, told: &mut Vec<Weakening>) -> Result<Option<u64>, Error> {
        let asked = self
            .spec
            .limits
            .cpu_millis
            .map(|millis| millis.saturating_mul(NANO));
        let mut default = of_setting(&self.config.cpu_millis);
        default.amount = default.amount.saturating_mul(NANO);
        let fix = "take it out, and set terminal.container_cpu";
        let bound = self.bound("cpu_millis", asked, self.extra.nano_cpus, "--cpus", default, fix)?;
        not_too_small(
            &bound,
            LEAST_NANO,
            "terminal.container_cpu",
            "a hundredth of a processor, the least that engines take",
        )?;
        let kind = Kind {
            subject: "cpu",
            what: "the share of processors",
            without: "a command can take all of them",
            fix: self.facts.controller_fix("cpu"),
        };
        let nano = enforce(&bound, self.facts.cpu, kind, told)?;
        // Engines refuse more than there is; all of them are within any larger bound.
        let all = self.facts.processors.saturating_mul(1000 * NANO);
        Ok(nano.map(|nano| if all == 0 { nano } else { nano.min(all) }))
    }

    fn disk(&self, told: &mut Vec<Weakening>) -> Result<Option<u64>, Error> {
        let setting = &self.config.disk_bytes;
        let default = setting.value.map(|amount| Bound {
            amount,
            by: setting.is_explicit().then(|| Asker::of(setting)),
        });
        let (asked, option) = (self.spec.limits.disk_bytes, self.extra.disk_bytes);
        let fix = "take it out, and set terminal.container_disk";
        let unbounded = Bound {
            amount: u64::MAX,
            by: None,
        };
        if default.is_none() && asked.is_none() && option.is_none() {
            return Ok(None);
        }
        let bound = self.bound(
            "disk_bytes",
            asked,
            option,
            "--storage-opt",
            default.unwrap_or(unbounded),
            fix,
        )?;
        let kind = |what, fix: &str| Kind {
            subject: "disk",
            what,
            without: "a command can fill the disk of the engine's host",
            fix: fix.into(),
        };
        let layer = kind(
            "the disk space of a container",
            "keep the engine's data on xfs with pquota, on btrfs or on zfs; terminal.container_disk: 0 asks for no bound",
        );
        let amount = enforce(&bound, self.facts.layer_quota, layer, told)?;
        if amount.is_some() && self.keeps {
            let volumes = kind(
                "the disk space of volumes, in which /root and /workspace are kept",
                "keep the engine's data on xfs with pquota, or set terminal.container_persistent to false",
            );
            enforce(&bound, self.facts.volume_quota, volumes, told)?;
        }
        Ok(amount)
    }

    /// The bound that holds: the caller's, else that of an option, which makes it tighter, else the default.
    fn bound(
        &self,
        field: &str,
        asked: Option<u64>,
        option: Option<u64>,
        name: &str,
        default: Bound,
        fix: &str,
    ) -> Result<Bound, Error> {
        if let Some(amount) = asked {
            let field = format!("spec.limits.{field}");
            return match amount {
                0 => Err(Error::invalid_argument(field, "is 0, with which nothing runs")),
                amount => Ok(Bound {
                    amount,
                    by: Some(Asker::setting(&field)),
                }),
            };
        }
        match option {
            None => Ok(default),
            Some(amount) if amount <= default.amount => Ok(Bound {
                amount,
                by: Some(self.option(name)),
            }),
            Some(_) => {
                let what = match default.by {
                    Some(who) => format!("{name} asks for more than {}", who.name),
                    None => format!("{name} asks for more than the default bound"),
                };
                Err(Refusal::new(what, fix).of_setting(&self.config.extra_args))
            }
        }
    }

    /// An option that only some hosts can carry out.
    fn chosen<T>(
        &self,
        asked: Option<T>,
        name: &str,
        can: bool,
        controller: &str,
    ) -> Result<Option<T>, Error> {
        if asked.is_none() || can {
            return Ok(asked);
        }
        let who = self.option(name);
        let message = format!("{} asks for what the engine's host cannot do", who.name);
        let fix = format!("{}, or take it out", self.facts.controller_fix(controller));
        Err(Error::new(ErrorKind::Unsupported, who.resource, message).with_fix(fix))
    }

    fn option(&self, name: &str) -> Asker {
        let setting = &self.config.extra_args;
        Asker {
            resource: setting.key.into(),
            name: format!("{name} of {}", setting.asker()),
        }
    }
}

impl Asker {
    fn of<T>(setting: &Asked<T>) -> Self {
        Self {
            resource: setting.key.into(),
            name: setting.asker(),
        }
    }

    fn setting(name: &str) -> Self {
        Self {
            resource: name.to_owned(),
            name: name.to_owned(),
        }
    }
}

/// Refuses what engines do; `key` is the setting that a default stands in.
fn not_too_small(bound: &Bound, least: u64, key: &str, what: &str) -> Result<(), Error> {
    if bound.amount >= least {
        return Ok(());
    }
    let who = bound.by.clone().unwrap_or_else(|| Asker::setting(key));
    let message = format!("{} asks for less than {what}", who.name);
    Err(Error::new(ErrorKind::InvalidArgument, who.resource, message).with_fix("ask for more"))
}

fn of_setting(setting: &Asked<u64>) -> Bound {
    Bound {
        amount: setting.value,
        by: setting.is_explicit().then(|| Asker::of(setting)),
    }
}

/// The bound where the host can hold it. Else it is an error when somebody asks for it, and told when nobody does.
fn enforce(bound: &Bound, can: bool, kind: Kind, told: &mut Vec<Weakening>) -> Result<Option<u64>, Error> {
    let Kind {
        subject,
        what,
        without,
        fix,
    } = kind;
    match &bound.by {
        _ if can => Ok(Some(bound.amount)),
        Some(who) => {
            let message = format!(
                "{} asks for a bound, and the engine's host cannot bound {what}",
                who.name
            );
            Err(Error::new(ErrorKind::Unsupported, &who.resource, message).with_fix(fix))
        }
        None => {
            told.push(Weakening::new(
                subject,
                format!("the engine's host cannot bound {what}: {without}; {fix}"),
            ));
            Ok(None)
        }
    }
}

fn shm(setting: &Asked<Option<u64>>, extra: &ExtraArgs) -> Result<Option<u64>, Refusal> {
    match extra.shm_bytes {
        Some(bytes) if setting.is_explicit() && setting.value != Some(bytes) => Err(Refusal::new(
            format!("--shm-size contradicts {}", setting.asker()),
            "leave one of the two",
        )),
        Some(bytes) => Ok(Some(bytes)),
        None => Ok(setting.value),
    }
}
