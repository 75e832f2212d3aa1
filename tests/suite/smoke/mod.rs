//! A walk through the protocol with adapters that are right, that have one mistake, and that misbehave.

mod mistakes;

use std::time::Instant;

use predicates::{prelude::*, str::contains};
use serde_json::Value;

use crate::support::{HERM, Place, eventually, exit_code, signal};

/// An adapter in shell that runs nothing, but answers as if it did; right in everything that it says.
const RIGHT: &str = include_str!("adapter.sh");

/// A place with this adapter, some of its text replaced, and its manifest.
fn place_with(replaced: &[(&str, &str)]) -> Place {
    let place = Place::new();
    let mut script = RIGHT.to_owned();
    for (old, new) in replaced {
        assert!(script.contains(old), "{old}");
        script = script.replace(old, new);
    }
    place.script("adapter", &script);
    place.write("mine.toml", "name = \"mine\"\nadapter = [\"./adapter\"]\n");
    place
}

/// What `herm smoke` prints, without what differs from run to run.
fn steady(text: &str) -> String {
    let mut text = text.to_owned();
    for (before, after) in [
        ("\"run\":\"", "\""),
        ("\"scratch\":\"", "\""),
        ("exchanges are right (", ")"),
    ] {
        let start = text.find(before).map(|place| place + before.len());
        if let Some(start) = start {
            let end = text[start..].find(after).unwrap() + start;
            text.replace_range(start..end, "…");
        }
    }
    text
}

#[test]
fn the_executor_is_right_in_everything_and_is_the_subject_when_none_is_named() {
    let place = Place::new();
    let named = place.run("smoke --subject local", &[]).code(0);
    let all =
        || contains("smoke: 22 of 22 exchanges are right").and(contains("next: herm run --subject local"));
    named.stdout(all().and(contains("✗").not()).and(contains("→").not()));
    place
        .run("smoke -v", &[])
        .code(0)
        .stdout(all().and(contains("→ {")).and(contains("expected:")));
    place.becomes_clean();
}

#[test]
fn a_right_conversation_reads_well() {
    let place = place_with(&[]);
    let seen = place.run("smoke -v --subject mine.toml", &[]).code(0);
    let text = String::from_utf8(seen.get_output().stdout.clone()).unwrap();
    insta::assert_snapshot!(steady(&text));
    place.becomes_clean();
}

#[test]
fn a_conversation_with_mistakes_reads_well() {
    let place = place_with(&[
        ("\"name\":\"mine\"", "\"name\":5"),
        ("    note exec.started ''\n", ""),
        ("\"state\":\"created\"", "\"stat\":\"created\""),
        ("ran \"${code%%[!0-9]*}\" 0 0", "echo Welcome; ran 0 0 0"),
    ]);
    let seen = place.run("smoke --subject mine.toml", &[]).code(1);
    let text = String::from_utf8(seen.get_output().stdout.clone()).unwrap();
    insta::assert_snapshot!(steady(&text));
    place.becomes_clean();
}

#[test]
fn every_example_is_a_right_message() {
    let place = Place::new();
    let seen = place.run("smoke --json --subject local", &[]).code(0);
    let report: Value = serde_json::from_slice(&seen.get_output().stdout).unwrap();
    let schema = jsonschema::validator_for(&herm_harness::report::schema::smoke()).unwrap();
    schema.validate(&report).unwrap();
    let mut reader = herm_harness::validate::MessageReader::default();
    let exchanges = report["subjects"][0]["exchanges"].as_array().unwrap();
    let mut checked = 0;
    for exchange in exchanges {
        for line in exchange["conversation"].as_array().unwrap() {
            if line["from"] == "harness" {
                reader.sent(line["text"].as_str().unwrap().as_bytes());
            }
        }
        for example in exchange["example"].as_array().unwrap() {
            let read = reader.received(example.as_str().unwrap().as_bytes());
            assert!(
                read.breaches.is_empty() && read.advice.is_empty(),
                "{example}: {read:?}"
            );
            checked += 1;
        }
    }
    assert!(checked > 30, "{checked}");
    assert_eq!(report["format"], "herm-smoke/1");
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(&report["subjects"][0]),
        ["arguments", "duration_ms", "exchanges", "subject"]
    );
    assert_eq!(
        keys(&exchanges[3]),
        [
            "advice",
            "conversation",
            "duration_ms",
            "example",
            "expected",
            "id",
            "left_out",
            "number",
            "problems",
            "purpose",
            "title",
            "verdict"
        ]
    );
}

#[test]
fn each_kind_of_misbehaviour_is_told_in_time() {
    for (kind, code, told) in [
        (
            "answers-nonsense",
            1,
            "result.outcome is the string \"fine, thank you\"",
        ),
        ("answers-twice", 1, "exec.run (id 4) was answered a second time"),
        (
            "answers-unasked",
            1,
            "id is the number 1000000; expected the id of a request that was sent",
        ),
        (
            "crashes-at-start",
            4,
            "the adapter ended with exit status: 70 while initialize (id 1) had no answer",
        ),
        (
            "crashes-in-a-command",
            4,
            "the adapter ended with exit status: 70 while exec.run (id 4) had no answer",
        ),
        (
            "floods-notifications",
            4,
            "it flooded the connection: more than 5000 lines",
        ),
        ("floods-without-newlines", 4, "bytes without a newline"),
        ("hangs-at-start", 4, "no answer to initialize came within 15 s"),
        ("hangs-in-a-command", 4, "no answer to exec.run came within 10 s"),
        (
            "logs-a-lot",
            1,
            "the outcome is exited with code 0; expected exited with code 7",
        ),
        (
            "prints-noise",
            1,
            "a line that is no message: \"Welcome to the sandbox!\"",
        ),
        (
            "speaks-another-version",
            4,
            "the answer names the protocol \"herm/0.0-other\", which was not offered",
        ),
    ] {
        let place = Place::new();
        let start = Instant::now();
        let seen = place.run("smoke --color never --adapter", &[HERM, "misbehave", kind]);
        let text = String::from_utf8_lossy(&seen.get_output().stdout).into_owned();
        // Lines are folded to the width of the terminal.
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(told), "{kind}: {text}");
        assert!(words.contains("to do: "), "{kind}: {text}");
        assert_eq!(seen.get_output().status.code(), Some(code), "{kind}: {text}");
        assert!(start.elapsed().as_secs() < 60, "{kind}");
        place.becomes_clean();
    }
}

#[test]
fn an_adapter_that_cannot_be_started_is_3_and_the_message_says_what_to_do() {
    let place = Place::new();
    place.write("plain.py", "print()\n");
    for (words, told) in [
        (&["./none"][..], "./none is not there"),
        (&["no-such-program-of-herm"], "is in no directory of PATH"),
        (
            &["./plain.py"],
            "may not be run; chmod +x ./plain.py, or name its interpreter before it (python3 ./plain.py)",
        ),
        (&["plain.py"], "name it ./plain.py, or python3 plain.py"),
        (&["/"], "is a directory"),
    ] {
        let mut command = place.herm("smoke --adapter");
        let seen = command.args(words).env("COLUMNS", "400").assert().code(3);
        seen.stdout(contains(told).and(contains("nothing ran")));
    }
    place.becomes_clean();
}

#[test]
fn requests_without_an_answer_do_not_end_the_walk_while_others_are_answered() {
    let open = "*'\"method\":\"sandbox.open\"'*) closed=false; answer '{\"sandbox\":\"box\",\"state\":\"created\",\"exec_mode\":\"native\"}' ;;";
    let place = place_with(&[
        (open, "*'\"method\":\"sandbox.open\"'*) echo 'cannot open' >&2 ;;"),
        ("    *) refuse -32601 unsupported ;;\n", "    *) ;;\n"),
    ]);
    let mut command = place.herm("smoke --subject mine.toml");
    let seen = command.env("COLUMNS", "400").assert().code(1);
    let told = contains("no answer to preflight came within 10 s")
        .and(contains("no answer to sandbox.open came within 10 s"))
        .and(contains("· cannot open"))
        .and(contains("no answer to future.method came within 10 s"))
        .and(contains("exchange 3 (sandbox.open) has to be answered first"))
        .and(contains("✓ 23 end of input"));
    seen.stdout(told);
    place.becomes_clean();
}

#[test]
fn a_signal_ends_the_walk_and_nothing_is_left() {
    for (name, code) in [("-INT", Some(130)), ("-TERM", Some(143)), ("-KILL", None)] {
        let place = Place::new();
        let mut child = place.start(&format!("smoke --adapter {HERM} misbehave hangs-in-a-command"));
        eventually(|| {
            let processes = place.processes();
            let own = [" smoke ", " guard ", " leash "];
            let started = processes
                .iter()
                .any(|line| line.contains("misbehave") && own.iter().all(|own| !line.contains(own)));
            started.then_some(()).ok_or_else(|| format!("{processes:?}"))
        });
        let start = Instant::now();
        signal(child.id(), name);
        assert_eq!(exit_code(&mut child), code, "{name}");
        assert!(start.elapsed().as_secs() < 20, "{name}");
        place.becomes_clean();
        assert_eq!(std::fs::read_dir(place.home()).unwrap().count(), 0);
    }
}

#[test]
fn secrets_are_never_shown() {
    const SECRET: &str = "correct-horse-battery-staple";
    let place = place_with(&[(
        "closed=true\n",
        "closed=true\necho \"noise $MY_TOKEN\"\necho \"log $MY_TOKEN\" >&2\n",
    )]);
    place.write(
        "mine.toml",
        "name = \"mine\"\nadapter = [\"./adapter\"]\nenvironment = [\"MY_TOKEN\"]\n",
    );
    for line in ["smoke -v --subject mine.toml", "smoke --json --subject mine.toml"] {
        let mut command = place.herm(line);
        let seen = command.env("MY_TOKEN", SECRET).assert().code(1);
        seen.stdout(
            contains("noise [redacted MY_TOKEN]")
                .and(contains("log [redacted MY_TOKEN]"))
                .and(contains("horse").not()),
        );
    }
}

#[test]
fn a_run_that_validates_tells_the_message_the_path_and_the_rule() {
    // The typed client has no use for progress, and overlooks this.
    let progress = r#"closed=false; say '{"jsonrpc":"2.0","method":"sandbox.progress","params":{"message":5}}'; answer '{"sandbox""#;
    let place = place_with(&[("closed=false; answer '{\"sandbox\"", progress)]);
    place.run("run --subject mine.toml --only EXIT-002", &[]).code(0);
    place
        .run("run --validate --subject mine.toml --only EXIT-002", &[])
        .code(4);
    let report = place.report();
    let detail = &crate::support::row(&report, "EXIT-002")["detail"];
    assert_eq!(crate::support::verdict(&report, "EXIT-002"), "error");
    assert_eq!(detail["kind"], "message_invalid");
    assert_eq!(
        detail["seen"],
        "sandbox.progress: params.message: expected a string, seen the number 5 (rule: type)"
    );
    place.becomes_clean();
}

#[test]
fn a_run_of_what_is_right_validates() {
    let place = Place::new();
    place
        .run("run --validate --only PROTO,EXIT,EVENT,FILE-002,OPEN,CAP", &[])
        .code(0);
}
