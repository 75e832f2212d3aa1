//! The pages: a chapter, and the index.

use super::prose::{escaped, named_link};
use crate::{
    contract::{Contract, Need, Requirement},
    verdict::Level,
};

/// The page that lists the chapters.
pub(super) const INDEX: &str = "README.md";

/// The first line of every page.
pub(super) const GENERATED: &str =
    "<!-- Made from the features and the catalogue by `herm list --book`; a test says when it is stale. -->";

/// The codes of the chapters that are written, in their order.
pub(super) fn chapters(contract: &Contract) -> Vec<&str> {
    let mut chapters: Vec<&str> = Vec::new();
    for requirement in &contract.requirements {
        if !chapters.contains(&requirement.chapter.as_str()) {
            chapters.push(&requirement.chapter);
        }
    }
    chapters
}

/// The name of a chapter's page.
pub(super) fn file_name(chapter: &str) -> String {
    format!("{}.md", chapter.to_lowercase())
}

/// The title of a chapter: that of its feature, which begins with its code.
pub(super) fn title(contract: &Contract, chapter: &str) -> String {
    let file = requirements(contract, chapter).map(|one| &one.file).next();
    let title = file
        .and_then(|file| contract.purposes.get(file))
        .map(|purpose| escaped(&purpose.title));
    title.unwrap_or_else(|| chapter.to_owned())
}

fn requirements<'a>(contract: &'a Contract, chapter: &'a str) -> impl Iterator<Item = &'a Requirement> {
    contract
        .requirements
        .iter()
        .filter(move |requirement| requirement.chapter == chapter)
}

/// The page of a chapter.
pub(super) fn chapter(contract: &Contract, chapter: &str) -> String {
    let mut blocks = vec![GENERATED.to_owned(), format!("# {}", title(contract, chapter))];
    let mut all = requirements(contract, chapter).peekable();
    if let Some(purpose) = all.peek().and_then(|one| contract.purposes.get(&one.file)) {
        blocks.push(escaped(&purpose.text));
    }
    let listed: Vec<String> = requirements(contract, chapter).map(line_of).collect();
    blocks.push(format!(
        "| id | level | requirement |\n|---|---|---|\n{}",
        listed.join("\n")
    ));
    for requirement in all {
        blocks.extend(section(contract, requirement));
    }
    let mut text = blocks.join("\n\n");
    text.push('\n');
    text
}

fn line_of(requirement: &Requirement) -> String {
    let Requirement { id, level, title, .. } = requirement;
    format!(
        "| [{id}](#{}) | {level} | {} |",
        id.to_lowercase(),
        escaped(title)
    )
}

/// A requirement, in full.
fn section(contract: &Contract, requirement: &Requirement) -> Vec<String> {
    let mut blocks = vec![
        format!("## {}", requirement.id),
        format!("**{}**", escaped(&requirement.title)),
        standing(contract, requirement),
        escaped(&requirement.reason),
        format!("```gherkin\n{}\n```", requirement.written),
    ];
    let mutants: Vec<String> = requirement
        .mutants
        .iter()
        .filter_map(|name| {
            let mutant = contract.catalogue.mutants.get(name)?;
            Some(format!("- `{name}`: {}", escaped(&mutant.breaks)))
        })
        .collect();
    if !mutants.is_empty() {
        blocks.push(format!(
            "Turned red, to prove it, by a subject that is broken in this way:\n\n{}",
            mutants.join("\n")
        ));
    }
    let faults: Vec<String> = contract
        .catalogue
        .faults
        .caught_by(&requirement.id)
        .map(|(id, row)| format!("- {id}: {} ({})", escaped(&row.wrong), named_link(&row.source)))
        .collect();
    if !faults.is_empty() {
        blocks.push(format!("Would have caught:\n\n{}", faults.join("\n")));
    }
    blocks
}

/// The level, the version, the profiles and the needs.
fn standing(contract: &Contract, requirement: &Requirement) -> String {
    let profiles: Vec<String> = requirement
        .profiles
        .iter()
        .map(|profile| format!("`{profile}`"))
        .collect();
    let mut lines = vec![format!(
        "{} since {}, in the profile {}",
        requirement.level,
        requirement.since,
        profiles.join(", ")
    )];
    if !requirement.needs.is_empty() {
        let needs: Vec<String> = requirement
            .needs
            .iter()
            .map(|need| format!("`{need}`{}", about(contract, need)))
            .collect();
        lines.push(format!("needs {}", needs.join("; ")));
    }
    lines.join("; ")
}

/// What a need means, in brackets.
fn about(contract: &Contract, need: &Need) -> String {
    let catalogue = &contract.catalogue;
    let explained = match need {
        Need::Capability(name) => catalogue.capabilities.get(name).cloned(),
        Need::Without(name) => catalogue
            .capabilities
            .get(name)
            .map(|explained| format!("not declared: {explained}")),
        Need::Choice(name, variants) => catalogue.choices.get(name).map(|choice| {
            let told: Vec<&str> = variants
                .iter()
                .filter_map(|variant| choice.values.get(variant))
                .map(|told| told.trim_end_matches('.'))
                .collect();
            told.join("; or: ")
        }),
    };
    explained.map_or_else(String::new, |explained| {
        format!(" ({})", escaped(explained.trim_end_matches('.')))
    })
}

/// The page that lists the chapters.
pub(super) fn index(contract: &Contract) -> String {
    let count = |chapter: &str, level: Level| {
        requirements(contract, chapter)
            .filter(|one| one.level == level)
            .count()
    };
    let rows: Vec<String> = chapters(contract)
        .into_iter()
        .map(|chapter| {
            let about = contract.catalogue.chapters.get(chapter);
            let must = count(chapter, Level::Must);
            let others = requirements(contract, chapter).count() - must;
            format!(
                "| [{chapter}]({}) | {} | {must} | {others} |",
                file_name(chapter),
                about.map_or_else(String::new, |about| escaped(&about.title)),
            )
        })
        .collect();
    let planned: Vec<String> = contract
        .catalogue
        .planned
        .iter()
        .map(|(code, chapter)| format!("- {code}: {}", escaped(&chapter.title)))
        .collect();
    let mut blocks = vec![
        GENERATED.to_owned(),
        "# The contract".to_owned(),
        format!(
            "{} requirements. Each says how binding it is, what a backend must declare for it to be asked, why it exists, \
             how it is tested, and which broken subjects prove that the test sees what it should.",
            contract.requirements.len()
        ),
        "A MUST that is not kept makes a backend not conformant; a SHOULD is reported only. The id of a requirement is never \
         used for another."
            .to_owned(),
        format!(
            "| chapter | covers | MUST | SHOULD, MAY |\n|---|---|--:|--:|\n{}",
            rows.join("\n")
        ),
        "`herm list faults` and `herm list peers` show which public faults of backends, and which checks of other suites, \
         these requirements cover."
            .to_owned(),
    ];
    if !planned.is_empty() {
        blocks.push(format!("## To come\n\n{}", planned.join("\n")));
    }
    let mut text = blocks.join("\n\n");
    text.push('\n');
    text
}
