//! Steps of the chapters about running commands.

mod cwd;
mod env;
mod exit;
mod job;
mod stdin;
mod stream;
mod timeout;

use crate::step::StepList;

pub(super) fn register(steps: &mut StepList) {
    exit::register(steps);
    stream::register(steps);
    stdin::register(steps);
    env::register(steps);
    cwd::register(steps);
    timeout::register(steps);
    job::register(steps);
}
