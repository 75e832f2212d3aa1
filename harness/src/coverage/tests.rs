use super::{AtRisk, Faults, Peers, Standing, check};
use crate::{
    catalogue::Catalogue,
    contract::{Contract, FeatureSource},
};

fn contract() -> Contract {
    let (contract, problems) = Contract::load(&FeatureSource::Embedded, Catalogue::embedded().unwrap());
    assert!(problems.is_empty(), "{problems:?}");
    contract
}

/// The contract without rows, so that what is wrong is what a test has put in.
fn bare() -> Contract {
    let mut contract = contract();
    contract.catalogue.faults =
        toml::from_str(&row("chapters = [\"JOB\"]\ncaught_by = [\"JOB-001\"]")).unwrap();
    contract.catalogue.peers = toml::from_str("[reasons]\n[categories]\n[suites]\n").unwrap();
    contract
}

/// The contract with other rows in the place of its own.
fn with_faults(contract: &Contract, text: &str) -> Contract {
    let mut contract = contract.clone();
    contract.catalogue.faults = toml::from_str::<Faults>(text).unwrap();
    contract
}

const KIND: &str = "[kinds.HB]\nname = \"HANG-BG\"\nexplains = \"It hangs.\"\n";

fn row(keys: &str) -> String {
    format!(
        "{KIND}[rows.HB-01]\nsource = \"https://example.org/1\"\nwrong = \"It hung.\"\nat_risk = [\"all\"]\n{keys}\n"
    )
}

/// What is wrong with one row, without its place.
fn wrong_with(contract: &Contract, keys: &str) -> Vec<String> {
    let problems = check(&with_faults(contract, &row(keys)));
    problems.into_iter().map(|problem| problem.problem).collect()
}

#[test]
fn the_rows_hold_together() {
    let problems = check(&contract());
    let told: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert!(problems.is_empty(), "{}", told.join("\n"));
}

#[test]
fn what_can_strike_every_backend_or_this_machine_is_caught_where_the_contract_is_written() {
    let contract = contract();
    let catalogue = &contract.catalogue;
    let folder = |code: &String| {
        let written = catalogue.chapters.get(code).map(|chapter| &chapter.folder);
        written.or_else(|| catalogue.planned.get(code).map(|chapter| &chapter.folder))
    };
    let covered = |code: &String| {
        ["OPEN", "CLOSE", "ATTACH", "LEAK"].contains(&code.as_str())
            || folder(code).is_some_and(|folder| ["contract", "exec"].contains(&folder.as_str()))
    };
    let near = |at_risk: &AtRisk| [AtRisk::All, AtRisk::Local].contains(at_risk);
    let rows: Vec<_> = catalogue
        .faults
        .rows()
        .filter(|(_, row)| row.at_risk.iter().any(near) && row.chapters.iter().all(covered))
        .collect();
    let open: Vec<_> = rows
        .iter()
        .filter(|(_, row)| row.answer.standing() == Standing::Due)
        .map(|(id, _)| *id)
        .collect();
    assert!(
        open.is_empty(),
        "these have to be caught, or excepted with a reason: {}",
        open.join(" ")
    );
    assert!(rows.len() > 60, "{} rows", rows.len());
}

/// Every row that was taken over, so that none is dropped.
#[test]
fn no_row_is_dropped() {
    let catalogue = Catalogue::embedded().unwrap();
    assert_eq!(catalogue.faults.kinds.len(), 29);
    assert_eq!(catalogue.faults.rows().count(), 202);
    let checks = |suite: &str| catalogue.peers.suites[suite].checks().count();
    let counted = [
        ("agent_sandbox", 22),
        ("e2b", 131),
        ("inspect_ai", 44),
        ("langchain_tests", 85),
        ("openhands", 100),
        ("opensandbox", 62),
        ("swe_rex", 62),
    ];
    assert_eq!(catalogue.peers.suites.len(), counted.len());
    for (suite, count) in counted {
        assert_eq!(checks(suite), count, "{suite}");
    }
}

#[test]
fn a_row_that_names_what_is_not_there_is_told_with_its_place() {
    // The embedded rows, one of them with an id that is none: its line is that of the embedded file.
    let text = crate::catalogue::FAULTS.replacen("[\"JOB-001\"]", "[\"JOB-01\"]", 1);
    let line = 1 + text.lines().position(|line| line == "[rows.HB-01]").unwrap();
    let told: Vec<_> = check(&with_faults(&bare(), &text))
        .iter()
        .map(ToString::to_string)
        .collect();
    let expected = format!(
        "catalogue/faults.toml:{line}: HB-01 is caught by JOB-01, which is no requirement (did you mean `JOB-001`?)"
    );
    assert!(told.contains(&expected), "{told:#?}");
}

#[test]
fn what_a_row_says_has_to_be_there() {
    let contract = bare();
    for (keys, wrong) in [
        ("chapters = [\"JOB\"]\ncaught_by = []", "caught by nothing"),
        (
            "chapters = []\ncaught_by = [\"JOB-001\"]",
            "belongs to no chapter",
        ),
        (
            "chapters = [\"JOBB\"]\ncaught_by = [\"JOB-001\"]",
            "unknown chapter \"JOBB\" (did you mean `JOB`?)",
        ),
        (
            "chapters = [\"JOB\"]\ndue = \"JOB\"",
            "is due in JOB, which is written",
        ),
        (
            "chapters = [\"REUSE\"]\ndue = \"REUZE\"",
            "unknown chapter \"REUZE\" (did you mean `REUSE`?)",
        ),
        (
            "chapters = [\"REUSE\"]\ndue = \"REAP\"",
            "which is none of its chapters",
        ),
        ("chapters = [\"JOB\"]\nexception = \" \"", "without a reason"),
    ] {
        let told = wrong_with(&contract, keys).join("\n");
        assert!(told.contains(wrong), "{keys}: {told}");
    }
    assert_eq!(
        wrong_with(&contract, "chapters = [\"JOB\"]\ncaught_by = [\"JOB-001\"]"),
        [""; 0]
    );
}

#[test]
fn a_row_has_one_answer() {
    for (keys, given) in [
        ("", "0 of"),
        ("due = \"REUSE\"\nexception = \"No.\"", "2 of"),
        ("caught_by = []\ndue = \"REUSE\"\nexception = \"No.\"", "3 of"),
    ] {
        let text = row(&format!("chapters = [\"JOB\"]\n{keys}"));
        let error = toml::from_str::<Faults>(&text).unwrap_err().to_string();
        assert!(
            error.contains(given) && error.contains("line 4"),
            "{keys}: {error}"
        );
    }
    let unknown = row("chapters = [\"JOB\"]\ncaught = [\"JOB-001\"]");
    assert!(toml::from_str::<Faults>(&unknown).is_err());
}

#[test]
fn what_a_check_of_another_suite_says_has_to_be_there() {
    let contract = bare();
    let file = |check: &str| {
        format!(
            "[reasons]\nno = \"No.\"\n[categories]\nE01 = \"Words\"\n[suites.one]\nname = \"One\"\n\
             source = \"https://example.org\"\n[suites.one.checks]\nlooks = {{ {check} }}\n"
        )
    };
    for (check_text, wrong) in [
        (
            "category = \"E01\", exception = \"now\"",
            "unknown reason \"now\"",
        ),
        (
            "category = \"E01\", exception = \"now\"",
            "[reasons] has no, which no check names",
        ),
        (
            "category = \"E02\", exception = \"no\"",
            "unknown category \"E02\"",
        ),
        (
            "category = \"E01\", functions = 0, exception = \"no\"",
            "stands for no function",
        ),
        ("category = \"E01\", due = \"NEVER\"", "unknown chapter \"NEVER\""),
        (
            "category = \"E01\", caught_by = [\"EXIT-999\"]",
            "EXIT-999, which is no requirement",
        ),
    ] {
        let mut contract = contract.clone();
        contract.catalogue.peers = toml::from_str::<Peers>(&file(check_text)).unwrap();
        let told: Vec<_> = check(&contract).iter().map(ToString::to_string).collect();
        let told = told.join("\n");
        assert!(told.contains(wrong), "{check_text}: {told}");
    }
}

#[test]
fn a_planned_chapter_that_is_written_is_told() {
    let mut contract = bare();
    let planned = contract.catalogue.planned["PAUSE"].clone();
    contract.catalogue.planned.insert("JOB".into(), planned);
    let told = check(&contract);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].to_string().contains("JOB is in chapters.toml, too"));
}
