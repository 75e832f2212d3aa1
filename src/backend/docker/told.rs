//! What its user has been told of this engine already: a warning that comes with every command is read by nobody.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use herm_protocol::{Error, sandbox::SandboxSpec};

use super::{DockerBackend, facts::Said};
use crate::{
    backend::local::{adapter::blocking, kept},
    policy::{self, HostFacts},
};

/// Where the lines are that have been told, in the directory of the owner.
const TOLD: &str = "told";

/// The most that is read of them, in bytes; whoever has more is told again.
const LARGEST: u64 = 64 * 1024;

impl DockerBackend {
    /// Looks for what is wrong with the configuration whatever engine there is, which is not asked.
    ///
    /// # Errors
    /// The first thing that no container could be made of.
    pub fn check_configuration(&self) -> Result<(), Error> {
        policy::plan(&self.0.config, &SandboxSpec::default(), &HostFacts::complete()).map(drop)
    }

    /// What of the configuration does not hold in sandboxes of this engine, a line each.
    ///
    /// # Errors
    /// The engine does not answer, or a limit that is asked for cannot be had.
    pub async fn weakenings(&self) -> Result<Vec<String>, Error> {
        let engine = self.engine().await?;
        let said = Said::from(&engine.info().await?);
        let (_, weakenings) = policy::plan(&self.0.config, &SandboxSpec::default(), &said.host)?;
        Ok(weakenings.into_iter().map(|weakening| weakening.notice).collect())
    }

    /// Those of some notices that this user has not been told before; from now on they count as told. Where that cannot be
    /// kept, all of them.
    pub async fn not_told_yet(&self, notices: Vec<String>) -> Vec<String> {
        let all = notices.clone();
        let Ok(owner) = self.owner().await else { return all };
        let news = move || Ok(news(&owner.base, notices).ok());
        match blocking("what has been told", news).await {
            Ok(Some(news)) => news,
            _ => all,
        }
    }
}

fn news(base: &Path, notices: Vec<String>) -> io::Result<Vec<String>> {
    let path = base.join(TOLD);
    let told = match fs::metadata(&path) {
        Ok(metadata) if metadata.len() > LARGEST => {
            fs::remove_file(&path)?;
            String::new()
        }
        Ok(_) => fs::read_to_string(&path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    let news: Vec<String> = notices
        .into_iter()
        .filter(|notice| !told.lines().any(|line| line == notice))
        .collect();
    if !news.is_empty() {
        kept::private_directory(base).map_err(io::Error::other)?;
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)?;
        let mut lines = news.join("\n");
        lines.push('\n');
        // One write, so that the lines of two processes stay whole.
        file.write_all(lines.as_bytes())?;
    }
    Ok(news)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_news_once() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("docker");
        let of = |lines: &[&str]| news(&base, lines.iter().map(|&line| line.to_owned()).collect()).unwrap();
        assert_eq!(of(&["a", "b"]), ["a", "b"]);
        assert_eq!(of(&["b", "c"]), ["c"]);
        assert!(of(&["a", "b", "c"]).is_empty());
        assert_eq!(of(&["A"]), ["A"]);
        fs::write(base.join(TOLD), "x".repeat(usize::try_from(LARGEST).unwrap() + 1)).unwrap();
        assert_eq!(of(&["a"]), ["a"]);
    }

    #[test]
    fn where_nothing_can_be_kept_nothing_counts_as_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("docker"), "a file").unwrap();
        assert!(news(&folder.path().join("docker"), vec!["a".into()]).is_err());
    }
}
