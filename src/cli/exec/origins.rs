//! Who asked for a directory or a deadline, so that a message can name it.

use herm::config::{Config, Origin};
use herm_protocol::exec::{Outcome, SetupFailure};

use super::Arguments;

/// The names of what was asked for and not by the command itself.
pub(super) struct Origins {
    /// Who named the directory; nobody when it is the current one or the sandbox's own.
    directory: Option<String>,
    /// The setting that set the deadline; none when the command line did.
    deadline: Option<String>,
}

impl Origins {
    pub(super) fn of(arguments: &Arguments, config: &Config) -> Self {
        let setting = |name: &str| {
            let origin = config
                .get(name)
                .map_or(&Origin::Default, |resolved| &resolved.origin);
            format!("{name} ({origin})")
        };
        let configured = || config.local().cwd.map(|_| setting("terminal.cwd"));
        let option = arguments.cwd.as_ref().map(|_| "--cwd".to_owned());
        Self {
            directory: option.or_else(configured),
            deadline: arguments.timeout.is_none().then(|| setting("terminal.timeout")),
        }
    }

    /// Says who named a directory that cannot be used.
    pub(super) fn name_directory(&self, outcome: &mut Outcome) {
        if let (Outcome::SetupFailed { kind, message }, Some(origin)) = (outcome, &self.directory)
            && matches!(
                kind,
                SetupFailure::CwdNotFound | SetupFailure::CwdNotADirectory | SetupFailure::CwdDenied
            )
        {
            message.insert_str(0, &format!("{origin}: "));
        }
    }

    /// Who set the deadline, when the command line did not.
    pub(super) fn deadline(&self) -> Option<String> {
        let origin = self.deadline.as_ref()?;
        Some(format!(
            "the deadline is that of {origin}; --timeout sets another"
        ))
    }
}
