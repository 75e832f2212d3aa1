//! Manifests of commands: what is told of a broken one, and what is done with a good one.

use std::fs;

use predicates::{prelude::*, str::contains};
use serde_json::Value;

use crate::support::{Place, eventually, exit_code, signal, verdict};

const RUN: &str = "20260102t030405-0a1b2c3d";

/// A tool whose sandboxes are folders beside its manifest.
const FOLDERS: &str = r#"
name = "folders"
capabilities = ["ledger", "preflight"]
choices = { latency = "local", left_behind = "keep", relative_path = "workdir", shell = "posix", state = "none", stream_bytes = "exact", streams = "apart" }
[[preflight]]
run = ["test", "-d", "things"]
missing = "the folder things"
fix = "mkdir things"
[open]
run = ["mkdir", "things/{sandbox}"]
[exec]
run = ["{command}"]
shell = ["sh", "-c", "cd things/{sandbox} || exit; {text}"]
[close]
run = ["rm", "-r", "things/{sandbox}"]
[[ledger]]
kind = "file"
run = ["find", "things", "-maxdepth", "1", "-name", "herm-{run}-*"]
remove = ["rm", "-r", "{item}"]
"#;

/// A place with the tool in a folder of its own.
fn place() -> Place {
    let place = Place::new();
    place.write("tools/folders.toml", FOLDERS);
    fs::create_dir(place.path("tools/things")).unwrap();
    place
}

#[test]
fn a_tool_is_tested_by_its_commands() {
    let place = place();
    place
        .run(
            "run --only EXIT-001,EXIT-002,OPEN-001 --subject tools/folders.toml",
            &[],
        )
        .code(0);
    let report = place.report();
    for id in ["EXIT-001", "EXIT-002", "OPEN-001"] {
        assert_eq!(verdict(&report, id), "passed");
    }
    assert_eq!(fs::read_dir(place.path("tools/things")).unwrap().count(), 0);
}

#[test]
fn a_doctor_asks_those_who_declare_that_they_answer() {
    let place = place();
    place
        .run("doctor --subject tools/folders.toml", &[])
        .code(0)
        .stdout(contains("ok       folders"));
    fs::remove_dir(place.path("tools/things")).unwrap();
    let told = contains("missing  folders: the folder things").and(contains("fix: mkdir things"));
    place
        .run("doctor --subject tools/folders.toml", &[])
        .code(1)
        .stdout(told);
    let silent = FOLDERS
        .replace(", \"preflight\"", "")
        .replace("[[preflight]]\nrun = [\"test\", \"-d\", \"things\"]\nmissing = \"the folder things\"\nfix = \"mkdir things\"\n", "");
    place.write("tools/silent.toml", &silent);
    place
        .run("doctor --subject tools/silent.toml", &[])
        .code(0)
        .stdout(contains("it does not say what it needs"));
}

#[test]
fn what_a_run_has_made_elsewhere_is_cleaned_by_the_ledger() {
    let place = place();
    let thing = |name: &str| place.path("tools/things").join(name);
    let [mine, other] = [
        format!("herm-{RUN}-1-0"),
        "herm-20260102t030405-ffffffff-1-0".into(),
    ];
    fs::create_dir(thing(&mine)).unwrap();
    fs::create_dir(thing(&other)).unwrap();
    let clean = format!("clean --run {RUN} --subject tools/folders.toml");
    place
        .run(&clean, &[])
        .code(0)
        .stderr("")
        .stdout(format!("folders: removed file things/{mine}\n"));
    assert!(!thing(&mine).exists() && thing(&other).exists());
    place
        .run(&clean, &[])
        .code(0)
        .stdout(format!("folders: nothing is left of run {RUN}\n"));
    place
        .run("clean --subject tools/folders.toml --run", &["../x"])
        .code(2);
}

#[test]
fn what_cannot_be_removed_is_told_and_is_1() {
    let place = place();
    let keeping = FOLDERS.replace("remove = [\"rm\", \"-r\", \"{item}\"]\n", "");
    place.write("tools/folders.toml", &keeping);
    let thing = place.path("tools/things").join(format!("herm-{RUN}-1-0"));
    fs::create_dir(&thing).unwrap();
    place
        .run(&format!("clean --run {RUN} --subject tools/folders.toml"), &[])
        .code(1)
        .stderr(contains("is still there: the manifest's ledger has no `remove`"));
    assert!(thing.exists());
}

#[test]
fn cleaning_that_is_interrupted_leaves_no_command_running() {
    let place = place();
    let hanging = FOLDERS.replace(
        r#""find", "things", "-maxdepth", "1", "-name", "herm-{run}-*""#,
        r#""sh", "-c", "touch things/begun; sleep 60; :", "{run}""#,
    );
    place.write("tools/folders.toml", &hanging);
    let mut child = place.start(&format!("clean --run {RUN} --subject tools/folders.toml"));
    let begun = place.path("tools/things/begun");
    eventually(|| {
        begun
            .exists()
            .then_some(())
            .ok_or_else(|| "it has not begun".to_owned())
    });
    signal(child.id(), "-TERM");
    assert_eq!(exit_code(&mut child), Some(143));
    place.becomes_clean();
}

#[test]
fn leftovers_are_listed_with_what_is_elsewhere_and_cleaning_says_what_it_did_not_look_for() {
    let place = place();
    let scratch = place.temporary().join(format!("herm-run-{RUN}"));
    fs::create_dir(&scratch).unwrap();
    fs::write(scratch.join(".lock"), "").unwrap();
    fs::create_dir(place.path("tools/things").join(format!("herm-{RUN}-1-0"))).unwrap();
    let told = contains(format!(
        "herm clean --run {RUN} --subject tools/folders.toml\n    folders: file things/herm-{RUN}-1-0"
    ));
    place
        .run("clean --subject tools/folders.toml", &[])
        .code(0)
        .stdout(told);
    place
        .run(&format!("clean --run {RUN}"), &[])
        .code(0)
        .stdout(format!("removed {}\n", scratch.display()))
        .stderr(contains("was not looked for; add --subject FILE"));
}

#[test]
fn only_a_manifest_with_a_ledger_can_be_cleaned() {
    let place = place();
    let without = FOLDERS.replace("\"ledger\", ", "");
    let without = without.split("[[ledger]]").next().unwrap();
    place.write("without.toml", without);
    place.write("process.toml", "name = \"x\"\nadapter = [\"x\"]");
    for (file, told) in [
        ("without.toml", "has no [[ledger]]"),
        ("process.toml", "is the manifest of an adapter"),
        ("no.toml", "failed to read the manifest no.toml"),
    ] {
        place
            .run(&format!("clean --run {RUN} --subject {file}"), &[])
            .code(2)
            .stderr(contains(told));
    }
}

#[test]
fn a_broken_manifest_is_2_and_is_told_with_its_place() {
    let place = Place::new();
    for (from, to, told) in [
        ("[exec]", "[exce]", "m.toml:11:2: unknown field `exce`"),
        (
            "\"ledger\"",
            "\"legder\"",
            "m.toml:3:17: there is no capability \"legder\" (did you mean `ledger`?)",
        ),
        ("{text}", "{txt}", "(did you mean `text`?)"),
        (
            "name = \"folders\"",
            "name = \"folders\"\nshim = \"herm\"",
            "m.toml:3:1: shim is not there yet",
        ),
        (
            "name = \"folders\"",
            "name = \"folders\"\nadapter = [\"x\"]",
            "it has both adapter and exec",
        ),
        ("name = \"folders\"", "name = \"folders", "m.toml:2:"),
    ] {
        assert!(FOLDERS.contains(from), "{from}");
        place.write("m.toml", &FOLDERS.replace(from, to));
        place
            .run("run --subject m.toml", &[])
            .code(2)
            .stderr(contains(told));
    }
}

#[test]
fn the_schema_can_be_had() {
    let place = Place::new();
    let seen = place.run("list manifest-schema", &[]).code(0).stderr("");
    let schema: Value = serde_json::from_slice(&seen.get_output().stdout).unwrap();
    assert_eq!(schema["title"], "herm manifest");
}

#[test]
fn a_command_that_comes_out_otherwise_is_told_to_the_author_of_the_manifest() {
    let place = place();
    let broken = FOLDERS.replace(
        "run = [\"{command}\"]",
        "run = [\"sh\", \"-c\", \"exit 3\", \"{command}\"]",
    );
    place.write("tools/broken.toml", &broken);
    let smoke = place.run("smoke --subject tools/broken.toml", &[]).code(1);
    smoke
        .stdout(contains("by the manifest's [open]"))
        .stdout(contains("params.command.shell").not());
}
