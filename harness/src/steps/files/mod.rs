//! Steps of the chapters about files.

mod change;
pub(super) mod file;
pub(super) mod large;
mod place;
pub(super) mod relative;
pub(super) mod tree;

use crate::step::StepList;

pub(super) fn register(steps: &mut StepList) {
    file::register(steps);
}
