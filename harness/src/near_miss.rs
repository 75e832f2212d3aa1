//! "Did you mean": the known word that is nearest to an unknown one.

/// The known word most like `word`, if one is like enough to be meant.
#[must_use]
pub fn near_miss<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = word.to_lowercase();
    known
        .into_iter()
        .map(|candidate| {
            let distance = strsim::damerau_levenshtein(&folded, &candidate.to_lowercase());
            (distance, candidate)
        })
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The end of a message about an unknown word: ` (did you mean X?)`, or nothing.
#[must_use]
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    near_miss(word, known).map_or_else(String::new, |candidate| format!(" (did you mean `{candidate}`?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_named_and_a_stranger_is_not() {
        let known = ["TIMEOUT-003", "TIMEOUT-004", "JOB-001"];
        assert_eq!(near_miss("timeout-04", known), Some("TIMEOUT-004"));
        assert_eq!(near_miss("TIMEUOT-003", known), Some("TIMEOUT-003"));
        assert_eq!(near_miss("FILE-EXISTS", known), None);
        assert_eq!(hint("JOB-01", known), " (did you mean `JOB-001`?)");
        assert_eq!(hint("x", []), "");
    }
}
