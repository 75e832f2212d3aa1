//! Steps of the chapters about the life of a sandbox.

pub(super) mod attach;
pub(super) mod close;
pub(super) mod kept_files;
pub(super) mod leak;
pub(super) mod open;
pub(super) mod preflight;
pub(super) mod reap;
pub(super) mod reuse;
pub(super) mod stale;

pub(super) use close::leave_beat;

use crate::step::StepList;

pub(super) fn register(steps: &mut StepList) {
    open::register(steps);
    close::register(steps);
    leak::register(steps);
    preflight::register(steps);
    stale::register(steps);
    attach::register(steps);
}
