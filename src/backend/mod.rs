//! Where commands run.
