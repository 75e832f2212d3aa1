//! How a subject's adapter is started: with a scrubbed environment, canaries in it, and a guard around it.

use std::{env, ffi::OsString, path::Path, sync::Arc};

use herm_protocol::client::Launch;

use super::RunOptions;
use crate::{
    report::shorten,
    scene::{CANARY, Listener, Workshop},
    subject::Subject,
};

/// Variables of the caller that say where and who one is; every adapter gets them.
const PASSED: [&str; 10] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TZ",
    "USER",
    "XDG_RUNTIME_DIR",
];

/// Names under which every adapter is given a secret that no command may see, unless the subject needs the real one.
pub const CANARIES: [&str; 4] = [
    "AWS_SECRET_ACCESS_KEY",
    "HARMLESS_LOOKING_NAME",
    "HERM_CANARY_TOKEN",
    "OPENAI_API_KEY",
];

/// Characters of a line of the conversation that are told.
const LINE: usize = 480;

/// How a subject's adapter is started in a run: under the run's guard, in its scratch folder, and with nothing else of the
/// caller's environment than what the subject names.
pub(crate) fn launch(subject: &Subject, run: &str, scratch: &Path, guard: &[OsString]) -> Launch {
    let mut words = guard.iter().chain(&subject.adapter).cloned();
    Launch {
        program: words.next().unwrap_or_default(),
        arguments: words.collect(),
        environment: environment(subject, run, scratch),
        directory: subject.directory.clone(),
    }
}

pub(crate) fn workshop(subject: &Subject, options: &RunOptions) -> Workshop {
    let own = options.own_folder.as_ref().unwrap_or(&options.scratch);
    let launch = launch(subject, &options.run, own, &options.guard);
    let scratch = own.display().to_string();
    let mut workshop = Workshop::new(
        launch,
        options.run.clone(),
        scratch,
        options.stop.clone(),
        listener(options),
        options.validate,
    );
    workshop.set_guarded(!options.guard.is_empty());
    workshop.set_run_folder(options.scratch.clone());
    workshop
}

fn environment(subject: &Subject, run: &str, scratch: &Path) -> Vec<(OsString, OsString)> {
    let named = subject.environment.iter().map(String::as_str);
    let passed = PASSED.into_iter().chain(named);
    let mut environment: Vec<(OsString, OsString)> = passed
        .filter_map(|name| env::var_os(name).map(|value| (name.into(), value)))
        .collect();
    environment.push(("TMPDIR".into(), scratch.into()));
    for name in CANARIES
        .into_iter()
        .filter(|name| !subject.environment.iter().any(|needed| needed == name))
    {
        environment.push((name.into(), format!("{CANARY}{run}").into()));
    }
    environment
}

/// The listener, told only what has been redacted, and shortened after that.
fn listener(options: &RunOptions) -> Option<Arc<Listener>> {
    let listener = options.listener.clone()?;
    let redactor = options.redactor.clone();
    Some(Arc::new(move |line: &str| {
        listener(&shorten(&redactor.text(line), LINE));
    }))
}
