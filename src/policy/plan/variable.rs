//! Which variables stand where.

use herm_protocol::{ByteString, Error, sandbox::SandboxSpec};

use super::{
    super::{Refusal, Weakening, extra::ExtraArgs},
    Variables,
};
use crate::{
    backend::local::check,
    config::{DockerConfig, Secret, item::is_credential},
};

/// The variables. What a caller says wins over what is passed on, and that over what the container is made with; each stands
/// in one place only.
pub(super) fn decide(
    config: &DockerConfig,
    spec: &SandboxSpec,
    extra: &ExtraArgs,
    told: &mut Vec<Weakening>,
) -> Result<Variables, Error> {
    check::variables("spec.env", &spec.env)?;
    let bytes = |value: &Secret<String>| Secret::new(ByteString::from(value.expose().as_str()));
    let mut variables = Variables::default();
    variables.of_container.clone_from(&config.env);
    for (name, value) in &extra.env {
        let other = config.env.get(name).or(config.secret_env.get(name));
        if other.is_some_and(|other| other != value) {
            let what = format!("--env {name} contradicts terminal.docker_env or terminal.docker_forward_env");
            return Err(Refusal::new(what, "leave one of them").of_setting(&config.extra_args));
        }
        if is_credential(name) {
            variables.of_commands.insert(name.as_str().into(), bytes(value));
        } else {
            variables.of_container.insert(name.clone(), value.clone());
        }
    }
    for (name, value) in &config.secret_env {
        variables.of_commands.insert(name.as_str().into(), bytes(value));
    }
    for variable in &spec.env {
        variables
            .of_commands
            .insert(variable.name.clone(), Secret::new(variable.value.clone()));
    }
    variables.of_container.retain(|name, _| {
        !variables
            .of_commands
            .contains_key(&ByteString::from(name.as_str()))
    });
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
