//! One of several parts of a work that together are all of it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The `number`-th of `count` parts, as `2/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    number: usize,
    count: usize,
}

/// What is no shard.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no shard; write K/N, with K from 1 to N, as in 2/8")]
pub struct NoShard(String);

impl Shard {
    /// All of the work.
    pub const WHOLE: Self = Self { number: 1, count: 1 };

    /// Which of the parts it is, from 1 on.
    #[must_use]
    pub fn number(self) -> usize {
        self.number
    }

    /// How many parts there are.
    #[must_use]
    pub fn count(self) -> usize {
        self.count
    }

    /// Whether the piece of work at `index`, counted from 0, belongs to it.
    #[must_use]
    pub fn has(self, index: usize) -> bool {
        index % self.count + 1 == self.number
    }
}

impl FromStr for Shard {
    type Err = NoShard;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split_once('/')
            .and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)))
            .filter(|(number, count)| (1..=*count).contains(number))
            .map(|(number, count)| Self { number, count })
            .ok_or_else(|| NoShard(text.into()))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl TryFrom<String> for Shard {
    type Error = NoShard;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}
