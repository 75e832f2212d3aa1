//! SESSION: what a shell knows is carried from command to command.

use herm_protocol::{
    exec::{Command, Outcome, RunParams, Stdin, Stream},
    method,
    sandbox::{SandboxSpec, Variable},
    session::SessionRef,
};

use super::{env, many_sessions, open_files, session_text, shell_text, stdin::expect_content};
use crate::{
    scene::{Failure, Scene, shell},
    step::{StepList, StepResult},
    steps::{
        composed::{number_in, unknown},
        general::{expect_outcome, show},
        isolation::{host, r#priv},
    },
};

/// The variable whose value is carried byte for byte.
pub(super) const VALUE: &str = "PROBE_EXPORTED";

/// The variable of a session that carries something.
pub(in crate::steps) const KEPT: &str = "PROBE_KEPT";

/// What a command of a session is given to read.
const INPUT: &str = "one\ntwo\n";

/// The longest name of a session, in bytes.
const LONGEST: usize = 256;

/// Words before what is special about the name of a session.
const NAMED: &str = "named with ";

/// Says where a command is and what it has of the session. A command before it that fails must not matter.
pub(super) const LOOK: &str = "false; printf '%s\\n' \"${PROBE_KEPT-none}\"; pwd -P";

pub(super) fn register(steps: &mut StepList) {
    steps
        .given("a session {words}", |scene, arguments| {
            Box::pin(async move { begin(scene, arguments.words(0)?).await })
        })
        .when("a command of the session {words}", |scene, arguments| {
            Box::pin(async move { act(scene, arguments.words(0)?).await })
        })
        .when("the session is {words}", |scene, arguments| {
            Box::pin(async move {
                match arguments.words(0)? {
                    "closed" | "closed though there is none" => close(scene).await,
                    "closed in another sandbox" => use_elsewhere(scene, true).await,
                    "lost with another sandbox" => use_elsewhere(scene, false).await,
                    "used by two commands at once, of which the first ends last" => use_at_once(scene).await,
                    other => Err(unknown(other, "done with a session")),
                }
            })
        })
        .when(
            "the directory is {words}, and a command of the session runs",
            |scene, arguments| {
                Box::pin(async move { run_without_directory(scene, arguments.words(0)?).await })
            },
        )
        .then("a notice names the directory", |scene, _| {
            Box::pin(async { named_in_a_notice(scene) })
        })
        .then("{words} session {words}", |scene, arguments| {
            Box::pin(async move { observe(scene, arguments.words(0)?, arguments.words(1)?).await })
        });
}

/// A session as a scenario begins with it.
async fn begin(scene: &mut Scene, what: &str) -> StepResult {
    if let Some(many) = number_in(what, "that carries something, as the first of ", "") {
        return many_sessions::begin(scene, many).await;
    }
    if let Some(done) = what.strip_prefix("in which a command has ") {
        let text = first_text(scene, done).await?;
        return prepare(scene, text).await;
    }
    let named = what
        .strip_suffix(" that carries something")
        .and_then(|named| named.strip_prefix(NAMED));
    if let Some(sign) = named {
        scene.notes.session = Some(named_with(scene, sign)?);
    } else if what != "that carries something" {
        return Err(unknown(what, "a session"));
    }
    carry_something(scene).await
}

/// A name that differs from others of the scenario in one place only.
fn named_with(scene: &mut Scene, sign: &str) -> Result<String, Failure> {
    let token = scene.token();
    let stem = scene.notes.name.get_or_insert(token);
    let filled = |last: &str| format!("{last:->0$}", LONGEST - stem.len());
    let end = match sign {
        "a dot" => "a.b".into(),
        "a blank" => "a b".into(),
        "an underscore" => "a_b".into(),
        "a slash" => "a/b".into(),
        "a capital letter" => "A_b".into(),
        "a letter of two bytes" => "a\u{e9}".into(),
        "another letter of two bytes" => "a\u{fc}".into(),
        "a letter and its accent" => "ae\u{301}".into(),
        "the code of an underscore" => "a%5Fb".into(),
        "an underscore, and a blank at the end" => "a_b ".into(),
        "an underscore, behind a way there and back" => "x/../a_b".into(),
        "as many letters as may be, the last of which is an a" => filled("a"),
        "as many letters as may be, the last of which is a b" => filled("b"),
        other => return Err(unknown(other, "in the name of a session")),
    };
    Ok(format!("{stem}{end}"))
}

/// The scenario's session.
pub(super) fn name(scene: &mut Scene) -> String {
    if let Some(name) = &scene.notes.session {
        return name.clone();
    }
    let name = scene.token();
    scene.notes.session = Some(name.clone());
    name
}

async fn command(scene: &mut Scene, text: impl Into<String>) -> Result<RunParams, Failure> {
    let session = Some(name(scene));
    let text: String = text.into();
    Ok(RunParams {
        session,
        ..scene.command(text).await?
    })
}

async fn run(scene: &mut Scene, text: impl Into<String>) -> StepResult {
    let params = command(scene, text).await?;
    scene.run(&params).await
}

/// A command of the session that has to work for the scenario to mean anything.
pub(super) async fn prepare(scene: &mut Scene, text: String) -> StepResult {
    let works = async {
        run(scene, text).await?;
        expect_outcome(scene, &Outcome::Exited { code: 0 })
    };
    works.await.map_err(Failure::while_preparing)
}

async fn first_text(scene: &mut Scene, what: &str) -> Result<String, Failure> {
    if let Some(value) = what.strip_prefix("exported ") {
        let value = env::value(value)?;
        // What `$( )` would cut off at the end is kept by a letter behind it.
        let text = format!(
            "{VALUE}=$({}; printf x); {VALUE}=${{{VALUE}%x}}; export {VALUE}",
            shell::print(&value)
        );
        scene.notes.content = Some(value);
        return Ok(text);
    }
    Ok(match what {
        "gone to this directory" => {
            let directory = scene.notes.directory.clone().unwrap_or_default();
            format!("cd {}", shell::word(directory.as_bytes()))
        }
        "gone there by a link" => {
            let directory = scene.notes.directory.clone().unwrap_or_default();
            let link = shell::word(scene.new_path("link").await?.as_bytes());
            format!("ln -s {} {link} && cd {link}", shell::word(directory.as_bytes()))
        }
        given if let Some(name) = given.strip_prefix("given another value to ") => {
            scene.notes.content = Some(b"/probe/value".to_vec());
            format!("{name}=/probe/value; export {name}")
        }
        "found a variable of its sandbox" => format!("[ \"${VALUE}\" = 'of its sandbox' ]"),
        "defined a function with a here-document" => "herm_name() { cat <<END\nhello $1\nEND\n}".into(),
        "defined a function with quotes" => r#"herm_name() { printf '%s %s\n' "hel"'lo' "$1"; }"#.into(),
        "defined an alias with quotes" => r#"alias herm_name='printf "%s %s\n" hello'"#.into(),
        "defined a function" => "herm_name() { echo hello \"$1\"; }".into(),
        "defined an alias" => "alias herm_name='echo hello'".into(),
        other => return Err(unknown(other, "done in a session")),
    })
}

/// Whether a session carries exported variables.
pub(super) async fn carries_variables(scene: &mut Scene) -> Result<bool, Failure> {
    let choices = scene.initialized().await?.choices;
    let state = choices.get("state").map_or("", String::as_str);
    Ok(matches!(state, "cwd_env" | "shell"))
}

/// Goes to a directory of the scenario's own and exports a value. What is seen of it is the last thing that is noted.
pub(super) async fn carry_something(scene: &mut Scene) -> StepResult {
    let directory = scene.new_path("kept").await?;
    let place = shell::word(directory.as_bytes());
    let text = format!("mkdir -p {place} && cd {place} && export {KEPT}='what was kept'");
    prepare(scene, text).await?;
    scene.notes.directory = Some(directory);
    Ok(())
}

/// What a look at a session shows that carries something.
pub(super) async fn carried(scene: &mut Scene) -> Result<Vec<u8>, Failure> {
    let kept = if carries_variables(scene).await? {
        "what was kept"
    } else {
        "none"
    };
    let directory = scene.notes.directory.clone().unwrap_or_default();
    Ok([kept.as_bytes(), b"\n", directory.as_bytes(), b"\n"].concat())
}

/// What an option of a shell would not allow.
async fn do_what_is_not_allowed(scene: &mut Scene, option: &str) -> StepResult {
    let directory = scene.new_path("options").await?;
    let text = format!(
        "mkdir {0} && cd {0} && : > one; {1}",
        shell::word(directory.as_bytes()),
        session_text::option_of(option)?.1
    );
    run(scene, text).await
}

/// What a command of a session does about what its sandbox is kept from, if it is that.
async fn act_within(scene: &mut Scene, what: &str) -> Option<StepResult> {
    if what == "tells what it may do" {
        return Some(r#priv::tell_in_session(scene).await);
    }
    let how = what
        .strip_prefix("looks for ")
        .filter(|how| how.starts_with("it "))?;
    Some(host::look_in_session(scene, how).await)
}

async fn act(scene: &mut Scene, what: &str) -> StepResult {
    if let Some(done) = act_within(scene, what).await {
        return done;
    }
    if let Some(end) = what.strip_prefix("changes what it carries and ") {
        return change_and_end(scene, end).await;
    }
    if let Some(words) = what
        .strip_prefix("whose text ")
        .and_then(|rest| rest.strip_suffix(" is run"))
    {
        let text = shell_text::named(words)?;
        scene.notes.content = Some(text.output.as_bytes().to_vec());
        return run(scene, text.script).await;
    }
    if let Some(text) = session_text::hostile(what) {
        return run(scene, text).await;
    }
    if let Some(option) = what.strip_prefix("turns on ") {
        return run(scene, session_text::option_of(option)?.0).await;
    }
    if let Some(option) = what
        .strip_prefix("does what ")
        .and_then(|rest| rest.strip_suffix(" would not allow"))
    {
        return do_what_is_not_allowed(scene, option).await;
    }
    if let Some(what) = what.strip_prefix("takes away ") {
        return run(scene, session_text::taken_away(what)?.0).await;
    }
    if let Some(what) = what.strip_prefix("looks for ") {
        let (_, there) = session_text::taken_away(what)?;
        return run(scene, format!("if {there}; then echo there; else echo gone; fi")).await;
    }
    if let Some(name) = what.strip_prefix("prints its value of ") {
        return run(scene, format!("printf %s \"${name}\"")).await;
    }
    match what {
        "tells where it is" => run(scene, "pwd -P; printf .").await,
        "goes back, and tells where it is" => run(scene, "cd - >/dev/null; pwd -P; printf .").await,
        "goes above it, and tells where it is" => run(scene, "cd ..; pwd -P; printf .").await,
        "prints the value" => run(scene, format!("printf %s \"${VALUE}\"")).await,
        "uses the name" => run(scene, "herm_name you").await,
        "sets errexit and fails" => run(scene, "set -e; false; echo never").await,
        "prints on both streams and fails" => run(scene, "printf out; printf err >&2; sh -c 'exit 7'").await,
        "changes everything and runs into its deadline" => {
            let text = format!("export {KEPT}=half; cd /; sleep 5");
            let mut params = command(scene, text).await?;
            params.timeout_ms = Some(300);
            scene.run(&params).await
        }
        "changes everything and is cancelled" => {
            let params = command(scene, format!("export {KEPT}=half; cd /; echo begun; sleep 20")).await?;
            let patience = scene.patience();
            let mut exec = scene.start(&params).await?;
            exec.wait_until(patience, |record| !record.pieces.is_empty())
                .await?;
            scene.running.push(exec);
            super::timeout::cancel(scene, 1).await
        }
        "is run in a directory of its own" => {
            let mut params = command(scene, "true").await?;
            params.cwd = Some("/".into());
            scene.run(&params).await
        }
        "names the files that it holds open" => run(scene, open_files::TELL).await,
        "counts its input" => run(scene, "wc -c").await,
        "writes 200 KiB by a here-document" => {
            let line = "0123456789abcde\n";
            run(
                scene,
                format!("wc -c <<'END'\n{}END\n", line.repeat(200 * 1024 / line.len())),
            )
            .await
        }
        "repeats its input" => {
            let mut params = command(scene, "cat; echo end").await?;
            params.stdin = Stdin::Bytes { data: INPUT.into() };
            scene.run(&params).await
        }
        "is given another value of its own, and exports others" => {
            let text = format!("PROBE_NEW=new; export PROBE_NEW; echo \"${KEPT}\"");
            let mut params = command(scene, text).await?;
            params.env = vec![Variable::new(KEPT, "own")];
            scene.run(&params).await
        }
        "is given another value of its own" => {
            let mut params = command(scene, format!("echo \"${KEPT}\"")).await?;
            params.env = vec![Variable::new(KEPT, "own")];
            scene.run(&params).await
        }
        other => Err(unknown(other, "done by a command of a session")),
    }
}

/// Uses a session of the same name in another sandbox, where it starts afresh, and ends it there or with that sandbox.
async fn use_elsewhere(scene: &mut Scene, closed: bool) -> StepResult {
    let session = name(scene);
    let other = scene.open(SandboxSpec::default()).await?.sandbox;
    let text = format!("echo \"${{{KEPT}-none}}\"; cd /; export {KEPT}=other");
    let mut params = scene.command_in(&other, Command::Shell(text.into()));
    params.session = Some(session.clone());
    scene.run(&params).await?;
    let seen = scene.record()?.bytes(Stream::Stdout);
    scene.result()?;
    expect_content(b"none\n", &seen)?;
    if closed {
        let patience = scene.patience();
        let sandbox = other.clone();
        let params = SessionRef { sandbox, session };
        let client = scene.client().await?;
        client.call::<method::CloseSession>(&params, patience).await?;
    }
    scene.destroy(&other).await?;
    scene.own.retain(|sandbox| sandbox.id != other);
    Ok(())
}

async fn close(scene: &mut Scene) -> StepResult {
    let session = name(scene);
    let sandbox = scene.sandbox().await?.id;
    let patience = scene.patience();
    let params = SessionRef { sandbox, session };
    scene
        .client()
        .await?
        .call::<method::CloseSession>(&params, patience)
        .await?;
    Ok(())
}

async fn run_without_directory(scene: &mut Scene, how: &str) -> StepResult {
    let directory = scene.notes.directory.clone().unwrap_or_default();
    let word = shell::word(directory.as_bytes());
    let text = match how {
        "removed" => format!("rmdir {word}"),
        "moved" => format!("mv {word} {word}-moved"),
        "replaced by a file" => format!("rmdir {word}; echo file > {word}"),
        "removed with the one above" => {
            let path = directory.as_bytes();
            let above = path.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
            format!("rm -r {}", shell::word(&path[..above]))
        }
        other => return Err(unknown(other, "done to a directory")),
    };
    scene.prepare(text).await?;
    run(scene, LOOK).await
}

fn named_in_a_notice(scene: &Scene) -> StepResult {
    let directory = scene.notes.directory.clone().unwrap_or_default();
    let directory = directory.to_string_lossy();
    let notices = &scene.result()?.notices;
    if notices.iter().any(|notice| notice.contains(&*directory)) {
        return Ok(());
    }
    Err(Failure::failed(
        format!("a notice that names {directory}"),
        format!("notices: {notices:?}"),
    ))
}

/// The first command waits until the second has ended; each has a directory and a value of its own.
async fn use_at_once(scene: &mut Scene) -> StepResult {
    let patience = scene.patience();
    let go = scene.new_path("go").await?;
    let gate = shell::word(go.as_bytes());
    let mut directories = Vec::new();
    for number in ["first", "second"] {
        let directory = scene.new_path(number).await?;
        let place = shell::word(directory.as_bytes());
        scene.prepare(format!("mkdir {place}")).await?;
        directories.push((number, directory, place));
    }
    let text = |number: &str, place: &str| format!("cd {place}; export {KEPT}={number}; echo ready");
    let (number, directory, place) = &directories[0];
    let wait = format!("i=0; while [ ! -e {gate} ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done");
    let params = command(scene, format!("{}; {wait}", text(number, place))).await?;
    let mut first = scene.start(&params).await?;
    first
        .wait_until(patience, |record| !record.bytes(Stream::Stdout).is_empty())
        .await?;
    let (number, _, place) = &directories[1];
    run(scene, text(number, place)).await?;
    expect_outcome(scene, &Outcome::Exited { code: 0 })?;
    scene.prepare(format!(": > {gate}")).await?;
    let record = first.wait(patience).await.map_err(|fault| scene.broken(fault))?;
    scene.keep(record);
    expect_outcome(scene, &Outcome::Exited { code: 0 })?;
    scene.notes.directory = Some(directory.clone());
    Ok(())
}

async fn observe(scene: &mut Scene, whose: &str, what: &str) -> StepResult {
    if (whose, what) == ("every", "has what it carries") {
        return many_sessions::observe_each(scene).await;
    }
    let session = match whose {
        "the" => Some(name(scene)),
        "another" => Some(scene.token()),
        "a command without a" => None,
        "a" => {
            let sign = what.strip_suffix(" starts afresh").unwrap_or(what);
            let sign = sign.strip_prefix(NAMED).unwrap_or(sign);
            Some(named_with(scene, sign)?)
        }
        other => return Err(unknown(other, "whose session it is")),
    };
    let expected = match what {
        "has what it carries" => carried(scene).await?,
        afresh if afresh.ends_with("starts afresh") => {
            let workdir = scene.workdir().await?;
            [b"none\n", workdir.as_bytes(), b"\n"].concat()
        }
        "has what the last to end has left" => {
            let directory = scene.notes.directory.clone().unwrap_or_default();
            [b"first\n", directory.as_bytes(), b"\n"].concat()
        }
        other => return Err(unknown(other, "seen of a session")),
    };
    look_at(scene, session, &expected).await
}

/// A command of a session, or of none, finds what is expected.
pub(super) async fn look_at(scene: &mut Scene, session: Option<String>, expected: &[u8]) -> StepResult {
    let last = scene.last.take();
    let sandbox = scene.sandbox().await?.id;
    let mut params = scene.command_in(&sandbox, Command::Shell(LOOK.into()));
    params.session = session;
    scene.run(&params).await?;
    if !matches!(scene.result()?.outcome, Outcome::Exited { code: 0 }) {
        let seen = scene.result()?.outcome.to_string();
        let said = show(&scene.record()?.bytes(Stream::Stderr));
        return Err(Failure::failed(
            "a command to run there",
            format!("{seen}; it said {said}"),
        ));
    }
    let seen = scene.record()?.bytes(Stream::Stdout);
    scene.last = last;
    expect_content(expected, &seen)
}

/// A command goes elsewhere and exports something, and its shell ends in one way or another that is its own.
async fn change_and_end(scene: &mut Scene, end: &str) -> StepResult {
    let directory = scene.new_path("kept").await?;
    let place = shell::word(directory.as_bytes());
    let change = format!("mkdir -p {place} && cd {place} && export {KEPT}='what was kept'");
    let text = match end {
        "exits with 3" => format!("{change}; exit 3"),
        "fails with errexit on" => format!("set -e; {change}; false; echo never"),
        "has a trap for its end" => format!("trap 'echo at the end' EXIT; {change}"),
        "exits within a function" => format!("leave() {{ {change}; exit 4; }}; leave; echo never"),
        other => return Err(unknown(other, "the end of a shell")),
    };
    scene.notes.directory = Some(directory);
    run(scene, text).await?;
    scene.result()?;
    Ok(())
}
