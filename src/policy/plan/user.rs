//! Who commands run as.

use herm_protocol::{Error, ErrorKind, sandbox::SandboxSpec};

use super::super::{
    HostFacts, Refusal,
    extra::{ExtraArgs, user as read},
};
use crate::config::DockerConfig;

/// Who commands run as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct User {
    /// As the engine takes it; none is the image's own.
    pub(super) text: Option<String>,
    /// The numbers of user and group, where both are known.
    pub(super) numbers: Option<(u32, u32)>,
    /// Whether programs may become other users.
    pub(super) switches: bool,
}

impl User {
    /// Whether it is one that was chosen, and is not root.
    pub(super) fn is_ordinary(&self) -> bool {
        self.text.as_deref().is_some_and(|text| !is_root(text))
    }
}

/// The caller's wish is heard first, then the configuration.
pub(super) fn decide(
    config: &DockerConfig,
    spec: &SandboxSpec,
    extra: &ExtraArgs,
    facts: &HostFacts,
) -> Result<User, Error> {
    let as_host = &config.run_as_host_user;
    if let Some(user) = &spec.user {
        let user = read(user).map_err(|refusal| refusal.about("spec.user"))?;
        return Ok(chosen(user));
    }
    match (&extra.user, as_host.value) {
        (Some(_), true) => {
            let what = format!("--user contradicts {}", as_host.asker());
            Err(Refusal::new(what, "leave one of the two").of_setting(&config.extra_args))
        }
        (Some(user), false) => Ok(chosen(user.clone())),
        (None, true) if facts.rootless || facts.user_namespace => {
            let message = format!(
                "{} asks for this user's id, and users of this engine's containers are others on its host",
                as_host.asker()
            );
            let fix = if facts.rootless {
                "set it to false: the engine is rootless, and root of a container is its user already"
            } else {
                "set it to false, or use an engine without userns-remap"
            };
            Err(Error::new(ErrorKind::Unsupported, as_host.key, message).with_fix(fix))
        }
        (None, true) => {
            let (user, group) = config.here.user;
            Ok(User {
                text: Some(format!("{user}:{group}")),
                numbers: Some((user, group)),
                switches: false,
            })
        }
        (None, false) => Ok(User {
            switches: true,
            ..User::default()
        }),
    }
}

fn chosen(text: String) -> User {
    let numbers = text
        .split_once(':')
        .and_then(|(user, group)| user.parse().ok().zip(group.parse().ok()));
    User {
        numbers,
        switches: is_root(&text),
        text: Some(text),
    }
}

/// Whether a text names root.
fn is_root(text: &str) -> bool {
    let user = text.split(':').next().unwrap_or_default();
    user == "root" || user.parse() == Ok(0_u32)
}
