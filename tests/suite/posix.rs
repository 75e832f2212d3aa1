//! This machine without Bash: what runs text is then whatever POSIX shell is called `sh`.

use std::{env, fs, os::unix::fs::symlink, path::PathBuf};

use crate::support::Place;

/// Shells that are found by these names on a usual machine, and are not in the folder of programs.
const LEFT_OUT: &[&str] = &["bash", "rbash", "sh"];

fn find(program: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap();
    let found = env::split_paths(&path)
        .chain(["/usr/bin".into(), "/bin".into()])
        .map(|folder| folder.join(program))
        .find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("{program} is not there; ci/setup installs it"))
}

/// A folder with every program of this machine but Bash, in which `sh` is this shell.
fn programs(place: &Place, shell: &str) -> PathBuf {
    let programs = place.path("programs");
    fs::create_dir(&programs).unwrap();
    symlink(find(shell), programs.join("sh")).unwrap();
    for folder in env::split_paths(&env::var_os("PATH").unwrap()) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let link = programs.join(&name);
            if !LEFT_OUT.iter().any(|left_out| name == *left_out) && link.symlink_metadata().is_err() {
                symlink(entry.path(), link).unwrap();
            }
        }
    }
    programs
}

/// Judges this machine, in a mode, with `sh` as its only shell, by the chapters that depend on it.
fn judge(shell: &str, subject: &str) {
    let place = Place::new();
    let programs = programs(&place, shell);
    place
        .herm(&format!(
            "run --retries 1 --color never --only SHELL,ARGS,ENC,EXIT,JOB-001,JOB-002 --subject {subject}"
        ))
        .env("PATH", programs)
        .assert()
        .code(0);
    let report = place.report();
    let judged = &report["subjects"][0];
    assert_eq!(judged["choices"]["shell"], "posix");
    let rows = judged["requirements"].as_array().unwrap();
    let with = |verdict: &str| -> Vec<&str> {
        let rows = rows.iter().filter(|row| row["verdict"] == verdict);
        rows.map(|row| row["id"].as_str().unwrap()).collect()
    };
    let unsupported = with("unsupported");
    assert_eq!(unsupported, ["SHELL-011", "SHELL-014", "SHELL-018", "ENC-010"]);
    assert!(with("passed").len() + with("flaky").len() >= 45, "{rows:#?}");
    place.becomes_clean();
}

#[test]
fn text_is_read_by_dash_as_it_should_be() {
    judge("dash", "local");
}

#[test]
fn text_is_read_by_dash_as_it_should_be_without_a_resident() {
    judge("dash", "local-native");
}

#[test]
fn text_is_read_by_the_shell_of_busybox_as_it_should_be() {
    judge("busybox", "local");
}

#[test]
fn text_is_read_by_the_shell_of_busybox_as_it_should_be_without_a_resident() {
    judge("busybox", "local-native");
}
