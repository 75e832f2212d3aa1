//! The handshake, and what is missing on the machine.

use std::{collections::BTreeMap, time::Duration};

use herm_protocol::VERSION;
use serde_json::{Value, json};

use super::{
    complaint::Complaint,
    refusal::{code_of, describe_error, result_message},
    walk::Walk,
};
use crate::{catalogue::Catalogue, near_miss::hint};

/// How long an adapter may take to introduce itself, as in a run.
const INTRODUCTION: Duration = Duration::from_secs(15);

/// How long it may look for what is missing.
const PREFLIGHT: Duration = Duration::from_secs(10);

pub(super) async fn initialize(walk: &mut Walk<'_>, run: &str, scratch: &str) {
    let id = walk.talk.next_id();
    let example = result_message(
        id,
        &json!({
            "protocol": VERSION,
            "name": "mine",
            "version": "0.1.0",
            "capabilities": [],
            "choices": least_choices(),
        }),
    );
    let expected =
        "one answer that names the protocol, a name and a version, and declares capabilities and choices";
    walk.expect(expected, [example]);
    let params = json!({"protocol": [VERSION], "run": run, "scratch": scratch});
    match walk.call("initialize", &params, INTRODUCTION).await {
        None => {
            let why = "it does not answer initialize, and nothing can be asked of it before that";
            walk.talk.give_up(why).await;
        }
        Some(Err(error)) => {
            walk.complain(Complaint::new(
                "refused",
                format!("initialize was refused: {}", describe_error(&error)),
                "answer initialize with a result; refuse it only when no version in params.protocol is one that you speak",
            ));
            let why = "it refuses initialize, and nothing can be asked of it before that";
            walk.talk.give_up(why).await;
        }
        Some(Ok(answer)) => understand(walk, &answer).await,
    }
}

async fn understand(walk: &mut Walk<'_>, answer: &Value) {
    let capabilities = answer["capabilities"].as_array().into_iter().flatten();
    walk.capabilities = capabilities
        .filter_map(|name| name.as_str().map(str::to_owned))
        .collect();
    let choices = answer["choices"].as_object().into_iter().flatten();
    walk.choices = choices
        .filter_map(|(name, variant)| Some((name.clone(), variant.as_str()?.to_owned())))
        .collect();
    walk.is_manifest = answer["mode"] == "manifest";
    let word = |name: &str| answer[name].as_str().unwrap_or("?").to_owned();
    let declared = match walk.capabilities.as_slice() {
        [] => "no capability".to_owned(),
        names => names.join(", "),
    };
    let who = format!("{} {}", word("name"), word("version"));
    walk.note(format!("{}, declares {declared}", who.trim_end()));
    check_declared(walk);
    if answer["protocol"]
        .as_str()
        .is_some_and(|version| version != VERSION)
    {
        let version = word("protocol");
        walk.complain(
            Complaint::new(
                "version",
                format!("the answer names the protocol {version:?}, which was not offered"),
                &format!("send result.protocol as one of params.protocol: {VERSION:?}"),
            )
            .at("result.protocol"),
        );
        walk.talk
            .give_up("it speaks another version of the protocol")
            .await;
    }
}

/// What is declared has to be known, and complete.
fn check_declared(walk: &mut Walk<'_>) {
    let Ok(catalogue) = Catalogue::embedded() else {
        return;
    };
    for name in walk.capabilities.clone() {
        if !catalogue.capabilities.contains_key(&name) {
            let hint = hint(&name, catalogue.capabilities.keys().map(String::as_str));
            let complaint = Complaint::new(
                "capability",
                format!("the capability {name:?} is not known{hint}"),
                "declare what `herm list capabilities` names, and nothing else",
            );
            walk.complain(complaint.at("result.capabilities").of_its_own());
        }
    }
    for (name, variant) in walk.choices.clone() {
        let at = format!("result.choices.{name}");
        let Some(choice) = catalogue.choices.get(&name) else {
            let hint = hint(&name, catalogue.choices.keys().map(String::as_str));
            let complaint = Complaint::new(
                "choice",
                format!("the choice {name:?} is not known{hint}"),
                "declare what `herm list choices` names, and nothing else",
            );
            walk.complain(complaint.at(&at).of_its_own());
            continue;
        };
        if !choice.values.contains_key(&variant) {
            let known: Vec<&str> = choice.values.keys().map(String::as_str).collect();
            let hint = hint(&variant, known.iter().copied());
            let complaint = Complaint::new(
                "choice",
                format!("the choice {name} has no variant {variant:?}{hint}"),
                &format!("send {at} as one of {}", known.join(", ")),
            );
            walk.complain(complaint.at(&at).of_its_own());
        }
    }
    let missing: Vec<String> = catalogue
        .choices
        .iter()
        .filter(|(name, choice)| {
            choice
                .needs
                .as_ref()
                .is_none_or(|capability| walk.declares(capability))
                && !walk.choices.contains_key(*name)
        })
        .map(|(name, choice)| {
            let variants: Vec<&str> = choice.values.keys().map(String::as_str).collect();
            format!("{name} ({})", variants.join(" | "))
        })
        .collect();
    if !missing.is_empty() {
        let complaint = Complaint::new(
            "choices",
            format!(
                "result.choices lacks what your capabilities call for: {}",
                missing.join(", ")
            ),
            "add each to result.choices with the variant that is true of your backend; `herm list choices` explains them",
        );
        walk.complain(complaint.at("result.choices"));
    }
}

/// A variant of every choice that calls for no capability, for an example.
fn least_choices() -> BTreeMap<String, String> {
    let simplest = [
        ("left_behind", "keep"),
        ("relative_path", "refuse"),
        ("shell", "posix"),
        ("state", "none"),
        ("stream_bytes", "exact"),
        ("streams", "apart"),
        ("latency", "local"),
    ];
    simplest
        .into_iter()
        .map(|(name, variant)| (name.to_owned(), variant.to_owned()))
        .collect()
}

pub(super) async fn preflight(walk: &mut Walk<'_>) {
    let id = walk.talk.next_id();
    walk.expect(
        "an answer that lists what is missing, or the error -32601 when you do not offer it",
        [result_message(id, &json!({"problems": []}))],
    );
    match walk.call("preflight", &json!({}), PREFLIGHT).await {
        None => {}
        Some(Err(error)) if code_of(&error) == Some(-32601) => walk.note("not offered, which is fine"),
        Some(Err(error)) => walk.complain(Complaint::new(
            "refused",
            format!("preflight was refused: {}", describe_error(&error)),
            "answer preflight with {\"problems\":[]}, or refuse it with the code -32601 if you do not offer it",
        )),
        Some(Ok(answer)) => {
            let problems = answer["problems"].as_array().cloned().unwrap_or_default();
            if problems.is_empty() {
                walk.note("nothing is missing");
            }
            for problem in problems {
                let word = |name: &str| problem[name].as_str().unwrap_or("?").to_owned();
                walk.advise(format!(
                    "preflight says that something is missing: {}; {}",
                    word("what"),
                    word("fix")
                ));
            }
        }
    }
}
