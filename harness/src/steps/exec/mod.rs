//! Steps of the chapters about running commands.

pub(super) mod args;
pub(super) mod busy;
pub(super) mod cancel;
pub(super) mod cwd;
pub(super) mod enc;
pub(super) mod ending;
pub(super) mod env;
pub(super) mod exit;
pub(super) mod flow;
pub(super) mod job;
pub(super) mod like_lines;
pub(super) mod lookup;
mod many_sessions;
mod memory;
mod named_alike;
pub(super) mod open_files;
pub(super) mod otherwise;
pub(super) mod out;
pub(super) mod race;
pub(super) mod room;
mod rpc;
pub(super) mod session;
mod session_text;
pub(super) mod shell;
mod shell_text;
pub(super) mod stdin;
pub(super) mod stream;
pub(super) mod timeout;
mod together;
pub(super) mod user;

pub(crate) use rpc::call_late;
pub(crate) use together::Expected;

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
    flow::register(steps);
    out::register(steps);
    cancel::register(steps);
    race::register(steps);
    together::register(steps);
    rpc::register(steps);
}
