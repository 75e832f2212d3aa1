//! Steps of the chapters about the contract itself.

pub(super) mod cap;
pub(super) mod error;
pub(super) mod event;
pub(super) mod proto;
mod spelling;

use crate::step::StepList;

pub(super) fn register(steps: &mut StepList) {
    cap::register(steps);
    proto::register(steps);
    error::register(steps);
    event::register(steps);
}
