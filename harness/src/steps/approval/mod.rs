//! Steps of the chapters about what may be done without a question.

pub(super) mod risk;
