//! Removes what a killed run has left behind, by the manifest's own commands.

use std::{collections::BTreeSet, path::Path};

use herm_protocol::{Error, ledger::LedgerItem};

use super::{
    Manifest, Values,
    adapter::{carried_out, listed},
    file::Owned,
    id,
};

/// What became of a thing that a run had left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleaned {
    /// What it is.
    pub item: LedgerItem,
    /// Why it is still there, and what to do about it; `None` when it is gone.
    pub problem: Option<String>,
}

impl Manifest {
    /// What a run has made, and still exists. `scratch` is where its folder for temporary files is, or was.
    ///
    /// # Errors
    /// A command of the ledger failed; the error names it.
    pub async fn left_by(&self, run: &str, scratch: &Path) -> Result<Vec<LedgerItem>, Error> {
        let left = self.found(&self.values_in(run, scratch), scratch).await?;
        Ok(left.into_iter().map(|(_, item)| item).collect())
    }

    /// Removes what a run has made and still exists: only what the ledger's commands list for it. Tells each thing.
    ///
    /// # Errors
    /// A command of the ledger failed; the error names it.
    pub async fn clean(&self, run: &str, scratch: &Path) -> Result<Vec<Cleaned>, Error> {
        let values = self.values_in(run, scratch);
        let mut tried = Vec::new();
        for (owned, item) in self.found(&values, scratch).await? {
            let problem = removed(owned, &item, &values).await.err();
            tried.push((item, problem));
        }
        // That a command says it has worked is no proof, and neither is that it says it has not.
        let still: Vec<_> = match tried.as_slice() {
            [] => Vec::new(),
            _ => self.found(&values, scratch).await?,
        };
        let still: BTreeSet<_> = still.into_iter().map(|(_, item)| item).collect();
        let cleaned = tried.into_iter().map(|(item, problem)| {
            let there = still.contains(&item);
            let problem = there.then(|| {
                problem.unwrap_or_else(|| "the command that removes it says that it has worked".into())
            });
            Cleaned { item, problem }
        });
        Ok(cleaned.collect())
    }

    fn values_in(&self, run: &str, scratch: &Path) -> Values {
        self.values(run, &scratch.display().to_string())
    }

    async fn found(&self, values: &Values, scratch: &Path) -> Result<Vec<(&Owned, LedgerItem)>, Error> {
        let mut found: Vec<(&Owned, LedgerItem)> = Vec::new();
        let mut known = BTreeSet::new();
        for owned in self.ledger.iter().map(toml::Spanned::get_ref) {
            // What was in a folder that is gone is gone, too, and a command that looks there fails.
            if owned.run.get_ref().uses("scratch") && !scratch.exists() {
                continue;
            }
            for item in listed(owned, values).await? {
                if known.insert(item.clone()) {
                    found.push((owned, item));
                }
            }
        }
        Ok(found)
    }
}

/// Removes a thing, or says why not.
async fn removed(owned: &Owned, item: &LedgerItem, values: &Values) -> Result<(), String> {
    let Some(remove) = &owned.remove else {
        return Err("the manifest's ledger has no `remove` for it; remove it by hand".into());
    };
    let mut values = values.clone();
    values.one.insert("item", item.id.as_str().into());
    let words = remove.get_ref().fill(&values);
    let is_option = id::is_option(&item.id, &words).then_some("its id would be taken for an option");
    if let Some(problem) = id::problem(&item.id).or(is_option) {
        return Err(format!(
            "{problem}, so no command was given it; remove it by hand"
        ));
    }
    let what = format!("remove {} {}", item.kind, item.id);
    let done = carried_out(&words, &what).await;
    done.map(|_| ()).map_err(|error| error.message)
}
