//! The proof of the checks: every requirement must turn red for a subject that breaks it, and for no other reason.

mod full;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use futures::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::{
    catalogue::Mutant,
    contract::Contract,
    event::Event,
    matrix::{Digests, Part, Shard},
    plan::Selection,
    runner::{self, RunOptions},
    scene::Failure,
    subject::Subject,
    verdict::{Exit, Level, Verdict},
};

/// How to prove.
pub struct ProofOptions {
    /// How a subject is run; the selection in it is replaced.
    pub run: RunOptions,
    /// Only these mutants; all when empty.
    pub mutants: Vec<String>,
    /// Whether every mutant is run against every requirement, and not only against its chapters and the sentinels: then so
    /// many at once at first, of which each is looked at alone wherever one of them may be seen.
    pub full: Option<usize>,
    /// Which part of these mutants.
    pub shard: Shard,
    /// How many mutants are run at the same time.
    pub jobs: usize,
}

/// What came out.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Proof {
    /// Every mutant that was run, by name.
    pub mutants: Vec<MutantProof>,
    /// Requirements that were run and for which no mutant turned red.
    pub unproved: Vec<String>,
    /// Requirements that cannot be tested on this subject and need not be: SHOULDs and MAYs that are inconclusive on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Which part of a full matrix this is, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

/// What one mutant turned red.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct MutantProof {
    /// Its name.
    pub name: String,
    /// What it must turn red on this subject.
    pub kills: Vec<String>,
    /// What of it did.
    pub killed_by: Vec<String>,
    /// What turned red or inconclusive besides, and may not.
    pub collateral: Vec<String>,
    /// What was seen of each requirement in `collateral`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, String>,
    /// Why it could not be run, if it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}

impl MutantProof {
    /// Requirements that should have turned red and did not.
    #[must_use]
    pub fn survived(&self) -> Vec<&str> {
        self.kills
            .iter()
            .filter(|id| !self.killed_by.contains(id))
            .map(String::as_str)
            .collect()
    }

    /// Whether it turned red just what it should.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.broken.is_none() && self.collateral.is_empty() && self.survived().is_empty()
    }
}

impl Proof {
    /// 0 when every check is proved, 6 otherwise.
    #[must_use]
    pub fn exit(&self) -> Exit {
        if self.unproved.is_empty() && self.mutants.iter().all(MutantProof::holds) {
            Exit::Conformant
        } else {
            Exit::Survivor
        }
    }
}

/// A proof that cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// The subject itself breaks requirements, so that a mutant's red means nothing.
    #[error("the subject {subject} is not green itself: {}; mend that first (herm run --subject {subject})", red.join(", "))]
    NotGreen {
        /// The subject.
        subject: String,
        /// What is red or inconclusive.
        red: Vec<String>,
    },
    /// The subject cannot be tested.
    #[error(transparent)]
    Subject(#[from] runner::SubjectFailure),
}

/// Runs the subject as it is, then every mutant of it. `mutate` makes the subject that is broken in the ways of these names,
/// each in a proxy of its own; `progress` is told of each mutant.
///
/// # Errors
/// [`ProofError`] when the subject itself is not green.
pub async fn prove(
    contract: &Contract,
    subject: &Subject,
    options: &ProofOptions,
    mutate: impl Fn(&[&str]) -> Subject,
    progress: impl Fn(&MutantProof),
) -> Result<Proof, ProofError> {
    // One that is green at the second try is green enough here: what is proved are the checks, and not the subject.
    let patient = RunOptions {
        retries: 1,
        ..options.run.clone()
    };
    let sound = verdicts(contract, subject, &patient, Selection::default()).await?;
    let left_out = left_out(contract, &sound);
    let red: Vec<String> = sound
        .iter()
        .filter(|(id, (verdict, _))| is_noticed(*verdict) && !left_out.contains(*id))
        .map(|(id, (_, seen))| format!("{id} ({seen})"))
        .collect();
    if !red.is_empty() {
        return Err(ProofError::NotGreen {
            subject: subject.name.clone(),
            red,
        });
    }
    let passed: BTreeSet<String> = sound
        .into_iter()
        .filter(|(_, (verdict, _))| matches!(verdict, Verdict::Passed | Verdict::Flaky))
        .map(|(id, _)| id)
        .collect();

    let whole = contract;
    let contract = &without(whole, &left_out);
    let wanted =
        |name: &str| options.mutants.is_empty() || options.mutants.iter().any(|mutant| mutant == name);
    let mutants = contract.catalogue.mutants.iter().filter(|(name, _)| wanted(name));
    let mutants = mutants
        .enumerate()
        .filter(|(index, _)| options.shard.has(*index))
        .map(|(_, (name, mutant))| (name.as_str(), mutant))
        // Nothing that it breaks can be run on this subject.
        .filter(|(_, mutant)| mutant.kills.iter().any(|id| passed.contains(id)));
    let due: Vec<full::Due> = match options.full {
        None => mutants
            .map(|(name, mutant)| full::Due {
                name,
                mutant,
                rows: near(contract, mutant),
            })
            .collect(),
        Some(at_once) => full::due(contract, mutants.collect(), options, at_once, &passed, &mutate).await,
    };
    let proofs = stream::iter(due).map(|due| {
        let mutated = mutate(&[due.name]);
        let (passed, progress) = (&passed, &progress);
        async move {
            let proof = prove_one(contract, due, &mutated, options, passed).await;
            progress(&proof);
            proof
        }
    });
    let mut mutants: Vec<MutantProof> = proofs.buffer_unordered(options.jobs.max(1)).collect().await;
    mutants.sort_by(|a, b| a.name.cmp(&b.name));
    let proved: BTreeSet<&String> = mutants.iter().flat_map(|mutant| &mutant.killed_by).collect();
    // With a choice of mutants, only what these should have proved can be called unproved.
    let all = options.mutants.is_empty() && options.shard == Shard::WHOLE;
    let due = |id: &&String| all || mutants.iter().any(|mutant| mutant.kills.contains(id));
    let unproved = passed
        .iter()
        .filter(due)
        .filter(|id| !proved.contains(id))
        .cloned()
        .collect();
    let part = (options.full.is_some() && options.mutants.is_empty()).then(|| Part {
        shard: options.shard,
        subject: subject.name.clone(),
        contract: Digests::of(whole).all(),
    });
    Ok(Proof {
        mutants,
        unproved,
        left_out: left_out.into_iter().collect(),
        part,
    })
}

/// What is inconclusive on the subject itself, and no MUST: of a world that it cannot be brought into, nothing is proved.
fn left_out(contract: &Contract, sound: &Verdicts) -> BTreeSet<String> {
    let optional = contract
        .requirements
        .iter()
        .filter(|requirement| requirement.level != Level::Must);
    let inconclusive = |id: &String| {
        sound
            .get(id)
            .is_some_and(|(verdict, _)| *verdict == Verdict::Inconclusive)
    };
    optional
        .map(|requirement| requirement.id.clone())
        .filter(inconclusive)
        .collect()
}

/// The contract as if these were not there.
fn without(contract: &Contract, left_out: &BTreeSet<String>) -> Contract {
    let mut rest = contract.clone();
    rest.requirements
        .retain(|requirement| !left_out.contains(&requirement.id));
    rest
}

/// Runs one mutant against what is due of it.
async fn prove_one(
    contract: &Contract,
    due: full::Due<'_>,
    mutated: &Subject,
    options: &ProofOptions,
    passed: &BTreeSet<String>,
) -> MutantProof {
    let full::Due { name, mutant, rows } = due;
    let kills: Vec<String> = mutant
        .kills
        .iter()
        .filter(|id| passed.contains(*id))
        .cloned()
        .collect();
    let selection = Selection {
        only: rows,
        profiles: Vec::new(),
    };
    let mut proof = MutantProof {
        name: name.into(),
        kills,
        ..MutantProof::default()
    };
    match verdicts(contract, mutated, &options.run, selection).await {
        Ok(verdicts) => {
            let noticed = |id: &String| verdicts.get(id).is_some_and(|(verdict, _)| is_noticed(*verdict));
            let red = |id: &String| verdicts.get(id).is_some_and(|(verdict, _)| verdict.is_red());
            proof.killed_by = proof.kills.iter().filter(|id| red(id)).cloned().collect();
            let missed: Vec<String> = proof.kills.iter().filter(|id| !red(id)).cloned().collect();
            proof
                .killed_by
                .extend(strike_again(contract, mutated, options, missed).await);
            proof.killed_by.sort();
            proof.collateral = verdicts
                .keys()
                .filter(|id| noticed(id) && !mutant.kills.contains(id) && !mutant.may.contains(id))
                .cloned()
                .collect();
            let (collateral, seen) = look_again(contract, mutated, options, proof.collateral).await;
            (proof.collateral, proof.seen) = (collateral, seen);
        }
        Err(failure) => proof.broken = Some(failure.to_string()),
    }
    proof
}

/// Some faults strike only now and then, as they do in the field. What a mutant should have turned red and did not is tried
/// a second time; returns what is red then.
async fn strike_again(
    contract: &Contract,
    mutated: &Subject,
    options: &ProofOptions,
    missed: Vec<String>,
) -> Vec<String> {
    if missed.is_empty() {
        return missed;
    }
    let selection = Selection {
        only: missed.clone(),
        profiles: Vec::new(),
    };
    let Ok(again) = verdicts(contract, mutated, &options.run, selection).await else {
        return Vec::new();
    };
    let red = |id: &String| again.get(id).is_some_and(|(verdict, _)| verdict.is_red());
    missed.into_iter().filter(red).collect()
}

/// What is red besides is tried a second time: only what is red again was turned red by the mutant, and not by a moment's
/// load on this machine.
async fn look_again(
    contract: &Contract,
    mutated: &Subject,
    options: &ProofOptions,
    collateral: Vec<String>,
) -> (Vec<String>, BTreeMap<String, String>) {
    if collateral.is_empty() {
        return (Vec::new(), BTreeMap::new());
    }
    let selection = Selection {
        only: collateral.clone(),
        profiles: Vec::new(),
    };
    let again = match verdicts(contract, mutated, &options.run, selection).await {
        Ok(again) => again,
        Err(failure) => {
            let seen = collateral
                .iter()
                .map(|id| (id.clone(), format!("not tried again: {failure}")))
                .collect();
            return (collateral, seen);
        }
    };
    let noticed = |id: &String| again.get(id).is_some_and(|(verdict, _)| is_noticed(*verdict));
    let collateral: Vec<String> = collateral.into_iter().filter(noticed).collect();
    let seen = collateral
        .iter()
        .filter_map(|id| again.get(id).map(|(_, seen)| (id.clone(), seen.clone())))
        .collect();
    (collateral, seen)
}

/// The chapters of what a mutant kills, and the sentinels.
fn near(contract: &Contract, mutant: &Mutant) -> Vec<String> {
    let chapters = mutant
        .kills
        .iter()
        .filter_map(|id| id.split('-').next())
        .map(str::to_owned);
    let near: BTreeSet<String> = chapters
        .chain(contract.catalogue.sentinels.iter().cloned())
        .collect();
    near.into_iter().collect()
}

/// By requirement: the verdict, and what was seen unless it passed.
type Verdicts = BTreeMap<String, (Verdict, String)>;

/// Whether something was noticed of a requirement: red, or inconclusive.
fn is_noticed(verdict: Verdict) -> bool {
    verdict.is_red() || verdict == Verdict::Inconclusive
}

/// A folder in that folder, with a short name: paths of sockets have to stay short.
async fn own_folder(scratch: &Path) -> io::Result<TempDir> {
    let scratch = scratch.to_owned();
    let make = move || tempfile::Builder::new().prefix("").tempdir_in(scratch);
    tokio::task::spawn_blocking(make).await?
}

async fn verdicts(
    contract: &Contract,
    subject: &Subject,
    options: &RunOptions,
    selection: Selection,
) -> Result<Verdicts, runner::SubjectFailure> {
    let seen: Arc<Mutex<Verdicts>> = Arc::default();
    let sink = {
        let seen = seen.clone();
        Arc::new(move |event| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            match event {
                // A row without a verdict in the end was not judged.
                Event::SubjectPlanned { rows, .. } => {
                    let planned = rows.into_iter().map(|row| {
                        let verdict = row.skipped.unwrap_or(Verdict::Inconclusive);
                        (row.id, (verdict, "it was not judged".to_owned()))
                    });
                    seen.extend(planned);
                }
                Event::RequirementFinished {
                    id, verdict, detail, ..
                } => {
                    let detail = detail.map(|detail| {
                        let expected = detail.expected.map(|expected| format!("; expected {expected}"));
                        format!(
                            "{}: {}{}",
                            detail.step.unwrap_or_default(),
                            detail.seen,
                            expected.unwrap_or_default()
                        )
                    });
                    seen.insert(id, (verdict, detail.unwrap_or_default()));
                }
                _ => {}
            }
        })
    };
    // A backend that keeps sandboxes does so in the folder that it is told of, and those of the mutants beside it are none of its own.
    let folder = own_folder(&options.scratch)
        .await
        .map_err(|error| runner::SubjectFailure {
            subject: subject.name.clone(),
            failure: Failure::suite(format!(
                "failed to make a folder in {}: {error}",
                options.scratch.display()
            )),
        })?;
    let options = RunOptions {
        selection,
        own_folder: Some(folder.path().to_owned()),
        ..options.clone()
    };
    let tested = runner::test(contract, subject, None, &options, sink).await;
    // What cannot be removed here is removed with the run's folder, and told then.
    let _ = tokio::task::spawn_blocking(|| folder.close()).await;
    tested?;
    let verdicts = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(verdicts)
}
