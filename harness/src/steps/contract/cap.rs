//! CAP: what is declared works, and what is not is refused.

use herm_protocol::{
    exec::{Capture, Pty, RunParams},
    initialize::Initialized,
    rpc::Rpc,
    sandbox::{Mount, Network, ResourceLimits, SandboxSpec, Variable},
};
use serde_json::json;

use crate::{
    catalogue::Catalogue,
    near_miss::hint,
    scene::{Failure, Scene},
    step::{StepList, StepResult},
    steps::{composed::unknown, exec::like_lines, files::mount, general::new_mark, isolation},
};

pub(super) fn register(steps: &mut StepList) {
    steps
        .then("every {words} is in the catalogue", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "capability that it declares" => known_capabilities(scene),
                    "choice that it declares, and its variant," => known_choices(scene),
                    other => Err(unknown(other, "in the catalogue")),
                }
            })
        })
        .then(
            "it declares a variant of every choice that its capabilities call for",
            |scene, _| Box::pin(async { complete_choices(scene) }),
        )
        .when("a sandbox is opened with {words}", |scene, arguments| {
            Box::pin(async move { open_with(scene, arguments.words(0)?).await })
        });
}

/// The backend introduces itself.
pub(crate) async fn introduce(scene: &mut Scene) -> StepResult {
    let initialized = scene.initialized().await?;
    let other = scene.workshop()?.employ().await?;
    let another = other.initialized.clone();
    scene.workshop()?.give_back(other, true).await;
    scene.notes.value = serde_json::to_value(&initialized).ok();
    if (
        &initialized.capabilities,
        &initialized.choices,
        &initialized.limits,
    ) == (&another.capabilities, &another.choices, &another.limits)
    {
        return Ok(());
    }
    Err(Failure::failed(
        "each process of the backend to say the same of itself",
        format!("{initialized:?}, and another: {another:?}"),
    ))
}

/// Runs what only Bash understands.
pub(crate) async fn use_bash(scene: &mut Scene) -> StepResult {
    let params = scene
        .command("words=(a b c); [[ -n $BASH_VERSION ]] && echo \"${words[1]}\"")
        .await?;
    scene.run(&params).await
}

fn catalogue() -> Result<Catalogue, Failure> {
    Catalogue::embedded().map_err(|error| Failure::suite(error.to_string()))
}

fn introduction(scene: &Scene) -> Result<Initialized, Failure> {
    let value = scene.notes.value.clone().unwrap_or_default();
    serde_json::from_value(value).map_err(|_| Failure::suite("the backend has not introduced itself"))
}

fn known_capabilities(scene: &Scene) -> StepResult {
    let catalogue = catalogue()?;
    let declared = introduction(scene)?.capabilities;
    let unknown: Vec<_> = declared
        .iter()
        .filter(|name| !catalogue.capabilities.contains_key(*name))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let hint = hint(unknown[0], catalogue.capabilities.keys().map(String::as_str));
    let seen = format!("unknown: {unknown:?}{hint}");
    Err(Failure::failed(
        "only capabilities that `herm list capabilities` names",
        seen,
    ))
}

fn known_choices(scene: &Scene) -> StepResult {
    let catalogue = catalogue()?;
    for (name, variant) in introduction(scene)?.choices {
        let Some(choice) = catalogue.choices.get(&name) else {
            let hint = hint(&name, catalogue.choices.keys().map(String::as_str));
            let seen = format!("unknown: {name:?}{hint}");
            return Err(Failure::failed(
                "only choices that `herm list choices` names",
                seen,
            ));
        };
        if !choice.values.contains_key(&variant) {
            let known: Vec<_> = choice.values.keys().collect();
            return Err(Failure::failed(
                format!("{name} to be one of {known:?}"),
                format!("{variant:?}"),
            ));
        }
    }
    Ok(())
}

fn complete_choices(scene: &Scene) -> StepResult {
    let introduction = introduction(scene)?;
    let called_for = |needs: &Option<String>| {
        needs
            .as_ref()
            .is_none_or(|needs| introduction.capabilities.contains(needs))
    };
    let missing: Vec<String> = catalogue()?
        .choices
        .into_iter()
        .filter(|(name, choice)| called_for(&choice.needs) && !introduction.choices.contains_key(name))
        .map(|(name, choice)| {
            format!(
                "{name} ({})",
                choice.values.into_keys().collect::<Vec<_>>().join(" | ")
            )
        })
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let expected = format!("in `choices` of the answer to initialize: {}", missing.join(", "));
    Err(Failure::failed(expected, "none of these"))
}

pub(crate) async fn run_with(scene: &mut Scene, option: &str) -> StepResult {
    let text = new_mark(scene).await?;
    let params = scene.command(text).await?;
    let params = match option {
        "another user" => RunParams {
            user: Some("nobody".into()),
            ..params
        },
        "a terminal" => RunParams {
            pty: Some(Pty {
                rows: 24,
                columns: 80,
            }),
            ..params
        },
        "detachment" => RunParams {
            detach: true,
            ..params
        },
        "tools" => RunParams {
            rpc: Some(Rpc::allowing(["tool"])),
            ..params
        },
        "detachment and tools" => RunParams {
            detach: true,
            rpc: Some(Rpc::allowing(["tool"])),
            ..params
        },
        "detachment and only the ends of its output" => RunParams {
            detach: true,
            capture: Some(Capture {
                head: 10,
                tail: 10,
                digest: false,
            }),
            ..params
        },
        "a session" => RunParams {
            session: Some(scene.token()),
            ..params
        },
        other => return Err(Failure::suite(format!("{other:?} is no option"))),
    };
    scene.run(&params).await?;
    if scene.refusal.is_none() {
        return Ok(());
    }
    // Who asks again has understood nothing better, and is refused as before.
    let again = scene.command("true").await?.exec;
    scene
        .run(&RunParams {
            exec: again,
            ..params
        })
        .await
}

async fn open_with(scene: &mut Scene, property: &str) -> StepResult {
    if property == "variables that look like lines of a file" {
        return like_lines::give_sandbox(scene).await;
    }
    match property {
        "a directory of this machine that is not there" => return mount::open_missing(scene).await,
        "an image that does not exist" => return isolation::open_unknown_image(scene).await,
        "the image that has no shell" => return isolation::open_without_shell(scene).await,
        _ => {}
    }
    let mut key = None;
    let spec = SandboxSpec::default();
    let spec = match property {
        "no network" => SandboxSpec {
            network: Some(Network::None),
            ..spec
        },
        "a memory limit" => SandboxSpec {
            limits: ResourceLimits {
                memory_bytes: Some(1 << 28),
                ..ResourceLimits::default()
            },
            ..spec
        },
        "a process limit" => SandboxSpec {
            limits: ResourceLimits {
                pids: Some(64),
                ..ResourceLimits::default()
            },
            ..spec
        },
        "a mount" => {
            let mount = Mount {
                source: "/".into(),
                target: "/mnt".into(),
                read_only: true,
            };
            SandboxSpec {
                mounts: vec![mount],
                ..spec
            }
        }
        "an idle life" => SandboxSpec {
            idle_ms: Some(60_000),
            ..spec
        },
        "another user" => SandboxSpec {
            user: Some("nobody".into()),
            ..spec
        },
        "a key" => {
            key = Some(scene.token());
            spec
        }
        "a variable that has no name" => SandboxSpec {
            env: vec![Variable::new("", "value")],
            ..spec
        },
        "the root directory" => SandboxSpec {
            cwd: Some("/".into()),
            ..spec
        },
        "an image" => SandboxSpec {
            image: Some("herm-test".into()),
            ..spec
        },
        "a network of named hosts" => SandboxSpec {
            network: Some(Network::Allow {
                hosts: vec!["one.herm.invalid".into()],
            }),
            ..spec
        },
        "a processor limit" => SandboxSpec {
            limits: ResourceLimits {
                cpu_millis: Some(500),
                ..ResourceLimits::default()
            },
            ..spec
        },
        "a disk limit" => SandboxSpec {
            limits: ResourceLimits {
                disk_bytes: Some(1 << 28),
                ..ResourceLimits::default()
            },
            ..spec
        },
        other => isolation::spec_of(other).ok_or_else(|| unknown(other, "a property of a sandbox"))?,
    };
    let opened = scene.open_keyed(key, spec).await;
    scene.answer(opened).map(|_| ())
}

pub(crate) async fn ask_to(scene: &mut Scene, what: &str) -> StepResult {
    if what == "open a sandbox with no network that reaches two hosts" {
        return isolation::open_contradiction(scene).await;
    }
    let sandbox = scene.sandbox().await?.id;
    let (name, params) = match what {
        "pause the sandbox" => ("sandbox.pause", json!({"sandbox": sandbox})),
        "save the sandbox" => ("sandbox.snapshot", json!({"sandbox": sandbox})),
        "remove what nobody needs" => ("sandbox.reap", json!({"dry_run": true})),
        "list jobs" => ("job.list", json!({"sandbox": sandbox})),
        "tell how far a mount would reach" => ("policy.classify", json!({"mounts": ["/a:/b"]})),
        "close a session" => (
            "session.close",
            json!({"sandbox": sandbox, "session": "herm-none"}),
        ),
        "close the sandbox in an unknown way" => {
            ("sandbox.close", json!({"sandbox": sandbox, "how": "archive"}))
        }
        "give a command its input in an unknown way" => (
            "exec.run",
            json!({"sandbox": sandbox, "exec": scene.token(), "command": {"shell": "true"}, "stdin": {"mode": "file"}}),
        ),
        "keep an unknown amount of output" => (
            "exec.run",
            json!({"sandbox": sandbox, "exec": scene.token(), "command": {"shell": "true"}, "capture": {"head": "all", "tail": 0}}),
        ),
        "search files" => (
            "file.search",
            json!({"sandbox": sandbox, "path": "/", "pattern": "x"}),
        ),
        "do something from the future" => ("future.method", json!({"sandbox": sandbox})),
        other => return Err(Failure::suite(format!("{other:?} is nothing to ask for"))),
    };
    let patience = scene.patience();
    let answer = scene.client().await?.call_raw(name, &params, patience).await;
    scene.answer(answer).map(|_| ())
}
