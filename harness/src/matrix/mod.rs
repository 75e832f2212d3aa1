//! The full matrix: every mutant against every requirement, in shards, and the record of the last one.

mod collect;
mod digest;
mod record;
mod shard;
#[cfg(test)]
mod tests;

pub use collect::{CollectError, Part, collect};
pub use digest::Digests;
pub use record::{Matrix, RecordError, Totals};
pub use shard::Shard;
