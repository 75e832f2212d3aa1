//! What stands in a list.

/// What a list takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// Any text.
    Text,
    /// A name of a variable.
    Variable,
    /// A name of a variable that a command may see: no credential of the agent's.
    PassedVariable,
    /// A mount, as `docker run --volume` takes it.
    Mount,
}

impl Item {
    /// Why a text is none, and the next step.
    pub(super) fn check(self, text: &str) -> Result<(), (&'static str, String)> {
        let variable = || {
            let fix = "use letters, digits and _, no digit first".to_owned();
            if is_variable(text) {
                Ok(())
            } else {
                Err(("which is no name of a variable", fix))
            }
        };
        match self {
            Self::Text => Ok(()),
            Self::PassedVariable if is_credential(text) => Err((
                "which holds a credential of the agent; commands do not see those",
                format!("take it out; herm exec --env {text}=VALUE gives one to a single command"),
            )),
            Self::Variable | Self::PassedVariable => variable(),
            Self::Mount if text.contains(':') => Ok(()),
            Self::Mount => Err((
                "which has no \":\" between a path of this machine and one of the sandbox",
                "write it as \"/host:/sandbox\"".into(),
            )),
        }
    }
}

/// Names that hold what an agent authenticates with, and never reach its commands.
const CREDENTIALS: [&str; 10] = [
    "DAYTONA_API_KEY",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AWS_BEARER_TOKEN_BEDROCK",
    "HERMES_DASHBOARD_SESSION_TOKEN",
    "MODAL_TOKEN_ID",
    "MODAL_TOKEN_SECRET",
    "SUDO_PASSWORD",
    "VERCEL_TOKEN",
];

/// Whether a variable of that name holds what an agent authenticates with.
pub(crate) fn is_credential(name: &str) -> bool {
    CREDENTIALS.contains(&name)
        || name.ends_with("_API_KEY")
        || name.ends_with("_BOT_TOKEN")
        || ["GITHUB_APP_", "GATEWAY_RELAY_", "VERCEL_OIDC_"]
            .iter()
            .any(|start| name.starts_with(start))
}

/// Whether a text is a name that a shell takes for a variable.
pub(crate) fn is_variable(name: &str) -> bool {
    let letter = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    name.starts_with(letter) && name.chars().all(|next| letter(next) || next.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_variables_are_told_from_others_and_credentials_from_both() {
        for (name, variable, passed) in [
            ("LANG", true, true),
            ("_a9", true, true),
            ("9A", false, false),
            ("A-B", false, false),
            ("", false, false),
            ("OPENAI_API_KEY", true, false),
            ("TELEGRAM_BOT_TOKEN", true, false),
            ("GH_TOKEN", true, false),
            ("MY_TOKEN", true, true),
        ] {
            assert_eq!(Item::Variable.check(name).is_ok(), variable, "{name}");
            assert_eq!(Item::PassedVariable.check(name).is_ok(), passed, "{name}");
        }
        assert!(Item::Mount.check("/a:/b").is_ok() && Item::Mount.check("/a").is_err());
    }
}
