//! The value of `--volume`: `SOURCE:TARGET[:WORDS]`, or `TARGET` alone.

use super::{
    Here, Mount, Refusal, Source,
    path::{self, Form, absolute, begins_with_drive},
    words::{self, Words},
};

/// How a mount is written, for whoever did not.
const FORM: &str = "write it as /host/path:/path, name:/path, or with :ro behind";

/// Reads one.
///
/// # Errors
/// What is wrong with it, and the next step.
pub(in super::super) fn parse_volume(text: &str, here: &Here) -> Result<Mount, Refusal> {
    if text.is_empty() {
        return Err(Refusal::new("a mount is empty", FORM));
    }
    path::no_control(text)?;
    let pieces = pieces(text);
    if pieces.iter().any(|piece| piece.is_empty()) {
        return Err(Refusal::new(
            format!("{text:?} has nothing on one side of a colon"),
            FORM,
        ));
    }
    match pieces.as_slice() {
        [source] if begins_with_drive(source) => Err(Refusal::new(
            format!("{text:?} is a path of Windows, and has no path of the container"),
            "write where it is to appear behind it, as C:\\work:/work; names of volumes have two letters or more",
        )),
        [target] if target.starts_with('/') => Ok(Mount {
            source: named(None, Words::default()),
            target: path::target(target)?,
            read_only: false,
        }),
        [_] => Err(Refusal::new(
            format!("{text:?} does not say where it is to appear in the container"),
            FORM,
        )),
        [source, target] => mount(source, target, Words::default(), here),
        [source, target, words] => mount(source, target, words::read(words)?, here),
        _ => Err(Refusal::new(
            format!("{text:?} has too many colons"),
            "a path with a colon in it can be mounted by docker_extra_args: --mount type=bind,source=…,target=…",
        )),
    }
}

/// What stands between colons; the one behind a drive is none of those.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    loop {
        let skipped = if begins_with_drive(rest) { 2 } else { 0 };
        let colon = rest.get(skipped..).and_then(|behind| behind.find(':'));
        let Some((piece, behind)) = colon.and_then(|colon| rest.split_at_checked(colon + skipped)) else {
            pieces.push(rest);
            return pieces;
        };
        pieces.push(piece);
        rest = behind.get(1..).unwrap_or_default();
    }
}

fn mount(source: &str, target: &str, words: Words, here: &Here) -> Result<Mount, Refusal> {
    Ok(Mount {
        source: source_of(source, words, here)?,
        target: path::target(target)?,
        read_only: words.read_only,
    })
}

fn source_of(source: &str, words: Words, here: &Here) -> Result<Source, Refusal> {
    match path::form(source) {
        Form::Absolute | Form::Home | Form::Relative if words.no_copy => Err(Refusal::new(
            format!("nocopy is for volumes, and {source:?} is a path"),
            "take nocopy out",
        )),
        Form::Absolute | Form::Home | Form::Relative => Ok(Source::HostPath {
            path: absolute(source, here)?,
            propagation: words.propagation.unwrap_or_default(),
            relabel: words.relabel,
            non_recursive: false,
        }),
        Form::Windows => Ok(Source::WindowsPath(source.to_owned())),
        Form::Other if words.propagation.is_some() => Err(Refusal::new(
            format!("a word about later mounts is for paths, and {source:?} is the name of a volume"),
            "take it out",
        )),
        Form::Other => volume_name(source).map(|()| named(Some(source.to_owned()), words)),
    }
}

fn named(name: Option<String>, words: Words) -> Source {
    Source::Volume {
        name,
        no_copy: words.no_copy,
        subpath: None,
        driver: None,
        relabel: words.relabel,
    }
}

/// Whether a text can be the name of a volume: two letters or more, as Docker takes them.
#[must_use]
pub fn is_volume_name(name: &str) -> bool {
    let inner = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
    name.len() > 1 && name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.chars().all(inner)
}

/// Refuses what can be no name of a volume, and says what it was taken for.
pub(super) fn volume_name(name: &str) -> Result<(), Refusal> {
    if is_volume_name(name) {
        return Ok(());
    }
    Err(if name.contains('$') {
        Refusal::new(
            format!("{name:?} has a variable in it, and only $HOME at the beginning is put in"),
            "write the path itself; ${VARIABLE} in braces is put in where the configuration is read, if it is set",
        )
    } else if name.starts_with('~') {
        Refusal::new(
            format!("{name:?} is the home of another user, which is not looked up"),
            "write the path itself",
        )
    } else if name.contains('/') {
        Refusal::new(
            format!("{name:?} is neither a path from / or ./, nor a name of a volume, which has no slash"),
            format!("write ./{name} for what lies in the current directory"),
        )
    } else {
        Refusal::new(
            format!("{name:?} is no name of a volume"),
            "use two or more letters, digits, \"_\", \".\" and \"-\", a letter or digit first",
        )
    })
}
