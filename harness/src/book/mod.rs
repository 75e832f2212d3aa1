//! The contract as pages of a book for mdBook: one a chapter, an index, and their part of the summary.

mod page;
mod prose;
mod summary;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use crate::contract::Contract;

/// The folder of the pages, below the book's.
pub const FOLDER: &str = "contract";

/// The book's table of contents, whose part of the contract is written, too.
const SUMMARY: &str = "SUMMARY.md";

/// Pages that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to {act} {}: {source}; name the folder of a book that can be written to", path.display())]
pub struct BookError {
    act: &'static str,
    path: PathBuf,
    #[source]
    source: io::Error,
}

/// The pages: name in [`FOLDER`] → text.
#[must_use]
pub fn pages(contract: &Contract) -> BTreeMap<String, String> {
    let mut pages: BTreeMap<String, String> = page::chapters(contract)
        .into_iter()
        .map(|chapter| (page::file_name(chapter), page::chapter(contract, chapter)))
        .collect();
    pages.insert(page::INDEX.into(), page::index(contract));
    pages
}

/// A summary whose part of the contract is that of this contract; what else stands in it is kept.
#[must_use]
pub fn summary(contract: &Contract, text: &str) -> String {
    summary::renew(contract, text)
}

/// Writes the pages into [`FOLDER`] below `book`, removes those of chapters that are no more, and renews the part of the
/// contract in the book's summary where it has one. Returns how many pages were written.
///
/// # Errors
/// [`BookError`] when a file or folder cannot be read or written.
pub fn write(contract: &Contract, book: &Path) -> Result<usize, BookError> {
    let folder = book.join(FOLDER);
    let at = |act, path: &Path| {
        let path = path.to_owned();
        move |source| BookError { act, path, source }
    };
    fs::create_dir_all(&folder).map_err(at("make", &folder))?;
    let pages = pages(contract);
    for entry in fs::read_dir(&folder).map_err(at("read", &folder))? {
        let path = entry.map_err(at("read", &folder))?.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        // Only what was generated goes: a page of somebody's own stays.
        if !pages.contains_key(name)
            && fs::read_to_string(&path).is_ok_and(|text| text.contains(page::GENERATED))
        {
            fs::remove_file(&path).map_err(at("remove", &path))?;
        }
    }
    for (name, text) in &pages {
        let path = folder.join(name);
        fs::write(&path, text).map_err(at("write", &path))?;
    }
    let path = book.join(SUMMARY);
    match fs::read_to_string(&path) {
        Ok(text) => fs::write(&path, summary(contract, &text)).map_err(at("write", &path))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(at("read", &path)(error)),
    }
    Ok(pages.len())
}
