//! Steps of one form whose words choose among what several chapters do, so that the language stays small.

use std::time::Duration;

use super::{
    approval::risk,
    contract::{cap, error, event, proto},
    exec::{
        args, busy, cancel, cwd, env, exit, flow, job, like_lines, lookup, open_files, otherwise, out, race,
        shell, stdin, stream, timeout, user,
    },
    files::{change, file, relative, tree},
    general,
    isolation::{self, host, r#priv, secret, tenant},
    lifecycle::{attach, close, kept_files, leak, leave_beat, open, preflight, reap, reuse, stale},
};
use crate::{
    scene::{Failure, Scene},
    step::{StepList, StepResult},
};

pub(super) fn register(steps: &mut StepList) {
    steps
        .given("a command that {words}", |scene, arguments| {
            Box::pin(async move {
                let what = arguments.words(0)?;
                if let Some(seconds) = number_in(what, "keeps a beat, with a deadline of ", " seconds") {
                    return stale::keep_beat_until(scene, seconds).await;
                }
                if let Some(bytes) = number_in(what, "prints ", " bytes to a caller that takes nothing") {
                    return cancel::print_to_nobody(scene, bytes).await;
                }
                if let Some(what) = what.strip_suffix(" in the first one") {
                    return tenant::in_first(scene, what).await;
                }
                match what {
                    "keeps a beat" => general::keep_beat(scene).await,
                    "keeps a beat and does not read its input" => busy::leave_unread(scene).await,
                    "waits for its input" => stdin::wait_for_input(scene).await,
                    "has left a beat behind" => leave_beat(scene).await,
                    "has left files of every kind" => kept_files::leave(scene).await,
                    "has removed the directory that commands start in" => cwd::remove_first(scene).await,
                    "has filled that room" => isolation::fill(scene).await,
                    "was run in a directory that does not exist" => cwd::run_nowhere(scene).await,
                    other => cancel::start(scene, other).await,
                }
            })
        })
        .when("a command that leaves a mark is {words}", |scene, arguments| {
            Box::pin(async move { leave_mark_with(scene, arguments.words(0)?).await })
        })
        .when("a command names {words}", |scene, arguments| {
            Box::pin(async move { exit::name(scene, arguments.words(0)?).await })
        })
        .when("a command uses {words}", |scene, arguments| {
            Box::pin(async move { command_uses(scene, arguments.words(0)?).await })
        })
        .when("the backend {words}", |scene, arguments| {
            Box::pin(async move { backend_does(scene, arguments.words(0)?).await })
        })
        .when("something goes on in it: {words}", |scene, arguments| {
            Box::pin(async move { reap::go_on(scene, arguments.words(0)?).await })
        })
        .when("a program {words}", |scene, arguments| {
            Box::pin(async move { run_program(scene, arguments.words(0)?).await })
        })
        .then("the beat {words}", |scene, arguments| {
            Box::pin(async move { observe_beat(scene, arguments.words(0)?).await })
        })
        .then("the command is answered as {words}", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "lost with its sandbox" => close::answered_as_lost(scene).await,
                    "lost with its sandbox, or as ended by a signal" => stale::answered_as_ended(scene).await,
                    "timed out" => timeout::answered_as_timed_out(scene).await,
                    "exited with code 3" => stdin::answered_as_exited(scene, 3).await,
                    other => Err(unknown(other, "an answer")),
                }
            })
        })
        .then("a command finds {words}", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "exactly that name in its directory" => file::find_name(scene).await,
                    "it in the directory that commands start in" => file::find_relative(scene).await,
                    "the mark in the directory that commands start in" => general::find_mark(scene).await,
                    "that it is gone, and the other one as it was" | "that nothing of it is gone" => {
                        tree::other_untouched(scene).await
                    }
                    "that nothing there has changed" => change::nothing_changed(scene).await,
                    "that it leads where it led, and that nothing else has changed" => {
                        change::link_is_moved(scene).await
                    }
                    "nothing new in the directory that commands start in" => {
                        leak::nothing_where_commands_start(scene).await
                    }
                    "that this was done there, and nothing else" => relative::find(scene).await,
                    "these files as they were" => kept_files::find(scene).await,
                    "these lines in the file, byte for byte" => shell::find_lines(scene).await,
                    other => Err(unknown(other, "to be found")),
                }
            })
        })
        .then("it is {words}", |scene, arguments| {
            Box::pin(async move { it_is(scene, arguments.words(0)?).await })
        })
        .then("it was {words}", |scene, arguments| {
            Box::pin(async move { it_was(scene, arguments.words(0)?) })
        });
}

async fn backend_does(scene: &mut Scene, what: &str) -> StepResult {
    let mounts = what.strip_prefix("is asked how far ");
    if let Some(mounts) = mounts.and_then(|words| words.strip_suffix(" would reach")) {
        return risk::ask(scene, mounts).await;
    }
    if let Some(favour) = what.strip_prefix("is asked to ") {
        return cap::ask_to(scene, favour).await;
    }
    if let Some(what) = what.strip_prefix("tells ") {
        return secret::ask(scene, what).await;
    }
    if let Some(how) = what.strip_prefix("reads it ") {
        return host::read_by_backend(scene, how).await;
    }
    if let Some(what) = what.strip_prefix("is told to ") {
        return cancel::tell(scene, what).await;
    }
    if let Some(what) = what.strip_prefix("removes what ") {
        return reap::remove(scene, what).await;
    }
    match what {
        "closes them all at the same time" => race::close_together(scene).await,
        "introduces itself" => cap::introduce(scene).await,
        "is asked once what it misses" => preflight::ask(scene, 1).await,
        "is asked again and again what it misses" => preflight::ask_again_and_again(scene).await,
        "is used while something that it needs is missing" => scene.do_without(false).await,
        "is used again and again while something that it needs is missing" => scene.do_without(true).await,
        _ => leak::end_backend(scene, what).await,
    }
}

async fn command_uses(scene: &mut Scene, what: &str) -> StepResult {
    if let Some(fate) = what.strip_prefix("the name of one that ") {
        return race::run_under_old_name(scene, fate).await;
    }
    match what {
        "a directory that was removed and made again" => cwd::use_again(scene).await,
        "what only Bash has" => cap::use_bash(scene).await,
        "more memory than there is" => exit::exhaust_memory(scene).await,
        "a helper of its shell for its output" => stream::use_helper(scene).await,
        "variables that look like lines of a file" => like_lines::give_command(scene).await,
        "a thousand variables of its own" => env::use_many(scene).await,
        "cat, ls, sleep, tr and wc" => env::use_programs(scene).await,
        "a program that is on its own search path" => lookup::use_own_path(scene).await,
        other => isolation::command_uses(scene, other).await,
    }
}

/// The words of a step mean nothing: a fault of the suite.
pub(super) fn unknown(words: &str, what: &str) -> Failure {
    Failure::suite(format!("{words:?} is nothing that can be {what}"))
}

/// Words that end with a number and its unit: `within 5 seconds`.
pub(super) fn number_in<T: std::str::FromStr>(words: &str, before: &str, after: &str) -> Option<T> {
    words.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
}

async fn leave_mark_with(scene: &mut Scene, how: &str) -> StepResult {
    if let Some(option) = how.strip_prefix("run with ") {
        return cap::run_with(scene, option).await;
    }
    if let Some(place) = how.strip_prefix("run in ") {
        return cwd::run_in(scene, place).await;
    }
    if let Some(name) = how.strip_prefix("given a variable with ") {
        return env::run_with_name(scene, name).await;
    }
    if let Some(signal) = number_in(how, "ended by signal ", " of its own first") {
        return exit::end_first(scene, signal).await;
    }
    if let Some(part) = how.strip_prefix("given a NUL byte in ") {
        return error::run_with_nul(scene, part).await;
    }
    if let Some(what) = how.strip_prefix("given ") {
        return args::run_with_too_much(scene, what).await;
    }
    match how {
        "abandoned by its reader" => exit::lose_reader(scene).await,
        "cancelled as soon as it is asked for" => cancel::cancel_early(scene).await,
        "run under the name of one that runs" => race::run_under_used_name(scene).await,
        "run where there is no room for it" => isolation::run_without_room(scene).await,
        "run as a user that does not exist" => user::run_as_unknown(scene).await,
        "requested with a deadline of minus one" => error::run_with_negative_deadline(scene).await,
        other => Err(unknown(other, "done with a command")),
    }
}

async fn run_program(scene: &mut Scene, which: &str) -> StepResult {
    if let Some(name) = which.strip_prefix("is given a variable with ") {
        return env::give_program(scene, name).await;
    }
    if let Some(kind) = which.strip_prefix("is given arguments of ") {
        return args::run_with(scene, kind).await;
    }
    if let Some(seconds) = number_in(which, "keeps a beat, with a deadline of ", " second") {
        return timeout::run_program_until(scene, seconds).await;
    }
    let place = which
        .strip_prefix("that lies ")
        .and_then(|rest| rest.strip_suffix(" is run by a relative path"));
    if let Some(place) = place {
        return lookup::run_by_relative_path(scene, place).await;
    }
    if let Some(how) = which.strip_prefix("looks for ") {
        return host::look_by_program(scene, how).await;
    }
    if let Some(code) = number_in(which, "exits with code ", "") {
        return exit::run_program(scene, code).await;
    }
    let on_signal = which
        .strip_prefix("that exits with code 4 on signal ")
        .and_then(|rest| number_in(rest, "", " is sent that signal"));
    if let Some(signal) = on_signal {
        return otherwise::send_signal(scene, 4, signal).await;
    }
    if let Some(count) = number_in(which, "is given ", " arguments") {
        return args::run_with_many(scene, count).await;
    }
    match which {
        "uses variables that look like lines of a file" => like_lines::give_program(scene).await,
        "prints the variable of its sandbox" => open::print_variable_by_program(scene).await,
        "tells what it may do" => r#priv::tell_by_program(scene).await,
        "prints its working directory" => otherwise::print_directory(scene).await,
        "names the files that it holds open" => open_files::tell_by_program(scene).await,
        "tells the name that it was called by" => args::tell_own_name(scene).await,
        "tells that it runs" => isolation::tell_running_by_program(scene).await,
        "of no words is run" => error::run_no_words(scene).await,
        "that does not exist is run" => exit::run_missing(scene).await,
        "that only a shell has within itself is run" => exit::run_builtin(scene).await,
        "is given an argument of bytes that are not valid UTF-8" => proto::run_with_bytes(scene).await,
        "in this directory lists its variables" | "lists its variables" => cwd::list_variables(scene).await,
        "that is on its own search path is run" => lookup::run_on_own_path(scene).await,
        "repeats its input" => stdin::repeat_by_program(scene).await,
        "whose name a shell would take apart is run" => args::run_by_a_hostile_name(scene).await,
        other => Err(unknown(other, "done by a program")),
    }
}

async fn observe_beat(scene: &mut Scene, words: &str) -> StepResult {
    if let Some(seconds) = number_in(words, "stops within ", " seconds after the deadline") {
        return timeout::stops_within(scene, Duration::from_secs(seconds)).await;
    }
    match words {
        "stops within a second" => scene.beat_stops_within(Duration::from_secs(1)).await,
        "has stopped" => scene.beat_has_stopped().await,
        "goes on" => scene.beat_goes_on().await,
        other => Err(unknown(other, "seen of a beat")),
    }
}

async fn it_is(scene: &mut Scene, what: &str) -> StepResult {
    if let Some(how_far) = what.strip_prefix("said to reach ") {
        return risk::reaches(scene, how_far);
    }
    match what {
        "this directory" | "the root directory" | "the directory that commands start in" => {
            cwd::printed(scene, what).await
        }
        "not" => env::is_not_set(scene),
        "among the variables that it sees" => env::is_listed(scene),
        "listed as running" => open::listed_as_running(scene).await,
        "no job" => job::none_is_listed(scene).await,
        "not listed" => open::not_listed(scene).await,
        "not described as running" => open::not_described(scene).await,
        "the same sandbox, found again" => attach::same(scene),
        "another sandbox" => attach::different(scene),
        "a new sandbox, with nothing of the one before" => attach::new_and_empty(scene).await,
        "as the last caller has asked" => attach::as_asked(scene).await,
        "gone, and whoever uses it is told so" => attach::gone(scene).await,
        "left as it was, and told why" => reap::left(scene).await,
        "removed, and told why" => reap::removed(scene).await,
        "told what would go, and there" => reap::would_go(scene).await,
        "not told as removed" => reap::not_told_as_removed(scene),
        "ended when its idle life is over, and not before" => reap::ends_in_time(scene).await,
        "another one that its key opens, and of use" => reap::opens_anew(scene).await,
        "what was asked for, and no loss is left untold" => reuse::as_asked_and_told(scene).await,
        "described as running, under its own id, with the directory that commands start in" => {
            open::described_truly(scene).await
        }
        "told exactly, with the digest of each stream" => out::told_exactly(scene),
        "sent as far as it was wanted, and the rest is told as a gap" => out::sent_as_wanted(scene),
        "sent as far as it was wanted, on both streams, and the rest is told as gaps" => {
            out::sent_as_wanted_on_both(scene)
        }
        "given no open files but its input and its outputs" => open_files::none_but_its_own(scene),
        "answered with an error that names no request" => proto::answered_unaddressed(scene).await,
        other => isolation::it_is(scene, other).await,
    }
}

fn it_was(scene: &Scene, what: &str) -> StepResult {
    if let Some(seconds) = number_in(what, "answered within ", " seconds") {
        return general::answered_within(scene, Duration::from_secs(seconds));
    }
    if let Some(mebibytes) = number_in(what, "carried with no more than ", " MiB of memory") {
        return out::carried_within(scene, mebibytes);
    }
    match what {
        "told to have run as long as it did" => timeout::told_how_long(scene),
        "told the digest of all that it was fed" => flow::told_digest(scene),
        "announced as soon as it ran" => event::announced_at_once(scene),
        "announced once, before any output" => event::announced(scene),
        "said to be alive meanwhile" => event::said_alive(scene),
        other => isolation::it_was(scene, other),
    }
}
