//! SECRET: what was given to one command is found nowhere else.

use std::time::Duration;

use herm_protocol::{
    ByteString,
    client::CallError,
    exec::{Command, RunParams, Stdin, Stream},
    job::JobListParams,
    method,
    sandbox::{CloseHow, CloseParams, Empty, Mount, SandboxRef, SandboxSpec, Variable},
};

use super::{halves, host, told};
use crate::{
    scene::{CommandLines, Failure, Scene, Secret},
    step::{StepList, StepResult},
    steps::{composed::unknown, exec::job, general::show},
};

/// Shell text that looks for the secret in its own variable among all command lines, and is there for a moment.
const LOOK: &str = "[ ${#PROBE_SECRET} -gt 6 ] || echo missing\n\
     for p in /proc/[0-9]*; do case \"$(tr '\\0' ' ' < \"$p/cmdline\")\" in *\"$PROBE_SECRET\"*) echo \"seen ${p#/proc/}\";; esac; \
     done 2>/dev/null; echo looked; sleep 0.5";

/// Shell text that tells the variables of every process that can be seen, and of itself.
pub(super) const OF_ALL: &str = "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; env";

/// Milliseconds of a deadline that is meant to pass.
const SHORT: u64 = 300;

/// Characters of text that no argument can hold.
const LONG: usize = 140_000;

pub(super) fn register(steps: &mut StepList) {
    steps
        .given("a secret", |scene, _| Box::pin(scene.new_secret()))
        .given("a sandbox that was given it", |scene, _| {
            Box::pin(async {
                let env = vec![scene.the_secret()?.variable()];
                let spec = SandboxSpec {
                    env,
                    ..SandboxSpec::default()
                };
                scene.prepare_sandbox(spec).await.map(|_| ())
            })
        })
        .when("{words} given it {words}", |scene, arguments| {
            Box::pin(async move {
                match (arguments.words(0)?, arguments.words(1)?) {
                    ("a command is", "in every way") => give_in_every_way(scene).await,
                    ("a command is", how) => match how.strip_prefix("as a variable") {
                        Some(way) => give_as_variable(scene, way.trim_start_matches(", run as a ")).await,
                        None => Err(unknown(how, "a way to give something")),
                    },
                    ("commands are", "and end in every way") => end_in_every_way(scene).await,
                    ("sandboxes are", "and cannot be opened") => open_in_vain(scene).await,
                    (what, _) => Err(unknown(what, "given something")),
                }
            })
        });
}

/// A command that holds the secret in a variable, with nothing in its text.
async fn with_variable(
    scene: &mut Scene,
    text: impl Into<ByteString>,
) -> Result<(RunParams, Secret), Failure> {
    let secret = scene.the_secret()?;
    let params = RunParams {
        env: vec![secret.variable()],
        ..scene.command(text).await?
    };
    Ok((params, secret))
}

/// Runs a command with the secret in a variable, and looks at the command lines of this machine meanwhile.
async fn give_as_variable(scene: &mut Scene, way: &str) -> StepResult {
    let (mut params, secret) = with_variable(scene, LOOK).await?;
    let watch = CommandLines::watch(&secret.value);
    let ran = async {
        match way {
            "" => {}
            "program" => {
                let words = ["sh", "-c", LOOK].map(ByteString::from);
                params.command = Command::Argv(words.to_vec());
            }
            "job" => return job::run_to_its_end(scene, params).await,
            other => return Err(unknown(other, "a way to run")),
        }
        scene.run(&params).await?;
        scene.result()?;
        Ok(scene.record()?.bytes(Stream::Stdout))
    };
    let ran = ran.await;
    let seen = watch.end().await;
    scene.secret = Some(Secret { seen, ..secret });
    scene.notes.content = Some(ran?);
    Ok(())
}

/// The secret was no word of any process, seen from here and from the sandbox.
fn in_no_command_line(scene: &Scene) -> StepResult {
    let expected = "the value of a variable to be no word of any process";
    if let Some(seen) = scene.the_secret()?.seen {
        return Err(Failure::failed(expected, format!("on this machine: {seen}")));
    }
    let told = told(&scene.notes.content.clone().unwrap_or_default())?;
    if told.contains("missing") {
        return Err(Failure::inconclusive("the command did not have the variable"));
    }
    match told.lines().find(|line| line.starts_with("seen ")) {
        None => Ok(()),
        Some(line) => Err(Failure::failed(
            expected,
            format!("in the sandbox: process {}", line.trim_start_matches("seen ")),
        )),
    }
}

/// Runs commands that have the secret in a variable and in their input, and that end in every way that the backend offers. How
/// they come out is what other requirements are about.
async fn end_in_every_way(scene: &mut Scene) -> StepResult {
    let mut all = Vec::new();
    for text in [
        "true",
        "echo failed >&2; exit 3",
        "kill -9 $$",
        "unfinished '",
        "\0",
    ] {
        all.push(with_variable(scene, text).await?.0);
    }
    let (plain, secret) = with_variable(scene, "sleep 20").await?;
    if scene.declares("timeout").await? {
        let timeout_ms = Some(SHORT);
        all.push(RunParams {
            timeout_ms,
            ..plain.clone()
        });
    }
    if scene.declares("cwd").await? {
        let cwd = Some("/herm-no-such-directory".into());
        all.push(RunParams { cwd, ..plain.clone() });
    }
    if scene.declares("user").await? {
        let user = Some("herm-no-such-user".into());
        all.push(RunParams {
            user,
            ..plain.clone()
        });
    }
    if scene.declares("argv").await? {
        for program in ["herm-no-such-program", "/"] {
            let command = Command::Argv(vec![program.into()]);
            all.push(RunParams {
                command,
                ..plain.clone()
            });
        }
    }
    for name in ["", "HERM=NAME"] {
        let mut params = plain.clone();
        params.env.push(Variable::new(name, secret.value.as_str()));
        all.push(params);
    }
    let input = scene.declares("stdin").await?;
    for mut params in all {
        params.exec = scene.command("true").await?.exec;
        if input {
            params.stdin = Stdin::Bytes {
                data: format!("{}\n", secret.value).into(),
            };
        }
        scene.run(&params).await?;
    }
    Ok(())
}

/// Opens sandboxes with the secret in a variable in ways that cannot work; one that is opened all the same is destroyed.
async fn open_in_vain(scene: &mut Scene) -> StepResult {
    let secret = scene.the_secret()?;
    let spec = SandboxSpec {
        env: vec![secret.variable()],
        ..SandboxSpec::default()
    };
    let mut specs = vec![SandboxSpec {
        env: vec![secret.variable(), Variable::new("", secret.value.as_str())],
        ..spec.clone()
    }];
    if scene.declares("cwd").await? {
        let cwd = Some(ByteString::from("/dev/null/nowhere"));
        specs.push(SandboxSpec { cwd, ..spec.clone() });
    }
    if scene.declares("user").await? {
        let user = Some("herm-no-such-user".into());
        specs.push(SandboxSpec { user, ..spec.clone() });
    }
    if scene.declares("image").await? {
        let image = Some("herm-no-such-image:at-all".into());
        specs.push(SandboxSpec {
            image,
            ..spec.clone()
        });
    }
    if scene.declares("mounts").await? {
        let mount = Mount {
            source: "/herm-no-such-directory".into(),
            target: "/mnt".into(),
            read_only: true,
        };
        specs.push(SandboxSpec {
            mounts: vec![mount],
            ..spec.clone()
        });
    }
    let mut refused = 0;
    for spec in specs {
        let opened = scene.open(spec).await;
        match scene.answer(opened)? {
            None => refused += 1,
            Some(opened) => {
                scene.destroy(&opened.sandbox).await?;
                scene.own.retain(|sandbox| sandbox.id != opened.sandbox);
            }
        }
    }
    if refused == 0 {
        return Err(Failure::inconclusive("every sandbox could be opened"));
    }
    Ok(())
}

/// Gives the secret to commands that come to their end, in every way in which a command can be given something.
async fn give_in_every_way(scene: &mut Scene) -> StepResult {
    let (first, secret) = with_variable(scene, "[ -n \"$PROBE_SECRET\" ]").await?;
    scene.run(&first).await?;
    scene.result().map_err(Failure::while_preparing)?;
    let long = format!(": {} {}", secret.value, "x".repeat(LONG));
    let text = scene.command(long).await?;
    scene.run(&text).await?;
    let mut detached = with_variable(scene, "cat >/dev/null").await?.0;
    if scene.declares("stdin").await? {
        let mut reads = scene.command("cat >/dev/null").await?;
        reads.stdin = Stdin::Bytes {
            data: secret.value.as_str().into(),
        };
        scene.run(&reads).await?;
        detached.stdin = reads.stdin;
    }
    if scene.declares("sessions").await? {
        let mut params = with_variable(scene, "export PROBE_SECRET").await?.0;
        params.session = Some(scene.token());
        scene.run(&params).await?;
    }
    if scene.declares("jobs").await? {
        job::run_to_its_end(scene, detached).await?;
    }
    Ok(())
}

/// Has the backend tell what it knows.
pub(crate) async fn ask(scene: &mut Scene, what: &str) -> StepResult {
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    if what == "its jobs" {
        let (mut params, _) = with_variable(scene, "sleep 5").await?;
        params.detach = true;
        params.window = None;
        let client = scene.client().await?;
        client.call::<method::RunDetached>(&params, patience).await?;
    }
    let client = scene.client().await?;
    let asked = match what {
        "its sandboxes" => client.call::<method::List>(&Empty {}, patience).await.map(|_| ()),
        "what its sandbox is" => client
            .call::<method::Inspect>(&SandboxRef { sandbox }, patience)
            .await
            .map(|_| ()),
        "its jobs" => client
            .call::<method::ListJobs>(&JobListParams { sandbox }, patience)
            .await
            .map(|_| ()),
        "what it has made" => client
            .call::<method::TakeLedger>(&Empty {}, patience)
            .await
            .map(|_| ()),
        other => return Err(unknown(other, "told by a backend")),
    };
    asked.map_err(CallError::into)
}

/// What is seen of the secret.
pub(super) async fn it_is(scene: &mut Scene, what: &str) -> StepResult {
    match what {
        "in no command line, here or in the sandbox" => in_no_command_line(scene),
        "told to nobody" => match scene.overheard().await? {
            None => Ok(()),
            Some(line) => Err(Failure::failed("the backend not to tell the secret", line)),
        },
        "in no file that others may read" => in_no_file(scene, true).await,
        "in no file that is left of it" => {
            let sandbox = scene.sandbox().await?.id;
            let how = CloseHow::Destroy;
            let deadline = scene.scaled(Duration::from_secs(30));
            let client = scene.client().await?;
            client
                .call::<method::Close>(&CloseParams { sandbox, how }, deadline)
                .await?;
            in_no_file(scene, false).await
        }
        "nowhere in the sandbox after that" => nowhere_inside(scene).await,
        other => Err(unknown(other, "seen")),
    }
}

async fn in_no_file(scene: &mut Scene, others: bool) -> StepResult {
    let found = scene.files_with_secret(others).await?;
    match found.first() {
        None => Ok(()),
        Some(path) => Err(Failure::failed(
            "the secret to be in no such file",
            path.display().to_string(),
        )),
    }
}

/// Whoever comes after the commands that had the secret finds it in no file, of no process, and not in its own variables.
async fn nowhere_inside(scene: &mut Scene) -> StepResult {
    let halves = halves(&scene.the_secret()?.value);
    let text = format!(
        "{halves}{{ for d in . \"$HOME\" /tmp /var/tmp /dev/shm /run /etc; do [ ! -d \"$d\" ] || \
         find \"$d\" \\( -path /proc -o -path /sys \\) -prune -o -type f -exec grep -lF -e \"$a$b\" {{}} +; done\n\
         case \"$(env)\" in *\"$a$b\"*) echo a variable;; esac\n\
         for p in /proc/[0-9]*; do case \"$(cat \"$p/cmdline\" \"$p/environ\" | tr '\\0' ' ')\" in *\"$a$b\"*) echo \"$p\";; esac; done; \
         }} 2>/dev/null; echo looked"
    );
    let seen = scene
        .observe_within(text, scene.scaled(host::THROUGH_ALL))
        .await?;
    let seen = told(&seen)?;
    if seen.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(
        "nothing of the secret where later commands look",
        show(seen.as_bytes()),
    ))
}
