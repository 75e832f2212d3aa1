//! Whatever is killed, nothing is left: no process, no temporary file, no half-written report.

use std::{fs, time::Instant};

use predicates::{prelude::*, str::contains};

use crate::support::{HERM, Place, eventually, exit_code, report_in, signal, verdict};

/// Enough to be in the middle of for a while.
const RUN: &str = "run --only EXIT,OPEN-001,STREAM-001";

/// Waits until a requirement is being tested.
pub(crate) fn begins(place: &Place) {
    eventually(|| {
        let events = fs::read_to_string(place.path("herm-report/events.jsonl")).unwrap_or_default();
        let started = events.contains("requirement_started");
        started.then_some(()).ok_or_else(|| "nothing is tested".into())
    });
}

/// Waits for a process whose command line has a word and that is neither the run nor a guard; gives its number.
pub(crate) fn adapter_starts(place: &Place, word: &str) -> u32 {
    find(place, |line| {
        line.contains(word)
            && [" run ", " guard ", " keeper ", " leash "]
                .iter()
                .all(|own| !line.contains(own))
    })
}

fn find(place: &Place, fits: impl Fn(&str) -> bool) -> u32 {
    eventually(|| {
        let processes = place.processes();
        let found = processes.iter().find(|line| fits(line));
        let number = found.map(|line| line.split(' ').next().unwrap().parse().unwrap());
        number.ok_or_else(|| format!("no such process: {processes:#?}"))
    })
}

/// How long the run takes here and now, in milliseconds.
fn usual() -> u64 {
    let place = Place::new();
    let start = Instant::now();
    place.run(RUN, &[]).code(0);
    start.elapsed().as_millis().try_into().unwrap()
}

/// Ten moments from the start to a little past the end, each off its place by chance.
fn moments() -> impl Iterator<Item = u64> {
    let usual = usual();
    (0..10).map(move |index| {
        let chance = u64::from(std::process::id() ^ Instant::now().elapsed().subsec_nanos()) % 100;
        usual * (index * 100 + chance) / 950
    })
}

fn run_and_send(name: &str) {
    for moment in moments() {
        let place = Place::new();
        let mut child = place.start(RUN);
        std::thread::sleep(std::time::Duration::from_millis(moment));
        if child.try_wait().unwrap().is_none() {
            signal(child.id(), name);
        }
        let code = exit_code(&mut child);
        place.becomes_clean();
        let folder = place.path("herm-report");
        if !folder.join("events.jsonl").exists() {
            // The run had not come to its reports.
            continue;
        }
        let report = report_in(&folder);
        match (name, code) {
            // It may have been complete already.
            ("-KILL", None) => assert_eq!(report["totals"]["verdicts"]["failed"], 0),
            ("-INT", Some(130)) => assert_eq!(
                (&report["complete"], &report["interrupted"]),
                (&true.into(), &2.into())
            ),
            // It had been over, or it was too early for a handler.
            (_, Some(0)) => assert_eq!(report["complete"], true),
            (_, other) => panic!("{name} after {moment} ms: {other:?}"),
        }
        let files = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        let mut files: Vec<_> = files.collect();
        files.sort();
        assert_eq!(
            files,
            ["events.jsonl", "junit.xml", "report.json", "summary.md"],
            "{moment}"
        );
        let junit = fs::read_to_string(folder.join("junit.xml")).unwrap();
        quick_junit::Report::deserialize_from_str(&junit).unwrap();
    }
}

#[test]
fn a_kill_of_the_run_at_any_moment_leaves_nothing() {
    run_and_send("-KILL");
}

#[test]
fn an_interrupt_of_the_run_at_any_moment_leaves_nothing() {
    run_and_send("-INT");
}

#[test]
fn a_kill_of_a_proof_leaves_nothing() {
    let place = Place::new();
    let mut child = place.start("prove --mutant success-for-all");
    adapter_starts(&place, "adapter --backend local");
    signal(child.id(), "-KILL");
    assert_eq!(exit_code(&mut child), None);
    place.becomes_clean();
    let mut child = place.start("prove --mutant success-for-all");
    adapter_starts(&place, "adapter --backend local");
    signal(child.id(), "-INT");
    assert_eq!(exit_code(&mut child), Some(130));
    place.becomes_clean();
    assert_eq!(fs::read_dir(place.home()).unwrap().count(), 0);
}

#[test]
fn an_adapter_or_a_guard_that_is_killed_is_told_as_an_error_and_leaves_nothing() {
    for whom in ["adapter", "guard"] {
        let place = Place::new();
        let mut child = place.start(&format!(
            "run --only EXIT-002 --adapter {HERM} misbehave hangs-in-a-command"
        ));
        begins(&place);
        let adapter = adapter_starts(&place, "misbehave");
        let guard = find(&place, |line| line.contains(" guard --scratch "));
        signal(if whom == "adapter" { adapter } else { guard }, "-KILL");
        assert_eq!(exit_code(&mut child), Some(4), "{whom}");
        let report = place.report();
        assert_eq!(verdict(&report, "EXIT-002"), "error", "{whom}");
        assert_eq!(
            crate::support::row(&report, "EXIT-002")["detail"]["kind"],
            "adapter_crashed"
        );
        place.becomes_clean();
    }
}

/// A run in which a sandbox is kept under a key.
const KEEPS: &str = "run --subject local --only ATTACH-001,ATTACH-003,ATTACH-004";

/// Waits until a kept sandbox has its resident.
fn kept_resident(place: &Place) -> u32 {
    find(place, |line| {
        line.contains("/kept/kept-") && line.contains(" daemon ")
    })
}

#[test]
fn what_is_kept_ends_with_the_run_however_that_ends() {
    for name in ["-KILL", "-INT"] {
        let place = Place::new();
        let mut child = place.start(KEEPS);
        kept_resident(&place);
        signal(child.id(), name);
        assert_eq!(exit_code(&mut child), (name == "-INT").then_some(130));
        place.becomes_clean();
    }
    let place = Place::new();
    place.run(KEEPS, &[]).code(0);
    place.becomes_clean();
}

#[test]
fn what_is_kept_ends_although_its_keeper_is_killed() {
    let place = Place::new();
    let mut child = place.start(KEEPS);
    kept_resident(&place);
    signal(find(&place, |line| line.contains(" keeper --scratch ")), "-KILL");
    exit_code(&mut child);
    place.becomes_clean();
}

#[test]
fn a_run_whose_janitor_is_killed_ends_well() {
    let place = Place::new();
    let mut child = place.start(RUN);
    let janitor = find(&place, |line| line.contains(" janitor --run "));
    signal(janitor, "-KILL");
    assert_eq!(exit_code(&mut child), Some(0));
    place.becomes_clean();
    assert_eq!(place.report()["complete"], true);
}

#[test]
fn what_a_run_without_its_janitor_leaves_can_be_cleaned() {
    let place = Place::new();
    let mut child = place.start(&format!(
        "run --only EXIT-002 --adapter {HERM} misbehave hangs-in-a-command"
    ));
    begins(&place);
    let janitor = find(&place, |line| line.contains(" janitor --run "));
    let left = place.left();
    let run = left[0]
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .strip_prefix("herm-run-")
        .unwrap()
        .to_owned();
    // While it lives it is refused, and not listed.
    place
        .run("clean --run", &[&run])
        .code(2)
        .stderr(contains("still going on"));
    place.run("clean", &[]).code(0).stdout(contains(&run).not());
    signal(janitor, "-KILL");
    signal(child.id(), "-KILL");
    exit_code(&mut child);
    eventually(|| {
        if place.processes().is_empty() {
            Ok(())
        } else {
            Err(format!("{:#?}", place.processes()))
        }
    });
    assert_eq!(place.left(), left);
    // It is told, and hinders nobody: a machine on which a run was killed once is as good as any other.
    place
        .run("doctor", &[])
        .code(0)
        .stdout(contains("note     clean slate: ").and(contains(format!("herm clean --run {run}"))));
    place
        .run("clean", &[])
        .code(0)
        .stdout(format!("herm clean --run {run}\n"));
    place
        .run("clean --run", &[&run])
        .code(0)
        .stdout(contains("removed"));
    place
        .run("clean", &[])
        .code(0)
        .stdout(contains("no run has left anything"));
    place.becomes_clean();
}

#[test]
fn an_adapter_that_leaves_very_many_processes_behind_holds_nobody_up() {
    let place = Place::new();
    let script = "i=0; while [ $i -lt 200 ]; do setsid sleep 300 & i=$((i + 1)); done";
    let adapter = place.script("litters", script);
    let start = Instant::now();
    place
        .run("run --only EXIT-002 --adapter", &[adapter.to_str().unwrap()])
        .code(4);
    assert!(start.elapsed().as_secs() < 60);
    place.becomes_clean();
}
