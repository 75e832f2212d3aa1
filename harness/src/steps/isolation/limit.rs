//! LIMIT: a sandbox has what it was given, and no more.

use std::time::Duration;

use herm_protocol::{
    ErrorKind,
    client::Exec,
    exec::{Command, Outcome, SetupFailure, Stream},
    sandbox::ResourceLimits,
};
use serde_json::json;

use super::way;
use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::general::{mark_is_in_directory, new_mark, show},
};

/// Functions of a shell that use things up.
const USE_UP: &str = include_str!("limit.sh");

const MIB: u64 = 1024 * 1024;

/// How often the memory that a sandbox has is asked for: enough to be noticed also where as much again could be swapped
/// out, and little enough to do no harm to a machine where nobody enforces the limit.
const TIMES_THE_MEMORY: u64 = 4;

/// How many processes are started where there is room for 128.
const MANY: u64 = 400;

/// How many seconds a command holds what it has filled.
const HELD: u64 = 6;

/// How long a command that uses something up may take, before scaling. A shell may try for fifteen seconds to start a process.
const USED_UP: Duration = Duration::from_secs(45);

/// Ticks of the clock that processor time is counted in, in a second: the same on every Linux.
const TICKS: f64 = 100.0;

/// The least share of a processor that is about a quarter, on a machine that has other things to do.
const LEAST: f64 = 0.03;

/// The most, of two processes that could have two processors.
const MOST: f64 = 0.42;

/// Runs text after the functions, as a command that may take a while.
async fn run(scene: &mut Scene, text: &str) -> StepResult {
    let params = scene.command(format!("{USE_UP}{text}")).await?;
    let within = scene.scaled(USED_UP);
    scene.run_within(&params, within).await
}

/// What the sandbox in question was asked to have.
fn limits(scene: &Scene) -> ResourceLimits {
    scene.notes.limits.clone()
}

/// Becomes a program that takes more memory than there is.
pub(super) async fn exhaust_memory(scene: &mut Scene) -> StepResult {
    let asked = limits(scene).memory_bytes.unwrap_or_default() / MIB * TIMES_THE_MEMORY;
    let text = format!(
        "exec awk 'BEGIN {{ s = \"x\"; while (length(s) < 1048576) s = s s; for (i = 0; i < {asked}; i++) a[i] = s i }}'"
    );
    let params = scene.command(text).await?;
    let within = scene.scaled(USED_UP);
    scene.run_within(&params, within).await
}

/// Starts processes that stay until no more can be started, and lets them go.
pub(super) async fn exhaust_processes(scene: &mut Scene) -> StepResult {
    let path = shell::word(scene.new_path("many").await?.as_bytes());
    run(scene, &format!("fill {path} {MANY}; release {path}; :")).await
}

/// How many processes have told of themselves.
fn started(printed: &[u8]) -> u64 {
    let others = printed.split(|byte| *byte == b'x').count() - 1;
    others as u64
}

pub(super) fn given_most_processes(scene: &Scene) -> StepResult {
    let room = limits(scene).pids.unwrap_or_default();
    let started = started(&way::printed(scene)?);
    if (room / 2..=room).contains(&started) {
        return Ok(());
    }
    Err(Failure::failed(
        format!("from {} to {room} processes to be started", room / 2),
        format!("{started} of {MANY} were"),
    ))
}

/// Fills the room for processes, and holds it for a while.
pub(crate) async fn fill(scene: &mut Scene) -> StepResult {
    let path = shell::word(scene.new_path("many").await?.as_bytes());
    let text = format!("{USE_UP}fill {path} {MANY}; echo full; hold {HELD}; release {path}; :");
    let within = scene.scaled(USED_UP);
    let params = scene.command(text).await?;
    let mut filling = scene.start(&params).await?;
    // Processes that were started tell of themselves when they come to it.
    let full = |printed: &[u8]| printed.windows(4).any(|word| word == b"full");
    filling
        .wait_until(within, |record| full(&record.bytes(Stream::Stdout)))
        .await
        .map_err(|fault| Failure::from(fault).while_preparing())?;
    scene.running.push(filling);
    Ok(())
}

/// Runs a command while another one holds all the room for processes.
pub(crate) async fn run_without_room(scene: &mut Scene) -> StepResult {
    let mark = new_mark(scene).await?;
    let params = scene.command(mark).await?;
    scene.run(&params).await
}

/// The command that found no room has run, or it was told that there was none.
pub(super) async fn told_whether_it_ran(scene: &mut Scene) -> StepResult {
    let within = scene.scaled(USED_UP);
    if let Some(filling) = scene.running.pop() {
        filling.wait(within).await.map_err(|fault| scene.broken(fault))?;
    }
    let told = match (&scene.refusal, &scene.record()?.answer) {
        (Some(error), _) if error.kind() == ErrorKind::LimitExceeded => Some(false),
        (None, Some(Ok(result))) => match &result.outcome {
            Outcome::Exited { code: 0 } => Some(true),
            Outcome::SetupFailed {
                kind: SetupFailure::ResourcesExhausted | SetupFailure::LimitUnavailable,
                ..
            } => Some(false),
            _ => None,
        },
        _ => None,
    };
    let ran = mark_is_in_directory(scene).await?;
    if told == Some(ran) {
        return Ok(());
    }
    let seen = match (&scene.refusal, scene.record()?.result()) {
        (Some(error), _) => error.to_string(),
        (None, Some(result)) => result.outcome.to_string(),
        (None, None) => "no answer".into(),
    };
    Err(Failure::failed(
        "the command to run, or to be told that there is no room for its process",
        format!("{seen}; it has {}run", if ran { "" } else { "not " }),
    ))
}

/// Two processes are busy, and tell how much of a processor they had.
pub(super) async fn be_busy(scene: &mut Scene, seconds: u64) -> StepResult {
    let text = format!(
        "busy() {{ while :; do :; done; }}
read -r begun rest </proc/uptime; busy & a=$!; busy & b=$!; sleep {seconds}; cat /proc/$a/stat /proc/$b/stat
read -r ended rest </proc/uptime; kill -9 $a $b; echo \"$begun $ended\""
    );
    run(scene, &text).await
}

/// The share of a processor that two processes had, by what the system says of them.
fn share(told: &str) -> Option<f64> {
    let mut lines = told.lines();
    let ticks = |line: &str| -> Option<f64> {
        let mut fields = line.rsplit_once(')')?.1.split_whitespace().skip(11);
        Some(fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?)
    };
    let used = (ticks(lines.next()?)? + ticks(lines.next()?)?) / TICKS;
    let (begun, ended) = lines.next()?.split_once(' ')?;
    let took = ended.parse::<f64>().ok()? - begun.parse::<f64>().ok()?;
    (took > 0.0).then_some(used / took)
}

pub(super) fn given_a_quarter(scene: &Scene) -> StepResult {
    let told = way::printed(scene)?;
    let share = share(&String::from_utf8_lossy(&told)).ok_or_else(|| {
        Failure::inconclusive(format!(
            "the sandbox does not tell how busy its processes are: {}",
            show(&told)
        ))
    })?;
    if (LEAST..=MOST).contains(&share) {
        return Ok(());
    }
    Err(Failure::failed(
        format!("from {LEAST} to {MOST} of a processor for both"),
        format!("they had {share:.2}"),
    ))
}

/// Writes more than there is room for, tells how much is there, and removes it.
pub(super) async fn exhaust_disk(scene: &mut Scene) -> StepResult {
    let asked = limits(scene).disk_bytes.unwrap_or_default() * 2;
    let path = shell::word(scene.new_path("large").await?.as_bytes());
    let text = format!(
        "head -c {asked} /dev/zero >{path}; echo \"$? $(wc -c <{path})\"; rm -f {path}; echo again >{path} && cat {path}"
    );
    run(scene, &text).await
}

pub(super) fn told_no_room_on_disk(scene: &Scene) -> StepResult {
    let room = limits(scene).disk_bytes.unwrap_or_default();
    let printed = way::printed(scene)?;
    let printed = String::from_utf8_lossy(&printed);
    let (written, after) = printed.split_once('\n').unwrap_or_default();
    let (code, size) = written.split_once(' ').unwrap_or_default();
    let size: u64 = size.trim().parse().unwrap_or(u64::MAX);
    if code == "0" || size > room {
        return Err(Failure::failed(
            format!(
                "writing {} bytes to fail, with {room} of them there at most",
                room * 2
            ),
            format!("the code {code}, and a file of {size} bytes"),
        ));
    }
    if after != "again\n" {
        return Err(Failure::failed(
            "room for a small file once the large one is gone",
            show(after.as_bytes()),
        ));
    }
    Ok(())
}

/// Where a program can find what it was given: the files of both versions of control groups, the size of all memory, and the
/// limit on processes of a user. A line each, behind its name.
pub(super) const LIMITS: &str = "one() { if [ -r \"$2\" ]; then read -r a b <\"$2\"; echo \"$1 $a $b\"; fi; }; g=/sys/fs/cgroup
one memory $g/memory.max; one memory $g/memory/memory.limit_in_bytes
one pids $g/pids.max; one pids $g/pids/pids.max; echo \"pids $(ulimit -u 2>/dev/null)\"
one cpu $g/cpu.max; echo \"cpu $(cat $g/cpu/cpu.cfs_quota_us 2>/dev/null) $(cat $g/cpu/cpu.cfs_period_us 2>/dev/null)\"
sed -n 's/^MemTotal: *\\([0-9]*\\) kB$/total \\1/p' /proc/meminfo 2>/dev/null; :";

/// What a command tells of limits.
pub(super) fn told(what: &str) -> Option<&'static str> {
    match what {
        "its limits" => Some(LIMITS),
        "how many files it may hold open" => Some("ulimit -n"),
        _ => None,
    }
}

pub(crate) fn told_as_asked(scene: &Scene) -> StepResult {
    let printed = way::printed(scene)?;
    let told = String::from_utf8_lossy(&printed);
    if is_told(&limits(scene), &told) {
        return Ok(());
    }
    let asked = limits(scene);
    Err(Failure::failed(
        format!("{asked:?} to be seen in a control group, or as the size of the machine"),
        show(&printed),
    ))
}

/// Whether the lines of [`LIMITS`] tell of what was asked for. A machine of its own has a little less memory than it was given.
fn is_told(asked: &ResourceLimits, told: &str) -> bool {
    told.lines().any(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
        let Some(first) = number(1) else { return false };
        match words[0] {
            "memory" => asked.memory_bytes == Some(first),
            "total" => asked
                .memory_bytes
                .is_some_and(|bytes| (bytes / 2..=bytes).contains(&(first * 1024))),
            "pids" => asked.pids == Some(first),
            "cpu" => number(2).is_some_and(|period| {
                asked
                    .cpu_millis
                    .is_some_and(|millis| first * 1000 == millis * period)
            }),
            _ => false,
        }
    })
}

pub(super) fn told_files(scene: &Scene, from: u64, to: u64) -> StepResult {
    let printed = way::printed(scene)?;
    let told = String::from_utf8_lossy(&printed).trim().parse::<u64>();
    match told {
        Ok(files) if (from..=to).contains(&files) => Ok(()),
        _ => Err(Failure::failed(
            format!("a number from {from} to {to}"),
            show(&printed),
        )),
    }
}

/// A command in each of two sandboxes uses most of what that one was given, and both at the same time.
pub(super) async fn use_both(scene: &mut Scene) -> StepResult {
    let limits = limits(scene);
    let ids: Vec<String> = scene.own.iter().map(|own| own.id.clone()).collect();
    let within = scene.scaled(USED_UP);
    let mut running: Vec<Exec> = Vec::new();
    for id in ids {
        let text = match (limits.memory_bytes, limits.pids) {
            (Some(bytes), _) => format!("take {} 4 && echo enough", bytes / MIB * 5 / 8),
            (None, Some(pids)) => {
                let path = shell::word(scene.token().as_bytes());
                format!(
                    "fill {path} {} >{path}told; hold 2; release {path}; tr -d '\\n' <{path}told | wc -c",
                    pids * 5 / 8
                )
            }
            (None, None) => return Err(Failure::suite("the sandboxes have no limit")),
        };
        let params = scene.command_in(&id, Command::Shell(format!("{USE_UP}{text}").into()));
        running.push(scene.start(&params).await?);
    }
    scene.notes.records.clear();
    for exec in running {
        let record = exec.wait(within).await.map_err(|fault| scene.broken(fault))?;
        scene.notes.records.push(record);
    }
    let expected = match limits.pids {
        Some(pids) => (pids * 5 / 8).to_string(),
        None => "enough".into(),
    };
    scene.notes.value = Some(json!(expected));
    Ok(())
}

pub(super) fn enough_for_both(scene: &Scene) -> StepResult {
    let expected = scene.notes.value.clone().unwrap_or_default();
    let expected = expected.as_str().unwrap_or_default();
    for (number, record) in scene.notes.records.iter().enumerate() {
        let printed = String::from_utf8_lossy(&record.bytes(Stream::Stdout))
            .trim()
            .to_owned();
        let outcome = record.result().map(|result| &result.outcome);
        if outcome != Some(&Outcome::Exited { code: 0 }) || printed != expected {
            return Err(Failure::failed(
                format!("the command of each sandbox to have what it uses, and to print {expected:?}"),
                format!(
                    "that of sandbox {}: {}; it printed {printed:?}",
                    number + 1,
                    outcome.map_or_else(|| "refused".to_owned(), Outcome::to_string)
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process;

    use super::*;

    #[test]
    fn the_share_of_a_processor_is_what_two_processes_had_of_the_time() {
        let stat = |used: &str| format!("7 (a) b) R 1 1 1 0 -1 4194368 24 0 0 0 {used} 0 0 25 5 1 0 328375");
        let told = format!("{}\n{}\n100.50 103.50\n", stat("30 3"), stat("40 2"));
        assert!((share(&told).unwrap() - 0.25).abs() < 0.001);
        assert_eq!(share("cat: no such file\n100.50 103.50\n"), None);
        assert_eq!(share(&told.replace("103.50", "100.50")), None);
    }

    #[test]
    fn a_limit_is_seen_in_a_control_group_or_as_the_size_of_a_machine() {
        let memory = ResourceLimits {
            memory_bytes: Some(192 * MIB),
            ..ResourceLimits::default()
        };
        let pids = ResourceLimits {
            pids: Some(128),
            ..ResourceLimits::default()
        };
        let cpu = ResourceLimits {
            cpu_millis: Some(250),
            ..ResourceLimits::default()
        };
        for (asked, told, seen) in [
            (&memory, "memory 201326592 \n", true),
            (&memory, "memory max \ntotal 16000000\n", false),
            (&memory, "total 180000\n", true),
            (&memory, "pids 201326592\n", false),
            (&pids, "pids max \npids 128\n", true),
            (&pids, "pids unlimited\n", false),
            (&cpu, "cpu 25000 100000\n", true),
            (&cpu, "cpu 12500 50000\n", true),
            (&cpu, "cpu max 100000\ncpu -1 100000\n", false),
            (&cpu, "", false),
        ] {
            assert_eq!(is_told(asked, told), seen, "{told:?}");
        }
    }

    fn sh(text: &str) -> String {
        let output = process::Command::new("sh")
            .args(["-c", &format!("{USE_UP}{text}")])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn a_real_shell_starts_processes_that_stay_until_they_are_let_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = shell::word(folder.path().join("many").as_os_str().as_encoded_bytes());
        // Whoever is still there holds the output open, and this does not end.
        let told = sh(&format!(
            "fill {path} 5; echo full; release {path}; ls {path} 2>/dev/null; :"
        ));
        assert!(started(told.as_bytes()) == 5 && told.contains("full"), "{told:?}");
    }

    #[test]
    fn a_real_awk_takes_memory_and_a_real_shell_tells_its_limits() {
        assert_eq!(sh("take 2 0 && echo enough"), "enough\n");
        let told = sh(LIMITS);
        assert!(told.contains("\ntotal ") || told.starts_with("total "), "{told}");
    }
}
