//! AIRGAP: a sandbox without a network has none.

use std::{
    net::Ipv4Addr,
    sync::atomic::{AtomicU16, Ordering},
    time::{Duration, Instant},
};

use herm_protocol::{
    ErrorKind,
    exec::{Command, Outcome, Stream},
};
use serde_json::json;

use super::{address, outside::Outside, way};
use crate::{
    scene::{Failure, Scene, shell},
    step::StepResult,
    steps::{composed::unknown, general::show},
};

/// Functions of a shell that send something, each as `NAME address port word`.
const REACH: &str = include_str!("reach.sh");

/// What a command prints that has nothing to send with.
const NO_MEANS: &str = "no means";

/// How a line begins that tells of something that was reached.
const REACHED: &str = "reached ";

/// Interfaces, their addresses of version 6, and the routes of version 4, each part behind a line of its own.
const WAYS: &str = "cat /proc/net/dev 2>/dev/null; echo =; cat /proc/net/if_inet6 2>/dev/null; echo =; cat /proc/net/route 2>/dev/null; :";

/// The interface of a machine to itself.
const LOOPBACK: &str = "lo";

/// Interfaces that the kernel makes in every namespace, and that lead nowhere until somebody sets them up
/// (<https://docs.kernel.org/admin-guide/sysctl/net.html#fb-tunnels-only-for-init-net>).
const MADE_FOR_ALL: [&str; 9] = [
    "erspan0", "gre0", "gretap0", "ip6_vti0", "ip6gre0", "ip6tnl0", "ip_vti0", "sit0", "tunl0",
];

/// How long trying everything may take, before scaling: far less than what is waited for an answer that never comes.
const AT_ONCE: Duration = Duration::from_secs(4);

/// How long whoever sends datagrams waits at each address.
const DATAGRAM: Duration = Duration::from_secs(1);

/// How long a command that tries to reach something may take, before scaling.
const TRIES: Duration = Duration::from_secs(45);

/// How long what was sent may take to arrive after that.
const LATE: Duration = Duration::from_millis(200);

/// A command tells its ways to a network.
pub(super) async fn tell_ways(scene: &mut Scene, how: &str) -> StepResult {
    let told = way::run(scene, how, WAYS).await?;
    scene.notes.content = Some(told);
    Ok(())
}

/// What a command has told of its ways.
pub(super) fn only_loopback(scene: &Scene) -> StepResult {
    judge_ways(scene.notes.content.as_deref().unwrap_or_default())
}

fn judge_ways(told: &[u8]) -> StepResult {
    let told = String::from_utf8_lossy(told);
    let mut parts = told.split("=\n");
    let mut part = || parts.next().unwrap_or_default();
    let (interfaces, addresses, routes) = (part(), part(), part());
    let names: Vec<&str> = interfaces
        .lines()
        .filter_map(|line| Some(line.split_once(':')?.0.trim()))
        .collect();
    if names.is_empty() {
        return Err(Failure::inconclusive(format!(
            "the sandbox does not tell its interfaces in /proc/net/dev: {}",
            show(told.as_bytes())
        )));
    }
    let leads_nowhere = |name: &str| name == LOOPBACK || MADE_FOR_ALL.contains(&name);
    let mut ways: Vec<String> = names
        .into_iter()
        .filter(|name| !leads_nowhere(name))
        .map(|name| format!("the interface {name}"))
        .collect();
    let with_address = addresses
        .lines()
        .filter_map(|line| line.split_whitespace().last());
    ways.extend(
        with_address
            .filter(|name| *name != LOOPBACK)
            .map(|name| format!("an address of the interface {name}")),
    );
    let of_routes = routes
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next());
    ways.extend(
        of_routes
            .filter(|name| *name != LOOPBACK)
            .map(|name| format!("a route by the interface {name}")),
    );
    if ways.is_empty() {
        return Ok(());
    }
    Err(Failure::failed("no way but the loopback", ways.join(", ")))
}

/// Wherever a command of the sandbox that was struck runs, if one does, it has no network.
pub(super) async fn none_wherever(scene: &mut Scene) -> StepResult {
    if scene.refusal.is_some() {
        // What was not opened runs nothing.
        return Ok(());
    }
    let params = scene.command(WAYS).await?;
    scene.run(&params).await?;
    let gone = |kind| matches!(kind, ErrorKind::SandboxNotFound | ErrorKind::Unavailable);
    if let Some(error) = &scene.refusal {
        return match error.kind() {
            kind if gone(kind) => Ok(()),
            _ => Err(error.clone().into()),
        };
    }
    let told = scene.record()?.bytes(Stream::Stdout);
    match &scene.result()?.outcome {
        Outcome::Exited { code: 0 } => judge_ways(&told),
        // Nothing of it has run; whether that is told as it should be is a requirement of its own.
        _ if told.is_empty() => Ok(()),
        _ => judge_ways(&told),
    }
}

/// A port that no other scenario uses, for those who listen in a sandbox.
fn port() -> u16 {
    const FIRST: u16 = 20_000;
    const COUNT: u16 = 10_000;
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let begin = u16::try_from(std::process::id() % u32::from(COUNT)).unwrap_or_default();
    FIRST + (begin + NEXT.fetch_add(1, Ordering::SeqCst)) % COUNT
}

/// One command listens at the loopback, and another one speaks to it.
pub(super) async fn talk(scene: &mut Scene) -> StepResult {
    let port = port();
    let heard = shell::word(scene.new_path("heard").await?.as_bytes());
    let text = format!(
        "{REACH}listen {port} >{heard} 2>/dev/null & i=0
while [ $i -lt 30 ] && [ ! -s {heard} ]; do by_connection 127.0.0.1 {port} heard >/dev/null 2>&1; sleep 0.1; i=$((i+1)); done
kill $! 2>/dev/null; cat {heard}; echo"
    );
    let params = scene.command(text).await?;
    let within = scene.scaled(TRIES);
    scene.run_within(&params, within).await?;
    no_means(&way::printed(scene)?)
}

fn no_means(printed: &[u8]) -> StepResult {
    if String::from_utf8_lossy(printed).contains(NO_MEANS) {
        return Err(Failure::inconclusive(
            "the sandbox has nothing to send with: neither nc, nor BusyBox, nor Bash; use an image that has one of them",
        ));
    }
    Ok(())
}

fn cannot_listen(error: &std::io::Error) -> Failure {
    Failure::inconclusive(format!("failed to listen on this machine: {error}"))
}

/// A word that is a label of a name, too.
fn word(scene: &mut Scene) -> String {
    scene.token().trim_end_matches('.').to_owned()
}

/// A command tries to reach somebody on this machine.
pub(super) async fn reach_machine(scene: &mut Scene, means: &str) -> StepResult {
    let word = word(scene);
    let addresses = tokio::task::spawn_blocking(address::of_this_machine)
        .await
        .unwrap_or_default();
    let listening = match means {
        "a connection" => Outside::for_connections().await,
        "a datagram" | "a question for a name" => Outside::for_datagrams().await,
        "a socket that has a file" => {
            let folder = scene.workshop()?.scratch().to_owned();
            Outside::at_file(folder.join(&word))
        }
        "a socket without a file" => Outside::at_name(&word),
        other => return Err(unknown(other, "sent to this machine")),
    };
    let outside = listening.map_err(|error| cannot_listen(&error))?;
    let addresses = match means {
        "a connection" => outside.reached_by_connections(addresses).await,
        "a datagram" | "a question for a name" => outside.reached_by_datagrams(addresses).await,
        _ => Vec::new(),
    };
    let waits = u32::try_from(addresses.len()).unwrap_or_default();
    let (text, allowed) = match means {
        "a connection" => (
            attempts("by_connection", &addresses, outside.port, &word),
            AT_ONCE,
        ),
        "a datagram" => (
            attempts("by_datagram", &addresses, outside.port, &word),
            AT_ONCE + DATAGRAM * waits,
        ),
        "a question for a name" => {
            let text = attempts("by_question", &addresses, outside.port, &word);
            (
                format!("{text}by_usual_question {word}; :"),
                AT_ONCE + DATAGRAM * waits,
            )
        }
        _ => (look_for_socket(&outside, &word), AT_ONCE),
    };
    if addresses.is_empty() && outside.port != 0 {
        return Err(Failure::inconclusive(
            "this machine cannot be reached by itself, so that nobody else could be expected to",
        ));
    }
    attempt(scene, text, allowed).await?;
    let heard = outside.heard();
    note(scene, &heard)
}

fn attempts(function: &str, addresses: &[Ipv4Addr], port: u16, word: &str) -> String {
    let one = |address: &Ipv4Addr| format!("{function} {address} {port} {word} >/dev/null 2>&1\n");
    format!("{REACH}{}:\n", addresses.iter().map(one).collect::<String>())
}

/// Whoever sees a socket can connect to it, or will be able to when its owner lets it: seeing it is enough.
fn look_for_socket(outside: &Outside, word: &str) -> String {
    let file = outside.file().map(|file| {
        let file = shell::word(file.as_os_str().as_encoded_bytes());
        format!("[ -S {file} ] && echo {REACHED}the file of the socket\n")
    });
    let table = "/proc/net/unix";
    format!(
        "{}[ -r {table} ] || echo {NO_MEANS}
grep -F {word} {table} >/dev/null && echo {REACHED}the table of sockets\n:",
        file.unwrap_or_default()
    )
}

/// Runs a command that tries something, and notes how long it took and what it says that it has reached.
async fn attempt(scene: &mut Scene, text: String, allowed: Duration) -> StepResult {
    let (within, allowed) = (scene.scaled(TRIES), scene.scaled(allowed));
    let params = scene.command(text).await?;
    let begun = Instant::now();
    scene.run_within(&params, within).await?;
    let took = begun.elapsed();
    let printed = way::printed(scene)?;
    no_means(&printed)?;
    tokio::time::sleep(LATE).await;
    let printed = String::from_utf8_lossy(&printed);
    let reached: Vec<&str> = printed
        .lines()
        .filter_map(|line| line.strip_prefix(REACHED))
        .collect();
    let late = (took > allowed).then(|| {
        let (took, allowed) = (took.as_millis(), allowed.as_millis());
        format!("it took {took} ms, and {allowed} ms would have been much")
    });
    scene.notes.value = Some(json!({"reached": reached, "late": late}));
    Ok(())
}

/// Notes what was heard outside.
fn note(scene: &mut Scene, heard: &[String]) -> StepResult {
    let noted = scene.notes.value.as_mut();
    let noted = noted.ok_or_else(|| Failure::suite("nothing was tried"))?;
    noted["heard"] = json!(heard);
    Ok(())
}

/// Nothing was reached, and that was told at once.
pub(super) fn turned_away(scene: &Scene) -> StepResult {
    let noted = scene.notes.value.clone().unwrap_or_default();
    for part in ["heard", "reached"] {
        let told = noted[part].as_array().cloned().unwrap_or_default();
        if !told.is_empty() {
            let told: Vec<_> = told.iter().filter_map(|one| one.as_str()).collect();
            return Err(Failure::failed(
                "nothing outside of the sandbox to be reached",
                format!("{part}: {}", told.join(", ")),
            ));
        }
    }
    match noted["late"].as_str() {
        None => Ok(()),
        Some(late) => Err(Failure::failed("to be turned away at once", late)),
    }
}

/// A command tries to reach one that listens in the sandbox beside its own.
pub(super) async fn reach_neighbour(scene: &mut Scene) -> StepResult {
    let beside = match scene.own.as_slice() {
        [beside, _] => beside.id.clone(),
        _ => return Err(Failure::suite("there is no sandbox beside it")),
    };
    let (port, word, patience) = (port(), word(scene), scene.patience());
    let told = run_in(scene, &beside, &format!("cat {} 2>/dev/null; :", address::FILE)).await?;
    let mut addresses = address::own_addresses(&String::from_utf8_lossy(&told));
    addresses.push(Ipv4Addr::LOCALHOST);
    let listen = format!("{REACH}listen {port} 2>/dev/null; :");
    let params = scene.command_in(&beside, Command::Shell(listen.into()));
    let listener = scene.start(&params).await?;
    let listens = format!(
        "i=0; until grep -q ':{port:04X} .* 0A ' /proc/net/tcp /proc/net/tcp6 2>/dev/null || [ $i -gt 50 ]; do sleep 0.1; i=$((i+1)); done; [ $i -le 50 ] && echo listens; :"
    );
    let listens = run_in(scene, &beside, &listens).await?;
    if listens != b"listens\n" {
        return Err(Failure::inconclusive(
            "nobody could be made to listen in the sandbox beside it",
        ));
    }
    attempt(scene, attempts("by_connection", &addresses, port, &word), AT_ONCE).await?;
    // Whoever has come first was heard; this is who comes if nobody has.
    let itself = attempts("by_connection", &[Ipv4Addr::LOCALHOST], port, "itself");
    run_in(scene, &beside, &itself).await?;
    let record = listener
        .wait(patience * 2)
        .await
        .map_err(|fault| scene.broken(fault))?;
    let heard = String::from_utf8_lossy(&record.bytes(Stream::Stdout)).into_owned();
    let heard: Vec<String> = if heard == "itself" {
        Vec::new()
    } else {
        vec![heard]
    };
    note(scene, &heard)
}

/// Runs a plain command in another sandbox than that in question, and gives what it printed.
async fn run_in(scene: &mut Scene, sandbox: &str, text: &str) -> Result<Vec<u8>, Failure> {
    let params = scene.command_in(sandbox, Command::Shell(text.into()));
    let within = scene.scaled(TRIES);
    let (last, refusal) = (scene.last.take(), scene.refusal.take());
    let ran = scene.run_within(&params, within).await;
    let printed = ran
        .and_then(|()| way::printed(scene))
        .map_err(Failure::while_preparing);
    (scene.last, scene.refusal) = (last, refusal);
    printed
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADS: &str = "Inter-|   Receive |  Transmit\n face |bytes packets|bytes\n";

    #[test]
    fn only_the_loopback_and_what_every_namespace_has_are_no_way_out() {
        let told = |interfaces: &str, addresses: &str, routes: &str| {
            judge_ways(format!("{HEADS}{interfaces}=\n{addresses}=\nIface\tDestination\n{routes}").as_bytes())
        };
        told("    lo: 0 0\n", "", "").unwrap();
        told("    lo: 0 0\n  sit0: 0 0\n", "0001 01 80 10 80       lo\n", "").unwrap();
        for (interfaces, addresses, routes, seen) in [
            ("    lo: 0\n  eth0: 0\n", "", "", "the interface eth0"),
            (
                "    lo: 0\n  sit0: 0\n",
                "fe80 02 40 20 80     sit0\n",
                "",
                "an address of the interface sit0",
            ),
            (
                "    lo: 0\n",
                "",
                "tap0\t00000000\t0\n",
                "a route by the interface tap0",
            ),
        ] {
            assert_eq!(told(interfaces, addresses, routes).unwrap_err().seen, seen);
        }
    }

    #[test]
    fn a_sandbox_that_tells_nothing_is_not_taken_for_one_without_a_network() {
        let failure = judge_ways(b"=\n=\n").unwrap_err();
        assert_eq!(failure.verdict, crate::verdict::Verdict::Inconclusive);
    }

    /// Whoever shares a network with this machine is heard: else these requirements could not fail.
    #[tokio::test]
    async fn a_shell_of_this_machine_reaches_it_by_every_means() {
        let run = |text: String| {
            let output = std::process::Command::new("sh")
                .args(["-c", &text])
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let here = [Ipv4Addr::LOCALHOST];
        for function in ["by_connection", "by_datagram", "by_question"] {
            let outside = match function {
                "by_connection" => Outside::for_connections().await.unwrap(),
                _ => Outside::for_datagrams().await.unwrap(),
            };
            let text = attempts(function, &here, outside.port, "a-word");
            let printed = tokio::task::spawn_blocking(move || run(text)).await.unwrap();
            assert_eq!(printed, "", "{function}");
            tokio::time::sleep(LATE).await;
            assert!(
                outside.heard().iter().any(|heard| heard.contains("a-word")),
                "{function}"
            );
        }
        let name = format!("herm-airgap-{}", std::process::id());
        let outside = Outside::at_name(&name).unwrap();
        assert_eq!(
            run(look_for_socket(&outside, &name)),
            "reached the table of sockets\n"
        );
        let folder = tempfile::tempdir().unwrap();
        let outside = Outside::at_file(folder.path().join(&name)).unwrap();
        assert_eq!(run(look_for_socket(&outside, &name)).lines().count(), 2);
    }
}
