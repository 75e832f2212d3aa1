//! Parts of secrets where a text was shortened.

use std::ops::Range;

use super::{SHORTEST, decode::Unit};

/// What stands where something was left out.
const DOTS: &str = "…";

/// So many bytes of an encoding that the cut left incomplete may stand between a part and the dots.
const RAGGED: usize = 3;

/// Where in a view of `text` the beginning of `secret` stands before dots, or its end behind them. What is shorter than
/// [`SHORTEST`] is found everywhere, and left.
pub(super) fn places(text: &str, view: &[Unit], bytes: &[u8], secret: &[u8]) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    for (at, dots) in text.match_indices(DOTS) {
        let behind = at + dots.len();
        let before = view.partition_point(|unit| unit.start < at);
        let after = view.partition_point(|unit| unit.start < behind);
        if before > 0 && view[before - 1].end + RAGGED >= at {
            let length = lengths(secret).find(|length| bytes[..before].ends_with(&secret[..*length]));
            places.extend(length.map(|length| before - length..before));
        }
        if after < view.len() && view[after].start <= behind + RAGGED {
            let end = |length: &usize| bytes[after..].starts_with(&secret[secret.len() - length..]);
            places.extend(lengths(secret).find(end).map(|length| after..after + length));
        }
    }
    places
}

/// The lengths that a part may have, longest first.
fn lengths(secret: &[u8]) -> impl Iterator<Item = usize> {
    (SHORTEST..secret.len()).rev()
}
