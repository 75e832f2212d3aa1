//! A value that never shows itself.

use std::fmt;

use serde::{Serialize, Serializer};

/// Stands for the content.
const MASK: &str = "[secret]";

/// A secret: it is given only to who asks for it by name. What is shown or written of it is the same for all.
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
        f.write_str(MASK)
    }
}

impl<T> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_not_shown_and_not_written() {
        let secret = Secret::new("h1dden".to_owned());
        assert_eq!(format!("{secret:?}"), "[secret]");
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"[secret]\"");
        assert_eq!(secret.expose(), "h1dden");
    }
}
