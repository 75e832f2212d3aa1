//! Which process is the resident, as the system knows it.

use std::{io, os::fd::OwnedFd, sync::Arc};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};

/// Characters of a container's id.
const CONTAINER_ID: usize = 64;

/// Which process is the resident.
#[derive(Clone, Debug)]
pub struct Expected(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// Held, so that its number cannot become that of another one.
    Process { pid: i32, handle: Arc<OwnedFd> },
    /// Process 1 of a container whose number is not known.
    Container { id: String },
}

impl Expected {
    /// The process of that number, as this namespace counts, which is running now.
    ///
    /// # Errors
    /// There is none, or the system cannot hold it (it takes Linux 5.3).
    pub fn process(pid: i32) -> io::Result<Self> {
        let no_number = || io::Error::new(io::ErrorKind::InvalidInput, format!("{pid} is no process"));
        let number = (pid > 0)
            .then(|| Pid::from_raw(pid))
            .flatten()
            .ok_or_else(no_number)?;
        let handle = pidfd_open(number, PidfdFlags::empty()).map_err(|error| {
            io::Error::new(error.kind(), format!("failed to hold process {pid}: {error}"))
        })?;
        Ok(Self(Kind::Process {
            pid,
            handle: Arc::new(handle),
        }))
    }

    /// Process 1 of the container of that full id, where its number is not known.
    ///
    /// # Errors
    /// That is no id of a container.
    pub fn container(id: &str) -> io::Result<Self> {
        if !is_container_id(id) {
            let message = format!("{id:?} is no id of a container; give all its {CONTAINER_ID} characters");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        Ok(Self(Kind::Container { id: id.to_owned() }))
    }

    /// Whether it can still be there.
    pub(super) fn is_there(&self) -> Result<(), String> {
        match &self.0 {
            Kind::Process { pid, handle } if has_ended(handle) => Err(format!("process {pid} has ended")),
            _ => Ok(()),
        }
    }

    /// Whether the process of that number is the one.
    pub(super) async fn is(&self, peer: i32) -> bool {
        match &self.0 {
            Kind::Process { pid, handle } => peer == *pid && !has_ended(handle),
            Kind::Container { id } => is_first_of(peer, id).await.unwrap_or(false),
        }
    }
}

/// Such a descriptor can be read when the process has ended (`pidfd_open(2)`).
fn has_ended(handle: &OwnedFd) -> bool {
    let mut watched = [PollFd::new(handle, PollFlags::IN)];
    !matches!(poll(&mut watched, Some(&Timespec::default())), Ok(0))
}

/// Whether a process is in that container, and the first one of it.
async fn is_first_of(peer: i32, id: &str) -> io::Result<bool> {
    let status = tokio::fs::read_to_string(format!("/proc/{peer}/status")).await?;
    let groups = tokio::fs::read_to_string(format!("/proc/{peer}/cgroup")).await?;
    let own = tokio::fs::read_to_string("/proc/self/cgroup").await?;
    Ok(is_first(&status) && container(&groups, &own).is_some_and(|found| found == id))
}

/// Whether it is process 1 of a namespace directly below this one, and not of one that it has made itself (proc(5), `NSpid`).
fn is_first(status: &str) -> bool {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    numbers.is_some_and(|numbers| {
        let numbers: Vec<_> = numbers.split_ascii_whitespace().collect();
        numbers.len() == 2 && numbers[1] == "1"
    })
}

/// The container that a process is in by its control groups (`/proc/PID/cgroup`): the outermost that this process is not in,
/// too. What is below it, the container itself may have named. Groups that do not agree tell nothing.
fn container<'a>(groups: &'a str, own: &str) -> Option<&'a str> {
    let own: Vec<&str> = own.lines().flat_map(ids).collect();
    let mut found = groups
        .lines()
        .filter_map(|line| ids(line).find(|id| !own.contains(id)));
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// The ids in the path of a control group: `/docker/ID`, `/system.slice/docker-ID.scope`, `/machine.slice/libpod-ID.scope`.
fn ids(line: &str) -> impl Iterator<Item = &str> {
    let path = line.splitn(3, ':').nth(2).unwrap_or_default();
    path.split('/').filter_map(|part| {
        let part = part.strip_suffix(".scope").unwrap_or(part);
        let id = part.rsplit_once('-').map_or(part, |(_, id)| id);
        is_container_id(id).then_some(id)
    })
}

fn is_container_id(text: &str) -> bool {
    text.len() == CONTAINER_ID
        && text
            .bytes()
            .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: char) -> String {
        digit.to_string().repeat(CONTAINER_ID)
    }

    #[test]
    fn a_container_is_known_by_its_control_group() {
        let (ours, theirs) = (id('a'), id('b'));
        for group in [
            format!("0::/docker/{ours}"),
            format!("0::/system.slice/docker-{ours}.scope"),
            format!("0::/machine.slice/libpod-{ours}.scope/container"),
            format!("12:pids:/docker/{ours}\n11:memory:/docker/{ours}\n1:name=systemd:/"),
            // What a container calls its own groups counts for nothing.
            format!("0::/docker/{ours}/{theirs}"),
        ] {
            assert_eq!(container(&group, "0::/"), Some(ours.as_str()), "{group}");
        }
        // Seen from within a container that runs others.
        let nested = format!("0::/docker/{theirs}/docker/{ours}");
        assert_eq!(
            container(&nested, &format!("0::/docker/{theirs}")),
            Some(ours.as_str())
        );
        for group in [
            "0::/".to_owned(),
            "0::/user.slice/session-1.scope".to_owned(),
            format!("12:pids:/docker/{ours}\n11:memory:/docker/{theirs}"),
        ] {
            assert_eq!(container(&group, "0::/"), None, "{group}");
        }
        assert!(Expected::container("abc").is_err());
        assert!(Expected::container(&ours).is_ok());
    }

    #[test]
    fn only_the_first_process_of_the_namespace_below_counts() {
        assert!(is_first("Name:\tx\nNSpid:\t4711\t1\n"));
        for other in [
            "NSpid:\t1\n",
            "NSpid:\t4711\t7\n",
            "NSpid:\t4711\t7\t1\n",
            "Name:\tx\n",
        ] {
            assert!(!is_first(other), "{other}");
        }
    }

    #[tokio::test]
    async fn a_process_is_itself_until_it_ends() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let expected = Expected::process(pid).unwrap();
        assert!(expected.is(pid).await);
        assert!(!expected.is(pid + 1).await);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!expected.is(pid).await);
        assert!(expected.is_there().unwrap_err().contains("has ended"));
        assert!(Expected::process(0).is_err());
        assert!(Expected::process(-1).is_err());
    }
}
