//! Where the output goes away, or cannot show everything.

use std::process::Command;

use predicates::{prelude::*, str::contains};

use crate::support::{HERM, Place};

/// A shell's exit codes of `herm` in a pipeline: nobody reads what it prints.
fn piped(place: &Place, script: &str) -> (String, String) {
    let script =
        format!("set -o pipefail; herm() {{ '{HERM}' \"$@\"; }}; {script}; echo \"${{PIPESTATUS[0]}}\" >&3");
    let run = Command::new("bash")
        .args(["-c", &format!("exec 3>&1; {script} 3>&1")])
        .current_dir(place.home())
        .env("TMPDIR", place.temporary())
        .output()
        .unwrap();
    (
        String::from_utf8(run.stdout).unwrap(),
        String::from_utf8(run.stderr).unwrap(),
    )
}

#[test]
fn a_reader_that_has_gone_stops_nothing_and_is_no_panic() {
    for (line, code) in [
        ("list", "0"),
        ("list --json", "0"),
        ("explain EXIT-001", "0"),
        ("completions zsh", "0"),
        ("doctor", "0"),
        ("run --only EXIT-001", "0"),
        ("run --only EXIT-002 --json", "0"),
        ("prove --features contract --mutant success-for-all", "0"),
    ] {
        let place = Place::new();
        crate::features::write(&place, &crate::features::strict());
        let (out, told) = piped(&place, &format!("herm {line} | true"));
        assert_eq!((out.trim(), told.as_str()), (code, ""), "{line}");
        place.becomes_clean();
    }
    // Nor is one of standard error.
    for (line, code) in [
        ("run --only EXITT", "2"),
        ("list --check --features none", "2"),
        ("run --only EXIT-002 -v", "0"),
    ] {
        let place = Place::new();
        let (out, _) = piped(&place, &format!("herm {line} 2>&1 >/dev/null | true"));
        assert_eq!(out.trim(), code, "{line}");
        place.becomes_clean();
    }
}

#[test]
fn an_output_that_is_full_is_told() {
    for line in [
        "list",
        "run --only EXIT-002 --json",
        "completions bash",
        "prove --features contract --mutant success-for-all",
    ] {
        let place = Place::new();
        crate::features::write(&place, &crate::features::strict());
        let (out, told) = piped(&place, &format!("herm {line} > /dev/full"));
        assert_eq!(out.trim(), "4", "{line}");
        assert!(
            told.contains("failed to write to standard output"),
            "{line}: {told}"
        );
    }
}

#[test]
fn a_locale_without_signs_beyond_ascii_gets_none() {
    let place = Place::new();
    let mut command = place.herm("run --only EXIT --color never --adapter");
    command.args([
        HERM,
        "mutant",
        "success-for-all",
        "--",
        HERM,
        "adapter",
        "--backend",
        "local",
    ]);
    let seen = command
        .env("LC_ALL", "C")
        .assert()
        .code(1)
        .stdout(contains("EXIT-001"));
    assert!(seen.get_output().stdout.is_ascii());
}

#[test]
fn colours_come_when_they_are_asked_for() {
    let place = Place::new();
    let escape = contains("\u{1b}[");
    place
        .run("run --only EXIT-002 --color always", &[])
        .code(0)
        .stdout(escape.clone());
    place
        .run("run --only EXIT-002 --color never", &[])
        .code(0)
        .stdout(escape.clone().not());
    place.run("run --only EXIT-002", &[]).code(0).stdout(escape.not());
}

#[test]
fn a_failed_sandbox_is_kept_when_asked() {
    let place = Place::new();
    let words = [
        HERM,
        "mutant",
        "success-for-all",
        "--",
        HERM,
        "adapter",
        "--backend",
        "local",
    ];
    let close = contains("sandbox.close");
    let adapter = [&["--adapter"][..], &words].concat();
    place
        .run("run -v --only EXIT-001", &adapter)
        .code(1)
        .stderr(close.clone());
    place
        .run("run -v --keep --only EXIT-001", &adapter)
        .code(1)
        .stderr(contains("sandbox.open"));
    place.becomes_clean();
}
