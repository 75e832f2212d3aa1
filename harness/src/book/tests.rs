use std::{fs, path::Path};

use super::{FOLDER, page, pages, prose, summary, write};
use crate::{
    catalogue::Catalogue,
    contract::{Contract, FeatureSource},
};

fn contract() -> Contract {
    let (contract, problems) = Contract::load(&FeatureSource::Embedded, Catalogue::embedded().unwrap());
    assert!(problems.is_empty(), "{problems:?}");
    contract
}

/// `HERM_UPDATE_BOOK=1` writes the pages instead of comparing.
#[test]
fn the_published_book_is_that_of_the_contract() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let contract = contract();
    if std::env::var_os("HERM_UPDATE_BOOK").is_some() {
        write(&contract, &docs).unwrap();
        return;
    }
    let how = "HERM_UPDATE_BOOK=1 cargo test -p herm-harness book writes it anew";
    let pages = pages(&contract);
    for (name, text) in &pages {
        let there = fs::read_to_string(docs.join(FOLDER).join(name)).unwrap_or_default();
        assert_eq!(&there, text, "docs/{FOLDER}/{name} is stale; {how}");
    }
    for entry in fs::read_dir(docs.join(FOLDER)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            pages.contains_key(&name),
            "docs/{FOLDER}/{name} is of no chapter; {how}"
        );
    }
    let there = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    assert_eq!(
        there,
        summary(&contract, &there),
        "docs/SUMMARY.md is stale; {how}"
    );
}

#[test]
fn a_page_tells_all_of_a_requirement() {
    let text = page::chapter(&contract(), "TIMEOUT");
    let section = text.split("\n## TIMEOUT-004\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    for part in [
        "**A worker that left the process group dies with its command**",
        "MUST since 0.1, in the profile `core`; needs `timeout` (",
        "`kill_scope=tree` (",
        "([NousResearch/hermes-agent#94187](https://github.com/NousResearch/hermes-agent/pull/94187))",
        "When a command starts <a worker> that keeps a beat",
        "Examples:\n  | a worker ",
        "- `kills-only-the-process-group`: ",
        "- OR-02: ",
    ] {
        assert!(section.contains(part), "{part} is not in:\n{section}");
    }
}

#[test]
fn prose_stays_prose() {
    assert_eq!(
        prose::escaped("<a> & *b* `c` (https://example.org/x_y). End"),
        "&lt;a&gt; &amp; \\*b\\* \\`c\\` ([example.org/x\\_y](https://example.org/x_y)). End"
    );
    assert_eq!(
        prose::escaped("see https://github.com/a/b/issues/7, or not"),
        "see [a/b#7](https://github.com/a/b/issues/7), or not"
    );
}

#[test]
fn the_rest_of_a_summary_is_kept() {
    let contract = contract();
    let text = "# Summary\n\n[One](one.md)\n\n# The contract\n\n- [Old](contract/old.md)\n\n# Last\n\n- [Two](two.md)\n";
    let renewed = summary(&contract, text);
    assert!(renewed.starts_with(
        "# Summary\n\n[One](one.md)\n\n# The contract\n\n- [The contract](contract/README.md)\n"
    ));
    assert!(renewed.ends_with("\n\n# Last\n\n- [Two](two.md)\n"));
    assert!(!renewed.contains("old.md") && renewed.contains("(contract/job.md)"));
    assert_eq!(summary(&contract, &renewed), renewed);
    let added = summary(&contract, "# Summary\n");
    assert!(added.starts_with("# Summary\n\n# The contract\n"));
    assert_eq!(summary(&contract, &added), added);
}

#[test]
fn pages_of_chapters_that_are_no_more_go_and_those_of_others_stay() {
    let book = tempfile::tempdir().unwrap();
    let folder = book.path().join(FOLDER);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("old.md"), format!("{}\n", page::GENERATED)).unwrap();
    fs::write(folder.join("own.md"), "# Mine\n").unwrap();
    let count = write(&contract(), book.path()).unwrap();
    assert!(!folder.join("old.md").exists() && folder.join("own.md").exists());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), count + 1);
    assert!(!book.path().join("SUMMARY.md").exists());
}
