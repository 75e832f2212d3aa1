//! The steps of the contract, in folders as the features are.

mod approval;
mod composed;
mod contract;
mod exec;
mod files;
mod general;
mod isolation;
mod lifecycle;

pub(crate) use exec::Expected;

use crate::step::StepList;

/// Registers every step.
pub(crate) fn register(steps: &mut StepList) {
    general::register(steps);
    composed::register(steps);
    contract::register(steps);
    lifecycle::register(steps);
    exec::register(steps);
    files::register(steps);
    isolation::register(steps);
}
