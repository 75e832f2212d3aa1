//! Files of a sandbox, byte for byte. All need the capability `files`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ByteString;

/// Parameters of the calls that only name a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathParams {
    /// In which sandbox.
    pub sandbox: String,
    /// Absolute, or as the choice `relative_path` says.
    pub path: ByteString,
}

/// Parameters of `file.read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadParams {
    /// In which sandbox.
    pub sandbox: String,
    /// Which file.
    pub path: ByteString,
    /// The first byte wanted; past the end of the file there are none.
    #[serde(default)]
    pub offset: u64,
    /// How many bytes are wanted; to the end of the file when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
}

/// Answer to `file.read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileContent {
    /// The bytes from `offset` on.
    pub data: ByteString,
    /// The size of the whole file, in bytes.
    pub size: u64,
}

/// Parameters of `file.write`: the file's content becomes `data`, all at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WriteParams {
    /// In which sandbox.
    pub sandbox: String,
    /// Which file.
    pub path: ByteString,
    /// Its new content.
    pub data: ByteString,
}

/// Parameters of `file.move`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MoveParams {
    /// In which sandbox.
    pub sandbox: String,
    /// What.
    pub from: ByteString,
    /// Its new path.
    pub to: ByteString,
}

/// Parameters of `file.chmod`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChmodParams {
    /// In which sandbox.
    pub sandbox: String,
    /// What.
    pub path: ByteString,
    /// Permission bits, 0–4095 (octal 7777).
    pub mode: u32,
}

/// Parameters of `file.remove`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemoveParams {
    /// In which sandbox.
    pub sandbox: String,
    /// What.
    pub path: ByteString,
    /// Whether a directory goes with everything in it.
    #[serde(default)]
    pub recursive: bool,
}

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileInfo {
    /// The last part of the path.
    pub name: ByteString,
    /// What it is; links are not followed.
    pub kind: FileKind,
    /// Its size, in bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
}

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// Anything else.
    Other,
}

/// Answer to `file.list`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryListing {
    /// What is in the directory, hidden names included, in the order of their bytes.
    pub entries: Vec<FileInfo>,
}
