//! `herm clean` removes what runs have left, and nothing else. What a run leaves is in `kill.rs`.

use std::{fs, os::unix::fs::symlink};

use predicates::{prelude::*, str::contains};

use crate::support::Place;

#[test]
fn what_only_looks_like_a_runs_is_never_touched() {
    let place = Place::new();
    let id = "20260102t030405-0a1b2c3d";
    let in_temporary = |name: &str| place.temporary().join(name);
    // No lock; a name of another form; a link; a plain file.
    fs::create_dir(in_temporary("herm-run-20260102t030405-00000001")).unwrap();
    fs::create_dir(in_temporary("herm-run-mine")).unwrap();
    fs::write(in_temporary("herm-run-mine/.lock"), "").unwrap();
    let elsewhere = place.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join(".lock"), "").unwrap();
    symlink(&elsewhere, in_temporary(&format!("herm-run-{id}"))).unwrap();
    fs::write(in_temporary("herm-run-20260102t030405-00000002"), "").unwrap();
    place
        .run("clean", &[])
        .code(0)
        .stdout("no run has left anything behind\n");
    for run in [
        "20260102t030405-00000001",
        "20260102t030405-00000002",
        "mine",
        id,
        "",
        ".",
        "..",
        "../x",
        "/",
        "mine/../mine",
    ] {
        place.run("clean", &[&format!("--run={run}")]).code(2).stdout("");
    }
    assert_eq!(place.left().len(), 4);
    assert!(elsewhere.join(".lock").exists());
}

#[test]
fn a_run_that_is_not_there_is_2() {
    let place = Place::new();
    let told = contains("there is nothing of a run").and(contains("`herm clean` lists"));
    place
        .run("clean --run 20260102t030405-0a1b2c3d", &[])
        .code(2)
        .stderr(told);
}
