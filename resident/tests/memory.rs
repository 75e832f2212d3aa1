//! A kill for lack of memory is told as what it was.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as the tests do")]

#[expect(dead_code, reason = "shared by several tests, each of which uses a part")]
mod support;

use std::{
    fs,
    path::{Path, PathBuf},
};

use herm_resident::wire::{Outcome, SignalCause, Start};
use support::{Resident, argv, shell};

/// A cgroup with little memory, where the test may make one.
struct LittleMemory(PathBuf);

impl LittleMemory {
    fn make() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = groups.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            let root = match controllers {
                "" => Path::new("/sys/fs/cgroup"),
                "memory" => Path::new("/sys/fs/cgroup/memory"),
                _ => return None,
            };
            let own = root.join(path.trim_start_matches('/'));
            (own.join("memory.max").exists() || own.join("memory.limit_in_bytes").exists()).then_some(own)
        })?;
        let group = own.join(format!("herm-resident-test-{}", std::process::id()));
        fs::create_dir(&group).ok()?;
        let made = Self(group);
        let limited = ["memory.max", "memory.limit_in_bytes"].iter().any(|name| {
            let file = made.0.join(name);
            file.exists() && fs::write(file, "50000000").is_ok()
        });
        // Swap would only delay it; where it cannot be limited, there may be none.
        let _ = fs::write(made.0.join("memory.swap.max"), "0");
        limited.then_some(made)
    }
}

impl Drop for LittleMemory {
    fn drop(&mut self) {
        support::eventually("an empty cgroup", || fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
fn a_kill_for_lack_of_memory_is_told() {
    let Some(group) = LittleMemory::make() else {
        println!("skipped: no cgroup with a limit on memory can be made here");
        return;
    };
    let resident = Resident::prepare();
    let text = format!(
        "echo $$ > '{}/cgroup.procs' && exec '{}' daemon '{}'",
        group.0.display(),
        support::program().display(),
        resident.directory().display()
    );
    assert!(
        std::process::Command::new("bash")
            .args(["-c", &text])
            .status()
            .unwrap()
            .success()
    );
    let mut client = resident.client();
    assert!(client.welcome.as_ref().unwrap().out_of_memory_told);
    let limit = |start: Start| Start {
        deadline_ms: 20_000,
        ..start
    };
    let killed = client.run(limit(argv(&["tail", "/dev/zero"])));
    let expected = Outcome::Signaled {
        number: 9,
        cause: SignalCause::OutOfMemory,
    };
    assert_eq!(killed.ending.outcome, expected, "{killed:?}");
    // The shell lives, and reports its program's death in its own way; that memory ran out is said besides.
    let below = client.run(limit(shell("tail /dev/zero; exit $?")));
    below.assert_exited(137);
    assert_eq!(below.ending.notices.len(), 1, "{below:?}");
    let other = client.run(shell("kill -9 $$"));
    assert_eq!(
        other.ending.outcome,
        Outcome::Signaled {
            number: 9,
            cause: SignalCause::Unknown
        }
    );
    client.shell("exit 4").assert_exited(4);
    drop(client);
    drop(resident);
}
