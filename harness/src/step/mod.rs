//! The words that features are written in: one table of steps, matched when the contract is loaded.

mod arguments;

use futures::future::LocalBoxFuture;
use gherkin::StepType;
use regex::{Regex, RegexSet};

pub use arguments::Arguments;

use crate::{
    scene::{Failure, Scene},
    steps,
};

/// What a step gives.
pub type StepResult = Result<(), Failure>;

/// Carries out a step.
pub type Handler = for<'a> fn(&'a mut Scene, Arguments) -> LocalBoxFuture<'a, StepResult>;

/// All steps.
pub struct StepTable {
    given: Steps,
    when: Steps,
    then: Steps,
}

/// The steps of one keyword.
struct Steps {
    set: RegexSet,
    entries: Vec<Entry>,
}

struct Entry {
    words: &'static str,
    pattern: Regex,
    handler: Handler,
}

/// Collects steps; each chapter adds its own.
#[derive(Default)]
pub struct StepList {
    given: Vec<(&'static str, Handler)>,
    when: Vec<(&'static str, Handler)>,
    then: Vec<(&'static str, Handler)>,
}

impl StepList {
    /// Adds a step that makes a state. `{int}` stands for a number, `{text}` for text in double quotes, `{words}` for any
    /// words.
    pub fn given(&mut self, words: &'static str, handler: Handler) -> &mut Self {
        self.given.push((words, handler));
        self
    }

    /// Adds a step that acts.
    pub fn when(&mut self, words: &'static str, handler: Handler) -> &mut Self {
        self.when.push((words, handler));
        self
    }

    /// Adds a step that observes.
    pub fn then(&mut self, words: &'static str, handler: Handler) -> &mut Self {
        self.then.push((words, handler));
        self
    }
}

impl Steps {
    fn new(steps: &[(&'static str, Handler)]) -> Self {
        let patterns: Vec<String> = steps.iter().map(|(words, _)| pattern_of(words)).collect();
        let entries = steps
            .iter()
            .zip(&patterns)
            .filter_map(|(&(words, handler), pattern)| {
                Regex::new(pattern).ok().map(|pattern| Entry {
                    words,
                    pattern,
                    handler,
                })
            })
            .collect();
        Self {
            set: RegexSet::new(&patterns).unwrap_or_default(),
            entries,
        }
    }

    fn find(&self, text: &str) -> Result<(Handler, Arguments), String> {
        let matches: Vec<_> = self
            .set
            .matches(text)
            .into_iter()
            .filter_map(|index| self.entries.get(index))
            .collect();
        match matches.as_slice() {
            [] => Err(format!("has a step without a match: {text:?}")),
            [entry] => {
                let captures = entry.pattern.captures(text);
                let values = captures.iter().flat_map(|captures| {
                    captures
                        .iter()
                        .skip(1)
                        .flatten()
                        .map(|value| value.as_str().to_owned())
                });
                Ok((entry.handler, Arguments::new(values.collect())))
            }
            several => {
                let words: Vec<_> = several.iter().map(|entry| format!("{:?}", entry.words)).collect();
                Err(format!(
                    "has a step that matches more than once: {text:?} is {}",
                    words.join(" and ")
                ))
            }
        }
    }
}

/// The words of a step as a regular expression.
fn pattern_of(words: &str) -> String {
    let literal = regex::escape(words)
        .replace(r"\{int\}", r"(-?[0-9]+)")
        .replace(r"\{text\}", r#""((?:[^"\\]|\\.)*)""#)
        .replace(r"\{words\}", r#"([^"]+?)"#);
    format!("^{literal}$")
}

impl Default for StepTable {
    fn default() -> Self {
        Self::new()
    }
}

impl StepTable {
    /// The steps of every chapter.
    #[must_use]
    pub fn new() -> Self {
        let mut list = StepList::default();
        steps::register(&mut list);
        Self {
            given: Steps::new(&list.given),
            when: Steps::new(&list.when),
            then: Steps::new(&list.then),
        }
    }

    /// The one step that the words mean.
    ///
    /// # Errors
    /// None or several match; the message reads on after the requirement's id.
    pub fn find(&self, kind: StepType, text: &str) -> Result<(Handler, Arguments), String> {
        match kind {
            StepType::Given => self.given.find(text),
            StepType::When => self.when.find(text),
            StepType::Then => self.then.find(text),
        }
    }

    /// How many steps there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.given.entries.len() + self.when.entries.len() + self.then.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_and_is_its_own() {
        let table = StepTable::new();
        for steps in [&table.given, &table.when, &table.then] {
            assert_eq!(steps.entries.len(), steps.set.len());
            let mut words: Vec<_> = steps.entries.iter().map(|entry| entry.words).collect();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), steps.entries.len());
        }
    }

    #[test]
    fn the_language_stays_small() {
        let count = StepTable::new().len();
        // More than the 150 that are aimed at; it may only go down.
        assert!(count <= 181, "{count} steps; compose them instead");
    }

    #[test]
    fn words_become_patterns() {
        let pattern = Regex::new(&pattern_of("a (x) prints {text} and {int}, in {words}")).unwrap();
        let captures = pattern
            .captures(r#"a (x) prints "a \"b\" c" and -3, in a hurry"#)
            .unwrap();
        assert_eq!(&captures[1], r#"a \"b\" c"#);
        assert_eq!((&captures[2], &captures[3]), ("-3", "a hurry"));
    }
}
