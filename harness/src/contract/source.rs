//! Where features come from.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use include_dir::{Dir, include_dir};

static EMBEDDED: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/features");

/// Where features come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeatureSource {
    /// Those that this program was built with.
    Embedded,
    /// The `.feature` files of a folder, and of the folders in it.
    Folder(PathBuf),
}

/// A feature's file name, relative to the folder, and its text.
pub(super) type FeatureText = (String, String);

impl FeatureSource {
    /// All features, by name.
    ///
    /// # Errors
    /// Reading the folder or a file in it, with the path.
    pub(super) fn read(&self) -> Result<Vec<FeatureText>, (String, String)> {
        let mut texts = Vec::new();
        match self {
            Self::Embedded => read_embedded(&EMBEDDED, &mut texts),
            Self::Folder(folder) => read_folder(folder, folder, &mut texts)
                .map_err(|(path, error)| (path.display().to_string(), error.to_string()))?,
        }
        texts.sort();
        Ok(texts)
    }
}

fn read_embedded(folder: &Dir<'_>, texts: &mut Vec<FeatureText>) {
    for file in folder.files() {
        if let (Some("feature"), Some(text)) = (
            file.path().extension().and_then(|extension| extension.to_str()),
            file.contents_utf8(),
        ) {
            texts.push((file.path().display().to_string(), text.to_owned()));
        }
    }
    for inner in folder.dirs() {
        read_embedded(inner, texts);
    }
}

fn read_folder(root: &Path, folder: &Path, texts: &mut Vec<FeatureText>) -> Result<(), (PathBuf, io::Error)> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| (path, error)
    };
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        if path.is_dir() {
            read_folder(root, &path, texts)?;
        } else if path.extension().is_some_and(|extension| extension == "feature") {
            let text = fs::read_to_string(&path).map_err(at(&path))?;
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            texts.push((name, text));
        }
    }
    Ok(())
}
