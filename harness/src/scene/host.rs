//! The harness's own look at the processes of this machine: what a subject cannot lie about.

use std::fs;

/// The ids of the processes whose command line has a word; empty where processes cannot be listed.
pub async fn processes_with(word: &str) -> Vec<u32> {
    let word = word.to_owned();
    tokio::task::spawn_blocking(move || scan(&word))
        .await
        .unwrap_or_default()
}

fn scan(word: &str) -> Vec<u32> {
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
            fs::read(format!("/proc/{id}/cmdline"))
                .is_ok_and(|line| line.windows(word.len()).any(|part| part == word.as_bytes()))
        })
        .collect()
}
