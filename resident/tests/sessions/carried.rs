//! What is carried, and what is not.

use std::os::unix::fs::PermissionsExt as _;

use herm_resident::wire::{Command, Request, Start};

use super::{Place, Shell, in_each_shell, support::request_id};

#[test]
fn the_directory_and_exported_variables_are_carried() {
    in_each_shell(|place| {
        let directory = place.resident.scratch().join("a place");
        std::fs::create_dir(&directory).unwrap();
        let directory = directory.display().to_string();
        let text =
            format!("cd '{directory}'; A='x\n'\\''y' B=2 IFS=/; export A B IFS; C=3; unset HOME PROBE_NONE");
        place.run(&text).assert_exited(0);
        let look =
            "pwd; printf '%s|' \"$A\" \"$B\" \"${C-none}\" \"${HOME-none}\" \"$IFS\" \"${PROBE_FALSE-none}\"";
        let seen = place.run(look);
        assert_eq!(seen.out(), format!("{directory}\nx\n'y|2|none|none|/|none|"));
        assert_eq!(seen.err(), "");
        // Of another session, and of none, nothing is seen.
        assert_eq!(
            place.run_without_session("pwd; echo ${A-none}").out(),
            "/\nnone\n"
        );
        let other = place.start_in("two", "pwd; echo ${A-none}; export D=1");
        assert_eq!(place.client.run(other).out(), "/\nnone\n");
        let again = place.start_in("two", "echo $D");
        assert_eq!(place.client.run(again).out(), "1\n");
        place.end();
        let seen = place.run("pwd; echo ${A-none} ${HOME:+home}");
        assert_eq!(seen.out(), "/\nnone home\n");
    });
}

#[test]
fn bash_carries_functions_and_aliases_and_no_options() {
    let mut place = Place::new(Shell::Bash);
    let text = "greet() { echo hello $1; }; alias meet='echo \"it'\\''s\"' builtin=false; set -eufo pipefail; \
                shopt -s extglob";
    place.run(text).assert_exited(0);
    let seen = place.run("false; greet you; meet me; export B=2; echo $-; shopt -q extglob || echo off");
    let lines: Vec<_> = seen.out().lines().map(str::to_owned).collect();
    assert_eq!(
        [lines[0].as_str(), lines[1].as_str(), lines[3].as_str()],
        ["hello you", "it's me", "off"],
        "{seen:?}"
    );
    assert!(!lines[2].contains(['e', 'u', 'f']), "{seen:?}");
    // An alias for what the scripts use does not reach them.
    assert_eq!(place.run("echo $B; unalias builtin").out(), "2\n");
}

#[test]
fn a_posix_shell_carries_neither_functions_nor_aliases_nor_options() {
    for shell in Shell::POSIX {
        let mut place = Place::new(shell);
        let plain = place.run_without_session("echo $-").out();
        let text = "greet() { :; }; alias meet=greet; set -eufaC; export B=2; set -x; trap true INT";
        place.run(text).assert_exited(0);
        let seen = place.run("command -v greet; command -v meet; trap; echo $B; echo $-");
        assert_eq!((seen.out(), seen.err()), (format!("2\n{plain}"), String::new()));
    }
}

#[test]
fn what_is_given_for_one_command_is_not_kept() {
    in_each_shell(|place| {
        place.run("export A=session").assert_exited(0);
        let own = [("A", "call"), ("SECRET", "s3cr3t")];
        assert_eq!(place.run_with(&own, "echo $A $SECRET").out(), "call s3cr3t\n");
        let seen = place.run_with(&own, "export B=1; trap 'echo $A' EXIT");
        assert_eq!(seen.out(), "call\n");
        let seen = place.run("echo $A ${SECRET-none} $B");
        assert_eq!(seen.out(), "session none 1\n");
        // Neither is what the sandbox has.
        for entry in std::fs::read_dir(place.resident.directory()).unwrap() {
            let path = entry.unwrap().path();
            let content = std::fs::read(&path).unwrap_or_default();
            let shown = String::from_utf8_lossy(&content);
            assert!(!shown.contains("s3cr3t") && !shown.contains("b0xed"), "{path:?}");
            assert!(!path.to_string_lossy().contains(".cwd-"), "{path:?}");
        }
        let names = place.run("env -u PROBE_BOX env | grep -c -e HERM -e BASH_ENV -e __herm");
        assert_eq!(names.out(), "0\n");
        if place.shell.is_bash() {
            assert_eq!(place.run("compgen -e | grep -c __herm").out(), "0\n");
        }
    });
}

#[test]
fn what_is_taken_away_stays_away_wherever_it_was_from() {
    in_each_shell(|place| {
        let look = "echo ${PROBE_BOX-gone} ${A-gone}";
        place.run("export A=1").assert_exited(0);
        place.run("unset PROBE_BOX A").assert_exited(0);
        assert_eq!(place.run(look).out(), "gone gone\n");
        assert_eq!(place.run(look).out(), "gone gone\n");
        // A command's own value changes nothing of that.
        let own = [("PROBE_BOX", "own"), ("A", "own")];
        assert_eq!(place.run_with(&own, look).out(), "own own\n");
        assert_eq!(
            place.run_with(&own, &format!("export B=1; {look}")).out(),
            "own own\n"
        );
        assert_eq!(place.run(look).out(), "gone gone\n");
        place.run("export PROBE_BOX=again").assert_exited(0);
        assert_eq!(place.run(look).out(), "again gone\n");
        place.run("unset PROBE_BOX; trap 'exit 3' EXIT").assert_exited(3);
        assert_eq!(place.run(look).out(), "gone gone\n");
        // What the shell sets by itself is there again, and PATH is a variable as any other.
        place.run("unset PATH PWD OLDPWD; cd /usr").assert_exited(0);
        assert_eq!(place.run("echo ${PATH:-none} $PWD").out(), "none /usr\n");
        place.end();
        assert_eq!(
            place.run("echo \"$PROBE_BOX\"").out(),
            format!("{}\n", super::BOX.1)
        );
    });
}

#[test]
fn a_variable_of_one_command_that_it_takes_away_is_the_session_s_as_before() {
    for shell in Shell::POSIX {
        let mut place = Place::new(shell);
        place.run("export A=session").assert_exited(0);
        let own = [("A", "call"), ("PROBE_BOX", "call")];
        place.run_with(&own, "unset A PROBE_BOX").assert_exited(0);
        assert_eq!(place.run("echo $A ${PROBE_BOX%%ed*}").out(), "session b0x\n");
    }
}

#[test]
fn a_sandbox_may_have_thousands_of_variables() {
    in_each_shell(|place| {
        // The names of so many do not fit a string of an environment: what is beyond comes back at worst.
        let beyond = (!place.shell.is_bash()).then_some(9000);
        for many in [3000].into_iter().chain(beyond) {
            let with_all = |mut start: Start| {
                for number in 0..many {
                    let name = format!("PROBE_NUMBER_{number:04}");
                    start.env.push((name.into_bytes(), b"its value".to_vec()));
                }
                start
            };
            let text = "unset PROBE_NUMBER_0000 PROBE_NUMBER_2999; export PROBE_NUMBER_0001=another";
            let first = with_all(place.start(text));
            place.client.run(first).assert_exited(0);
            let look = "echo ${PROBE_NUMBER_0000-gone} $PROBE_NUMBER_0001 $PROBE_NUMBER_0002 \
                        ${PROBE_NUMBER_2999-gone}";
            let second = with_all(place.start(look));
            let seen = place.client.run(second);
            assert_eq!(
                (seen.out().as_str(), seen.err().as_str()),
                ("gone another its value gone\n", "")
            );
            assert_eq!(seen.ending.notices, Vec::<String>::new());
            place.end();
        }
    });
}

#[test]
fn a_directory_that_is_gone_is_healed_with_a_notice() {
    in_each_shell(|place| {
        let scratch = place.resident.scratch().display().to_string();
        std::fs::create_dir_all(format!("{scratch}/gone/deep")).unwrap();
        place.run(&format!("cd '{scratch}/gone/deep'")).assert_exited(0);
        std::fs::remove_dir_all(format!("{scratch}/gone")).unwrap();
        let ran = place.run("pwd");
        assert_eq!(ran.out(), format!("{scratch}\n"));
        assert_eq!(ran.ending.notices.len(), 1, "{ran:?}");
        // A directory of one call is not the session's.
        let elsewhere = Start {
            cwd: Some(b"/usr".to_vec()),
            ..place.start("true")
        };
        place.client.run(elsewhere).assert_exited(0);
        assert_eq!(place.run("pwd").out(), format!("{scratch}\n"));
    });
}

#[test]
fn state_is_private_whatever_the_text_does_to_its_umask() {
    in_each_shell(|place| {
        place
            .run("umask 0; export A=1; cd /usr; trap true EXIT")
            .assert_exited(0);
        let mut files = 0;
        for entry in std::fs::read_dir(place.resident.directory()).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            assert!(!name.starts_with("carried-"), "{name} is left");
            if name.starts_with("session-") {
                files += 1;
                let mode = entry.metadata().unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "{name}");
            }
        }
        assert_eq!(files, 2);
    });
}

#[test]
fn an_argument_list_has_no_session() {
    let mut place = Place::new(Shell::Bash);
    let start = Start {
        session: place.start("").session,
        ..Start::new(request_id(), Command::Argv(vec![b"true".to_vec()]))
    };
    let reply = place.client.ask(|call| Request::Start {
        call,
        start: Box::new(start.clone()),
    });
    assert!(
        format!("{reply:?}").contains("an argument list has none"),
        "{reply:?}"
    );
}
