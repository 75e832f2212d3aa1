//! Sessions: what one command leaves for the next.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as the tests do")]

#[expect(dead_code, reason = "shared by several tests, each of which uses a part")]
mod support;

use herm_resident::wire::{Command, Request, Session, Start, StateKept};
use support::{Client, Ran, Resident, request_id, shell};

fn of(name: &str, kept: StateKept) -> Session {
    Session {
        name: name.into(),
        kept,
        cwd: None,
        own: Vec::new(),
        leaves: true,
    }
}

fn session(text: &str) -> Start {
    Start {
        session: Some(of("one", StateKept::Shell)),
        ..shell(text)
    }
}

fn run(client: &mut Client, text: &str) -> Ran {
    client.run(session(text))
}

#[test]
fn the_directory_variables_and_functions_are_carried() {
    let resident = Resident::start();
    let mut client = resident.client();
    let place = resident.scratch().join("a place");
    std::fs::create_dir(&place).unwrap();
    let text = format!(
        "cd '{}'; export A=$'x\\n\\'y' B=2; C=3; greet() {{ echo hello $1; }}; unset HOME",
        place.display()
    );
    run(&mut client, &text).assert_exited(0);
    let seen = run(
        &mut client,
        "pwd; printf '%s|' \"$A\" \"$B\" \"${C-none}\" \"${HOME-none}\"; greet you",
    );
    assert_eq!(
        seen.out(),
        format!("{}\nx\n'y|2|none|none|hello you\n", place.display())
    );
    assert_eq!(seen.err(), "");
    // Of another session, and of none, nothing is seen.
    assert_eq!(client.shell("pwd; echo ${A-none}").out(), "/\nnone\n");
    let other = Start {
        session: Some(of("two", StateKept::CwdEnv)),
        ..shell("echo ${A-none}; f() { :; }; export D=1")
    };
    assert_eq!(client.run(other.clone()).out(), "none\n");
    let again = Start {
        request: request_id(),
        ..other
    };
    let again = client.run(Start {
        session: again.session.clone(),
        ..shell("echo $D; type f 2>/dev/null || echo no f")
    });
    assert_eq!(again.out(), "1\nno f\n");
    client.ask(|call| Request::EndSession {
        call,
        name: "one".into(),
    });
    assert_eq!(run(&mut client, "pwd; echo ${A-none}").out(), "/\nnone\n");
}

#[test]
fn whatever_the_text_does_the_session_lives_on() {
    let resident = Resident::start();
    let mut client = resident.client();
    run(&mut client, "cd /usr; export A=kept").assert_exited(0);
    for (text, code) in [
        ("exit 3", 3),
        ("set -euo pipefail; false; echo never", 1),
        ("set -u; echo $undefined_name", 127),
        ("exec true", 0),
        ("exec sh -c 'exit 9'", 9),
        ("if then", 2),
        ("echo $(", 2),
        ("cat <<EOF\nunfinished", 0),
        ("trap 'exit 5' EXIT", 5),
        ("IFS=/; set -f; set -C; true", 0),
        ("unset PATH; true", 0),
        (
            "cd() { echo hijacked; }; printf() { echo hijacked; }; exit() { builtin exit 4; }; exit",
            4,
        ),
        ("(trap 'true' EXIT; cd /; export A=sub)", 0),
        ("kill -9 $$", 0),
    ] {
        let ran = run(&mut client, text);
        if !text.contains("kill") {
            ran.assert_exited(code);
        }
        assert!(
            !ran.out().contains("__herm") && !ran.err().contains("__herm"),
            "{ran:?}"
        );
        let seen = run(&mut client, "unset -f cd printf exit; echo $A; pwd");
        assert_eq!(seen.out(), "kept\n/usr\n", "after {text}");
    }
    let traced = run(&mut client, "set -x; true");
    assert_eq!(traced.err(), "+ true\n");
}

#[test]
fn traps_of_the_text_still_run_with_its_status() {
    let resident = Resident::start();
    let mut client = resident.client();
    let ran = run(&mut client, "trap 'echo bye $?' EXIT; export A=1; exit 6");
    ran.assert_exited(6);
    assert_eq!(ran.out(), "bye 6\n");
    assert_eq!(run(&mut client, "echo $A $LINENO $0").out(), "1 1 bash\n");
    assert_eq!(
        run(&mut client, "trap 'echo x' EXIT; trap - EXIT; export A=2; trap").out(),
        "trap -- '' EXIT\n"
    );
    assert_eq!(run(&mut client, "echo $A").out(), "2\n");
}

#[test]
fn what_is_given_for_one_command_is_not_kept() {
    let resident = Resident::start();
    let mut client = resident.client();
    run(&mut client, "export A=session").assert_exited(0);
    let env = vec![
        (b"A".to_vec(), b"call".to_vec()),
        (b"SECRET".to_vec(), b"s3cr3t".to_vec()),
    ];
    let own = |mut start: Start| {
        if let Some(session) = &mut start.session {
            session.own = vec![b"A".to_vec(), b"SECRET".to_vec()];
        }
        start
    };
    let seen = client.run(own(Start {
        env,
        ..session("echo $A $SECRET")
    }));
    assert_eq!(seen.out(), "call s3cr3t\n");
    assert_eq!(run(&mut client, "echo $A ${SECRET-none}").out(), "session none\n");
    for entry in std::fs::read_dir(resident.directory()).unwrap() {
        let path = entry.unwrap().path();
        let content = std::fs::read(&path).unwrap_or_default();
        assert!(!content.windows(6).any(|window| window == b"s3cr3t"), "{path:?}");
        assert!(!path.to_string_lossy().contains(".cwd-"), "{path:?}");
    }
    let variables = run(
        &mut client,
        "env | grep -c -e HERM -e BASH_ENV; compgen -e | grep -c __herm",
    );
    assert_eq!(variables.out(), "0\n0\n");
}

#[test]
fn a_directory_that_is_gone_is_healed_with_a_notice() {
    let resident = Resident::start();
    let mut client = resident.client();
    let place = resident.scratch().join("gone/deep");
    std::fs::create_dir_all(&place).unwrap();
    run(&mut client, &format!("cd '{}'", place.display())).assert_exited(0);
    std::fs::remove_dir_all(resident.scratch().join("gone")).unwrap();
    let ran = run(&mut client, "pwd");
    assert_eq!(ran.out(), format!("{}\n", resident.scratch().display()));
    assert_eq!(ran.ending.notices.len(), 1, "{ran:?}");
    // A directory of one call is not the session's.
    client
        .run(Start {
            cwd: Some(b"/usr".to_vec()),
            ..session("true")
        })
        .assert_exited(0);
    assert_eq!(
        run(&mut client, "pwd").out(),
        format!("{}\n", resident.scratch().display())
    );
}

#[test]
fn a_posix_shell_carries_its_directory_and_variables() {
    let resident = Resident::start();
    let mut client = resident.client();
    let mut posix = |text: &str, env: Vec<(Vec<u8>, Vec<u8>)>| {
        let command = Command::Shell {
            shell: b"sh".to_vec(),
            text: text.into(),
        };
        let session = Some(Session {
            own: env.iter().map(|(name, _)| name.clone()).collect(),
            ..of("p", StateKept::CwdEnv)
        });
        client.run(Start {
            session,
            env,
            ..Start::new(request_id(), command)
        })
    };
    posix("cd /usr; export A=\"x y'z\"; exit 3", Vec::new()).assert_exited(3);
    let seen = posix(
        "echo $LINENO; pwd; echo \"$A\"; echo $B",
        vec![(b"B".to_vec(), b"call".to_vec())],
    );
    assert_eq!(
        seen.out().lines().skip(1).collect::<Vec<_>>(),
        ["/usr", "x y'z", "call"],
        "{seen:?}"
    );
    let seen = posix("echo \"$A\" ${B-none}", vec![(b"A".to_vec(), b"mine".to_vec())]);
    assert_eq!(seen.out(), "mine none\n");
}

#[test]
fn a_command_that_is_ended_leaves_the_session_as_it_was() {
    let resident = Resident::start();
    let mut client = resident.client();
    run(&mut client, "cd /usr; export A=kept").assert_exited(0);
    let ended = client.run(Start {
        deadline_ms: 100,
        ..session("cd /; export A=half; sleep 5")
    });
    assert_eq!(ended.ending.outcome, herm_resident::wire::Outcome::TimedOut);
    assert_eq!(run(&mut client, "echo $A; pwd").out(), "kept\n/usr\n");
    run(&mut client, "cd /; export A=half; kill -TERM $$");
    assert_eq!(run(&mut client, "echo $A; pwd").out(), "kept\n/usr\n");
}

#[test]
fn aliases_are_carried_and_options_are_not() {
    let resident = Resident::start();
    let mut client = resident.client();
    let text = "alias greet='echo \"it'\\''s\"' builtin=false; set -eufo pipefail; shopt -s extglob";
    run(&mut client, text).assert_exited(0);
    let seen = run(
        &mut client,
        "false; greet me; export B=2; echo $-; shopt -q extglob || echo off",
    );
    let lines: Vec<_> = seen.out().lines().map(str::to_owned).collect();
    assert_eq!(
        (lines[0].as_str(), lines[2].as_str()),
        ("it's me", "off"),
        "{seen:?}"
    );
    assert!(!lines[1].contains(['e', 'u', 'f']), "{seen:?}");
    // An alias for what the scripts use does not reach them.
    assert_eq!(run(&mut client, "echo $B; unalias builtin").out(), "2\n");
}

#[test]
fn state_is_private_whatever_the_text_does_to_its_umask() {
    use std::os::unix::fs::PermissionsExt as _;
    let resident = Resident::start();
    let mut client = resident.client();
    run(&mut client, "umask 0; export A=1; cd /usr").assert_exited(0);
    let mut files = 0;
    for entry in std::fs::read_dir(resident.directory()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        assert!(!name.starts_with("carried-"), "{name} is left");
        if name.starts_with("session-") {
            files += 1;
            assert_eq!(
                entry.metadata().unwrap().permissions().mode() & 0o777,
                0o600,
                "{name}"
            );
        }
    }
    assert_eq!(files, 2);
}

#[test]
fn an_argument_list_has_no_session() {
    let resident = Resident::start();
    let mut client = resident.client();
    let start = Start {
        session: Some(of("one", StateKept::Shell)),
        ..Start::new(request_id(), Command::Argv(vec![b"true".to_vec()]))
    };
    let reply = client.ask(|call| Request::Start {
        call,
        start: Box::new(start.clone()),
    });
    assert!(
        format!("{reply:?}").contains("an argument list has none"),
        "{reply:?}"
    );
}

#[test]
fn a_state_that_cannot_be_written_is_told_and_the_session_is_as_it_was() {
    let resident = Resident::start();
    let mut client = resident.client();
    run(&mut client, "export A=1; cd /usr").assert_exited(0);
    // Whatever the shell writes into a file from here on fails, as on a disk that is full.
    let full = "trap '' XFSZ; ulimit -f 0";
    let ran = run(&mut client, &format!("{full}; export A=2; cd /; exit 3"));
    ran.assert_exited(3);
    let told = &ran.ending.notices;
    assert!(
        told.iter().any(|notice| notice.contains("could not be saved")),
        "{told:?}"
    );
    let ran = run(&mut client, "echo $A $PWD");
    assert_eq!(ran.out(), "1 /usr\n");
    assert_eq!(ran.ending.notices, Vec::<String>::new());
    assert_eq!(run(&mut client, "exit 0").ending.notices, Vec::<String>::new());
}

/// What a text may do to the shell that is to save the state.
const HARM: &[&str] = &[
    "ulimit -f 0",
    "ulimit -S -f 0",
    "trap 'echo limit' XFSZ; ulimit -f 0",
    "ulimit -n 3",
    "ulimit -v 1000",
    "unset -f $(compgen -A function)",
    "unset $(compgen -v | grep herm)",
    "readonly __herm_new=/dev/null",
    "readonly __herm_name IFS=A",
    "builtin trap - EXIT",
    "builtin trap true EXIT",
    "enable -n declare export printf compgen mapfile",
    "enable -n builtin",
    "enable -n enable",
    "builtin() { :; }",
    "local() { :; }; set() { :; }; export() { :; }",
    "alias printf=false compgen=false; shopt -s expand_aliases",
    "shopt -s failglob nullglob extglob nocasematch; IFS=X",
    "set -euf -o pipefail -o noclobber",
    "export POSIXLY_CORRECT=1",
    "set -o posix; trap true EXIT",
    "set -r",
    "set -n",
    "shopt -s extdebug; set -T; trap false DEBUG",
    "exec 1>&- 2>&-",
    "exec true",
    "umask 777",
];

#[test]
fn whatever_keeps_the_state_from_being_saved_is_told() {
    let resident = Resident::start();
    let mut client = resident.client();
    let mut saved = 0;
    for (index, harm) in HARM.iter().enumerate() {
        let ran = run(
            &mut client,
            &format!("export A='{index} *'; f-{index}() {{ :; }}; {harm}"),
        );
        assert!(
            matches!(ran.ending.outcome, herm_resident::wire::Outcome::Exited { .. }),
            "{harm}: {ran:?}"
        );
        let told = ran
            .ending
            .notices
            .iter()
            .any(|notice| notice.contains("could not be saved"));
        let seen = run(
            &mut client,
            &format!("builtin enable printf; builtin printf '%s' \"$A\"; type -t f-{index}"),
        );
        let is_kept = seen.out() == format!("{index} *function\n");
        assert!(told != is_kept, "{harm}: told {told}, {ran:?} and {seen:?}");
        saved += usize::from(is_kept);
        client.ask(|call| Request::EndSession {
            call,
            name: "one".into(),
        });
    }
    assert!(saved > 5, "{saved}");
    // A trap of a POSIX shell's own takes the place of what saves the state.
    let posix = Start {
        session: Some(of("p", StateKept::CwdEnv)),
        ..Start::new(
            request_id(),
            Command::Shell {
                shell: b"sh".to_vec(),
                text: "export A=1; trap true EXIT; ulimit -f 0".into(),
            },
        )
    };
    assert_eq!(client.run(posix).ending.notices.len(), 1);
}
