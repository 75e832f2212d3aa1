//! The commands that the guide names can be typed.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use super::{Page, docs, file, pages};
use crate::support::HERM;

/// Every command of ours that a page names, in its prose or in what is to be typed.
fn commands(page: &Page) -> Vec<String> {
    let prose = page.prose();
    let code = prose.split('`').skip(1).step_by(2);
    let mut commands: Vec<String> = code.map(|code| code.replace('\n', " ")).collect();
    for block in page.blocks() {
        if block.language == "sh" || block.language == "console" {
            let typed = block
                .text
                .lines()
                .map(|line| line.strip_prefix("$ ").unwrap_or(line));
            commands.extend(typed.map(|line| line.trim().trim_start_matches("reproduce: ").to_owned()));
        }
    }
    commands.retain(|command| command.starts_with("herm "));
    commands
}

#[test]
fn every_command_that_is_named_exists_with_its_options() {
    let text = file("README.md");
    let mut all = pages();
    all.push(Page {
        path: docs().join("../README.md"),
        text,
    });
    let mut help: BTreeMap<String, String> = BTreeMap::new();
    let mut count = 0;
    for page in all {
        for command in commands(&page) {
            let about = format!("{}: {command}", page.path.display());
            let mut words = command
                .split_whitespace()
                .skip(1)
                .take_while(|word| !word.starts_with(['#', '>', '|']));
            let name = words.next().unwrap().to_owned();
            let help = help.entry(name.clone()).or_insert_with(|| help_of(&name, &about));
            let known: BTreeSet<_> = help
                .split(|letter: char| letter.is_whitespace() || ",:".contains(letter))
                .collect();
            // What follows these is not ours to read.
            for word in words.take_while(|word| !["--", "--adapter", "--vs-command"].contains(word)) {
                assert!(
                    !word.starts_with('-') || known.contains(word),
                    "{about}: there is no {word}"
                );
                let listed = name == "list" && !word.starts_with('-');
                assert!(
                    !listed || known.contains(word),
                    "{about}: there is nothing called {word} to list"
                );
            }
            count += 1;
        }
    }
    assert!(count > 40, "{count} commands");
}

fn help_of(name: &str, about: &str) -> String {
    let shown = Command::new(HERM).args([name, "--help"]).output().unwrap();
    assert!(shown.status.success(), "{about}: there is no such subcommand");
    String::from_utf8(shown.stdout).unwrap()
}
