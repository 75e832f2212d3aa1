//! A resident whose directory, or what is in it, is taken away while it runs.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as the tests do")]

#[expect(dead_code, reason = "shared by several tests, each of which uses a part")]
mod support;

use std::fs;

use support::{Resident, argv, eventually};

fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// A resident with a command that goes on in it: the numbers of both.
fn with_a_job() -> (Resident, [u32; 2]) {
    let resident = Resident::start();
    let mut client = resident.client();
    let own = client.welcome.as_ref().unwrap().pid;
    client.start(argv(&["sleep", "600"]));
    let mut job = 0;
    eventually("the command runs", || {
        job = client.list().first().map_or(0, |job| job.pid);
        job > 0
    });
    (resident, [own, job])
}

#[test]
fn it_ends_with_its_jobs_when_its_directory_is_removed() {
    let (resident, processes) = with_a_job();
    assert!(processes.iter().all(|pid| is_alive(*pid)));
    fs::remove_dir_all(resident.directory()).unwrap();
    for pid in processes {
        eventually("it is gone", || !is_alive(pid));
    }
}

#[test]
fn it_leaves_the_directory_of_the_next_one_alone() {
    let (resident, [own, _]) = with_a_job();
    let directory = resident.directory();
    fs::rename(&directory, resident.scratch().join("elsewhere")).unwrap();
    assert!(resident.daemon().status().unwrap().success());
    let mut next = resident.client();
    assert_ne!(next.welcome.as_ref().unwrap().pid, own);
    eventually("the first one is gone", || !is_alive(own));
    next.shell("true").assert_exited(0);
    resident.client().shell("true").assert_exited(0);
}

#[test]
fn a_socket_and_a_secret_that_are_removed_are_made_again() {
    let (resident, [own, job]) = with_a_job();
    let (socket, secret) = (
        resident.directory().join("socket"),
        resident.directory().join("secret"),
    );
    fs::remove_file(&socket).unwrap();
    fs::remove_file(&secret).unwrap();
    eventually("they are there", || {
        socket.exists() && fs::metadata(&secret).is_ok_and(|secret| secret.len() == 32)
    });
    let mut client = resident.client();
    assert_eq!(client.welcome.as_ref().unwrap().pid, own);
    assert_eq!(client.list().first().map(|found| found.pid), Some(job));
    assert!(is_alive(job));
}
