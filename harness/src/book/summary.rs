//! The part of a book's summary that lists the chapters of the contract.

use super::{FOLDER, page};
use crate::contract::Contract;

/// The heading under which the chapters stand; the part ends with the next heading of its kind.
const HEADING: &str = "# The contract";

/// Replaces the part of the contract, or adds it at the end.
pub(super) fn renew(contract: &Contract, text: &str) -> String {
    let mut before = Vec::new();
    let mut after = Vec::new();
    let mut lines = text.lines();
    for line in lines.by_ref() {
        if line == HEADING {
            break;
        }
        before.push(line);
    }
    let mut inside = true;
    for line in lines {
        inside = inside && !line.starts_with("# ");
        if !inside {
            after.push(line);
        }
    }
    let mut renewed = format!("{}\n\n{}\n", before.join("\n").trim_end(), part(contract));
    if !after.is_empty() {
        renewed.push('\n');
        renewed.push_str(&after.join("\n"));
        renewed.push('\n');
    }
    renewed
}

fn part(contract: &Contract) -> String {
    let mut lines = vec![
        HEADING.to_owned(),
        String::new(),
        format!("- [The contract]({FOLDER}/{})", page::INDEX),
    ];
    lines.extend(page::chapters(contract).into_iter().map(|chapter| {
        let title = page::title(contract, chapter);
        format!("  - [{title}]({FOLDER}/{})", page::file_name(chapter))
    }));
    lines.join("\n")
}
