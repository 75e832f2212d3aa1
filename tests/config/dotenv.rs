//! The file `.env`, in which Hermes keeps copies of settings.

use std::fs;

use predicates::str::contains;

use crate::support::{Home, mode};

fn with_dotenv(text: &str) -> Home {
    let home = Home::with("# mine\n");
    fs::write(home.dotenv(), text).unwrap();
    home
}

fn dotenv(home: &Home) -> String {
    fs::read_to_string(home.dotenv()).unwrap()
}

#[test]
fn a_copy_that_would_contradict_is_changed_too() {
    let old = "# secrets\nOPENAI_API_KEY=s3cret # x\nexport TERMINAL_ENV=docker\nTERMINAL_TIMEOUT=5\n";
    let home = with_dotenv(old);
    fs::set_permissions(home.dotenv(), std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
    home.set("terminal.backend", "local")
        .success()
        .stderr(contains("TERMINAL_ENV"));
    assert_eq!(dotenv(&home), old.replace("docker", "local"));
    assert_eq!(mode(&home.dotenv()), 0o640);
    home.set("terminal.docker_volumes", r#"["/a b:/b"]"#)
        .success()
        .stderr("");
    assert_eq!(dotenv(&home), old.replace("docker", "local"), "none is added");
    home.herm(&["config", "unset", "terminal.timeout"])
        .success()
        .stderr(contains("TERMINAL_TIMEOUT"));
    assert_eq!(
        dotenv(&home),
        "# secrets\nOPENAI_API_KEY=s3cret # x\nexport TERMINAL_ENV=local\n"
    );
    assert_eq!(home.get("terminal.timeout", &[]), "180");
}

#[test]
fn a_copy_that_says_the_same_is_left_alone() {
    let old = "TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES=False\nTERMINAL_DOCKER_VOLUMES=\"[\\\"/a:/b\\\"]\"\n";
    let home = with_dotenv(old);
    home.set("terminal.docker_persist_across_processes", "false")
        .success()
        .stderr("");
    home.set("terminal.docker_volumes", "[/a:/b]")
        .success()
        .stderr("");
    assert_eq!(dotenv(&home), old);
    home.set("terminal.docker_volumes", "[\"/it's:/b\"]").success();
    fs::write(home.file(), "").unwrap();
    assert_eq!(home.get("terminal.docker_volumes", &[]), "- /it's:/b");
}

#[test]
fn a_dotenv_that_cannot_be_read_is_told_before_anything_is_written() {
    let home = Home::with("terminal:\n  timeout: 5\n");
    fs::create_dir(home.dotenv()).unwrap();
    home.set("terminal.timeout", "6")
        .code(2)
        .stderr(contains(".env: a file is expected"));
    home.herm(&["exec", "--", "true"]).code(2);
    assert_eq!(home.text(), "terminal:\n  timeout: 5\n");
}

#[test]
fn nothing_runs_when_a_dotenv_silently_leaves_out_what_it_says() {
    for (text, place) in [
        ("TERMINAL_ENV=\"\nTERMINAL_BACKEND=docker\n", ".env:1:1: a quote"),
        ("A=\"x\nTERMINAL_ENV=docker\n", ".env:1:1: a quote"),
        (
            "A=1\nTERMINAL_BACKEND=docker\n",
            ".env:2:1: nothing reads TERMINAL_BACKEND",
        ),
        (
            "A=1\rTERMINAL_ENV=${NO_SUCH_NAME}\r",
            ".env:2:1: TERMINAL_ENV is made of",
        ),
    ] {
        let home = with_dotenv(text);
        home.herm(&["exec", "--", "echo", "ran"])
            .code(2)
            .stdout("")
            .stderr(contains(place));
    }
    // Lines that end with carriage returns are lines.
    let home = with_dotenv("A=1\rTERMINAL_ENV=docker\r");
    assert_eq!(home.get("terminal.backend", &[]), "docker");
}
