//! Containers under a key, as users of the command meet them: what a look, another setting, an engine that cannot, somebody
//! else, and a kill leave of them.
//!
//! These tests need an engine at `DOCKER_HOST` with the images of tests, so `ci/docker` runs them with `--include-ignored`.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod kills;
mod lives;
mod support;

use std::time::Duration;

use support::{User, docker, eventually};

/// Whether the only job of a key runs.
fn job_runs(user: &User) -> bool {
    user.herm(&["jobs", "k"]).out.contains("  runs, ")
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn a_look_changes_nothing_whatever_is_set_by_now() {
    let user = User::new("");
    assert_eq!(
        user.herm(&["exec", "--key", "k", "--detach", "-c", "sleep 60"])
            .code,
        Some(0)
    );
    let container = user.container();
    user.set("  container_memory: 700\n  docker_network: false\n");
    assert!(job_runs(&user));
    // A pause is ended by nobody's look.
    docker(&["pause", &container]);
    let looked = user.herm(&["jobs", "k"]);
    assert!(
        looked.code != Some(0) && looked.err.contains("is paused"),
        "{looked:?}"
    );
    assert!(user.herm(&["ps"]).out.contains("paused"));
    docker(&["unpause", &container]);
    assert!(job_runs(&user));
    docker(&["stop", "--time", "5", &container]);
    let looked = user.herm(&["jobs", "k"]);
    assert!(
        looked.code != Some(0) && looked.err.contains("nothing goes on"),
        "{looked:?}"
    );
    assert!(user.herm(&["ps"]).out.contains("stopped"));
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn what_goes_on_is_not_ended_by_another_setting() {
    let user = User::new("");
    user.herm(&["exec", "--key", "k", "-c", "echo kept > /root/file"]);
    let job = user
        .herm(&["exec", "--key", "k", "--detach", "-c", "sleep 60"])
        .out;
    user.set("  container_memory: 700\n");
    let refused = user.herm(&["exec", "--key", "k", "-c", "echo ran"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{refused:?}");
    assert!(
        refused.err.contains("(limits)") && refused.err.contains("goes on in it"),
        "{refused:?}"
    );
    assert!(job_runs(&user));
    user.herm(&["jobs", "k", "kill", job.trim()]);
    let replaced = user.herm(&["exec", "--key", "k", "-c", "cat /root/file"]);
    assert_eq!(replaced.out, "kept\n", "{replaced:?}");
    assert!(replaced.err.contains("was replaced"), "{replaced:?}");
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn a_container_is_there_until_the_one_that_takes_its_place_is() {
    let user = User::new("");
    user.herm(&["exec", "--key", "k", "-c", "mkdir -p /srv; echo kept > /srv/file"]);
    let id = docker(&["inspect", "--format", "{{.Id}}", &user.container()]).out;
    // No engine of tests has graphics cards.
    user.set("  docker_extra_args: [\"--gpus\", \"all\"]\n");
    assert_eq!(user.herm(&["exec", "--key", "k", "--", "true"]).code, Some(4));
    user.set("");
    let again = user.herm(&["exec", "--key", "k", "-c", "cat /srv/file"]);
    assert_eq!((again.out.as_str(), again.err.as_str()), ("kept\n", ""));
    assert_eq!(
        docker(&["inspect", "--format", "{{.Id}}", &user.container()]).out,
        id
    );
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn a_start_behind_our_back_is_told() {
    let user = User::new("");
    user.herm(&["exec", "--key", "k", "-c", "echo lost > /tmp/file"]);
    let container = user.container();
    docker(&["restart", "--time", "0", &container]);
    let told = user.herm(&["exec", "--key", "k", "--json", "-c", "cat /tmp/file"]);
    assert!(
        told.err.is_empty() && told.out.contains("was started anew from outside"),
        "{told:?}"
    );
    let told = user.herm(&["exec", "--key", "k", "-c", "true"]);
    assert!(told.err.is_empty(), "it is told once: {told:?}");
    docker(&["stop", "--time", "5", &container]);
    for _ in 0..2 {
        let told = user.herm(&["exec", "--key", "k", "-c", "true"]);
        assert!(told.err.contains("had been stopped"), "{told:?}");
        docker(&["stop", "--time", "5", &container]);
    }
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn a_volume_of_somebody_else_is_neither_used_nor_removed() {
    let user = User::new("");
    user.herm(&["exec", "--key", "k", "-c", "true"]);
    let volume = format!("{}-workspace", user.container());
    user.herm(&["rm", "k"]);
    docker(&["volume", "create", &volume]);
    let refused = user.herm(&["exec", "--key", "k", "-c", "true"]);
    assert!(
        refused.code == Some(2) && refused.err.contains("is not ours"),
        "{refused:?}"
    );
    let state = format!("label=herm.state={}", user.state().join("docker").display());
    let left = docker(&["volume", "ls", "--quiet", "--filter", &state]).out;
    assert_eq!(left, "", "an opening that was refused leaves nothing");
    user.herm(&["rm", "k"]);
    assert_eq!(docker(&["volume", "rm", &volume]).code, Some(0), "it was removed");
    // A volume of a name that is asked for with other options is not what is asked for.
    let other = format!("{volume}-other");
    docker(&["volume", "create", &other]);
    let mount = format!(
        "  docker_extra_args: [--mount, \"type=volume,src={other},dst=/x,volume-opt=type=tmpfs,volume-opt=device=tmpfs,volume-opt=o=size=1m\"]\n"
    );
    user.set(&mount);
    let refused = user.herm(&["exec", "-c", "true"]);
    assert!(
        refused.code == Some(2) && refused.err.contains("other options"),
        "{refused:?}"
    );
    docker(&["volume", "rm", &other]);
    // One that was made so is, each time.
    for _ in 0..2 {
        let seen = user.herm(&["exec", "-c", "grep -c ' /x tmpfs ' /proc/mounts"]);
        assert_eq!(seen.out, "1\n", "{seen:?}");
    }
    assert_eq!(docker(&["volume", "rm", &other]).code, Some(0));
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn whoever_is_killed_while_another_takes_the_place_of_one_loses_nothing() {
    let user = User::new("");
    for round in 0..8_u64 {
        user.set("");
        let text = format!("mkdir -p /srv; echo {round} > /srv/file");
        let seen = user.herm(&["exec", "--key", "k", "-c", &text]);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        user.set("  container_memory: 700\n");
        let mut child = user
            .command(&["exec", "--key", "k", "-c", "true"])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(30 + round * 40));
        child.kill().unwrap();
        child.wait().unwrap();
        std::thread::sleep(Duration::from_millis(500));
        user.set("");
        let seen = user.herm(&["exec", "--key", "k", "-c", "cat /srv/file"]);
        // It is there, or it is told what has become of it.
        let is_told = seen.err.contains("was replaced");
        assert!(seen.out == format!("{round}\n") || is_told, "{round}: {seen:?}");
        let named = format!("name={}", user.container());
        let all = docker(&["ps", "--all", "--quiet", "--filter", &named]).out;
        assert_eq!(all.lines().count(), 1, "{round}: {all}");
    }
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn who_commands_run_as_owns_what_is_kept() {
    let user = User::new("  docker_extra_args: [\"--user=1234:106\"]\n");
    let seen = user.herm(&[
        "exec",
        "--key",
        "k",
        "-c",
        "touch /root/a /workspace/b && id -u && ls /root",
    ]);
    assert_eq!((seen.code, seen.out.as_str()), (Some(0), "1234\na\n"), "{seen:?}");
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn values_of_variables_are_in_nothing_that_the_engine_keeps() {
    let user = User::new("  docker_env: {PLAIN: s3cret-1, API_TOKEN: s3cret-2}\n");
    let seen = user.herm(&["exec", "--key", "k", "-c", "echo $PLAIN $API_TOKEN"]);
    assert_eq!(seen.out, "s3cret-1 s3cret-2\n", "{seen:?}");
    let container = user.container();
    assert!(!docker(&["inspect", &container]).out.contains("s3cret"));
    // Nor does a check of the image's, which the first process would start with all that it has.
    let health = docker(&["inspect", "--format", "{{.Config.Healthcheck.Test}}", &container]).out;
    assert_eq!(health, "[NONE]\n");
    // Other values need no other container.
    let id = docker(&["inspect", "--format", "{{.Id}}", &container]).out;
    user.set("  docker_env: {PLAIN: other}\n");
    let seen = user.herm(&["exec", "--key", "k", "-c", "echo $PLAIN"]);
    assert_eq!((seen.out.as_str(), seen.err.as_str()), ("other\n", ""));
    assert_eq!(docker(&["inspect", "--format", "{{.Id}}", &container]).out, id);
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn commands_that_were_waited_for_leave_no_jobs() {
    let user = User::new("");
    for _ in 0..20 {
        let seen = user.herm(&[
            "exec",
            "--key",
            "k",
            "-c",
            "head -c 100000 /dev/zero | tr '\\0' x",
        ]);
        assert_eq!(seen.out.len(), 100_000, "{:?}", seen.err);
    }
    assert_eq!(user.herm(&["jobs", "k"]).out, "no job\n");
}

#[test]
#[ignore = "needs an engine: ci/docker runs it"]
fn what_a_killed_first_opening_has_made_is_listed() {
    let user = User::new("");
    for number in 0..8_u64 {
        let key = format!("k{number}");
        let mut child = user
            .command(&["exec", "--key", &key, "-c", "true"])
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(120 + number * 40));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    // What the engine was asked for is made all the same.
    std::thread::sleep(Duration::from_secs(1));
    let listed = user.herm(&["ps", "--json"]).out;
    let state = format!("label=herm.state={}", user.state().join("docker").display());
    let made = docker(&[
        "ps",
        "--all",
        "--filter",
        &state,
        "--filter",
        "label=herm.kept",
        "--format",
        "{{.Names}}",
    ])
    .out;
    for container in made.lines() {
        assert!(listed.contains(container), "{container} is not in {listed}");
    }
    eventually("all of it to go", || {
        let reaped = user.herm(&["reap", "--ended-for", "0"]);
        assert_eq!(reaped.code, Some(0), "{reaped:?}");
        for number in 0..8 {
            user.herm(&["rm", &format!("k{number}")]);
        }
        docker(&["ps", "--all", "--quiet", "--filter", &state])
            .out
            .is_empty()
            && docker(&["volume", "ls", "--quiet", "--filter", &state])
                .out
                .is_empty()
    });
}
