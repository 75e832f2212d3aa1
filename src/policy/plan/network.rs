//! What of the network is reachable.

use herm_protocol::{
    Error, ErrorKind,
    sandbox::{Network as Wish, SandboxSpec},
};

use super::{
    super::{Weakening, extra::ExtraArgs},
    Network, NetworkMode,
};
use crate::config::{DockerConfig, EgressProxy};

/// Which network a container has. None wins over everything that does not contradict it in so many words.
pub(super) fn decide(
    config: &DockerConfig,
    spec: &SandboxSpec,
    extra: &ExtraArgs,
    told: &mut Vec<Weakening>,
) -> Result<Network, Error> {
    egress(config, told)?;
    let option = |mode: &NetworkMode| format!("--network {} of terminal.docker_extra_args", mode.name());
    let off = !config.network.value;
    if let Some(Wish::Allow { .. }) = spec.network {
        return Err(if off {
            contradiction("spec.network", "an allow list", &config.network.asker())
        } else {
            Error::unsupported("network_allow")
        });
    }
    let none = match (&spec.network, off, &extra.network) {
        (Some(Wish::None), ..) => Some("spec.network".to_owned()),
        (_, true, _) => Some(config.network.asker()),
        (.., Some(NetworkMode::None)) => Some(option(&NetworkMode::None)),
        _ => None,
    };
    let mode = match (none, &extra.network) {
        (Some(asker), Some(mode)) if *mode != NetworkMode::None => {
            return Err(contradiction("terminal.docker_extra_args", &option(mode), &asker));
        }
        (Some(asker), _) if !off && config.network.is_explicit() && spec.network.is_none() => {
            return Err(contradiction(
                "terminal.docker_network",
                &config.network.asker(),
                &asker,
            ));
        }
        (Some(_), _) => NetworkMode::None,
        (None, mode) => mode.clone().unwrap_or(NetworkMode::Default),
    };
    Ok(Network {
        mode,
        dns: extra.dns.clone(),
        dns_search: extra.dns_search.clone(),
        dns_options: extra.dns_options.clone(),
        add_hosts: extra.add_hosts.clone(),
    })
}

fn contradiction(resource: &str, network: &str, none: &str) -> Error {
    let message = format!("{network} asks for a network, and {none} for none");
    Error::new(ErrorKind::InvalidArgument, resource, message)
        .with_fix("leave one of the two; nothing was started")
}

/// A container that should reach the network through the proxy only does not go around it.
fn egress(config: &DockerConfig, told: &mut Vec<Weakening>) -> Result<(), Error> {
    match config.egress {
        EgressProxy::Off => Ok(()),
        EgressProxy::Preferred => {
            told.push(Weakening::new(
                "egress",
                "the network is reached directly: proxy.enabled asks for the egress proxy, which this build of herm does not \
                 have; set proxy.enforce_on_docker to true to refuse such containers",
            ));
            Ok(())
        }
        EgressProxy::Required => {
            let message = "proxy.enabled and proxy.enforce_on_docker ask for the egress proxy, and this build of herm does not \
                           have it; nothing was started";
            Err(
                Error::new(ErrorKind::Unsupported, "proxy.enabled", message).with_fix(
                    "set proxy.enabled to false, or terminal.docker_network to false for no network at all",
                ),
            )
        }
    }
}
