//! Tells what this run has made and what still exists.

use herm_protocol::{
    Error,
    ledger::{Ledger, LedgerItem},
};

use super::{ManifestAdapter, operation};
use crate::manifest::{Values, file::Owned};

impl ManifestAdapter {
    pub(super) async fn take_ledger(&self) -> Result<Ledger, Error> {
        let values = self.values();
        let parts = self
            .manifest
            .ledger
            .iter()
            .map(|owned| listed(owned.get_ref(), &values));
        let parts = futures::future::try_join_all(parts).await?;
        let mut items: Vec<LedgerItem> = parts.into_iter().flatten().collect();
        // Two commands may see one thing.
        items.sort();
        items.dedup();
        Ok(Ledger { items })
    }
}

/// Those things of one kind that still exist.
pub(in crate::manifest) async fn listed(owned: &Owned, values: &Values) -> Result<Vec<LedgerItem>, Error> {
    let kind = owned.kind.get_ref();
    let output = operation(
        owned.run.get_ref(),
        values,
        &format!("list what there is of the kind {kind}"),
    )
    .await?;
    let item = |id| LedgerItem {
        kind: kind.clone(),
        id,
    };
    // A line is the id as it is: without its blanks it may be another thing's.
    let text = String::from_utf8_lossy(&output.stdout);
    let ids = text.lines().filter(|line| !line.trim().is_empty());
    Ok(ids.map(str::to_owned).map(item).collect())
}
