//! The variables that a command starts with.
//!
//! A command sees the few variables below, what the sandbox was opened with, and what the exec gives; later ones win.
//! Nothing else of this process is passed on: its environment holds the agent's secrets. On this backend that is no
//! protection against a command that looks for them, since it runs as the same user and can read this process.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
    path::Path,
};

use herm_protocol::sandbox::Variable;

/// What a command may know of this process: who and where the user is, which language, which clock. `SHELL` and `TERM`
/// are not here: no command runs in the user's own shell or on the user's terminal.
const PASSED_ON: &[&str] = &["HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER"];

/// Every variable of a locale category starts so.
const LOCALE: &str = "LC_";

/// Where programs are looked for when this process has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A command's variables.
pub(super) type Environment = BTreeMap<OsString, OsString>;

/// The variables of this process that every command sees, and those that are named besides.
pub(super) fn base(own: impl Iterator<Item = (OsString, OsString)>, besides: &[String]) -> Environment {
    let is_named = |name: &OsStr| besides.iter().any(|named| name == named.as_str());
    let mut base: Environment = own
        .filter(|(name, _)| is_passed_on(name) || is_named(name))
        .collect();
    base.entry("PATH".into()).or_insert_with(|| DEFAULT_PATH.into());
    tell_truly(&mut base, own_name());
    base
}

/// After a change of user, as `su` without a login shell makes it, these may still name the one before.
fn tell_truly(environment: &mut Environment, name: Option<OsString>) {
    let Some(name) = name else {
        return;
    };
    for variable in ["LOGNAME", "USER"] {
        if let Some(told) = environment.get_mut(OsStr::new(variable)) {
            told.clone_from(&name);
        }
    }
}

/// The name of the user that this process runs as, where the system's own list has one (`passwd(5)`).
fn own_name() -> Option<OsString> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let effective = ids.split_whitespace().nth(1)?;
    name_of(&std::fs::read("/etc/passwd").ok()?, effective)
}

fn name_of(list: &[u8], id: &str) -> Option<OsString> {
    list.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1)? == id.as_bytes()).then(|| OsStr::from_bytes(name).to_owned())
    })
}

fn is_passed_on(name: &OsStr) -> bool {
    name.as_bytes().starts_with(LOCALE.as_bytes()) || PASSED_ON.iter().any(|passed| name == *passed)
}

/// Permission bits that new files do not get, as `/proc` tells (`proc_pid_status(5)`): the system has no call that only asks.
pub(super) fn umask() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"))?;
    u32::from_str_radix(line.trim(), 8).ok()
}

/// The variables of one exec: the base, the sandbox's, the exec's, and the directory that it starts in.
pub(super) fn of_exec(base: Environment, sandbox: &[Variable], exec: &[Variable], cwd: &Path) -> Environment {
    let mut environment = base;
    for variable in sandbox.iter().chain(exec) {
        environment.insert(variable.name.to_os_string(), variable.value.to_os_string());
    }
    // A shell corrects a wrong PWD; other programs believe it.
    environment.insert("PWD".into(), cwd.into());
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(names: &[&str]) -> Environment {
        own_and(names, &[])
    }

    fn own_and(names: &[&str], besides: &[String]) -> Environment {
        let own = names.iter().map(|name| (OsString::from(name), "own".into()));
        base(own, besides)
    }

    #[test]
    fn only_what_is_named_is_passed_on() {
        let base = own(&[
            "HOME",
            "LC_ALL",
            "AWS_SECRET_ACCESS_KEY",
            "PATHS",
            "XLC_ALL",
            "PWD",
            "OLDPWD",
            "SHELL",
        ]);
        let names: Vec<_> = base.keys().map(|name| name.to_str().unwrap()).collect();
        assert_eq!(names, ["HOME", "LC_ALL", "PATH"]);
        assert_eq!(base[OsStr::new("PATH")], DEFAULT_PATH);
    }

    #[test]
    fn what_is_named_besides_is_passed_on_when_it_is_there() {
        let base = own_and(&["A", "AB"], &["A".into(), "C".into()]);
        let names: Vec<_> = base.keys().map(|name| name.to_str().unwrap()).collect();
        assert_eq!(names, ["A", "PATH"]);
    }

    #[test]
    fn the_user_is_the_one_that_runs_the_commands() {
        let list = b"root:x:0:0::/root:/bin/sh\nann:x:1000:0:Ann:/home/ann:/bin/sh\n";
        assert_eq!(name_of(list, "1000"), Some("ann".into()));
        assert_eq!(name_of(list, "100"), None);
        let mut environment = Environment::from([("USER".into(), "root".into())]);
        tell_truly(&mut environment, None);
        assert_eq!(environment[OsStr::new("USER")], "root");
        tell_truly(&mut environment, Some("ann".into()));
        assert_eq!(environment, Environment::from([("USER".into(), "ann".into())]));
    }

    #[test]
    fn the_umask_is_known() {
        assert!(umask().is_some_and(|mask| mask <= 0o777));
    }

    #[test]
    fn the_exec_wins_over_the_sandbox_and_the_sandbox_over_the_base() {
        let sandbox = [Variable::new("HOME", "sandbox"), Variable::new("A", "sandbox")];
        let exec = [Variable::new("A", "exec"), Variable::new("PWD", "/wrong")];
        let all = of_exec(own(&["HOME", "TZ"]), &sandbox, &exec, Path::new("/right"));
        let value = |name: &str| all[OsStr::new(name)].to_str().unwrap();
        assert_eq!(
            [value("TZ"), value("HOME"), value("A"), value("PWD")],
            ["own", "sandbox", "exec", "/right"]
        );
    }
}
