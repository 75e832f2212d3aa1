//! "Did you mean": the known word that is nearest to an unknown one.

/// The end of a message about an unknown word: ` (did you mean X?)`, or nothing.
pub(crate) fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let folded = word.to_lowercase();
    let distance = |candidate: &'a str| (strsim::damerau_levenshtein(&folded, candidate), candidate);
    known
        .into_iter()
        .map(distance)
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().div_ceil(3))
        .min()
        .map_or_else(String::new, |(_, candidate)| {
            format!(" (did you mean `{candidate}`?)")
        })
}
