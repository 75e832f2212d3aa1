//! Links lead somewhere, and the summary lists every page.

use std::{collections::BTreeSet, fs};

use super::{Page, between, docs, file, pages};

#[test]
fn links_lead_somewhere_and_the_summary_lists_every_page() {
    let mut listed = BTreeSet::new();
    let path = docs().join("../README.md");
    let text = file("README.md");
    for page in pages().into_iter().chain([Page { path, text }]) {
        for link in between(&page.prose(), "](", ")") {
            if link.starts_with("http") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() {
                page.path.clone()
            } else {
                page.path.parent().unwrap().join(file)
            };
            assert!(target.exists(), "{}: {link} leads nowhere", page.name());
            if !heading.is_empty() {
                let text = fs::read_to_string(&target).unwrap();
                let there = text.lines().filter(|line| line.starts_with('#')).map(anchor);
                assert!(
                    there.into_iter().any(|anchor| anchor == heading),
                    "{}: {link} has no such heading",
                    page.name()
                );
            }
            if page.name() == "SUMMARY.md" {
                listed.insert(target.canonicalize().unwrap());
            }
        }
        for file in between(&page.text, "{{#include ", "}}") {
            let target = page.path.parent().unwrap().join(file);
            assert!(
                target.is_file(),
                "{} includes {file}, which is not there",
                page.name()
            );
        }
    }
    for page in pages().iter().filter(|page| page.name() != "SUMMARY.md") {
        assert!(
            listed.contains(&page.path.canonicalize().unwrap()),
            "SUMMARY.md does not list {}",
            page.name()
        );
    }
}

/// The name under which a heading is linked to.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text
        .chars()
        .filter(|letter| letter.is_alphanumeric() || "-_ ".contains(*letter));
    kept.map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}
