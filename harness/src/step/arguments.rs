//! What a step's words say.

use crate::scene::Failure;

/// The values of a step's placeholders, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments(Vec<String>);

impl Arguments {
    pub(super) fn new(values: Vec<String>) -> Self {
        Self(values)
    }

    /// The words of a placeholder, as written.
    ///
    /// # Errors
    /// The step has no such placeholder, which is a fault of the suite.
    pub fn words(&self, index: usize) -> Result<&str, Failure> {
        self.0
            .get(index)
            .map(String::as_str)
            .ok_or_else(|| Failure::suite("the step has no such argument"))
    }

    /// A number.
    ///
    /// # Errors
    /// As [`Arguments::words`], or the number does not fit.
    pub fn int<T: std::str::FromStr>(&self, index: usize) -> Result<T, Failure> {
        let words = self.words(index)?;
        words
            .parse()
            .map_err(|_| Failure::suite(format!("the step's number {words} does not fit")))
    }

    /// Text with its escapes resolved: `\n`, `\r`, `\t`, `\"`, `\\`.
    ///
    /// # Errors
    /// As [`Arguments::words`].
    pub fn text(&self, index: usize) -> Result<String, Failure> {
        let mut text = String::new();
        let mut characters = self.words(index)?.chars();
        while let Some(character) = characters.next() {
            text.push(match character {
                '\\' => match characters.next() {
                    Some('n') => '\n',
                    Some('s') => ' ',
                    Some('r') => '\r',
                    Some('t') => '\t',
                    Some(other) => other,
                    None => '\\',
                },
                other => other,
            });
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_resolved() {
        let arguments = Arguments::new(vec![r#"a\n\t\"b\" \\n"#.into(), "12".into()]);
        assert_eq!(arguments.text(0).unwrap(), "a\n\t\"b\" \\n");
        assert_eq!(arguments.int::<u8>(1).unwrap(), 12);
        assert!(arguments.int::<u8>(0).is_err() && arguments.words(2).is_err());
    }
}
