//! What is wrong with a configuration.

use std::fmt;

/// A place in a file; both count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Place {
    /// The place of a byte of a text.
    #[must_use]
    pub fn of(text: &str, byte: usize) -> Self {
        let before = text.get(..byte).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        }
    }
}

/// One thing that keeps a configuration from being used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problem {
    /// The file, variable or argument that it is in; empty when `what` names it.
    pub source_name: String,
    /// Where in the file.
    pub place: Option<Place>,
    /// What was found and what was expected.
    pub what: String,
    /// The next step.
    pub fix: String,
}

impl Problem {
    pub(super) fn new(
        source_name: impl Into<String>,
        place: Option<Place>,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self {
            source_name: source_name.into(),
            place,
            what: what.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.source_name.is_empty() {
            return write!(f, "{}; {}", self.what, self.fix);
        }
        write!(f, "{}", self.source_name)?;
        if let Some(Place { line, column }) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}; {}", self.what, self.fix)
    }
}

/// Everything that is wrong, in the order of the places.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<Problem>);

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_characters_from_one() {
        let text = "a\r\nbü c\n";
        let place = |byte| Place::of(text, byte);
        assert_eq!(place(0), Place { line: 1, column: 1 });
        assert_eq!(place(text.find('c').unwrap()), Place { line: 2, column: 4 });
        assert_eq!(place(text.len()), Place { line: 3, column: 1 });
    }
}
