//! Steps of the chapters about files.

pub(super) mod file;
mod place;
pub(super) mod tree;

use crate::step::StepList;

pub(super) fn register(steps: &mut StepList) {
    file::register(steps);
}
