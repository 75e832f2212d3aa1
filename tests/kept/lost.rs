//! Sandboxes whose resident, directory or socket is taken away: nothing lives on unseen, and nothing is removed that lives.

use std::{fs, time::Duration, time::Instant};

use crate::support::{Kept, kill, processes, sleepers};

/// Waits until something holds.
fn until(what: &str, such: impl Fn() -> bool) {
    let began = Instant::now();
    while !such() {
        assert!(began.elapsed() < Duration::from_secs(20), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn lives(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit(')').next().unwrap().starts_with(" Z"))
}

/// Jobs of a sandbox: one in its directory, one that went elsewhere, one that forgot all variables. Their numbers.
fn jobs(kept: &Kept) -> Vec<u32> {
    let text = "echo $$ > a; exec sleep 600";
    kept.herm(&["exec", "--key", "k", "--detach", "-c", text]).ok();
    let text = "W=$PWD; cd /; setsid sh -c 'echo $$ > \"$0\"; exec sleep 600' \"$W/b\" & wait";
    kept.herm(&["exec", "--key", "k", "--detach", "-c", text]).ok();
    let text = "echo $$ > c; exec env -i sleep 600";
    kept.herm(&["exec", "--key", "k", "--detach", "-c", text]).ok();
    let work = kept.work("k");
    let number = |name: &str| {
        fs::read_to_string(work.join(name))
            .unwrap_or_default()
            .trim()
            .parse()
            .ok()
    };
    until("the jobs run", || {
        ["a", "b", "c"].iter().all(|name| number(name).is_some())
    });
    ["a", "b", "c"].iter().filter_map(|name| number(name)).collect()
}

/// Everything that runs the program of a sandbox's resident.
fn of_the_resident(kept: &Kept) -> Vec<u32> {
    let home = kept.work("k").parent().unwrap().join("resident");
    processes(|pid| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.starts_with(home.to_string_lossy().as_bytes())
    })
}

/// Kills everything that runs the program of a sandbox's resident, all at once: what notices ends, with its job.
fn kill_the_resident(kept: &Kept) {
    let residents = of_the_resident(kept);
    for stopped in &residents {
        crate::support::signal(*stopped, "STOP");
    }
    for killed in residents {
        kill(killed);
    }
}

fn living(processes: &[u32]) -> Vec<u32> {
    processes.iter().copied().filter(|pid| lives(*pid)).collect()
}

#[test]
fn what_is_removed_is_gone_although_its_resident_cannot_be_asked() {
    for taken in ["socket", "secret"] {
        let kept = Kept::new();
        let jobs = jobs(&kept);
        let residents = of_the_resident(&kept);
        assert!(!residents.is_empty() && living(&jobs) == jobs);
        let work = kept.work("k");
        fs::remove_file(work.parent().unwrap().join("resident").join(taken)).unwrap();
        kept.herm(&["rm", "k"]).ok();
        assert_eq!(living(&jobs), Vec::<u32>::new(), "without its {taken}");
        assert_eq!(living(&residents), Vec::<u32>::new(), "without its {taken}");
        assert!(!work.exists());
    }
}

#[test]
fn what_is_removed_is_gone_although_every_process_of_its_resident_was_killed() {
    let kept = Kept::new();
    let jobs = jobs(&kept);
    let work = kept.work("k");
    kill_the_resident(&kept);
    assert_eq!(living(&jobs), jobs);
    kept.herm(&["rm", "k"]).ok();
    assert_eq!(living(&jobs), Vec::<u32>::new());
    assert!(!work.exists());
}

#[test]
fn what_ran_before_is_gone_when_a_key_is_opened_again() {
    let kept = Kept::new();
    let jobs = jobs(&kept);
    kill_the_resident(&kept);
    let again = kept.herm(&["exec", "--key", "k", "-c", "cat a"]);
    assert_eq!(again.text().trim(), jobs[0].to_string(), "{again:?}");
    assert!(again.complaint().contains("ended from outside"), "{again:?}");
    assert_eq!(living(&jobs), Vec::<u32>::new());
}

#[test]
fn what_runs_in_a_sandbox_whose_directory_was_removed_ends_by_itself() {
    let kept = Kept::new();
    let jobs = jobs(&kept);
    let residents = of_the_resident(&kept);
    fs::remove_dir_all(kept.work("k").parent().unwrap()).unwrap();
    until("everything is gone", || {
        living(&jobs).is_empty() && living(&residents).is_empty()
    });
}

#[test]
fn a_key_whose_directory_was_removed_is_not_opened_twice() {
    for act in [&["exec", "--key", "k", "-c", "true"][..], &["rm", "k"]] {
        let kept = Kept::new();
        let jobs = jobs(&kept);
        fs::remove_dir_all(kept.work("k").parent().unwrap()).unwrap();
        kept.herm(act).ok();
        assert_eq!(living(&jobs), Vec::<u32>::new(), "{act:?}");
    }
}

#[test]
fn a_terminal_in_the_directory_of_a_lost_sandbox_is_named_and_spared() {
    let kept = Kept::new();
    kept.herm(&["exec", "--key", "k", "-c", "true"]).ok();
    let work = kept.work("k");
    kill_the_resident(&kept);
    // A person's shell: it has a terminal, and none of the sandbox's variables.
    let mut person = std::process::Command::new("script")
        .args(["-qec", "exec sleep 600", "/dev/null"])
        .current_dir(&work)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    until("it runs", || !sleepers(&work).is_empty());
    let sleeper = sleepers(&work);
    let refused = kept.herm(&["rm", "k"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(
        refused.complaint().contains(&sleeper[0].to_string()),
        "{refused:?}"
    );
    assert!(lives(sleeper[0]) && work.exists());
    kill(sleeper[0]);
    person.wait().unwrap();
    kept.herm(&["rm", "k"]).ok();
    assert!(!work.exists());
}

/// What is run in a container has a session whose leader is outside: the system calls it 0.
#[test]
fn all_of_this_holds_where_the_leader_of_the_session_is_outside() {
    let namespace = if rustix::process::getuid().is_root() {
        &["--pid", "--fork", "--mount-proc"][..]
    } else {
        &["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    };
    let seen = std::process::Command::new("unshare")
        .args(namespace)
        .args([&std::env::current_exe().unwrap()])
        .args([
            "--exact",
            "edge::the_id_of_a_job_is_told_although_nobody_reads_it",
        ])
        .args(["lost::a_key_whose_directory_was_removed_is_not_opened_twice"])
        .args(["lost::a_terminal_in_the_directory_of_a_lost_sandbox_is_named_and_spared"])
        .args(["lost::what_is_removed_is_gone_although_every_process_of_its_resident_was_killed"])
        .args(["lost::what_is_removed_is_gone_although_its_resident_cannot_be_asked"])
        .args(["lost::what_ran_before_is_gone_when_a_key_is_opened_again"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&seen.stdout);
    assert!(seen.status.success(), "{told}");
    assert!(told.contains("6 passed"), "{told}");
}
