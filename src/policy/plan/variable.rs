//! Which variables commands see.

use herm_protocol::{ByteString, Error, sandbox::SandboxSpec};

use super::{
    super::{Refusal, Weakening, extra::ExtraArgs},
    Variables,
    place::HOME,
};
use crate::{
    backend::local::check,
    config::{DockerConfig, Secret},
};

/// The variables. What a caller says wins over the configuration.
pub(super) fn decide(
    config: &DockerConfig,
    spec: &SandboxSpec,
    extra: &ExtraArgs,
    told: &mut Vec<Weakening>,
) -> Result<Variables, Error> {
    check::variables("spec.env", &spec.env)?;
    for (name, value) in &extra.env {
        if config.env.get(name).is_some_and(|other| other != value) {
            let what = format!("--env {name} contradicts terminal.docker_env or terminal.docker_forward_env");
            return Err(Refusal::new(what, "leave one of them").of_setting(&config.extra_args));
        }
    }
    let configured = config.env.iter().chain(&extra.env).map(|(name, value)| {
        let value = ByteString::from(value.expose().as_str());
        (name.as_str().into(), Secret::new(value))
    });
    let asked = spec
        .env
        .iter()
        .map(|variable| (variable.name.clone(), Secret::new(variable.value.clone())));
    // No image has a line for a user of this machine, and without one its home would be /.
    let home = config
        .run_as_host_user
        .value
        .then(|| ("HOME".into(), Secret::new(HOME.into())));
    let variables = home.into_iter().chain(configured).chain(asked).collect();
    if !config.unset.is_empty() {
        told.push(Weakening::new(
            "env",
            format!(
                "not passed on, because they are set neither here nor in .env: {} (terminal.docker_forward_env)",
                config.unset.join(", ")
            ),
        ));
    }
    Ok(variables)
}
