//! The full matrix, every mutant against every requirement, at a price that can be paid.
//!
//! Most mutants leave most requirements alone. So several are run at once, each in a proxy of its own, one before the other. A
//! requirement that is kept all the same is kept with each of them. What is not kept, or is not judged, says nothing of any of
//! them, and is run again with each alone, together with what it has to turn red.

use std::collections::BTreeSet;

use futures::{StreamExt as _, stream};

use super::{ProofOptions, verdicts};
use crate::{catalogue::Mutant, contract::Contract, plan::Selection, subject::Subject, verdict::Verdict};

/// Runs of single requirements from which on it costs less to look at half of the mutants first.
const TOO_MANY: usize = 1000;

/// A mutant, and what it is to be run against alone.
pub(super) struct Due<'a> {
    pub(super) name: &'a str,
    pub(super) mutant: &'a Mutant,
    pub(super) rows: Vec<String>,
}

type Group<'a> = Vec<(&'a str, &'a Mutant)>;

/// Runs mutants, so many at once, against everything that the subject itself keeps; tells what is left to be run of each alone.
pub(super) async fn due<'a>(
    contract: &Contract,
    mutants: Group<'a>,
    options: &ProofOptions,
    at_once: usize,
    passed: &BTreeSet<String>,
    mutate: &impl Fn(&[&str]) -> Subject,
) -> Vec<Due<'a>> {
    let mut waiting = groups(mutants, at_once);
    let mut due = Vec::new();
    while !waiting.is_empty() {
        let looked_at = stream::iter(std::mem::take(&mut waiting)).map(|group| {
            let names: Vec<&str> = group.iter().map(|(name, _)| *name).collect();
            let broken = mutate(&names);
            async move {
                let open = not_kept(contract, &broken, options, passed).await;
                (group, open)
            }
        });
        let looked_at: Vec<(Group<'a>, BTreeSet<String>)> =
            looked_at.buffer_unordered(options.jobs.max(1)).collect().await;
        for (group, open) in looked_at {
            if is_too_much(&group, &open) {
                let half = group.len() / 2;
                waiting.push(group[half..].to_vec());
                waiting.push(group[..half].to_vec());
                continue;
            }
            due.extend(group.into_iter().map(|(name, mutant)| {
                let kills = mutant.kills.iter().filter(|id| passed.contains(*id));
                let rows: BTreeSet<String> = open.iter().chain(kills).cloned().collect();
                Due {
                    name,
                    mutant,
                    rows: rows.into_iter().collect(),
                }
            }));
        }
    }
    due
}

/// Groups of so many, in which those stand apart that stand side by side: neighbours are often alike.
fn groups(mutants: Group<'_>, at_once: usize) -> Vec<Group<'_>> {
    let count = mutants.len().div_ceil(at_once.max(1));
    let mut groups = vec![Vec::new(); count];
    for (index, mutant) in mutants.into_iter().enumerate() {
        groups[index % count].push(mutant);
    }
    groups
}

/// Whether so much is red for which none of the group is known that its halves say more.
fn is_too_much(group: &Group<'_>, open: &BTreeSet<String>) -> bool {
    let known: BTreeSet<&String> = group
        .iter()
        .flat_map(|(_, mutant)| mutant.kills.iter().chain(&mutant.may))
        .collect();
    let unexplained = open.iter().filter(|id| !known.contains(id)).count();
    group.len() > 1 && unexplained * group.len() > TOO_MANY
}

/// What of all that the subject itself keeps the broken one does not keep, or could not be judged with it.
async fn not_kept(
    contract: &Contract,
    broken: &Subject,
    options: &ProofOptions,
    passed: &BTreeSet<String>,
) -> BTreeSet<String> {
    let Ok(verdicts) = verdicts(contract, broken, &options.run, Selection::default()).await else {
        return passed.clone();
    };
    let kept = |id: &String| {
        verdicts
            .get(id)
            .is_some_and(|(verdict, _)| matches!(verdict, Verdict::Passed | Verdict::Flaky))
    };
    passed.iter().filter(|id| !kept(id)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(kills: &[&str]) -> Mutant {
        Mutant {
            breaks: String::new(),
            kills: kills.iter().map(ToString::to_string).collect(),
            may: Vec::new(),
            why: None,
        }
    }

    fn ids(count: usize) -> BTreeSet<String> {
        (0..count).map(|number| format!("OUT-{number:03}")).collect()
    }

    #[test]
    fn neighbours_stand_in_groups_of_their_own() {
        let one = mutant(&[]);
        let names: Vec<String> = (0..7).map(|number| number.to_string()).collect();
        let all: Group<'_> = names.iter().map(|name| (name.as_str(), &one)).collect();
        let told = |at_once: usize| -> Vec<String> {
            let groups = groups(all.clone(), at_once).into_iter();
            groups
                .map(|group| group.iter().map(|(name, _)| *name).collect())
                .collect()
        };
        assert_eq!(told(3), ["036", "14", "25"]);
        assert_eq!(told(1).len(), 7);
        assert_eq!(told(0).len(), 7);
        assert_eq!(told(9), ["0123456"]);
        assert!(groups(Vec::new(), 3).is_empty());
    }

    #[test]
    fn only_what_nobody_is_known_for_makes_halves() {
        let known = mutant(&ids(400).iter().map(String::as_str).collect::<Vec<_>>());
        let other = mutant(&["EXIT-001"]);
        let four = vec![("a", &known), ("b", &other), ("c", &other), ("d", &other)];
        assert!(!is_too_much(&four, &ids(400)));
        assert!(is_too_much(&four[1..].to_vec(), &ids(400)));
        assert!(
            !is_too_much(&four[3..].to_vec(), &ids(400)),
            "a single one has no halves"
        );
    }
}
