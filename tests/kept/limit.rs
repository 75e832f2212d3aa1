//! What a parent has taken from `herm`: limits of resources, rights of its own files, and a lock that somebody holds.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use crate::support::{Kept, Seen};

const HERM: &str = env!("CARGO_BIN_EXE_herm");

/// Runs a line of a shell in which `$HERM` is `herm`.
fn shell(kept: &Kept, line: &str) -> Seen {
    let mut command = Command::new("bash");
    command
        .args(["-c", line])
        .env("HERM", HERM)
        .env("HERM_STATE", &kept.state)
        .env("HERMES_HOME", kept.state.with_file_name("settings"))
        .env("TMPDIR", scratch(kept));
    Seen::of(&mut command)
}

/// A place for sandboxes without a key.
fn scratch(kept: &Kept) -> PathBuf {
    let scratch = kept.state.with_file_name("scratch");
    fs::create_dir_all(&scratch).unwrap();
    scratch
}

fn entries(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn a_limit_that_is_too_low_is_named_and_nothing_is_left() {
    let kept = Kept::new();
    for (limit, option) in [
        ("ulimit -n 8", "ulimit -n"),
        ("ulimit -n 40", "ulimit -n"),
        ("ulimit -f 0", "ulimit -f"),
        ("ulimit -f 100", "ulimit -f"),
        ("ulimit -v 200000", "ulimit -v"),
        ("ulimit -s 64", "ulimit -s"),
    ] {
        for words in [
            "exec -c true",
            "exec --key k -c true",
            "ps",
            "config set terminal.timeout 9",
        ] {
            let seen = shell(&kept, &format!("{limit}; exec \"$HERM\" {words}"));
            assert_eq!(seen.code, Some(4), "{limit} {words}: {}", seen.complaint());
            let told = seen.complaint();
            assert!(told.contains(option), "{limit} {words}: {told}");
            assert_eq!(told.lines().count(), 1, "{limit} {words}: {told}");
        }
    }
    assert!(!kept.state.exists(), "{:?}", entries(&kept.state));
    assert_eq!(entries(&scratch(&kept)), Vec::<String>::new());
    assert_eq!(
        entries(&kept.state.with_file_name("settings")),
        Vec::<String>::new()
    );
    // Enough is enough.
    let seen = shell(
        &kept,
        "ulimit -n 64; ulimit -f 4096; exec \"$HERM\" exec -c 'echo ran'",
    );
    assert_eq!(seen.ok(), "ran\n");
}

#[test]
fn an_umask_that_takes_the_owners_rights_leaves_nothing_unusable() {
    let kept = Kept::new();
    shell(
        &kept,
        "umask 777; \"$HERM\" exec --key k --session s -c 'export A=1; touch made'",
    )
    .ok();
    assert_eq!(
        shell(
            &kept,
            "\"$HERM\" exec --key k --session s -c 'echo $A; cat made; umask 022'"
        )
        .ok(),
        "1\n"
    );
    assert_eq!(
        shell(
            &kept,
            "umask 777; \"$HERM\" exec -c 'touch made; cat made; umask'"
        )
        .ok(),
        "0077\n"
    );
    // Such a lock from elsewhere is mended.
    let lock = lock_of(&kept, "k");
    fs::set_permissions(&lock, fs::Permissions::from_mode(0)).unwrap();
    shell(&kept, "\"$HERM\" exec --key k -c true").ok();
    assert_eq!(fs::metadata(&lock).unwrap().permissions().mode() & 0o777, 0o600);
    shell(&kept, "\"$HERM\" rm k").ok();
    assert_eq!(entries(&kept.state), Vec::<String>::new());
}

fn lock_of(kept: &Kept, key: &str) -> PathBuf {
    kept.work(key).parent().unwrap().with_extension("lock")
}

#[test]
fn a_lock_that_is_no_file_is_refused_at_once() {
    let kept = Kept::new();
    kept.herm(&["exec", "--key", "k", "-c", "true"]).ok();
    let lock = lock_of(&kept, "k");
    kept.herm(&["rm", "k"]).ok();
    let target = kept.state.join("nowhere");
    symlink(&target, &lock).unwrap();
    let seen = kept.herm(&["exec", "--key", "k", "-c", "true"]);
    assert_eq!(seen.code, Some(4), "{seen:?}");
    assert!(
        seen.complaint().contains("is a symbolic link"),
        "{}",
        seen.complaint()
    );
    assert!(!target.exists());
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    let seen = kept.herm(&["exec", "--key", "k", "-c", "true"]);
    assert!(
        seen.complaint().contains("is a directory"),
        "{}",
        seen.complaint()
    );
    fs::remove_dir(&lock).unwrap();
}

#[test]
fn a_place_that_is_relative_is_refused_by_its_name() {
    let kept = Kept::new();
    let seen = shell(&kept, "cd /; HERM_STATE=here exec \"$HERM\" exec --key k -c true");
    assert_eq!(seen.code, Some(2), "{seen:?}");
    assert!(seen.complaint().contains("HERM_STATE"), "{}", seen.complaint());
    assert!(seen.complaint().contains("relative"), "{}", seen.complaint());
}

#[test]
fn what_a_list_shows_keeps_its_quotes_and_its_line() {
    let kept = Kept::new();
    let job = kept
        .herm(&[
            "exec",
            "--key",
            "it's \"k\"",
            "--detach",
            "-c",
            "echo \"a\" 'b'\ntrue",
        ])
        .ok();
    kept.herm(&["jobs", "it's \"k\"", "wait", job.trim()]).ok();
    let listed = kept.herm(&["jobs", "it's \"k\""]).ok();
    assert!(listed.ends_with(": echo \"a\" 'b'\\ntrue\n"), "{listed}");
    assert!(kept.herm(&["ps"]).ok().contains("  it's \"k\"  "));
}

#[test]
fn a_help_that_cannot_be_written_is_no_success() {
    let kept = Kept::new();
    for words in ["--help", "exec --help", "--version"] {
        let seen = shell(&kept, &format!("\"$HERM\" {words} > /dev/full"));
        assert_eq!(seen.code, Some(4), "{words}");
        assert!(
            seen.complaint().contains("standard output"),
            "{}",
            seen.complaint()
        );
    }
    assert_eq!(shell(&kept, "\"$HERM\" --nope > /dev/full").code, Some(2));
}

#[test]
fn what_a_killed_command_has_left_goes_with_the_next() {
    let kept = Kept::new();
    let scratch = scratch(&kept);
    let mut ended = Command::new("true").spawn().unwrap();
    let left = scratch.join(format!("herm-exec-{}-0123456789abcdef", ended.id()));
    ended.wait().unwrap();
    fs::create_dir_all(left.join("work")).unwrap();
    let others = scratch.join("herm-exec-notes");
    fs::create_dir(&others).unwrap();
    shell(&kept, "exec \"$HERM\" exec -c true").ok();
    assert_eq!(entries(&scratch), ["herm-exec-notes"]);
}

#[test]
fn whoever_has_lower_limits_than_the_first_is_told() {
    let kept = Kept::new();
    let seen = shell(
        &kept,
        "ulimit -S -n 256; exec \"$HERM\" exec --key k -c 'ulimit -n'",
    );
    assert_eq!((seen.ok().as_str(), seen.complaint().as_str()), ("256\n", ""));
    let seen = shell(
        &kept,
        "ulimit -S -n 128; exec \"$HERM\" exec --key k -c 'ulimit -n'",
    );
    assert_eq!(seen.ok(), "256\n");
    let told = seen.complaint();
    assert!(
        told.contains("open files (ulimit -n) 128 here, 256 there"),
        "{told}"
    );
    let seen = shell(&kept, "ulimit -S -n 256; exec \"$HERM\" exec --key k -c true");
    assert_eq!(seen.complaint(), "");
}

#[test]
fn a_sandbox_whose_directory_cannot_go_says_what_is_left() {
    let kept = Kept::new();
    kept.herm(&["exec", "--key", "k", "-c", "touch made"]).ok();
    let closed = |mode| fs::set_permissions(&kept.state, fs::Permissions::from_mode(mode)).unwrap();
    closed(0o500);
    let can_write_anyway = fs::write(kept.state.join("probe"), "").is_ok();
    let seen = kept.herm(&["rm", "k"]);
    closed(0o700);
    if can_write_anyway {
        // Permissions do not bind the superuser.
        fs::remove_file(kept.state.join("probe")).unwrap();
        assert_eq!(seen.code, Some(0));
        return;
    }
    assert_eq!(seen.code, Some(1));
    assert!(
        seen.complaint().contains("the empty directory is left"),
        "{}",
        seen.complaint()
    );
    kept.herm(&["rm", "k"]).ok();
    assert_eq!(entries(&kept.state), Vec::<String>::new());
}
