//! Reads and writes files.

use herm_protocol::{
    ByteString, Error,
    file::{FileContent, ReadParams, WriteParams},
};

use super::{ManifestAdapter, OPERATION, worked};
use crate::manifest::{Values, file::Files, refuse::nul, run};

impl ManifestAdapter {
    fn files(&self, method: &str) -> Result<&Files, Error> {
        let files = self.manifest.files.as_ref();
        files
            .map(toml::Spanned::get_ref)
            .ok_or_else(|| Error::unsupported(method))
    }

    pub(super) async fn read(&self, params: ReadParams) -> Result<FileContent, Error> {
        let files = self.files("file.read")?;
        let values = self.values_of_file(&params.sandbox, &params.path)?;
        let words = files.read.get_ref().fill(&values);
        let output = run::output(&words, None, OPERATION, run::CONTENT).await;
        let output = worked(output, "read the file")?;
        let from = usize::try_from(params.offset)
            .unwrap_or(usize::MAX)
            .min(output.stdout.len());
        let length = params
            .length
            .map_or(usize::MAX, |length| usize::try_from(length).unwrap_or(usize::MAX));
        let to = from.saturating_add(length).min(output.stdout.len());
        Ok(FileContent {
            data: output.stdout[from..to].into(),
            size: output.stdout.len() as u64,
        })
    }

    pub(super) async fn write(&self, params: WriteParams) -> Result<(), Error> {
        let files = self.files("file.write")?;
        let values = self.values_of_file(&params.sandbox, &params.path)?;
        let words = files.write.get_ref().fill(&values);
        let output = run::output(&words, Some(params.data), OPERATION, run::WORDS).await;
        worked(output, "write the file").map(|_| ())
    }

    fn values_of_file(&self, sandbox: &str, path: &ByteString) -> Result<Values, Error> {
        if !self.sandboxes().contains_key(sandbox) {
            return Err(Error::sandbox_not_found(sandbox));
        }
        if path.has_nul() {
            return Err(nul("path"));
        }
        let mut values = self.values_of(sandbox);
        values.one.insert("path", path.clone());
        Ok(values)
    }
}
