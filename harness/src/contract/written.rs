//! A scenario as it is written, for people to read.

use gherkin::{Scenario, Table};

/// The steps, one a line, and the examples that fill them; without title, tags and reason.
pub(super) fn written(scenario: &Scenario) -> String {
    let mut lines: Vec<String> = scenario
        .steps
        .iter()
        .map(|step| format!("{} {}", step.keyword.trim(), step.value))
        .collect();
    for examples in &scenario.examples {
        lines.push(String::new());
        lines.extend(examples.tags.iter().map(|tag| format!("@{tag}")));
        lines.push("Examples:".into());
        if let Some(table) = &examples.table {
            lines.extend(rows(table));
        }
    }
    lines.join("\n")
}

fn rows(table: &Table) -> Vec<String> {
    let cells: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| row.iter().map(|cell| cell.replace('|', "\\|")).collect())
        .collect();
    let columns = cells.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let lengths = cells.iter().filter_map(|row| row.get(column));
        lengths.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    cells
        .iter()
        .map(|row| {
            let padded = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!(" {cell:<width$} "));
            format!("  |{}|", padded.collect::<Vec<_>>().join("|"))
        })
        .collect()
}
