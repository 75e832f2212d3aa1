//! What an adapter is given of the environment, and that none of it is told.

use std::fs;

use predicates::{prelude::*, str::contains};

use crate::support::{HERM, Place};

const SECRET: &str = "correct-horse-battery-staple";

/// An adapter that tells its environment in its log, in pieces of every length, and then cannot be talked to.
fn talkative(place: &Place) {
    let script = "env >&2
        for length in 100 230 235 240 245 250 280 295 300 310; do
            printf \"%${length}s%s%500s\\n\" '' \"$MY_TOKEN\" '' | tr ' ' x >&2
        done
        echo \"the token is $MY_TOKEN\" >&2
        printf '%280s%s%900s\\n' '' \"$MY_TOKEN\" '' | tr ' ' y";
    place.script("talkative", script);
    let manifest = "name = \"talkative\"\nadapter = [\"./talkative\"]\nenvironment = [\"MY_TOKEN\"]\n";
    place.write("talkative.toml", manifest);
}

#[test]
fn only_variables_that_are_named_reach_the_adapter_and_their_values_reach_no_report() {
    let place = Place::new();
    talkative(&place);
    let mut command = place.herm("run -v --only EXIT-002 --subject talkative.toml");
    command
        .env("MY_TOKEN", SECRET)
        .env("OTHER_VARIABLE", "other-value");
    let seen = command.assert().code(4);
    let log = contains("MY_TOKEN=[redacted MY_TOKEN]")
        .and(contains("TMPDIR="))
        .and(contains("OTHER_VARIABLE").not());
    let seen = seen.stderr(log).get_output().clone();
    let mut texts = vec![
        ("stdout".to_owned(), seen.stdout),
        ("stderr".to_owned(), seen.stderr),
    ];
    for entry in fs::read_dir(place.path("herm-report")).unwrap() {
        let path = entry.unwrap().path();
        texts.push((path.display().to_string(), fs::read(path).unwrap()));
    }
    assert_eq!(texts.len(), 6);
    for (name, text) in texts {
        let text = String::from_utf8(text).unwrap();
        let parts = (0..=SECRET.len() - 6).map(|start| &SECRET[start..start + 6]);
        let told: Vec<_> = parts.filter(|part| text.contains(part)).collect();
        assert!(told.is_empty(), "{name} tells {told:?}: {text}");
    }
}

#[test]
fn the_conversation_is_shown_on_standard_error_when_asked() {
    let place = Place::new();
    let both = contains("→ {").and(contains("← {")).and(contains("exec.run"));
    place.run("run -v --only EXIT-002", &[]).code(0).stderr(both);
    place.run("run --only EXIT-002", &[]).code(0).stderr("");
}

#[test]
fn a_secret_that_is_too_short_to_be_found_is_told() {
    let place = Place::new();
    talkative(&place);
    let mut command = place.herm("run --only EXIT-002 --subject talkative.toml");
    command
        .env("MY_TOKEN", "abc")
        .assert()
        .code(4)
        .stderr(contains("MY_TOKEN is too short"));
}

#[test]
fn a_variable_that_may_be_missing_may_be_missing() {
    let place = Place::new();
    place.script(
        "mine",
        &format!("env > variables; exec '{HERM}' adapter --backend local"),
    );
    place.write(
        "mine.toml",
        "name = \"mine\"\nadapter = [\"./mine\"]\nenvironment = [\"MY_TOKEN?\"]\n",
    );
    for (value, set) in [(None, false), (Some("correct-horse"), true)] {
        let mut command = place.herm("run --only EXIT-002 --subject mine.toml");
        command
            .env_remove("MY_TOKEN")
            .envs(value.map(|value| ("MY_TOKEN", value)));
        command.assert().code(0);
        let variables = fs::read_to_string(place.path("variables")).unwrap();
        assert_eq!(
            variables.lines().any(|line| line == "MY_TOKEN=correct-horse"),
            set
        );
    }
}
