//! Steps of the chapters about the life of a sandbox.

mod close;
mod open;
mod preflight;
mod stale;

pub(super) use close::leave_beat;

use crate::step::StepList;

pub(super) fn register(steps: &mut StepList) {
    open::register(steps);
    close::register(steps);
    preflight::register(steps);
    stale::register(steps);
}
