//! The guide in `docs/`: what it says is true of this program.

mod command;
mod link;
mod manifest;
mod message;
mod smallest;
mod vocabulary;

use std::{
    fs,
    path::{Path, PathBuf},
};

use herm_harness::{
    catalogue::Catalogue,
    contract::{Contract, FeatureSource},
};

/// A page: its path below `docs`, and its text.
struct Page {
    path: PathBuf,
    text: String,
}

/// What stands between two fences, and the word behind the first.
struct Block {
    language: String,
    text: String,
}

fn contract() -> Contract {
    let (contract, problems) = Contract::load(&FeatureSource::Embedded, Catalogue::embedded().unwrap());
    assert!(problems.is_empty(), "{problems:?}");
    contract
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

fn page(name: &str) -> Page {
    let path = docs().join(name);
    let text = fs::read_to_string(&path).unwrap();
    Page { path, text }
}

/// Every page, in `docs` and the folders below it.
fn pages() -> Vec<Page> {
    let mut pages = Vec::new();
    let mut folders = vec![docs()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let text = fs::read_to_string(&path).unwrap();
                pages.push(Page { path, text });
            }
        }
    }
    pages.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(pages.len() > 8, "{} pages", pages.len());
    pages
}

impl Page {
    fn name(&self) -> String {
        let inside = self.path.strip_prefix(docs());
        inside.unwrap_or(&self.path).display().to_string()
    }

    fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut open = false;
        for line in self.text.lines() {
            match (line.strip_prefix("```"), open) {
                (Some(language), false) => {
                    let (language, text) = (language.to_owned(), String::new());
                    blocks.push(Block { language, text });
                    open = true;
                }
                (Some(_), true) => open = false,
                (None, true) => {
                    let text = &mut blocks.last_mut().unwrap().text;
                    text.push_str(line);
                    text.push('\n');
                }
                (None, false) => {}
            }
        }
        assert!(!open, "{}: a fence is not closed", self.name());
        blocks
    }

    /// The text without what stands in fences.
    fn prose(&self) -> String {
        let outside = self.text.split("```").step_by(2);
        outside.collect::<Vec<_>>().join("\n")
    }
}

/// What stands between two marks, such as backquotes.
fn between<'a>(text: &'a str, start: &'a str, end: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(start)
        .skip(1)
        .filter_map(move |rest| rest.split_once(end).map(|(inside, _)| inside))
}

/// A file of the repository.
fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}
