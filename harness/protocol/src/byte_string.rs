//! Byte strings as operating systems have them: any bytes, mostly UTF-8.

use std::{
    borrow::Cow,
    ffi::OsString,
    fmt,
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, Visitor},
    ser::SerializeMap as _,
};

/// A string of arbitrary bytes: an argument, a path, a variable's value, output of a command.
///
/// On the wire it is a JSON string when the bytes are valid UTF-8 and `{"b64": "…"}` (standard alphabet, padded)
/// otherwise. Both forms are accepted for any content.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteString(Vec<u8>);

impl ByteString {
    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, owned.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The bytes as an operating system string, unchanged.
    #[must_use]
    pub fn to_os_string(&self) -> OsString {
        OsString::from_vec(self.0.clone())
    }

    /// The bytes as a path, unchanged.
    #[must_use]
    pub fn to_path(&self) -> PathBuf {
        PathBuf::from(self.to_os_string())
    }

    /// For people: invalid UTF-8 is replaced.
    #[must_use]
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// Whether there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a NUL byte is among the bytes; no argument, variable or path can carry one.
    #[must_use]
    pub fn has_nul(&self) -> bool {
        self.0.contains(&0)
    }
}

impl fmt::Debug for ByteString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

impl From<&str> for ByteString {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for ByteString {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl From<Vec<u8>> for ByteString {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&[u8]> for ByteString {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<&Path> for ByteString {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }
}

impl From<OsString> for ByteString {
    fn from(text: OsString) -> Self {
        Self(text.into_vec())
    }
}

impl Serialize for ByteString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(text) = std::str::from_utf8(&self.0) {
            return serializer.serialize_str(text);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("b64", &BASE64_STANDARD.encode(&self.0))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for ByteString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = ByteString;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or {\"b64\": \"…\"}")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ByteString, E> {
                Ok(text.into())
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<ByteString, E> {
                Ok(text.into())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ByteString, A::Error> {
                let mut bytes = None;
                while let Some(key) = map.next_key::<String>()? {
                    if key == "b64" {
                        let text = map.next_value::<String>()?;
                        let decoded = BASE64_STANDARD
                            .decode(text)
                            .map_err(|error| de::Error::custom(format!("b64 is not base64: {error}")))?;
                        bytes = Some(decoded);
                    } else {
                        map.next_value::<de::IgnoredAny>()?;
                    }
                }
                bytes
                    .map(ByteString)
                    .ok_or_else(|| de::Error::missing_field("b64"))
            }
        }
        deserializer.deserialize_any(Bytes)
    }
}

impl JsonSchema for ByteString {
    fn schema_name() -> Cow<'static, str> {
        "ByteString".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Any bytes: a string when they are valid UTF-8, base64 otherwise.",
            "oneOf": [
                {"type": "string"},
                {
                    "type": "object",
                    "properties": {"b64": {"type": "string", "contentEncoding": "base64"}},
                    "required": ["b64"]
                }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_a_string_and_bytes_are_base64() {
        let text = ByteString::from("naïve\n\0");
        assert_eq!(serde_json::to_string(&text).unwrap(), "\"naïve\\n\\u0000\"");
        let bytes = ByteString::from(&b"\xff\x00"[..]);
        assert_eq!(serde_json::to_string(&bytes).unwrap(), "{\"b64\":\"/wA=\"}");
    }

    #[test]
    fn both_forms_are_read_for_any_content() {
        for json in ["\"ab\"", "{\"b64\":\"YWI=\"}", "{\"future\":1,\"b64\":\"YWI=\"}"] {
            assert_eq!(
                serde_json::from_str::<ByteString>(json).unwrap().as_bytes(),
                b"ab"
            );
        }
    }

    #[test]
    fn neither_form_is_an_error_that_says_what_was_expected() {
        for json in ["1", "null", "[]", "{}", "{\"b64\":\"*\"}"] {
            let error = serde_json::from_str::<ByteString>(json).unwrap_err().to_string();
            assert!(error.contains("b64"), "{error}");
        }
    }
}
