//! The value of `--mount`: `key=value` pairs with commas between, as CSV.

use std::collections::BTreeMap;

use super::{
    Asked, Here, Mount, Propagation, Refusal, Source, Tmpfs, VolumeDriver,
    path::{self, Form, absolute},
    volume::volume_name,
    words,
};
use crate::config::{Secret, parse_size};

/// The keys of `--mount`, aliases first to their own.
const KEYS: [(&str, &str); 21] = [
    ("bind-nonrecursive", "bind-nonrecursive"),
    ("bind-propagation", "bind-propagation"),
    ("bind-recursive", "bind-recursive"),
    ("consistency", "consistency"),
    ("destination", "target"),
    ("dst", "target"),
    ("image-subpath", "image-subpath"),
    ("readonly", "readonly"),
    ("ro", "readonly"),
    ("source", "source"),
    ("src", "source"),
    ("target", "target"),
    ("tmpfs-mode", "tmpfs-mode"),
    ("tmpfs-options", "tmpfs-options"),
    ("tmpfs-size", "tmpfs-size"),
    ("type", "type"),
    ("volume-driver", "volume-driver"),
    ("volume-label", "volume-label"),
    ("volume-nocopy", "volume-nocopy"),
    ("volume-opt", "volume-opt"),
    ("volume-subpath", "volume-subpath"),
];

/// How a mount is written, for whoever did not.
const FORM: &str = "write it as type=bind,source=/host/path,target=/path, with ,readonly behind where it is";

/// Whether a text is meant as the value of `--mount`: it begins with one of its keys and an equals sign.
pub(super) fn is_mount_option(text: &str) -> bool {
    let first = text
        .split([',', ':'])
        .next()
        .unwrap_or_default()
        .trim_start_matches('"');
    let key = first
        .split_once('=')
        .map(|(key, _)| key.trim().to_ascii_lowercase());
    key.is_some_and(|key| KEYS.iter().any(|(known, _)| *known == key))
}

/// Whether a word is a key of `--mount`, whose value is no secret.
fn is_key(word: &str) -> bool {
    word != "volume-opt" && KEYS.iter().any(|(known, _)| word.eq_ignore_ascii_case(known))
}

/// Reads one.
///
/// # Errors
/// What is wrong with it, and the next step.
pub(in super::super) fn parse_mount_option(text: &str, here: &Here) -> Result<Asked, Refusal> {
    read(text, here).map_err(|refusal| without_values(refusal, text))
}

fn read(text: &str, here: &Here) -> Result<Asked, Refusal> {
    path::no_control(text)?;
    let mut fields = Fields::default();
    for field in csv(text)? {
        fields.take(&field)?;
    }
    let kind = fields.take_out("type").unwrap_or_else(|| "volume".into());
    let target = fields
        .take_out("target")
        .ok_or_else(|| Refusal::new("a mount has no target", FORM))?;
    let target = path::target(&target)?;
    let read_only = fields.flag("readonly")?;
    fields.take_out("consistency");
    let asked = match kind.as_str() {
        "bind" => Asked::Mount(Mount {
            source: fields.host_path(here)?,
            target,
            read_only,
        }),
        "volume" => Asked::Mount(Mount {
            source: fields.volume()?,
            target,
            read_only,
        }),
        "tmpfs" => Asked::Tmpfs(fields.tmpfs(target, read_only)?),
        "npipe" => {
            return Err(Refusal::new(
                "a named pipe of Windows is nothing that a container on Linux can have",
                "take it out",
            ));
        }
        other => {
            return Err(Refusal::new(
                format!("a mount of the type {other:?} is not taken"),
                "write type=bind, type=volume or type=tmpfs",
            ));
        }
    };
    fields.nothing_left(&kind)?;
    Ok(asked)
}

/// The fields of one line of CSV: a field in quotes may hold commas, and two quotes for one.
fn csv(text: &str) -> Result<Vec<String>, Refusal> {
    let (mut fields, mut field) = (Vec::new(), String::new());
    let mut letters = text.chars().peekable();
    loop {
        if field.is_empty() && letters.next_if_eq(&'"').is_some() {
            loop {
                match letters.next() {
                    Some('"') if letters.next_if_eq(&'"').is_some() => field.push('"'),
                    Some('"') => break,
                    Some(letter) => field.push(letter),
                    None => return Err(Refusal::new(format!("{text:?} opens a quote"), "close it")),
                }
            }
        }
        match letters.next() {
            Some(',') => fields.push(std::mem::take(&mut field)),
            Some(letter) => field.push(letter),
            None => {
                fields.push(field);
                return Ok(fields);
            }
        }
    }
}

/// What is said, by key.
#[derive(Default)]
struct Fields {
    once: BTreeMap<&'static str, String>,
    options: BTreeMap<String, Secret<String>>,
    labels: BTreeMap<String, String>,
}

impl Fields {
    fn take(&mut self, field: &str) -> Result<(), Refusal> {
        let (key, value) = match field.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (field, None),
        };
        let name = key.trim().to_ascii_lowercase();
        let Some((_, key)) = KEYS.iter().find(|(known, _)| *known == name) else {
            return Err(Refusal::new(format!("{name:?} is no key of a mount"), FORM));
        };
        let pair = || {
            let pair = value.unwrap_or_default();
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.to_owned(), value.to_owned())
        };
        match (*key, value) {
            ("readonly" | "volume-nocopy" | "bind-nonrecursive", None) => self.once(key, "true"),
            (_, None | Some("")) => Err(Refusal::new(format!("{key} has no value"), FORM)),
            ("volume-opt", Some(_)) => {
                let (name, value) = pair();
                match self.options.insert(name.clone(), Secret::new(value)) {
                    Some(_) => Err(Refusal::new(
                        format!("the option {name} of the volume stands twice"),
                        "leave one of them",
                    )),
                    None => Ok(()),
                }
            }
            ("volume-label", Some(_)) => {
                self.labels.extend([pair()]);
                Ok(())
            }
            (key, Some(value)) => self.once(key, value),
        }
    }

    fn once(&mut self, key: &'static str, value: &str) -> Result<(), Refusal> {
        match self.once.insert(key, value.to_owned()) {
            Some(_) => Err(Refusal::new(format!("{key} stands twice"), "leave one of them")),
            None => Ok(()),
        }
    }

    fn take_out(&mut self, key: &str) -> Option<String> {
        self.once.remove(key)
    }

    fn flag(&mut self, key: &str) -> Result<bool, Refusal> {
        match self.take_out(key).as_deref() {
            Some("true" | "1") => Ok(true),
            None | Some("false" | "0") => Ok(false),
            Some(other) => Err(Refusal::new(
                format!("{key} is {other:?}"),
                "write true or false, or the key alone",
            )),
        }
    }

    fn host_path(&mut self, here: &Here) -> Result<Source, Refusal> {
        let source = self
            .take_out("source")
            .ok_or_else(|| Refusal::new("a mount of the type bind has no source", FORM))?;
        let recursive = match self.take_out("bind-recursive").as_deref() {
            None | Some("enabled") => true,
            Some("disabled") => false,
            Some(other) => {
                return Err(Refusal::new(
                    format!("bind-recursive={other} is not taken"),
                    "write enabled or disabled",
                ));
            }
        };
        let non_recursive = self.flag("bind-nonrecursive")? || !recursive;
        let propagation = self.take_out("bind-propagation");
        let propagation = propagation.map_or(Ok(Propagation::default()), |word| words::propagation(&word))?;
        if path::form(&source) == Form::Windows {
            return Ok(Source::WindowsPath(source));
        }
        Ok(Source::HostPath {
            path: absolute(&source, here)?,
            propagation,
            relabel: None,
            non_recursive,
        })
    }

    fn volume(&mut self) -> Result<Source, Refusal> {
        let name = self.take_out("source");
        match name.as_deref() {
            None => {}
            Some(name) if matches!(path::form(name), Form::Other) => volume_name(name)?,
            Some(path) => {
                return Err(Refusal::new(
                    format!("{path:?} is a path, and the type of the mount is volume"),
                    "write type=bind for a path of the host",
                ));
            }
        }
        let no_copy = self.flag("volume-nocopy")?;
        let subpath = self.take_out("volume-subpath");
        if let Some(subpath) = subpath.as_deref().filter(|path| !is_below(path)) {
            return Err(Refusal::new(
                format!("volume-subpath={subpath:?} leads out of the volume"),
                "write a relative path without \"..\"",
            ));
        }
        let driver = self.take_out("volume-driver");
        let (options, labels) = (
            std::mem::take(&mut self.options),
            std::mem::take(&mut self.labels),
        );
        let plain = driver.is_none() && options.is_empty() && labels.is_empty();
        let driver = (!plain).then(|| VolumeDriver {
            name: driver.unwrap_or_else(|| "local".into()),
            options,
            labels,
        });
        Ok(Source::Volume {
            name,
            no_copy,
            subpath,
            driver,
            relabel: None,
        })
    }

    fn tmpfs(&mut self, target: String, read_only: bool) -> Result<Tmpfs, Refusal> {
        let size_bytes = match self.take_out("tmpfs-size") {
            None => None,
            Some(text) => Some(parse_size(&text).filter(|size| *size > 0).ok_or_else(|| {
                Refusal::new(format!("tmpfs-size={text:?} is no size"), "write one such as 64m")
            })?),
        };
        let mode = match self.take_out("tmpfs-mode") {
            None => 0o1777,
            Some(text) => u32::from_str_radix(&text, 8)
                .ok()
                .filter(|mode| *mode <= 0o1777)
                .ok_or_else(|| {
                    Refusal::new(
                        format!("tmpfs-mode={text:?} are no permissions"),
                        "write one such as 1777",
                    )
                })?,
        };
        Ok(Tmpfs {
            target,
            size_bytes,
            exec: false,
            mode,
            owner: None,
            read_only,
        })
    }

    /// What is said, and means nothing for the type.
    fn nothing_left(&self, kind: &str) -> Result<(), Refusal> {
        let named = self.once.keys().next().copied();
        let left = named
            .or((!self.options.is_empty()).then_some("volume-opt"))
            .or((!self.labels.is_empty()).then_some("volume-label"));
        match left {
            Some(key) => Err(Refusal::new(
                format!("{key} says nothing of a mount of the type {kind}"),
                "take it out",
            )),
            None => Ok(()),
        }
    }
}

/// Whether a path stays below where it starts.
fn is_below(path: &str) -> bool {
    !path.starts_with('/') && path.split('/').all(|part| part != "..")
}

/// A refusal without the values of a driver's options, among which may be passwords.
fn without_values(refusal: Refusal, text: &str) -> Refusal {
    let mut what = refusal.what;
    for field in text.split(',') {
        let field = field.trim_matches(|letter| letter == '"' || letter == ' ');
        let option = field.strip_prefix("volume-opt=").unwrap_or(field);
        let value = match option.split_once('=') {
            Some((key, value)) if !is_key(key) => value,
            _ => continue,
        };
        // What is shorter stands in other words, too.
        if value.len() >= 4 {
            what = what.replace(value, "…");
        }
    }
    Refusal { what, ..refusal }
}
