//! HOST: a sandbox sees nothing of the machine that it runs on.

use std::{collections::BTreeSet, fmt::Write as _, path::PathBuf, time::Duration};

use herm_protocol::{
    ByteString,
    client::CallError,
    exec::{Command, Outcome, Stream},
    file::ReadParams,
    method,
};

use super::{LOOKED, halves, tenant, told};
use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::{
        composed::unknown,
        exec::job,
        general::{expect_outcome, show},
    },
};

/// How long it may take to look through all files of a sandbox.
pub(super) const THROUGH_ALL: Duration = Duration::from_secs(40);

/// Directories above any that commands start in.
const UP: &str = "../../../../../../../../../../../../../../../..";

/// Where temporary files are kept by custom, besides where this machine keeps its own.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Characters of a line of a log that no two kernels have by chance.
const TELLING: usize = 24;

pub(super) fn register(steps: &mut StepList) {
    steps
        .given("a {words} of this machine", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "file" => scene.put_file().await.map(|_| ()),
                    "process" => scene.put_process().await,
                    // What it listens on depends on who looks for it.
                    "listener" => Ok(()),
                    other => Err(unknown(other, "put on this machine")),
                }
            })
        })
        .when("a command looks for {words}", |scene, arguments| {
            Box::pin(async move {
                let what = arguments.words(0)?;
                if let Some(done) = tenant::look(scene, what).await {
                    return done;
                }
                let text = match what {
                    "it among the processes that it sees" => {
                        through_command_lines(&scene.machine.process()?.word, "echo \"$a$b\"")
                    }
                    "it by a signal to its number" => by_signal(scene)?,
                    "it on its loopback" => on_loopback(scene).await?,
                    "it among the names of its network" => among_names(scene)?,
                    how => by_file(scene, how)?,
                };
                look(scene, text).await
            })
        });
}

/// Runs a text that looks around, and keeps what it has told.
pub(super) async fn look(scene: &mut Scene, text: String) -> StepResult {
    let params = scene.command(text).await?;
    scene.run_within(&params, scene.scaled(THROUGH_ALL)).await?;
    keep(scene)
}

/// Keeps what the last command has told that looked around.
fn keep(scene: &mut Scene) -> StepResult {
    expect_outcome(scene, &Outcome::Exited { code: 0 })?;
    scene.notes.content = Some(scene.record()?.bytes(Stream::Stdout));
    Ok(())
}

/// Shell text that looks for the file in one way. What is refused is not told.
fn by_file(scene: &Scene, how: &str) -> Result<String, Failure> {
    let file = scene.machine.file()?;
    let path = file.path.display().to_string();
    let name = file.path.file_name().unwrap_or_default().display().to_string();
    let word = shell::word(path.as_bytes());
    let look = match how {
        "it by its path" => format!("cat {word}"),
        "it through a link" => format!("ln -s {word} link-to-it; cat link-to-it; rm -f link-to-it"),
        // A name has to be where the file is: in the directory of the command, or beside it.
        "it by a name of its own for it" => {
            format!("for n in name-of-it {word}-too; do ln {word} \"$n\" && cat \"$n\" && rm -f \"$n\"; done")
        }
        "it from the root of each process" => {
            format!("for p in /proc/[0-9]*; do cat \"$p/root\"{word}; done")
        }
        "it by going up" => format!("cat {UP}{word}"),
        "it everywhere" => return Ok(everywhere(&name)),
        other => return Err(unknown(other, "a way to look for a file")),
    };
    Ok(format!("{{ {look}; }} 2>/dev/null; echo looked"))
}

/// Shell text that looks for a name among all files.
pub(super) fn everywhere(name: &str) -> String {
    format!(
        "find / \\( -path /proc -o -path /sys \\) -prune -o -name {} -print 2>/dev/null; echo looked",
        shell::word(name.as_bytes())
    )
}

/// Shell text that looks for a word in every command line, and does something about the process `$p` that has it.
pub(super) fn through_command_lines(word: &str, action: &str) -> String {
    let halves = halves(word);
    format!(
        "{halves}for p in /proc/[0-9]*; do\ncase \"$(tr '\\0' ' ' < \"$p/cmdline\")\" in *\"$a$b\"*) {action};; esac\n\
         done 2>/dev/null; echo looked"
    )
}

/// Shell text that sends the number of the process a signal that harms nobody who has that number in the sandbox.
fn by_signal(scene: &Scene) -> Result<String, Failure> {
    let number = scene.machine.process()?.id();
    let number = number.ok_or_else(|| Failure::inconclusive("the process of this machine has ended"))?;
    Ok(format!(
        "kill -s CONT {number} 2>/dev/null; sleep 0.3; echo looked"
    ))
}

/// Shell text that calls the listeners on the loopback of this machine as if it was the sandbox's, and says a word to them.
async fn on_loopback(scene: &mut Scene) -> Result<String, Failure> {
    let (word, ports) = scene.listen_on_loopback().await?;
    let mut text = String::new();
    for (address, port) in ports {
        let url = if address.contains(':') {
            format!("http://[{address}]:{port}/{word}")
        } else {
            format!("http://{address}:{port}/{word}")
        };
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "if command -v nc >/dev/null; then printf '%s\\n' {word} | nc -w 2 {address} {port}\n\
             elif command -v curl >/dev/null; then curl -s -m 2 {url}\n\
             elif command -v wget >/dev/null; then wget -q -T 2 -t 1 -O - {url}\n\
             else echo nobody; fi\n"
        );
    }
    Ok(format!("{{\n{text}}} 2>/dev/null\necho looked"))
}

/// Shell text that looks for a name of this machine's network that is no file.
fn among_names(scene: &mut Scene) -> Result<String, Failure> {
    let name = scene.listen_on_name()?;
    let halves = halves(&name);
    Ok(format!(
        "{halves}if [ -r /proc/net/unix ]; then\nwhile read -r line; do case $line in *\"$a$b\"*) echo \"$a$b\";; esac; done < /proc/net/unix\n\
         fi\necho looked"
    ))
}

/// Has a program that no shell starts look for the file.
pub(crate) async fn look_by_program(scene: &mut Scene, how: &str) -> StepResult {
    let text = by_file(scene, how)?;
    let sandbox = scene.sandbox().await?.id;
    let words = ["sh", "-c", &text].map(ByteString::from);
    let params = scene.command_in(&sandbox, Command::Argv(words.to_vec()));
    scene.run(&params).await?;
    keep(scene)
}

/// Has a command of a session look for the file.
pub(crate) async fn look_in_session(scene: &mut Scene, how: &str) -> StepResult {
    let mut params = scene.command(by_file(scene, how)?).await?;
    params.session = Some(scene.token());
    scene.run(&params).await?;
    keep(scene)
}

/// Has a job look for the file.
pub(crate) async fn look_by_job(scene: &mut Scene, how: &str) -> StepResult {
    let text = by_file(scene, how)?;
    scene.notes.content = Some(job::printed_by(scene, text).await?);
    Ok(())
}

/// Has the backend itself read the file, as one of the sandbox.
pub(crate) async fn read_by_backend(scene: &mut Scene, how: &str) -> StepResult {
    let file = ByteString::from(scene.machine.file()?.path.display().to_string());
    let path = match how {
        "by its path" => file,
        "through a link" => {
            let link = scene.new_path("link").await?;
            let (target, word) = (shell::word(file.as_bytes()), shell::word(link.as_bytes()));
            scene.prepare(format!("ln -s {target} {word}")).await?;
            link
        }
        other => return Err(unknown(other, "a way to read a file")),
    };
    let sandbox = scene.sandbox().await?.id;
    let params = ReadParams {
        sandbox,
        path,
        offset: 0,
        length: None,
    };
    let patience = scene.patience();
    let client = scene.client().await?;
    let mut seen = match client.call::<method::ReadFile>(&params, patience).await {
        Ok(content) => content.data.into_bytes(),
        // That there is no such file is what it should be.
        Err(CallError::Refused(_)) => Vec::new(),
        Err(CallError::Fault(fault)) => return Err(scene.broken(fault)),
    };
    seen.extend_from_slice(LOOKED.as_bytes());
    scene.notes.content = Some(seen);
    Ok(())
}

/// What was looked for was not seen, and nothing of it was reached.
pub(super) async fn unseen(scene: &mut Scene) -> StepResult {
    let seen = told(&scene.notes.content.clone().unwrap_or_default())?;
    let expected = "nothing of this machine to be seen in the sandbox";
    if let Ok(file) = scene.machine.file() {
        let still = tokio::fs::read_to_string(&file.path).await;
        if !still.is_ok_and(|content| content == file.content) {
            return Err(Failure::inconclusive(
                "the file of this machine was gone when it was looked for",
            ));
        }
        // By its content, or by its name where it was looked for everywhere.
        let name = file.path.file_name().unwrap_or_default().display().to_string();
        if seen.contains(file.content.trim_end()) || seen.contains(&name) {
            let seen = format!("the file {}: {seen:?}", file.path.display());
            return Err(Failure::failed(expected, seen));
        }
    }
    if let Ok(process) = scene.machine.process() {
        if process.id().is_none() {
            return Err(Failure::inconclusive(
                "the process of this machine was gone when it was looked for",
            ));
        }
        if seen.contains(&process.word) {
            return Err(Failure::failed(expected, "the command line of a process"));
        }
        if process.reached() > 0 {
            let expected = "no signal from the sandbox to reach a process of this machine";
            return Err(Failure::failed(expected, "it was reached"));
        }
    }
    let Some(word) = scene.machine.word() else {
        return Ok(());
    };
    if seen.contains("nobody") {
        return Err(Failure::inconclusive(
            "none of nc, curl and wget is in the sandbox to call somebody with",
        ));
    }
    if scene.machine.was_called() {
        let expected = "nobody in the sandbox to reach the loopback of this machine";
        return Err(Failure::failed(expected, "its listener was called"));
    }
    if seen.contains(word) {
        let expected = format!("{word} not to be seen in the sandbox");
        return Err(Failure::failed(expected, show(seen.as_bytes())));
    }
    Ok(())
}

/// Has a command leave a file of one name wherever this machine may keep temporary files.
pub(super) async fn leave_everywhere(scene: &mut Scene) -> StepResult {
    let name = scene.token();
    let mut folders: BTreeSet<PathBuf> = TEMPORARY.into_iter().map(PathBuf::from).collect();
    folders.insert(std::env::temp_dir());
    folders.insert(scene.workshop()?.scratch().to_owned());
    let words = folders
        .iter()
        .map(|folder| shell::word(folder.display().to_string().as_bytes()));
    let text = format!(
        "for d in {}; do {{ mkdir -p \"$d\" && : > \"$d/{name}\" && echo \"$d\"; }} 2>/dev/null; done; echo looked",
        words.collect::<Vec<_>>().join(" ")
    );
    for folder in folders {
        scene.machine.remove_in_the_end(folder.join(&name));
    }
    look(scene, text).await
}

/// What a command has left is not here.
pub(super) async fn not_here(scene: &mut Scene) -> StepResult {
    let left = told(&scene.notes.content.clone().unwrap_or_default())?;
    if left.is_empty() {
        return Err(Failure::inconclusive("no command could leave a file anywhere"));
    }
    for path in scene.machine.strays() {
        if tokio::fs::symlink_metadata(path).await.is_ok() {
            return Err(Failure::failed(
                "what a command writes to stay in its sandbox",
                format!("{} is on this machine", path.display()),
            ));
        }
    }
    Ok(())
}

/// Shell text that tells the name of the machine.
pub(super) const NAME: &str = "uname -n";

/// Shell text that tells what the kernel has logged, in both ways in which it can be asked.
pub(super) const LOG: &str =
    "{ dmesg | head -n 20; [ ! -r /dev/kmsg ] || head -n 1 < /dev/kmsg; } 2>/dev/null; echo looked";

/// The name that a command has told is not this machine's.
pub(super) fn other_name(scene: &Scene) -> StepResult {
    expect_outcome(scene, &Outcome::Exited { code: 0 })?;
    let seen = scene.record()?.bytes(Stream::Stdout);
    let own = rustix::system::uname();
    if seen.trim_ascii() == own.nodename().to_bytes() {
        return Err(Failure::failed(
            "another name than that of this machine",
            format!("{}, which is its name", show(seen.trim_ascii())),
        ));
    }
    Ok(())
}

/// What a command has told of its kernel's log is not this machine's.
pub(super) async fn nothing_of_the_log(scene: &Scene) -> StepResult {
    expect_outcome(scene, &Outcome::Exited { code: 0 })?;
    let seen = told(&scene.record()?.bytes(Stream::Stdout))?;
    let lines: Vec<&str> = seen
        .lines()
        .map(message)
        .filter(|line| line.len() >= TELLING)
        .collect();
    if lines.is_empty() {
        return Ok(());
    }
    let Some(own) = own_log().await else {
        return Err(Failure::inconclusive(format!(
            "a log is told in the sandbox, and that of this machine cannot be read to compare it: {:?}",
            lines.first()
        )));
    };
    match lines.iter().find(|line| own.contains(*line)) {
        None => Ok(()),
        Some(line) => Err(Failure::failed(
            "nothing of what this machine's kernel has logged",
            format!("{line:?}"),
        )),
    }
}

/// A line of a log without the time that stands before it in one way or another.
fn message(line: &str) -> &str {
    let line = line.rsplit_once(';').map_or(line, |(_, message)| message);
    match line.trim_start().strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(_, message)| message.trim()),
        None => line.trim(),
    }
}

/// What this machine's kernel has logged, where we may read it.
async fn own_log() -> Option<String> {
    let output = tokio::process::Command::new("dmesg")
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(10), output)
        .await
        .ok()?
        .ok()?;
    let log = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success() && !log.is_empty()).then_some(log)
}
