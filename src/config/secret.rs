//! A value that never shows itself.

use std::fmt;

/// A secret: it is given only to who asks for it by name, and has no form for people.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Keeps this.
    #[must_use]
    pub fn new(content: T) -> Self {
        Self(content)
    }

    /// The content.
    #[must_use]
    pub fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}
