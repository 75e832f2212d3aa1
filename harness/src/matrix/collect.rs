//! Shards of a full matrix, put together.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Digests, Matrix, Shard, Totals};
use crate::{
    contract::Contract,
    prove::{MutantProof, Proof},
};

/// Which part of a full matrix a proof is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Which of how many.
    pub shard: Shard,
    /// The subject that was broken.
    pub subject: String,
    /// The digest of the contract that it was made with.
    pub contract: String,
}

/// Proofs that are not the parts of one full matrix.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectError {
    /// Nothing was given.
    #[error("there is nothing to collect; name the results of `herm prove --full --shard K/N --json`")]
    Nothing,
    /// A proof of a choice of mutants, or against some requirements only.
    #[error("{0} is no part of a full matrix; make it with `herm prove --full --shard K/N --json`")]
    NoPart(String),
    /// A proof of another contract.
    #[error(
        "{0} was made with other requirements or mutants than those of this herm; run its shard again with this one"
    )]
    OtherContract(String),
    /// A proof that does not go with the first.
    #[error(
        "{name} is a part of {given}, and the one before it a part of {expected}; collect one matrix at a time"
    )]
    OtherMatrix {
        /// The proof.
        name: String,
        /// What it is a part of.
        given: String,
        /// What the first is a part of.
        expected: String,
    },
    /// A shard that is there twice.
    #[error("{0} is shard {1}, which is there already; name each once")]
    Twice(String, Shard),
    /// Shards that are not there: how many, and the first of them.
    #[error("{count} shards are missing, among them {first}; run them with `ci/matrix {first}`")]
    Missing {
        /// How many.
        count: usize,
        /// The first.
        first: String,
    },
}

/// Puts all parts of a full matrix together; each comes with a name to tell it by. `date` and `commit` go into the record.
/// What a mutant turned red besides is judged by this contract: what it may turn red is often known only afterwards.
///
/// # Errors
/// [`CollectError`] when they are not all parts of one full matrix of this contract.
pub fn collect(
    contract: &Contract,
    parts: Vec<(String, Proof)>,
    date: String,
    commit: String,
) -> Result<(Proof, Matrix), CollectError> {
    let digests = Digests::of(contract);
    let subject = check(&digests.all(), &parts)?;
    let mut whole = Proof::default();
    for (_, proof) in parts {
        whole.mutants.extend(proof.mutants);
        whole.unproved.extend(proof.unproved);
        whole.left_out.extend(proof.left_out);
    }
    whole.left_out.sort();
    whole.left_out.dedup();
    for proof in &mut whole.mutants {
        let mutant = contract.catalogue.mutants.get(&proof.name);
        let may = |id: &String| mutant.is_some_and(|mutant| mutant.may.contains(id));
        proof.collateral.retain(|id| !may(id));
        proof.seen.retain(|id, _| !may(id));
    }
    whole.mutants.sort_by(|a, b| a.name.cmp(&b.name));
    // What no mutant of one shard turned red, one of another may have.
    let proved: BTreeSet<&String> = whole.mutants.iter().flat_map(|one| &one.killed_by).collect();
    whole.unproved = whole
        .unproved
        .iter()
        .filter(|id| !proved.contains(id))
        .cloned()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let killed = |mutant: &&MutantProof| mutant.broken.is_none() && mutant.survived().is_empty();
    let matrix = Matrix {
        date,
        commit,
        subject,
        totals: Totals {
            mutants: whole.mutants.len(),
            killed: whole.mutants.iter().filter(killed).count(),
            collateral: whole.mutants.iter().map(|mutant| mutant.collateral.len()).sum(),
            unproved: whole.unproved.len(),
            not_run: digests.mutants.len().saturating_sub(whole.mutants.len()),
        },
        digests,
    };
    Ok((whole, matrix))
}

/// The subject of the matrix whose parts these are.
fn check(contract: &str, parts: &[(String, Proof)]) -> Result<String, CollectError> {
    let mut first: Option<&Part> = None;
    let mut seen = BTreeSet::new();
    for (name, proof) in parts {
        let part = proof
            .part
            .as_ref()
            .ok_or_else(|| CollectError::NoPart(name.clone()))?;
        if part.contract != contract {
            return Err(CollectError::OtherContract(name.clone()));
        }
        let of = |part: &Part| format!("{} shards on {}", part.shard.count(), part.subject);
        let expected = of(first.get_or_insert(part));
        if of(part) != expected {
            return Err(CollectError::OtherMatrix {
                name: name.clone(),
                given: of(part),
                expected,
            });
        }
        if !seen.insert(part.shard.number()) {
            return Err(CollectError::Twice(name.clone(), part.shard));
        }
    }
    let part = first.ok_or(CollectError::Nothing)?;
    let count = part.shard.count();
    let mut missing = (1..=count).filter(|number| !seen.contains(number));
    match missing.next() {
        None => Ok(part.subject.clone()),
        Some(number) => Err(CollectError::Missing {
            count: 1 + missing.count(),
            first: format!("{number}/{count}"),
        }),
    }
}
