//! From the configuration and what is asked to a plan.

use herm_protocol::{Error, sandbox::SandboxSpec};

use super::{
    super::{
        HostFacts, Refusal, Weakening,
        extra::{self, ExtraArgs},
        mount::{self, Here},
    },
    Plan, hardening, limit, network,
    place::{self, HOME, WORKSPACE},
    user, variable,
};
use crate::config::{DockerConfig, StartIn};

/// Decides what a container is made with. What a caller asks (`spec`) wins over the configuration; what the configuration says
/// of files being kept (`persistent`) is meant for a sandbox that has a key.
///
/// What comes second is to be told when the sandbox is opened.
///
/// # Errors
/// Two wishes contradict each other, one cannot be understood, or one cannot be enforced on this host. The error names the
/// setting or the field, why, and the next step; values of variables are not in it.
pub fn plan(
    config: &DockerConfig,
    spec: &SandboxSpec,
    facts: &HostFacts,
) -> Result<(Plan, Vec<Weakening>), Error> {
    let mut told = Vec::new();
    let extra = extra::parse(&config.extra_args.value, &Here::of(&config.here))
        .map_err(|refusal| refusal.of_setting(&config.extra_args))?;
    let image = image(config, spec)?;
    let network = network::decide(config, spec, &extra, &mut told)?;
    let user = user::decide(config, spec, &extra, facts)?;
    let hardening = hardening::decide(config, &extra, facts, user.switches, &mut told)?;
    let wishes = place::wishes(config, &spec.mounts, &extra, &mut told)?;
    let workdir = workdir(config, spec, &extra, &mut told)?;
    let from = limit::Sources {
        config,
        spec,
        extra: &extra,
        facts,
        keeps: config.persistent.value,
    };
    let limits = limit::decide(&from, &mut told)?;
    let places = wishes.places(config, &limits, facts.volume_quota, &user, &mut told);
    let variables = variable::decide(config, spec, &extra, &mut told)?;
    let plan = Plan {
        image,
        platform: extra.platform,
        runtime: extra.runtime,
        user: user.text,
        groups: extra.groups,
        workdir,
        hostname: extra.hostname,
        domainname: extra.domainname,
        hardening,
        limits,
        tmpfs: places.tmpfs,
        kept: places.kept,
        mounts: places.mounts,
        network,
        sysctls: extra.sysctls,
        gpus: extra.gpus,
        labels: extra.labels,
        variables,
    };
    Ok((plan, told))
}

fn image(config: &DockerConfig, spec: &SandboxSpec) -> Result<String, Error> {
    let (image, asker) = match &spec.image {
        Some(image) => (image, "spec.image"),
        None => (&config.image.value, config.image.key),
    };
    let odd = |letter: char| letter.is_whitespace() || letter.is_control();
    if image.is_empty() || image.starts_with('-') || image.contains(odd) {
        return Err(Error::invalid_argument(
            asker,
            format!("{image:?} names no image"),
        ));
    }
    Ok(image.clone())
}

/// The directory that commands start in.
fn workdir(
    config: &DockerConfig,
    spec: &SandboxSpec,
    extra: &ExtraArgs,
    told: &mut Vec<Weakening>,
) -> Result<String, Error> {
    if let Some(cwd) = &spec.cwd {
        let path = str::from_utf8(cwd.as_bytes()).ok();
        let path = path.filter(|path| path.starts_with('/'));
        let path = path.filter(|path| !path.chars().any(char::is_control));
        return path.map(mount::clean).ok_or_else(|| {
            let problem = format!("is no absolute path of a container in UTF-8: {cwd:?}");
            Error::invalid_argument("spec.cwd", problem)
        });
    }
    let place = if config.workspace.is_some() {
        WORKSPACE
    } else {
        HOME
    };
    match (&config.cwd, &extra.workdir) {
        (StartIn::Inside(asked), Some(option)) if mount::clean(&asked.value) != *option => {
            let what = format!("--workdir contradicts {}", asked.asker());
            Err(Refusal::new(what, "leave one of the two").of_setting(&config.extra_args))
        }
        (_, Some(option)) => Ok(option.clone()),
        (StartIn::Inside(asked), None) => Ok(mount::clean(&asked.value)),
        (StartIn::OfThisMachine(asked), None) if config.workspace.is_none() => {
            let notice = format!(
                "commands start in {place}: {:?} of {} means a directory of this machine; \
                 terminal.docker_mount_cwd_to_workspace mounts it",
                asked.value,
                asked.asker()
            );
            told.push(Weakening::new("cwd", notice));
            Ok(place.to_owned())
        }
        _ => Ok(place.to_owned()),
    }
}
