//! The harness of herm: it plans, runs and judges the contract against a subject, and reports what it saw.

pub mod bench;
pub mod book;
pub mod catalogue;
pub mod contract;
pub mod coverage;
pub mod event;
pub mod expectation;
pub mod manifest;
pub mod matrix;
pub mod near_miss;
pub mod plan;
mod process_table;
pub mod prove;
pub mod recorder;
pub mod redact;
pub mod report;
pub mod runner;
pub mod scene;
pub mod smoke;
pub mod step;
mod steps;
pub mod stop;
pub mod subject;
pub mod tell;
pub mod validate;
pub mod verdict;
pub mod watch;
