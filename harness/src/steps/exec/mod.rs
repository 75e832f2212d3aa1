//! Steps of the chapters about running commands.

pub(super) mod args;
pub(super) mod cwd;
pub(super) mod enc;
pub(super) mod env;
pub(super) mod exit;
mod job;
mod session;
pub(super) mod shell;
mod shell_text;
mod stdin;
mod stream;
pub(super) mod timeout;
pub(super) mod user;

use crate::step::StepList;

pub(super) fn register(steps: &mut StepList) {
    exit::register(steps);
    shell::register(steps);
    stream::register(steps);
    stdin::register(steps);
    env::register(steps);
    cwd::register(steps);
    timeout::register(steps);
    user::register(steps);
    session::register(steps);
    job::register(steps);
}
