//! What a run has left on the engine: found by the label of the run, whichever process of it made it.

use std::collections::{BTreeSet, HashMap};

use bollard::query_parameters::{ListContainersOptionsBuilder, ListVolumesOptionsBuilder};
use herm_protocol::{Error, ledger::LedgerItem};

use super::{
    DockerBackend,
    engine::{ANSWER, Engine},
    names,
};

/// What a container is called among the things that a run has left.
const CONTAINER: &str = "container";

/// What a volume is called among the things that a run has left.
const VOLUME: &str = "volume";

impl DockerBackend {
    /// The containers and volumes that a run has made and that are still there, containers first. Parts of a run have ids
    /// of their own, which begin with the run's and a `-`.
    ///
    /// # Errors
    /// The engine does not answer.
    pub async fn left_by(&self, run: &str) -> Result<Vec<LedgerItem>, Error> {
        let engine = self.engine().await?;
        let mut items = engine.containers_of_runs().await?;
        items.extend(engine.volumes_of_runs().await?);
        Ok(items
            .into_iter()
            .filter(|(_, of)| is_of(of, run))
            .map(|(item, _)| item)
            .collect())
    }

    /// Every run, going on or not, that has made something that is still there. Parts of a run are told as the whole.
    ///
    /// # Errors
    /// The engine does not answer.
    pub async fn runs(&self) -> Result<BTreeSet<String>, Error> {
        let engine = self.engine().await?;
        let mut items = engine.containers_of_runs().await?;
        items.extend(engine.volumes_of_runs().await?);
        Ok(items.into_iter().map(|(_, run)| whole(&run).to_owned()).collect())
    }

    /// Removes one of the things that [`Self::left_by`] has told. What is gone is no error.
    ///
    /// # Errors
    /// It is still there.
    pub async fn remove_left(&self, item: &LedgerItem) -> Result<(), Error> {
        let engine = self.engine().await?;
        if item.kind == CONTAINER {
            engine.remove(&item.id).await.map(|_| ())
        } else {
            engine.remove_volumes(std::slice::from_ref(&item.id)).await
        }
    }
}

/// Whether an id is that of a run or of a part of it.
fn is_of(id: &str, run: &str) -> bool {
    id.strip_prefix(run)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The run that an id is of: the id itself, or what comes before that of the part. A run's id is two words with a `-` between.
fn whole(id: &str) -> &str {
    id.match_indices('-').nth(1).map_or(id, |(end, _)| &id[..end])
}

impl Engine {
    /// Every container that a run has made, and which run.
    async fn containers_of_runs(&self) -> Result<Vec<(LedgerItem, String)>, Error> {
        let filters: HashMap<&str, Vec<&str>> = [("label", vec![names::RUN])].into();
        let options = ListContainersOptionsBuilder::new()
            .all(true)
            .filters(&filters)
            .build();
        let listing = self.docker.list_containers(Some(options));
        let containers = self.call("list containers", ANSWER, listing).await?;
        let found = containers.into_iter().filter_map(|container| {
            let name = container.names?.into_iter().next()?;
            let run = owned_run(&container.labels?)?;
            Some((item(CONTAINER, name.trim_start_matches('/')), run))
        });
        Ok(found.collect())
    }

    /// Every volume that a run has made, and which run.
    async fn volumes_of_runs(&self) -> Result<Vec<(LedgerItem, String)>, Error> {
        let filters: HashMap<&str, Vec<&str>> = [("label", vec![names::RUN])].into();
        let options = ListVolumesOptionsBuilder::new().filters(&filters).build();
        let listing = self.docker.list_volumes(Some(options));
        let volumes = self.call("list volumes", ANSWER, listing).await?;
        let found = volumes.volumes.unwrap_or_default().into_iter();
        Ok(found
            .filter_map(|volume| Some((item(VOLUME, &volume.name), owned_run(&volume.labels)?)))
            .collect())
    }
}

/// The run that has made what bears these labels. Without an owner's label it is not of this backend.
fn owned_run(labels: &HashMap<String, String>) -> Option<String> {
    labels.get(names::OWNER)?;
    labels.get(names::RUN).cloned()
}

fn item(kind: &str, id: &str) -> LedgerItem {
    LedgerItem {
        kind: kind.into(),
        id: id.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_run_are_its_own_and_runs_with_longer_ids_are_not() {
        let run = "20260102t030405-0a1b2c3d";
        for (id, own) in [
            ("20260102t030405-0a1b2c3d", true),
            ("20260102t030405-0a1b2c3d-17-2", true),
            ("20260102t030405-0a1b2c3de", false),
            ("20260102t030405", false),
            ("", false),
        ] {
            assert_eq!(is_of(id, run), own, "{id}");
        }
        assert_eq!(whole("20260102t030405-0a1b2c3d-17-2"), run);
        assert_eq!(whole(run), run);
        assert_eq!(whole("odd"), "odd");
    }

    #[test]
    fn what_bears_no_owners_label_is_nobodys_to_remove() {
        let labels = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                .collect::<HashMap<_, _>>()
        };
        assert_eq!(owned_run(&labels(&[(names::RUN, "r")])), None);
        assert_eq!(owned_run(&labels(&[(names::OWNER, "o")])), None);
        let both = labels(&[(names::OWNER, "o"), (names::RUN, "r")]);
        assert_eq!(owned_run(&both).as_deref(), Some("r"));
    }
}
