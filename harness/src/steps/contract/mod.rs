//! Steps of the chapters about the contract itself.

mod cap;
mod error;
mod event;
mod proto;

use crate::step::StepList;

pub(super) fn register(steps: &mut StepList) {
    cap::register(steps);
    proto::register(steps);
    error::register(steps);
    event::register(steps);
}
