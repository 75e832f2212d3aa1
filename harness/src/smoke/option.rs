//! What a command can be given, each where the capability was declared.

use std::time::Duration;

use serde_json::json;

use super::{
    command::Case,
    complaint::Complaint,
    refusal::{describe_error, result_message},
    walk::{ANSWER, Walk},
};

pub(super) async fn argv(walk: &mut Walk<'_>) {
    let to_do = "start the program params.command.argv[0] with the other words as its arguments, and let no shell read them";
    let case = Case {
        params: json!({"command": {"argv": ["printf", "%s\\n", "two  words", "$HOME"]}}),
        ..Case::shell("", "two  words\n$HOME\n", to_do)
    };
    walk.run_case(case).await;
}

pub(super) async fn env(walk: &mut Walk<'_>) {
    let to_do =
        "set every variable of params.env, a list of {\"name\":…,\"value\":…}, in the command's environment";
    let case = Case::shell("printf '%s\\n' \"$HERM_SMOKE\"", "a value\n", to_do);
    walk.run_case(case.with("env", json!([{"name": "HERM_SMOKE", "value": "a value"}])))
        .await;
}

pub(super) async fn cwd(walk: &mut Walk<'_>) {
    let to_do = "start the command in the directory params.cwd";
    walk.run_case(Case::shell("pwd -P", "/\n", to_do).with("cwd", json!("/")))
        .await;
}

pub(super) async fn stdin(walk: &mut Walk<'_>) {
    let to_do = "when params.stdin.mode is \"bytes\", write params.stdin.data to the command's standard input, and close it";
    let input = json!({"mode": "bytes", "data": "some input\n"});
    walk.run_case(Case::shell("cat; echo end", "some input\nend\n", to_do).with("stdin", input))
        .await;
}

pub(super) async fn stdin_stream(walk: &mut Walk<'_>) {
    let to_do = "when params.stdin.mode is \"stream\", keep the command's standard input open, write to it what each exec.stdin brings, \
                 and close it when one says \"eof\":true";
    let case =
        Case::shell("cat; echo end", "one\ntwo\nend\n", to_do).with("stdin", json!({"mode": "stream"}));
    let running = walk.start_case(case);
    let id = walk.talk.next_id();
    let taken = [0, 1, 2].map(|more| result_message(id + more, &json!({"open": true})));
    walk.expect_besides("each exec.stdin is answered with {\"open\":true}", &taken, true);
    walk.wait_for_start(&running).await;
    for (data, eof) in [("one\n", false), ("two\n", false), ("", true)] {
        let params = json!({"exec": running.exec, "data": data, "eof": eof});
        match walk.call("exec.stdin", &params, ANSWER).await {
            None => return,
            Some(Err(error)) => {
                walk.complain(Complaint::new(
                    "refused",
                    format!("exec.stdin was refused: {}", describe_error(&error)),
                    "find the running command by params.exec, write params.data to its standard input, and answer {\"open\":true}",
                ));
                return;
            }
            Some(Ok(answer)) if answer["open"] == false => walk.complain(
                Complaint::new(
                    "not_open",
                    "exec.stdin was answered with \"open\":false while the command read its input",
                    "answer {\"open\":true} when the bytes were written; false only when the command has ended or closed its input",
                )
                .at("result.open"),
            ),
            Some(Ok(_)) => {}
        }
    }
    walk.finish_case(&running, ANSWER).await;
}

/// How long the command that has to be ended would go on.
const LONG: Duration = Duration::from_secs(30);

/// The deadline that ends it.
const DEADLINE: Duration = Duration::from_secs(1);

/// How much later than its deadline the end of a command may come.
const LATE: Duration = Duration::from_secs(4);

fn long_case(outcome: &str, to_do: &'static str) -> Case {
    Case {
        outcome: json!({"type": outcome}),
        ..Case::shell(&format!("sleep {}", LONG.as_secs()), "", to_do)
    }
}

pub(super) async fn timeout(walk: &mut Walk<'_>) {
    let to_do = "count params.timeout_ms from the moment that you accept the command; when it has passed, kill everything that the command \
                 has started, and answer with the outcome {\"type\":\"timed_out\"}";
    let millis = u64::try_from(DEADLINE.as_millis()).unwrap_or_default();
    let running = walk.start_case(long_case("timed_out", to_do).with("timeout_ms", json!(millis)));
    let Some(took) = walk.finish_case(&running, ANSWER).await else {
        return;
    };
    let latest = DEADLINE + walk.scaled(LATE);
    if took + Duration::from_millis(50) < DEADLINE || took > latest {
        let what = format!(
            "the answer came after {} ms; expected between {millis} and {} ms",
            took.as_millis(),
            latest.as_millis()
        );
        walk.complain(Complaint::new("deadline", what, to_do));
    }
}

pub(super) async fn cancel(walk: &mut Walk<'_>) {
    let to_do = "kill everything that the command has started, answer exec.run with the outcome {\"type\":\"cancelled\"}, and exec.cancel \
                 with {}";
    let running = walk.start_case(long_case("cancelled", to_do));
    let cancelled = result_message(walk.talk.next_id(), &json!({}));
    walk.expect_besides("exec.cancel is answered with {}", &[cancelled], true);
    walk.wait_for_start(&running).await;
    let asked = walk.talk.ask("exec.cancel", &json!({"exec": running.exec}));
    if let Some((Err(error), _)) = walk.answer(&asked, ANSWER).await {
        let what = format!("exec.cancel was refused: {}", describe_error(&error));
        let find = "find the running command by params.exec; read requests while it runs, so that this one reaches you";
        walk.complain(Complaint::new("refused", what, find));
        return;
    }
    walk.finish_case(&running, ANSWER).await;
}

/// A command runs for so long while something else is asked.
const MEANWHILE: Duration = Duration::from_secs(2);

pub(super) async fn at_once(walk: &mut Walk<'_>) {
    let to_do = "give each command a thread or a task of its own, and go on reading requests while it runs";
    let meanwhile = walk.scaled(MEANWHILE);
    let case = Case::shell(
        &format!("sleep {}; echo slow", meanwhile.as_secs()),
        "slow\n",
        "run the text to its end, as in the exchange that prints a word",
    );
    let running = walk.start_case(case);
    let closed = result_message(walk.talk.next_id(), &json!({"existed": false}));
    walk.expect_besides("the answer to sandbox.close comes before it", &[closed], true);
    let asked = walk
        .talk
        .ask("sandbox.close", &json!({"sandbox": super::refusal::NOBODY}));
    let heard = walk.answer(&asked, ANSWER).await.is_some();
    let first_is_open = walk.talk.is_open(&running.asked);
    let took = walk.finish_case(&running, ANSWER).await;
    if heard && !first_is_open && took.is_some_and(|took| took >= meanwhile) {
        walk.complain(Complaint::new(
            "one_after_the_other",
            "sandbox.close was answered only when the command had ended: while a command runs, nothing else is heard, and it cannot be \
             cancelled",
            to_do,
        ));
    }
}
