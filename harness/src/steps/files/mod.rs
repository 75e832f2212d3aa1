//! Steps of the chapters about files.

pub(super) mod change;
pub(super) mod file;
pub(super) mod large;
pub(super) mod mount;
mod place;
pub(super) mod relative;
pub(super) mod tree;

use crate::step::StepList;

pub(super) fn register(steps: &mut StepList) {
    file::register(steps);
}
