//! How long containers live, in real time, and what a reaper makes of those that are left.

use std::time::{Duration, Instant};

use crate::support::{User, docker, eventually};

/// The containers of a user, in any state.
fn containers(user: &User) -> usize {
    let state = format!("label=herm.state={}", user.state().join("docker").display());
    docker(&["ps", "--all", "--quiet", "--filter", &state])
        .out
        .lines()
        .count()
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn one_whose_files_are_not_kept_ends_when_it_was_idle_for_its_lifetime_and_not_before() {
    let user = User::new("  container_persistent: false\n  lifetime_seconds: 2\n");
    user.herm(&["exec", "--key", "k", "-c", "echo here > /root/file"]);
    // Whatever is asked of it begins its idle life anew, and what runs in it is no idleness.
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(1200));
        assert_eq!(
            user.herm(&["exec", "--key", "k", "-c", "cat /root/file"]).out,
            "here\n"
        );
    }
    assert_eq!(
        user.herm(&["exec", "--key", "k", "-c", "sleep 3; cat /root/file"])
            .out,
        "here\n"
    );
    let last = Instant::now();
    eventually("its end", || containers(&user) == 0);
    let lived = last.elapsed();
    assert!(
        (Duration::from_millis(1900)..Duration::from_secs(4)).contains(&lived),
        "it has lived for {lived:?}"
    );
    let told = user.herm(&["ps"]);
    assert!(told.err.is_empty(), "it has ended as it should: {told:?}");
    let reaped = user.herm(&["reap"]).out;
    assert!(reaped.contains("nothing of it was to stay"), "{reaped}");
    assert_eq!(user.herm(&["reap"]).out, "nothing was left by anybody\n");
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn files_are_kept_no_more_once_that_is_switched_off() {
    let user = User::new("");
    user.herm(&["exec", "--key", "k", "-c", "echo kept > /root/file"]);
    user.set("  container_persistent: false\n");
    let told = user.herm(&["exec", "--key", "k", "-c", "ls /root"]);
    assert!(
        told.out.is_empty() && told.err.contains("was replaced"),
        "{told:?}"
    );
    user.herm(&["rm", "k"]);
    let state = format!("label=herm.state={}", user.state().join("docker").display());
    assert_eq!(docker(&["volume", "ls", "--quiet", "--filter", &state]).out, "");
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn one_that_is_not_kept_across_processes_ends_with_its_own_however_that_ends() {
    let user = User::new("  docker_persist_across_processes: false\n");
    user.herm(&["exec", "--key", "k", "-c", "echo kept > /root/file"]);
    eventually("its end", || containers(&user) == 0);
    let mut child = user
        .command(&["exec", "--key", "k", "-c", "sleep 60"])
        .spawn()
        .unwrap();
    eventually("its beginning", || containers(&user) == 1);
    std::thread::sleep(Duration::from_millis(500));
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("its end", || containers(&user) == 0);
    // Files are kept all the same.
    assert_eq!(
        user.herm(&["exec", "--key", "k", "-c", "cat /root/file"]).out,
        "kept\n"
    );
    let refused = user.herm(&["exec", "--key", "k", "--detach", "-c", "true"]);
    assert!(
        refused.code == Some(2) && refused.err.contains("ends with this process"),
        "{refused:?}"
    );
    user.herm(&["rm", "k"]);
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn a_reaper_removes_what_the_dead_have_left_and_nothing_of_the_living_or_of_others() {
    let user = User::new("");
    user.herm(&["exec", "--key", "k", "-c", "true"]);
    let label = |name: &str| {
        let format = format!("{{{{index .Config.Labels \"{name}\"}}}}");
        docker(&["inspect", "--format", &format, &user.container()])
            .out
            .trim()
            .to_owned()
    };
    let owner = format!("herm.owner={}", label("herm.owner"));
    let state = format!("herm.state={}", label("herm.state"));
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let namespace = std::fs::read_link("/proc/self/ns/pid")
        .unwrap()
        .display()
        .to_string();
    let namespace = namespace
        .trim_start_matches("pid:[")
        .trim_end_matches(']')
        .to_owned();
    let maker = |pid: u32, start: &str| format!("herm.maker={}/{namespace}/{pid}/{start}", boot.trim());
    let make = |labels: &[&str]| {
        let mut arguments = vec!["create", "--network", "none"];
        for label in labels {
            arguments.extend(["--label", label]);
        }
        arguments.extend(["herm-test", "true"]);
        docker(&arguments).out.trim().to_owned()
    };
    let own = std::process::id();
    let line = std::fs::read_to_string(format!("/proc/{own}/stat")).unwrap();
    let began = line
        .rsplit(')')
        .next()
        .unwrap()
        .split_ascii_whitespace()
        .nth(19)
        .unwrap();
    let dead = make(&[&owner, &state, &maker(own, "1")]);
    let living = make(&[&owner, &state, &maker(own, began)]);
    let others = make(&["herm.owner=0123456789ab", &state, &maker(own, "1")]);
    let nobodys = make(&[]);
    let looked = user.herm(&["reap", "--dry-run"]).out;
    assert!(looked.contains("would go  container"), "{looked}");
    let is_there = |id: &str| docker(&["inspect", id]).code == Some(0);
    assert!(is_there(&dead));
    let reaped = user.herm(&["reap", "--ended-for", "0"]).out;
    assert!(reaped.contains("the process that made it is gone"), "{reaped}");
    assert!(!is_there(&dead), "{reaped}");
    for id in [&living, &others, &nobodys] {
        assert!(is_there(id), "{reaped}");
        docker(&["rm", id]);
    }
    assert!(user.herm(&["ps"]).out.contains("running"));
}
