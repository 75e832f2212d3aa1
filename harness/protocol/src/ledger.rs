//! What a subject owns, for the leak ledger.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answer to `ledger.snapshot`: everything that the subject has made and that still exists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// One entry a thing.
    pub items: Vec<LedgerItem>,
}

/// One thing that exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct LedgerItem {
    /// `process`, `container`, `instance`, `mount`, `file`, `socket`, `remote`, or the backend's own word.
    pub kind: String,
    /// Its id: stable, and never given to another thing.
    pub id: String,
}
