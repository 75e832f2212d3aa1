//! Which process has made something, so that whoever finds it later can tell whether that is still there.

use std::{fmt, fs, path::Path, str::FromStr};

/// A process, named for ever: its number is given to others when it has gone, and means nothing in another namespace or after
/// a start of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maker {
    boot: String,
    namespace: String,
    pid: u32,
    /// When it started, in clock ticks since the machine did.
    started: u64,
}

/// What is known of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whereabouts {
    /// It runs.
    There,
    /// It has ended.
    Gone,
    /// It cannot be seen from here.
    Unseen,
}

impl Maker {
    /// This process; none where `/proc` does not tell.
    #[must_use]
    pub fn this_process() -> Option<Self> {
        let pid = std::process::id();
        Some(Self {
            boot: boot()?,
            namespace: namespace()?,
            pid,
            started: started(pid)?,
        })
    }

    /// Whether it is there.
    #[must_use]
    pub fn whereabouts(&self) -> Whereabouts {
        match (boot(), namespace()) {
            (Some(boot), _) if boot != self.boot => Whereabouts::Gone,
            (Some(_), Some(namespace)) if namespace == self.namespace => {
                if started(self.pid) == Some(self.started) {
                    Whereabouts::There
                } else {
                    Whereabouts::Gone
                }
            }
            _ => Whereabouts::Unseen,
        }
    }
}

impl fmt::Display for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            boot,
            namespace,
            pid,
            started,
        } = self;
        write!(f, "{boot}/{namespace}/{pid}/{started}")
    }
}

impl FromStr for Maker {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split('/').collect();
        let [boot, namespace, pid, started] = parts.as_slice() else {
            return Err("it has not four parts");
        };
        let no_number = "it has no number of a process";
        Ok(Self {
            boot: (*boot).to_owned(),
            namespace: (*namespace).to_owned(),
            pid: pid.parse().map_err(|_| no_number)?,
            started: started.parse().map_err(|_| no_number)?,
        })
    }
}

/// Which start of the machine this is.
fn boot() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// The namespace whose numbers of processes these are.
fn namespace() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    let text = link.to_str()?;
    let number = text.strip_prefix("pid:[")?.strip_suffix(']')?;
    Some(number.to_owned())
}

/// When a process started that has not ended (`proc_pid_stat(5)`); its name, in parentheses, may hold anything.
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read(Path::new("/proc").join(pid.to_string()).join("stat")).ok()?;
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let text = std::str::from_utf8(&stat[after_name..]).ok()?;
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    if matches!(fields.first(), Some(&("Z" | "X" | "x"))) {
        return None;
    }
    fields.get(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn this_process_is_there_and_one_that_was_reaped_is_gone() {
        let own = Maker::this_process().unwrap();
        assert_eq!(own.to_string().parse(), Ok(own.clone()));
        assert_eq!(own.whereabouts(), Whereabouts::There);
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let other = Maker {
            pid: child.id(),
            started: started(child.id()).unwrap(),
            ..own.clone()
        };
        assert_eq!(other.whereabouts(), Whereabouts::There);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(other.whereabouts(), Whereabouts::Gone);
        let successor = Maker {
            started: own.started + 1,
            ..own.clone()
        };
        assert_eq!(
            successor.whereabouts(),
            Whereabouts::Gone,
            "its number was given on"
        );
        let of_before = Maker {
            boot: "another".into(),
            ..own.clone()
        };
        assert_eq!(of_before.whereabouts(), Whereabouts::Gone);
        let elsewhere = Maker {
            namespace: "1".into(),
            ..own
        };
        assert_eq!(elsewhere.whereabouts(), Whereabouts::Unseen);
        for text in ["", "a/b/c", "a/b/c/d", "a/b/1/2/3"] {
            assert!(text.parse::<Maker>().is_err(), "{text}");
        }
    }
}
