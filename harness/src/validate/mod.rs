//! Checks every message of an adapter against the published JSON Schema of the protocol, and says precisely what is
//! wrong: the message, the path in it, the rule, what was expected and what is there.
//!
//! The schema is walked here, and not by a crate for any schema: those bring 40 (`jsonschema`) to 50 (`boon`) more crates,
//! and say of a wrong outcome only that it is "not valid under any of the schemas of oneOf". The published schema uses a
//! dozen keywords; a test holds this walk against `jsonschema`, and fails for a keyword that it does not know.

mod message;
mod schema;
#[cfg(test)]
mod tests;
mod value;

pub use message::{Advice, Breach, Content, MessageReader, Read};
pub use schema::{Part, Schema};
