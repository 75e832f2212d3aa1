//! What is wrong with a template, as far as that can be told without running it.

use toml::Spanned;

use super::{Template, Text, placeholder, word::Word};
use crate::near_miss::hint;

/// What a template may name.
#[derive(Clone, Debug, Default)]
pub struct Known<'a> {
    /// Values.
    pub one: Vec<&'a str>,
    /// Lists of words, each of which has to be a word of its own.
    pub many: Vec<&'a str>,
    /// Records and their fields.
    pub records: Vec<(&'a str, &'a [&'a str])>,
    /// Variables.
    pub variables: Vec<&'a str>,
}

/// What is wrong, reading on after what it is wrong with; and where in the file, if that is known more closely.
type Problem = (Option<usize>, String);

impl Known<'_> {
    /// Whether a condition of words may name this.
    fn value(&self, name: &str, fields: &[&str]) -> Result<(), String> {
        if let Some(variable) = name.strip_prefix('$') {
            if self.variables.contains(&variable) {
                return Ok(());
            }
            let hint = hint(variable, self.variables.iter().copied());
            return Err(format!(
                "names {{{name}}}, but `environment` does not name {variable}{hint}; add it there, as \"{variable}?\" if it may be missing"
            ));
        }
        if self.one.iter().chain(fields).any(|known| *known == name) {
            return Ok(());
        }
        let all: Vec<_> = self.one.iter().chain(&self.many).chain(fields).copied().collect();
        let hint = hint(name, all.iter().copied());
        let there = all
            .iter()
            .map(|name| format!("{{{name}}}"))
            .collect::<Vec<_>>()
            .join(", ");
        let there = if there.is_empty() { "nothing".into() } else { there };
        Err(format!(
            "names {{{name}}}, which there is not here{hint}; there is {there}"
        ))
    }

    /// Checks the placeholders of a word; `fields` are those of its record.
    fn word(&self, text: &str, fields: &[&str]) -> Result<(), String> {
        if text.contains('\0') {
            return Err("holds a NUL byte, which no command can be given".into());
        }
        for name in placeholder::names(text) {
            if self.many.contains(&name) {
                return Err(format!(
                    "has {{{name}}} within another word; it stands for several words and has to be one of its own"
                ));
            }
            self.value(name, fields)?;
        }
        let all: Vec<_> = self.one.iter().chain(&self.many).chain(fields).copied().collect();
        match placeholder::slip(text, &all) {
            Some((there, meant)) => Err(format!(
                "has {there:?}, which would stay as it is (did you mean `{{{meant}}}`?)"
            )),
            None => Ok(()),
        }
    }

    fn element(&self, word: &Word) -> Result<(), String> {
        let fields = match word {
            Word::Plain(text) => {
                let list = placeholder::alone(text).is_some_and(|name| self.many.contains(&name));
                return if list { Ok(()) } else { self.word(text, &[]) };
            }
            Word::When { when: name, .. } | Word::Unless { unless: name, .. } => {
                self.value(name, &[])?;
                &[][..]
            }
            Word::Each { each, .. } => {
                let known = self.records.iter().find(|(name, _)| name == each);
                let Some((_, fields)) = known else {
                    let names: Vec<_> = self.records.iter().map(|(name, _)| *name).collect();
                    let hint = hint(each, names.iter().copied());
                    let there = if names.is_empty() {
                        "nothing".into()
                    } else {
                        names.join(", ")
                    };
                    return Err(format!(
                        "is for each {each}, which there is not here{hint}; there is {there}"
                    ));
                };
                fields
            }
        };
        word.words().iter().try_for_each(|text| self.word(text, fields))
    }
}

impl Template {
    /// Checks that there is a program, and that every placeholder is known.
    ///
    /// # Errors
    /// The first problem, and the offset of the element if it is that of one.
    pub fn check(&self, known: &Known<'_>) -> Result<(), Problem> {
        let at = |word: &Spanned<Word>| Some(word.span().start);
        let Some(first) = self.0.first() else {
            return Err((None, "is an empty command; the first word is the program".into()));
        };
        match first.get_ref() {
            Word::Plain(program) if program.is_empty() => {
                return Err((at(first), "names no program: its first word is empty".into()));
            }
            Word::Plain(_) => {}
            _ => {
                let problem = "begins with words that may be left out; the program comes first";
                return Err((at(first), problem.into()));
            }
        }
        self.0.iter().try_for_each(|word| {
            known
                .element(word.get_ref())
                .map_err(|problem| (at(word), problem))
        })
    }

    /// Whether words are there, or are left out, because of this value.
    #[must_use]
    pub fn asks_for(&self, name: &str) -> bool {
        self.0.iter().map(Spanned::get_ref).any(|word| {
            matches!(word, Word::When { when: value, .. } | Word::Unless { unless: value, .. } if value == name)
        })
    }

    /// Whether a placeholder is used anywhere.
    #[must_use]
    pub fn uses(&self, name: &str) -> bool {
        self.0.iter().map(Spanned::get_ref).any(|word| {
            let records = matches!(word, Word::Each { each, .. } if each == name);
            records
                || word
                    .words()
                    .iter()
                    .flat_map(|text| placeholder::names(text))
                    .any(|used| used == name)
        })
    }
}

impl Text {
    /// Checks that every placeholder is known.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, known: &Known<'_>) -> Result<(), String> {
        known.word(&self.0, &[])
    }
}
