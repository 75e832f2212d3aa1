//! The reports of a run. Every one is a function of the events.

mod atomic;
mod console;
mod ending;
pub mod error;
mod finding;
#[cfg(test)]
pub(crate) mod fixture;
mod fold;
mod junit;
mod matrix;
mod model;
pub mod schema;
mod sink;
mod summary;
pub(crate) mod text;

pub(crate) use atomic::write as write_atomically;
pub use console::{Console, ConsoleOptions};
pub use error::ReportError;
pub use fold::Fold;
pub use junit::junit;
pub use model::{
    Counts, INTERRUPTED, Report, RequirementReport, SUBJECT_SKIPPED, SubjectReport, SubjectResult, Totals,
    label, verdict_label,
};
pub use sink::{EVENTS, JUNIT, REPORT, Reports, SUMMARY, rebuild, rebuild_killed};
pub use summary::summary;
pub(crate) use text::{duration, quoted, shorten, visible, wrap};
