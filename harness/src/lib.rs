//! The harness of herm: it plans, runs and judges the contract against a subject, and reports what it saw.

pub mod event;
pub mod expectation;
pub mod near_miss;
pub mod redact;
pub mod report;
pub mod verdict;
