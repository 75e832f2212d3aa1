//! The file of settings as it lies there: its text, what it means, and where everything stands in it.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    str::FromStr as _,
};

use serde_yaml::{Mapping, Value as Yaml};

use super::{Place, Problem};

/// How many brackets may be open at once.
const DEEPEST: usize = 64;

/// The largest file that is read, in bytes. Hermes' own has some ten thousand.
const LARGEST: u64 = 1024 * 1024;

/// What to do about a file that cannot be understood.
const CORRECT_IT: &str = "correct it there; it is left as it is";

/// A file that was read and understood.
#[derive(Debug)]
pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// What stands there, merge keys not yet followed; nothing when there are only comments.
    pub(super) content: Option<Mapping>,
    /// The syntax tree with every byte of the text; none where the editor cannot follow.
    tree: Option<yaml_edit::Document>,
}

impl ConfigFile {
    /// Reads the file; none when it is not there.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, Problem> {
        match read_bytes(path)? {
            Some(bytes) => Self::parse(path, bytes).map(Some),
            None => Ok(None),
        }
    }

    /// Understands the content of a file.
    pub(super) fn parse(path: &Path, bytes: Vec<u8>) -> Result<Self, Problem> {
        let name = path.display().to_string();
        let text = decode(&name, bytes)?;
        if let Some(place) = too_deep(&text) {
            let what = format!("more than {DEEPEST} brackets are open here, which no settings need");
            return Err(Problem::new(name, Some(place), what, CORRECT_IT));
        }
        let whole: Yaml = serde_yaml::from_str(&text).map_err(|error| syntax(&name, &text, &error))?;
        let content = match whole {
            Yaml::Null => None,
            Yaml::Mapping(mapping) => Some(mapping),
            _ => {
                let what = "the file holds no settings: `section:` is expected, with settings below it";
                return Err(Problem::new(
                    name,
                    Some(Place { line: 1, column: 1 }),
                    what,
                    CORRECT_IT,
                ));
            }
        };
        let tree = tree_of(&text).filter(|tree| tree.to_string() == text);
        Ok(Self {
            path: path.to_owned(),
            text,
            content,
            tree,
        })
    }

    /// The content with merge keys followed, as Hermes reads it.
    pub(super) fn merged(&self) -> Result<Mapping, Problem> {
        let mut whole = Yaml::Mapping(self.content.clone().unwrap_or_default());
        whole.apply_merge().map_err(|error| {
            let what = format!("a merge key (<<) cannot be followed: {error}");
            self.problem(None, what, CORRECT_IT)
        })?;
        match whole {
            Yaml::Mapping(mapping) => Ok(mapping),
            _ => Ok(Mapping::new()),
        }
    }

    /// The root of a syntax tree that can be changed.
    pub(super) fn root(&self) -> Option<(yaml_edit::Document, yaml_edit::Mapping)> {
        let tree = tree_of(&self.text).filter(|tree| tree.to_string() == self.text)?;
        let root = tree.as_mapping()?;
        Some((tree, root))
    }

    /// Where a section stands, or a key of it.
    pub(super) fn place(&self, section: &str, key: Option<&str>) -> Option<Place> {
        let root = self.tree.as_ref()?.as_mapping()?;
        let entry = root.find_entry_by_key(section)?;
        let inside = key.and_then(|key| root.get_mapping(section)?.find_entry_by_key(key));
        let node = inside.unwrap_or(entry).key_node()?;
        Some(Place::of(&self.text, node.byte_range().start as usize))
    }

    /// Where the value of a key stands.
    pub(super) fn place_of_value(&self, section: &str, key: &str) -> Option<Place> {
        let root = self.tree.as_ref()?.as_mapping()?;
        let found = root.get_mapping(section).and_then(|section| section.get(key));
        match found {
            Some(node) => Some(Place::of(&self.text, node.byte_range().start as usize)),
            None => self.place(section, Some(key)),
        }
    }

    pub(super) fn problem(
        &self,
        place: Option<Place>,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Problem {
        Problem::new(self.path.display().to_string(), place, what, fix)
    }
}

/// Where more brackets are open than a reader should have to follow: that takes time that grows with its square.
fn too_deep(text: &str) -> Option<Place> {
    let (mut open, mut before) = (0_usize, b'\n');
    for (position, byte) in text.bytes().enumerate() {
        let begins = b" \t\n:,-[{".contains(&before);
        before = byte;
        match byte {
            // Within a word it is a part of that.
            b'[' | b'{' if begins => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > DEEPEST {
            return Some(Place::of(text, position));
        }
    }
    None
}

fn tree_of(text: &str) -> Option<yaml_edit::Document> {
    yaml_edit::Document::from_str(text).ok()
}

/// The bytes of a regular file that is not too large; none when it is not there.
pub(super) fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, Problem> {
    let name = path.display().to_string();
    let failed = |error: &io::Error| {
        let what = format!("the file cannot be read: {error}");
        Problem::new(&name, None, what, "make it readable for this user")
    };
    // Asked first: opening a pipe would wait for its other end.
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return dangling(path).map_or(Ok(None), Err);
        }
        Err(error) => return Err(failed(&error)),
    };
    if !metadata.is_file() {
        let kind = if metadata.is_dir() {
            "a directory"
        } else {
            "no regular file"
        };
        let what = format!("a file is expected, and this is {kind}");
        return Err(Problem::new(&name, None, what, "put it away"));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| failed(&error))?;
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(&error))?;
    if bytes.len() as u64 > LARGEST {
        let what = format!("the file has more than {LARGEST} bytes, and is not read");
        return Err(Problem::new(&name, None, what, "see what has filled it"));
    }
    Ok(Some(bytes))
}

/// A link in the place of a file, or of its directory, that leads to nothing. Whoever made it has meant something to be
/// there.
fn dangling(path: &Path) -> Option<Problem> {
    let link = [Some(path), path.parent()]
        .into_iter()
        .flatten()
        .find(|path| is_dangling(path))?;
    let target = fs::read_link(link).unwrap_or_default();
    let what = format!("this is a link to {}, which does not exist", target.display());
    let fix = "make what it leads to, such as by mounting it, or remove the link";
    Some(Problem::new(link.display().to_string(), None, what, fix))
}

/// Whether a link leads to nothing.
pub(super) fn is_dangling(path: &Path) -> bool {
    let missing = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
        && fs::metadata(path).is_err_and(missing)
}

/// The text of a file: UTF-8 without a byte order mark or control characters.
fn decode(name: &str, bytes: Vec<u8>) -> Result<String, Problem> {
    let start = Some(Place { line: 1, column: 1 });
    let marks: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];
    if marks.iter().any(|mark| bytes.starts_with(mark)) {
        let what = "the file begins with a byte order mark";
        let fix = "save it as UTF-8 without one; it is left as it is";
        return Err(Problem::new(name, start, what, fix));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(error.as_bytes().get(..valid).unwrap_or_default());
        let place = Place::of(&before, before.len());
        let what = "the file is not UTF-8 from here on";
        Problem::new(name, Some(place), what, "save it as UTF-8; it is left as it is")
    })?;
    let forbidden = |letter: char| {
        letter == '\u{feff}' || (letter.is_control() && !matches!(letter, '\t' | '\n' | '\r' | '\u{85}'))
    };
    if let Some((byte, letter)) = text.char_indices().find(|(_, letter)| forbidden(*letter)) {
        let what = format!("the character U+{:04X} cannot stand in YAML", u32::from(letter));
        let place = Place::of(&text, byte);
        return Err(Problem::new(name, Some(place), what, CORRECT_IT));
    }
    Ok(text)
}

/// Tells a syntax error of the reader with its place.
fn syntax(name: &str, text: &str, error: &serde_yaml::Error) -> Problem {
    let told = error.to_string();
    if told.contains("duplicate entry") {
        return duplicate(name, text, told);
    }
    if told.contains("repetition limit") {
        let what = "aliases (`*name`) multiply the content of the file beyond all measure";
        return Problem::new(name, alias_place(text), what, CORRECT_IT);
    }
    if told.contains("more than one document") {
        let what = "the file holds more than one document; a line `---` ends the first";
        return Problem::new(name, last_marker(text), what, CORRECT_IT);
    }
    let place = error.location().map(|location| Place {
        line: location.line(),
        column: location.column(),
    });
    let line = place.and_then(|place| text.lines().nth(place.line - 1));
    let indentation = line.map(|line| line.split(|letter: char| !letter.is_whitespace()).next());
    if indentation
        .flatten()
        .is_some_and(|indentation| indentation.contains('\t'))
    {
        let what = "a tab stands where YAML takes spaces only";
        return Problem::new(name, place, what, "indent with spaces; it is left as it is");
    }
    let what = match place {
        Some(Place { line, column }) => told.replacen(&format!(" at line {line} column {column}"), "", 1),
        None => told,
    };
    Problem::new(name, place, format!("this is no YAML: {what}"), CORRECT_IT)
}

/// The key that stands there twice, at its second place.
fn duplicate(name: &str, text: &str, told: String) -> Problem {
    let found = tree_of(text).and_then(|tree| second_of_a_name(&tree.as_mapping()?));
    let (place, what) = match found {
        Some((key, byte)) => (
            Some(Place::of(text, byte)),
            format!("the key {key} stands here for the second time"),
        ),
        None => (None, told),
    };
    Problem::new(
        name,
        place,
        what,
        "take one of them out; the file is left as it is",
    )
}

fn second_of_a_name(mapping: &yaml_edit::Mapping) -> Option<(String, usize)> {
    let mut seen = Vec::new();
    for entry in mapping.entries() {
        let key = entry.key_node()?;
        if seen
            .iter()
            .any(|earlier: &yaml_edit::YamlNode| earlier.yaml_eq(&key))
        {
            return Some((key.to_string().trim().to_owned(), key.byte_range().start as usize));
        }
        seen.push(key);
        let inside = entry.value_node();
        if let Some(found) = inside.and_then(|value| second_of_a_name(value.as_mapping()?)) {
            return Some(found);
        }
    }
    None
}

/// The last line that uses an alias.
fn alias_place(text: &str) -> Option<Place> {
    text.rfind('*').map(|byte| Place::of(text, byte))
}

/// The last line that begins a document.
fn last_marker(text: &str) -> Option<Place> {
    let marker = text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with("---"))
        .last();
    marker.map(|(index, _)| Place {
        line: index + 1,
        column: 1,
    })
}
