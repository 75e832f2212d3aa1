//! The harness's own look at the processes of this machine: what a subject cannot lie about.

use std::fs;

/// The ids of the processes whose command line has a word in it; empty where processes cannot be listed.
pub async fn processes_with(word: &str) -> Vec<u32> {
    let word = word.to_owned();
    let fits = move |line: &[u8]| line.windows(word.len()).any(|part| part == word.as_bytes());
    scan(fits).await
}

/// The ids of the processes that were given a word as an argument of its own, and not within a text that they pass on, as
/// the client of a remote shell does.
pub(super) async fn processes_given(word: &str) -> Vec<u32> {
    let word = word.to_owned();
    let fits = move |line: &[u8]| line.split(|byte| *byte == 0).any(|part| part == word.as_bytes());
    scan(fits).await
}

async fn scan(fits: impl Fn(&[u8]) -> bool + Send + 'static) -> Vec<u32> {
    tokio::task::spawn_blocking(move || scan_now(fits))
        .await
        .unwrap_or_default()
}

fn scan_now(fits: impl Fn(&[u8]) -> bool) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let own = std::process::id();
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|id| *id != own)
        .filter(|id| {
            // A process that has ended and was not yet waited for has no command line.
            fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| fits(&line))
        })
        .collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[tokio::test]
    async fn a_process_that_only_passes_a_word_on_was_not_given_it() {
        let word = format!("word-{}", std::process::id());
        let start = |arguments: &[&str]| {
            let mut command = Command::new("sh");
            command.args(["-c", "read line; :"]).args(arguments);
            command.stdin(Stdio::piped()).spawn().unwrap()
        };
        let mut given = start(&[&word]);
        let mut passing = start(&[&format!("run {word} there")]);
        let (found, with) = (processes_given(&word).await, processes_with(&word).await);
        for child in [&mut given, &mut passing] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(found, [given.id()]);
        assert!(
            with.contains(&given.id()) && with.contains(&passing.id()),
            "{with:?}"
        );
    }
}
