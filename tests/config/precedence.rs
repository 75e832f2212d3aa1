//! What wins, and every variable.

use std::fs;

use predicates::{prelude::PredicateBooleanExt as _, str::contains};
use serde_json::{Value, json};

use crate::support::Home;

/// Every setting as `herm config list --json` tells it.
pub(crate) fn settings(home: &Home, variables: &[(&str, &str)]) -> Vec<Value> {
    let seen = home
        .command(&["config", "list", "--json"], variables)
        .assert()
        .success();
    serde_json::from_slice(&seen.get_output().stdout).unwrap()
}

/// A value that the setting takes and that is not its default: as text and as JSON.
pub(crate) fn another(setting: &Value) -> (String, Value) {
    let expected = setting["expected"].as_str().unwrap();
    let value = match setting["type"].as_str().unwrap() {
        "text" => json!("another"),
        "integer" => json!(77),
        "number" => json!(2.5),
        "flag" => json!(!setting["default"].as_bool().unwrap()),
        "list" if expected.contains("mounts") => json!(["/a:/b", "/c d:/e:ro"]),
        "list" => json!(["LANG", "A_B"]),
        "map" => json!({"A": "b c", "B": "22:22"}),
        _ => {
            let words = expected.trim_start_matches("one of: ").split(", ");
            let mut others = words.filter(|word| setting["default"] != **word);
            json!(others.next().unwrap())
        }
    };
    (
        value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        value,
    )
}

#[test]
fn every_setting_has_its_default_when_nobody_sets_it() {
    let home = Home::none();
    let settings = settings(&home, &[]);
    assert!(settings.len() > 50);
    for setting in &settings {
        assert_eq!(setting["value"], setting["default"], "{setting}");
        assert_eq!(setting["origin"]["from"], "default");
    }
    assert!(!home.path().exists(), "reading made something");
    assert_eq!(home.get("terminal.backend", &[]), "local");
    assert_eq!(home.get("terminal.timeout", &[]), "180");
    assert_eq!(home.get("proxy.upstream_deny_cidrs", &[]), "null");
}

#[test]
fn every_variable_is_honoured_and_the_file_wins_over_it() {
    let home = Home::none();
    fs::create_dir(home.path()).unwrap();
    let mut count = 0;
    for setting in settings(&home, &[]) {
        let Some(variable) = setting["variable"].as_str() else {
            continue;
        };
        let key = setting["key"].as_str().unwrap();
        let (text, value) = another(&setting);
        let json = |variables: &[(&str, &str)]| -> Value {
            let seen = home
                .command(&["config", "get", key, "--json"], variables)
                .assert()
                .success();
            serde_json::from_slice(&seen.get_output().stdout).unwrap()
        };
        assert_eq!(json(&[(variable, &text)]), value, "{variable}");
        // An empty one is not set.
        assert_eq!(json(&[(variable, "")]), setting["default"], "{variable}");
        count += 1;
        if !key.contains('.') {
            continue;
        }
        let (section, name) = key.split_once('.').unwrap();
        fs::write(
            home.file(),
            format!("{section}:\n  {name}: {}\n", setting["default"]),
        )
        .unwrap();
        assert_eq!(
            json(&[(variable, &text)]),
            setting["default"],
            "the file wins over {variable}"
        );
        fs::remove_file(home.file()).unwrap();
    }
    assert!(count > 40, "{count} variables");
}

#[test]
fn option_then_file_then_variable_then_dotenv_then_default() {
    let home = Home::none();
    let origin = |variables: &[(&str, &str)]| {
        let rows = settings(&home, variables);
        let row = rows
            .into_iter()
            .find(|row| row["key"] == "terminal.timeout")
            .unwrap();
        (
            row["value"].as_i64().unwrap(),
            row["origin"]["from"].as_str().unwrap().to_owned(),
        )
    };
    let set = [("TERMINAL_TIMEOUT", "3")];
    assert_eq!(origin(&[]), (180, "default".into()));
    fs::create_dir(home.path()).unwrap();
    fs::write(home.dotenv(), "# mine\nexport TERMINAL_TIMEOUT='4'\n").unwrap();
    assert_eq!(origin(&[]), (4, "dotenv".into()));
    assert_eq!(origin(&set), (3, "environment".into()));
    home.set("terminal.timeout", "2").success();
    assert_eq!(origin(&set), (2, "file".into()));
    home.herm(&["config", "check"]).success();
    home.command(&["config", "check"], &set)
        .assert()
        .success()
        .stderr(contains(
            "the variable TERMINAL_TIMEOUT says otherwise, and is not heard",
        ));
    // The option of the command line.
    home.set("terminal.backend", "docker").success();
    home.herm(&["exec", "--backend", "local", "--", "true"]).success();
}

#[test]
fn what_another_backend_reads_may_hold_what_it_likes() {
    let home = Home::none();
    let variables = [
        ("TERMINAL_CONTAINER_CPU", "many"),
        ("TERMINAL_DOCKER_VOLUMES", "{"),
    ];
    home.command(&["exec", "--", "true"], &variables)
        .assert()
        .success()
        .stderr("");
    home.command(&["config", "check"], &variables)
        .assert()
        .success()
        .stderr(contains("TERMINAL_CONTAINER_CPU").and(contains("local does not read it")));
    let variables = [&variables[..], &[("TERMINAL_ENV", "docker")]].concat();
    home.command(&["config", "check"], &variables)
        .assert()
        .code(2)
        .stderr(contains("TERMINAL_CONTAINER_CPU").and(contains("TERMINAL_DOCKER_VOLUMES")));
    home.command(&["exec", "--", "true"], &[("TERMINAL_TIMEOUT", "long")])
        .assert()
        .code(2)
        .stderr(contains(
            "the variable TERMINAL_TIMEOUT: terminal.timeout takes a whole number",
        ));
}

#[test]
fn a_list_in_quotes_and_words_for_flags_are_read_as_hermes_does() {
    let home = Home::with(
        "terminal:\n  docker_volumes: '[\"/a:/b\"]'\n  docker_network: off\n  docker_snap_compat: YES\n  timeout: '7'\n  \
         docker_env: {PORT: 8080, DEBUG: true}\n",
    );
    let get = |key: &str| home.get(key, &[]);
    assert_eq!(get("terminal.docker_volumes"), "- /a:/b");
    assert_eq!(get("terminal.docker_network"), "false");
    assert_eq!(get("terminal.docker_snap_compat"), "true");
    assert_eq!(get("terminal.timeout"), "7");
    assert_eq!(get("terminal.docker_env"), "DEBUG: 'true'\nPORT: '8080'");
}

#[test]
fn variables_in_values_are_expanded_when_they_are_set() {
    let home = Home::with(
        "terminal:\n  docker_image: ${A}/x:${env:B}\n  timeout: ${T}\n  docker_volumes: ['${A}:/b']\n  ssh_user: $A\n",
    );
    fs::write(home.dotenv(), "B=from-dotenv\nA=not-heard\n").unwrap();
    let variables = [("A", "from-process"), ("T", "9")];
    let get = |key: &str| home.get(key, &variables);
    assert_eq!(get("terminal.docker_image"), "from-process/x:from-dotenv");
    assert_eq!(get("terminal.timeout"), "9");
    assert_eq!(get("terminal.docker_volumes"), "- from-process:/b");
    assert_eq!(get("terminal.ssh_user"), "$A");
    // What is not set stays as it stands, and is no number then.
    home.herm(&["config", "check"])
        .code(2)
        .stderr(contains("\"${T}\""));
}

#[test]
fn merge_keys_and_anchors_are_followed() {
    let home =
        Home::with("base: &base\n  timeout: 5\n  backend: ssh\nterminal:\n  <<: *base\n  backend: local\n");
    assert_eq!(home.get("terminal.timeout", &[]), "5");
    assert_eq!(home.get("terminal.backend", &[]), "local");
}

#[test]
fn the_other_name_of_the_backend_is_known() {
    let home = Home::with("terminal:\n  env_type: docker\n");
    assert_eq!(home.get("terminal.backend", &[]), "docker");
    assert_eq!(home.get("terminal.env_type", &[]), "docker");
    home.set("terminal.backend", "local").success();
    assert_eq!(home.text(), "terminal:\n  env_type: local\n");
}

#[test]
fn a_name_that_is_none_is_told_with_what_may_be_meant() {
    let home = Home::none();
    for (name, told) in [
        ("terminal.time_out", "did you mean `timeout`?"),
        ("terminal.TIMEOUT", "did you mean `timeout`?"),
        ("terminl.timeout", "did you mean `terminal.timeout`?"),
        ("TERMINAL_TIMEOUT", "the variable of `terminal.timeout`"),
        ("display.skin", "there is no setting display.skin"),
        ("", "there is no setting"),
    ] {
        home.herm(&["config", "get", name]).code(2).stderr(contains(told));
        home.herm(&["config", "set", name, "x"])
            .code(2)
            .stderr(contains(told));
    }
    assert!(!home.path().exists());
    home.set("TERMINAL_SCRATCH_DIR", "/x")
        .code(2)
        .stderr(contains("only a variable sets this"));
}
