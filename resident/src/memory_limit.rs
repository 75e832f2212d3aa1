//! How often the kernel has killed for lack of memory in the cgroup of this process.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

/// The longest that a counter's file is read.
const LONGEST: usize = 4096;

/// The counter of the cgroup that this process is in.
#[derive(Debug)]
pub struct KillCounter(File);

impl KillCounter {
    /// Finds the counter: `memory.events` of cgroup v2 or `memory.oom_control` of v1.
    #[must_use]
    pub fn find() -> Option<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        candidates(&groups).into_iter().find_map(|path| {
            let counter = Self(File::open(path).ok()?);
            counter.read().map(|_| counter)
        })
    }

    /// How many processes were killed until now.
    #[must_use]
    pub fn read(&self) -> Option<u64> {
        let mut content = [0; LONGEST];
        let length = self.0.read_at(&mut content, 0).ok()?;
        kills(std::str::from_utf8(content.get(..length)?).ok()?)
    }
}

/// Where the counter may be: first the path as it is seen from here, then the root of what is mounted, which is the group's
/// own directory in a container.
fn candidates(groups: &str) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (fields.next(), fields.next()) else {
            continue;
        };
        let (roots, file): (&[&str], _) = if controllers.is_empty() {
            (&["/sys/fs/cgroup", "/sys/fs/cgroup/unified"], "memory.events")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            (&["/sys/fs/cgroup/memory"], "memory.oom_control")
        } else {
            continue;
        };
        for root in roots {
            let root = Path::new(root);
            paths.push(root.join(group.trim_start_matches('/')).join(file));
            paths.push(root.join(file));
        }
    }
    paths
}

fn kills(content: &str) -> Option<u64> {
    let count = content.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
    count.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_found_and_read() {
        let unified = candidates("0::/a/b\n");
        assert_eq!(unified[0], Path::new("/sys/fs/cgroup/a/b/memory.events"));
        assert_eq!(unified[1], Path::new("/sys/fs/cgroup/memory.events"));
        let first = candidates("7:pids:/x\n4:cpu,memory:/docker/1\n");
        assert_eq!(
            first[0],
            Path::new("/sys/fs/cgroup/memory/docker/1/memory.oom_control")
        );
        assert_eq!(first[1], Path::new("/sys/fs/cgroup/memory/memory.oom_control"));
        assert_eq!(kills("low 0\nhigh 0\nmax 5\noom 2\noom_kill 3\n"), Some(3));
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 0\noom_kill 12\n"), Some(12));
        assert_eq!(kills("oom_kill_disable 0\nunder_oom 0\n"), None);
    }
}
