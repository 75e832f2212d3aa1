//! Steps of the chapters about running commands.

pub(super) mod cwd;
pub(super) mod env;
pub(super) mod exit;
mod job;
mod rpc;
mod stdin;
mod stream;
pub(super) mod timeout;

use crate::step::StepList;

pub(super) fn register(steps: &mut StepList) {
    exit::register(steps);
    stream::register(steps);
    stdin::register(steps);
    env::register(steps);
    cwd::register(steps);
    timeout::register(steps);
    job::register(steps);
    rpc::register(steps);
}
