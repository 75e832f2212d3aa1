//! PRIV: what a command may not do, whoever it runs as.

use std::time::Duration;

use herm_protocol::{
    ByteString,
    exec::{Command, Outcome, RunParams, Stream},
};

use super::{LOOKED, host, told};
use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::{
        composed::unknown,
        exec::job,
        general::{expect_outcome, show},
    },
};

/// Shell text that tells what the kernel says of the process that it runs in.
const STATUS: &str = "cat /proc/self/status; echo looked";

/// Capabilities that act on a sandbox's own files, users and ports, and on nothing beyond: CHOWN, `DAC_OVERRIDE`, FOWNER,
/// FSETID, KILL, SETGID, SETUID, SETPCAP, `NET_BIND_SERVICE`, `SYS_CHROOT`, `AUDIT_WRITE`, SETFCAP
/// (<https://man7.org/linux/man-pages/man7/capabilities.7.html>).
const WITHIN: u64 =
    1 | 1 << 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 18 | 1 << 29 | 1 << 31;

/// The names of capabilities, each in the place of its number.
const NAMES: [&str; 41] = [
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
];

/// The sets of capabilities that a process has, as the kernel calls them.
const SETS: [&str; 5] = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];

/// How many processes a command tries to start: more than a limit of 64 leaves room for.
const MANY: u32 = 160;

/// Where a program lies in memory, and where its code begins in its file.
const BASE: u64 = 0x40_0000;
const HEADERS: u64 = 64 + 56;

/// How long it may take to find out that no more processes can be started: some shells try again for seconds.
const FINDS_OUT: Duration = Duration::from_mins(1);

/// Sockets through which whoever reaches them has a container engine, and with it its host.
const ENGINES: [&str; 7] = [
    "docker.sock",
    "containerd.sock",
    "podman.sock",
    "crio.sock",
    "buildkitd.sock",
    "libvirt-sock",
    "dockershim.sock",
];

/// Shell text that reads one byte of `$f`, and no more.
const ONE_BYTE: &str = "[ \"$(dd if=\"$f\" bs=1 count=1 2>/dev/null | wc -c)\" -eq 1 ]";

/// Where a program can be put that others may run.
const PLACES: [&str; 4] = [".", "/tmp", "/var/tmp", "/dev/shm"];

/// Has a command tell what it may do.
pub(super) async fn tell(scene: &mut Scene) -> StepResult {
    let params = scene.command(STATUS).await?;
    run(scene, &params).await
}

/// Has a command of a user tell what it may do.
pub(crate) async fn tell_by_user(scene: &mut Scene, user: String) -> StepResult {
    let params = RunParams {
        user: Some(user),
        ..scene.command(STATUS).await?
    };
    run(scene, &params).await
}

/// Has a program that no shell starts tell what it may do.
pub(crate) async fn tell_by_program(scene: &mut Scene) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let words = ["sh", "-c", STATUS].map(ByteString::from);
    let params = scene.command_in(&sandbox, Command::Argv(words.to_vec()));
    run(scene, &params).await
}

/// Has a command of a session tell what it may do.
pub(crate) async fn tell_in_session(scene: &mut Scene) -> StepResult {
    let params = RunParams {
        session: Some(scene.token()),
        ..scene.command(STATUS).await?
    };
    run(scene, &params).await
}

/// Has a job tell what it may do.
pub(crate) async fn tell_by_job(scene: &mut Scene) -> StepResult {
    scene.notes.content = Some(job::printed_by(scene, STATUS.into()).await?);
    Ok(())
}

/// Runs a command that has to come to its end, and keeps what it has printed.
async fn run(scene: &mut Scene, params: &RunParams) -> StepResult {
    scene.run(params).await?;
    expect_outcome(scene, &Outcome::Exited { code: 0 })?;
    scene.notes.content = Some(scene.record()?.bytes(Stream::Stdout));
    Ok(())
}

/// What the kernel has told under a name.
fn of_status(scene: &Scene, name: &str) -> Result<String, Failure> {
    let status = told(&scene.notes.content.clone().unwrap_or_default())?;
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.map(|value| value.trim().to_owned()).ok_or_else(|| {
        Failure::inconclusive(format!(
            "the sandbox's kernel does not tell {name} of a process in /proc/self/status"
        ))
    })
}

/// The process has no capability that reaches beyond its sandbox, and cannot get one.
pub(super) fn without_capabilities(scene: &Scene) -> StepResult {
    let expected = "no capability that reaches beyond the sandbox, in any set of the process";
    has_only(scene, WITHIN, expected)
}

/// The process has only those capabilities, and cannot get others.
pub(super) fn has_no_more_than(scene: &Scene, names: &[String]) -> StepResult {
    let number = |name: &String| NAMES.iter().position(|known| known == name);
    let bits = names
        .iter()
        .filter_map(number)
        .fold(0, |bits, number| bits | 1 << number);
    let expected = format!("no capability but {} in any set of the process", names.join(" "));
    has_only(scene, bits, &expected)
}

fn has_only(scene: &Scene, allowed: u64, expected: &str) -> StepResult {
    let mut left = Vec::new();
    for set in SETS {
        let value = of_status(scene, set)?;
        let bits = u64::from_str_radix(&value, 16)
            .map_err(|_| Failure::failed("a number of a set of capabilities", format!("{set} {value:?}")))?;
        let beyond = (0..u64::BITS).filter(|bit| bits & !allowed & 1 << bit != 0);
        let names = beyond.map(|bit| {
            let name = NAMES.get(bit as usize);
            name.map_or_else(|| bit.to_string(), |name| (*name).to_owned())
        });
        let names: Vec<_> = names.collect();
        if !names.is_empty() {
            left.push(format!("{set}: {}", names.join(" ")));
        }
    }
    if left.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(expected, left.join("; ")))
}

/// The kernel was told to give the process nothing more.
pub(super) fn without_more(scene: &Scene) -> StepResult {
    match of_status(scene, "NoNewPrivs")?.as_str() {
        "1" => Ok(()),
        other => Err(Failure::failed("NoNewPrivs to be 1", format!("{other:?}"))),
    }
}

/// Something looks at each call to the kernel.
pub(super) fn filtered(scene: &Scene) -> StepResult {
    match of_status(scene, "Seccomp")?.as_str() {
        "2" => Ok(()),
        other => Err(Failure::failed(
            "Seccomp to be 2, which is a filter",
            format!("{other:?}"),
        )),
    }
}

/// Has a command try something that it may not do, as root where a user can be named.
pub(super) async fn attempt(scene: &mut Scene, what: &str) -> StepResult {
    let text = match what {
        "give a file away, and to become who it belongs to" => give_away(),
        "gain privileges by a program of root's" => return gain(scene).await,
        "start more processes than that" => return start_many(scene).await,
        "end the first process" => "kill -s KILL 1; kill -s STOP 1; sleep 0.2; echo looked".to_owned(),
        "read the disks of its machine" => read_disks(scene),
        "find the socket of an engine" => find_engines(),
        other => match opened(other) {
            Some(text) => text,
            None => act(scene, other).await?,
        },
    };
    let mut params = scene.command(text).await?;
    if scene.declares("user").await? {
        params.user = Some("root".into());
    }
    scene.run_within(&params, scene.scaled(host::THROUGH_ALL)).await?;
    scene.notes.content = Some(scene.record()?.bytes(Stream::Stdout));
    Ok(())
}

/// Shell text for something that only root can do, and only with a capability that reaches beyond a sandbox. Where it can
/// be done, it changes nothing for long.
async fn act(scene: &mut Scene, what: &str) -> Result<String, Failure> {
    let place = scene.new_path("place").await?;
    let place = shell::word(place.as_bytes());
    let (tool, text) = match what {
        "mount a file system" => (
            "mount",
            format!("mkdir {place} && mount -t tmpfs none {place} && umount {place}"),
        ),
        "make a device" => ("mknod", format!("mknod {place} c 1 3 && rm -f {place}")),
        // Some tools that cannot do it say so and end with 0.
        "set the clock" => (
            "date",
            format!("date -s \"@$(date +%s)\" 2> {place} && [ ! -s {place} ]"),
        ),
        "rename its machine" => ("hostname", "hostname \"$(hostname)\"".to_owned()),
        "change its network" => (
            "ip",
            "ip addr add 127.7.7.7/32 dev lo && ip addr del 127.7.7.7/32 dev lo".to_owned(),
        ),
        other => return Err(unknown(other, "tried")),
    };
    Ok(format!(
        "if ! command -v {tool} >/dev/null; then echo missing {tool}; elif {{ {text}; }} >/dev/null 2>&1; then echo done by {tool}; fi; echo looked"
    ))
}

/// Shell text that opens what belongs to the kernel, and changes nothing: files are opened to be written at their end.
fn opened(what: &str) -> Option<String> {
    let (files, open) = match what {
        "read the memory of the kernel" => ("/proc/kcore /dev/mem /dev/kmem", ONE_BYTE),
        "press the keys that the kernel listens to" => ("/proc/sysrq-trigger", ": >> \"$f\""),
        "change the settings of the kernel" => (
            "/proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/kernel/sysrq /proc/sys/kernel/hostname \
             /proc/sys/vm/panic_on_oom /proc/sys/fs/binfmt_misc/register",
            ": >> \"$f\"",
        ),
        "change what the kernel does with its machine" => (
            "/sys/power/state /sys/kernel/uevent_helper /sys/kernel/mm/transparent_hugepage/enabled \
             /sys/module/*/parameters/* /sys/block/*/queue/scheduler \
             /sys/fs/cgroup/release_agent /sys/fs/cgroup/*/release_agent",
            ": >> \"$f\"",
        ),
        _ => return None,
    };
    Some(format!(
        "for f in {files}; do if [ -e \"$f\" ] && ( {open} ) 2>/dev/null; then echo \"done $f\"; fi; done; echo looked"
    ))
}

/// Shell text that reads a byte of each disk that is there, or that can be made of what the kernel tells.
fn read_disks(scene: &mut Scene) -> String {
    let node = scene.token();
    format!(
        "{{ find /dev -type b | while read -r f; do {ONE_BYTE} && echo \"done $f\"; done\n\
         f={node}; while read -r major minor blocks name; do case $major in [0-9]*)\n\
         mknod \"$f\" b \"$major\" \"$minor\" && {ONE_BYTE} && echo \"done $name\"; rm -f \"$f\";; esac; done < /proc/partitions; }} 2>/dev/null\n\
         echo looked"
    )
}

/// Shell text that looks for sockets of engines, by their names.
fn find_engines() -> String {
    let names: Vec<String> = ENGINES.iter().map(|name| format!("-name {name}")).collect();
    format!(
        "find / \\( -path /proc -o -path /sys \\) -prune -o ! -type d \\( {} \\) -print 2>/dev/null | sed 's/^/done /'; echo looked",
        names.join(" -o ")
    )
}

/// Shell text for what images do that begin as root and go on as somebody else.
fn give_away() -> String {
    "command -v su >/dev/null || { echo missing su; echo looked; exit; }\n\
     f=own-$$ && echo own > \"$f\" && chown nobody \"$f\" && chmod 600 \"$f\" && [ \"$(cat \"$f\")\" = own ] && rm -f \"$f\" \
     && [ \"$(su -s /bin/sh nobody -c 'id -un')\" = nobody ] && echo managed; echo looked"
        .to_owned()
}

/// What was tried was refused, or has found nothing.
pub(super) fn in_vain(scene: &Scene) -> StepResult {
    let seen = told(&scene.notes.content.clone().unwrap_or_default())?;
    let done: Vec<&str> = seen
        .lines()
        .filter_map(|line| line.strip_prefix("done "))
        .collect();
    if !done.is_empty() {
        let done = show(done.join("; ").as_bytes());
        let expected = "it to be refused, or to find nothing";
        return Err(Failure::failed(expected, format!("it could be done: {done}")));
    }
    match seen.lines().find_map(|line| line.strip_prefix("missing ")) {
        Some(tool) => Err(Failure::inconclusive(format!("{tool} is not in the sandbox"))),
        None => Ok(()),
    }
}

/// What root has to be able to do within its sandbox could be done.
pub(super) fn managed(scene: &Scene) -> StepResult {
    let seen = told(&scene.notes.content.clone().unwrap_or_default())?;
    if let Some(tool) = seen.lines().find_map(|line| line.strip_prefix("missing ")) {
        return Err(Failure::inconclusive(format!("{tool} is not in the sandbox")));
    }
    if seen == "managed\n" {
        return Ok(());
    }
    let said = scene.record()?.bytes(Stream::Stderr);
    Err(Failure::failed(
        "root to give a file away, to read it still, and to become its new owner",
        format!("it could not; it said {}", show(&said)),
    ))
}

/// The static program that exits with the lowest byte of the number of the user that it acts as, for machines of one kind.
fn program(machine: &str) -> Option<Vec<u8>> {
    let (kind, code): (u16, &[u8]) = match machine {
        // geteuid; exit with it.
        "x86_64" => (
            62,
            &[
                0xb8, 107, 0, 0, 0, 0x0f, 0x05, 0x89, 0xc7, 0xb8, 60, 0, 0, 0, 0x0f, 0x05,
            ],
        ),
        "aarch64" => (
            183,
            &[
                0xe8, 0x15, 0x80, 0xd2, 0x01, 0, 0, 0xd4, 0xa8, 0x0b, 0x80, 0xd2, 0x01, 0, 0, 0xd4,
            ],
        ),
        _ => return None,
    };
    let size = HEADERS + code.len() as u64;
    // The header of the file, and that of its one part (<https://man7.org/linux/man-pages/man5/elf.5.html>).
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    file.extend([2_u16, kind].iter().flat_map(|half| half.to_le_bytes()));
    file.extend(1_u32.to_le_bytes());
    file.extend([BASE + HEADERS, 64, 0].iter().flat_map(|long| long.to_le_bytes()));
    file.extend(0_u32.to_le_bytes());
    file.extend(
        [64_u16, 56, 1, 64, 0, 0]
            .iter()
            .flat_map(|half| half.to_le_bytes()),
    );
    file.extend([1_u32, 5].iter().flat_map(|word| word.to_le_bytes()));
    file.extend(
        [0, BASE, BASE, size, size, 0x1000]
            .iter()
            .flat_map(|long: &u64| long.to_le_bytes()),
    );
    file.extend(code);
    Some(file)
}

/// Has root make a program that runs with the rights of its owner, which is root, and somebody else run it. What it exits
/// with is who it ran as.
async fn gain(scene: &mut Scene) -> StepResult {
    let machine = scene.prepare("uname -m").await?;
    let machine = String::from_utf8_lossy(machine.trim_ascii()).into_owned();
    let file = program(&machine)
        .ok_or_else(|| Failure::inconclusive(format!("no program is known here for {machine}")))?;
    let print = shell::print(&file);
    for place in PLACES {
        let name = scene.token();
        let make = format!(
            "cd {place} && {print} > {name} && chmod 4755 {name} && ./{name} && echo \"$(pwd -P)/{name}\""
        );
        let (outcome, printed) = as_user(scene, "root", make).await?;
        let path = String::from_utf8_lossy(printed.trim_ascii()).into_owned();
        if outcome != (Outcome::Exited { code: 0 }) || path.is_empty() {
            continue;
        }
        let word = shell::word(path.as_bytes());
        let (outcome, _) = as_user(scene, "nobody", format!("cd / && {word}")).await?;
        as_user(scene, "root", format!("rm -f {word}")).await?;
        let seen = match outcome {
            Outcome::Exited { code: 0 } => "done as root\n",
            // It could not be run there by anybody else.
            Outcome::Exited { code: 126 | 127 } => continue,
            Outcome::Exited { .. } => "",
            other => {
                return Err(Failure::inconclusive(format!(
                    "the program ended otherwise: {other}"
                )));
            }
        };
        scene.notes.content = Some([seen, LOOKED].concat().into_bytes());
        return Ok(());
    }
    Err(Failure::inconclusive(
        "no program could be put anywhere that root has made and somebody else can run",
    ))
}

/// How a command of a user ended, and what it has printed.
async fn as_user(scene: &mut Scene, user: &str, text: String) -> Result<(Outcome, Vec<u8>), Failure> {
    let params = RunParams {
        user: Some(user.into()),
        ..scene.command(text).await?
    };
    scene.run(&params).await?;
    let outcome = scene.result()?.outcome.clone();
    Ok((outcome, scene.record()?.bytes(Stream::Stdout)))
}

/// Has a command start more processes than the sandbox was opened for, and end them.
async fn start_many(scene: &mut Scene) -> StepResult {
    if let Some(refusal) = &scene.refusal {
        return Err(Failure::failed(
            "a sandbox with a limit on its processes, since that is declared",
            refusal.to_string(),
        ));
    }
    let text = format!(
        "sh -c 'trap \"kill \\$p\" EXIT; i=0; while [ $i -lt {MANY} ]; do sleep 30 </dev/null >/dev/null & p=\"$p $!\"; \
         i=$((i+1)); done; echo done with {MANY}' 2>/dev/null; echo looked"
    );
    let params = scene.command(text).await?;
    scene.run_within(&params, scene.scaled(FINDS_OUT)).await?;
    scene.notes.content = Some(scene.record()?.bytes(Stream::Stdout));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_within_has_these_names() {
        let names = (0..NAMES.len()).filter(|bit| WITHIN & 1 << bit != 0);
        let names: Vec<_> = names.map(|bit| NAMES[bit]).collect();
        assert_eq!(
            names.join(" "),
            "CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND_SERVICE SYS_CHROOT AUDIT_WRITE SETFCAP"
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_program_tells_who_it_runs_as() {
        use std::os::unix::fs::PermissionsExt as _;
        let Some(bytes) = program(std::env::consts::ARCH) else {
            return;
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let status = std::process::Command::new(&path).status().unwrap();
        let own = rustix::process::geteuid().as_raw() & 0xff;
        assert_eq!(status.code(), i32::try_from(own).ok());
    }
}
