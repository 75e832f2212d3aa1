//! How a shell comes to its end, and what its session has then.

use herm_resident::wire::{Outcome, Start};

use super::{in_each_shell, is_told};

/// What a text does, with the code that it exits with in a POSIX shell, and in Bash.
const HOSTILE: &[(&str, [u8; 2])] = &[
    ("exit 3", [3, 3]),
    ("set -eu; false; echo never", [1, 1]),
    ("set -u; echo $undefined_name", [2, 127]),
    ("exec true", [0, 0]),
    ("exec sh -c 'exit 9'", [9, 9]),
    ("if then", [2, 2]),
    ("echo $(", [2, 2]),
    ("cat <<EOF\nunfinished", [0, 0]),
    ("trap 'exit 5' EXIT", [5, 5]),
    ("trap 'exit 5' 0 TERM; exit 6", [5, 5]),
    ("trap 'if then' EXIT", [2, 0]),
    ("trap 'exec sh -c \"exit 8\"' EXIT", [8, 8]),
    ("IFS=/; set -f; set -C; true", [0, 0]),
    ("unset PATH; true", [0, 0]),
    (
        "cd() { echo hijacked; }; printf() { echo hijacked; }; read() { echo hijacked; }; sh -c 'exit 4'",
        [4, 4],
    ),
    (
        "command() { echo hijacked; }; test() { echo hijacked; }; exit 4",
        [4, 4],
    ),
    ("(trap 'true' EXIT; cd /; export A=sub)", [0, 0]),
    ("{ trap 'true' EXIT; cd /; export A=background; } & wait", [0, 0]),
    ("kill -9 $$", [0, 0]),
    ("trap '' TERM; kill -TERM $$", [0, 0]),
    ("trap 'kill -9 $$' EXIT; cd /; export A=killed", [0, 0]),
];

#[test]
fn whatever_the_text_does_the_session_lives_on() {
    in_each_shell(|place| {
        place.run("cd /usr; export A=kept").assert_exited(0);
        for (text, codes) in HOSTILE {
            let ran = place.run(text);
            if !text.contains("kill -9") {
                ran.assert_exited(codes[usize::from(place.shell.is_bash())]);
            }
            let said = ran.out() + &ran.err();
            assert!(!said.contains("__herm") && !said.contains("hijacked"), "{ran:?}");
            let seen =
                place.run("export PATH=/usr/bin:/bin; echo $A; pwd; unset -f cd printf read command test");
            assert_eq!(seen.out(), "kept\n/usr\n", "after {text}");
        }
    });
}

#[test]
fn however_a_shell_comes_to_its_end_it_leaves_its_state() {
    in_each_shell(|place| {
        let ends = [
            "",
            "exit 3",
            "return 3",
            "set -e; false",
            "leave() { exit 4; }; leave",
            "trap true EXIT",
            "trap '' EXIT",
            "trap true 0 INT TERM; exit 3",
            "trap true EXIT; trap - EXIT",
            "trap true EXIT; trap 0 INT",
            "trap 'exit 5' EXIT; set -eu; (exit 3)",
            "trap 'trap - EXIT; exit 6' EXIT INT; exit 3",
            "trap 'exit 7' TERM; kill -TERM $$",
            "trap 'exec sh -c true' EXIT",
            "eval 'trap true EXIT'",
            "{ false || trap true EXIT; }; set -euf",
            "f() { trap true EXIT; }\nf\nset -x",
            "if true; then trap true EXIT; fi 2>/dev/null",
            "unset IFS; trap true EXIT",
            "unalias -a; trap true EXIT",
            "IFS=0123456789/; trap true EXIT",
            "set -aCf; trap true EXIT",
            "read() { :; }; trap true EXIT",
            "printf() { :; }; test() { :; }; trap true EXIT",
        ];
        for (index, end) in ends.iter().enumerate() {
            let directory = ["/usr", "/"][index % 2];
            let ran = place.run(&format!("cd {directory}; export A={index}; {end}"));
            assert_eq!(ran.ending.notices, Vec::<String>::new(), "{end}");
            let seen = place.run("echo $A; pwd");
            assert_eq!(seen.out(), format!("{index}\n{directory}\n"), "after {end}");
        }
    });
}

#[test]
fn a_text_that_cannot_be_parsed_loses_nothing() {
    in_each_shell(|place| {
        place.run("export A=1; cd /usr").assert_exited(0);
        for text in [
            "if then",
            "echo 'never closed",
            "; true",
            "echo one\nif then",
            "trap true EXIT; if then",
        ] {
            let ran = place.run(text);
            ran.assert_exited(2);
            assert_eq!(ran.ending.notices, Vec::<String>::new(), "{text}");
            assert_eq!(place.run("echo $A $PWD").out(), "1 /usr\n");
        }
    });
}

#[test]
fn a_trap_that_a_file_sets_is_seen_too() {
    in_each_shell(|place| {
        let file = place.resident.scratch().join("settings");
        std::fs::write(&file, "trap 'echo of the file' EXIT\n").unwrap();
        let ran = place.run(&format!(". '{}'; export A=1", file.display()));
        assert_eq!((ran.out().as_str(), is_told(&ran)), ("of the file\n", false));
        assert_eq!(place.run("echo $A").out(), "1\n");
        // A text that is too long for an argument is read from a file itself.
        let long = format!(
            "trap 'echo at the end' EXIT; export A=2\n{}",
            "# x\n".repeat(50_000)
        );
        let ran = place.run(&long);
        assert_eq!((ran.out().as_str(), is_told(&ran)), ("at the end\n", false));
        assert_eq!(place.run("echo $A").out(), "2\n");
    });
}

#[test]
fn a_command_that_is_ended_leaves_the_session_as_it_was() {
    in_each_shell(|place| {
        place.run("cd /usr; export A=kept").assert_exited(0);
        let ended = Start {
            deadline_ms: 100,
            ..place.start("cd /; export A=half; trap true EXIT; sleep 5")
        };
        let ended = place.client.run(ended);
        assert_eq!(ended.ending.outcome, Outcome::TimedOut);
        assert_eq!(place.run("echo $A; pwd").out(), "kept\n/usr\n");
        place.run("cd /; export A=half; kill -TERM $$");
        assert_eq!(place.run("echo $A; pwd").out(), "kept\n/usr\n");
    });
}

#[test]
fn a_state_that_cannot_be_written_is_told_and_the_session_is_as_it_was() {
    in_each_shell(|place| {
        place.run("export A=1; cd /usr").assert_exited(0);
        // Whatever the shell writes into a file from here on fails, as on a disk that is full.
        for full in [
            "trap '' XFSZ; ulimit -f 0",
            "ulimit -f 0",
            "trap true EXIT; ulimit -f 0",
        ] {
            let ran = place.run(&format!("{full}; export A=2; cd /; exit 3"));
            ran.assert_exited(3);
            assert!(is_told(&ran), "{ran:?}");
            let ran = place.run("echo $A $PWD");
            assert_eq!(ran.out(), "1 /usr\n");
            assert_eq!(ran.ending.notices, Vec::<String>::new());
            assert_eq!(place.run("exit 0").ending.notices, Vec::<String>::new());
        }
    });
}

#[test]
fn two_commands_at_once_do_not_mix() {
    in_each_shell(|place| {
        let gate = place.resident.scratch().join("gate");
        let wait = format!("while [ ! -e '{}' ]; do sleep 0.01; done", gate.display());
        let slow = place.start(&format!("cd /usr; export A=slow; {wait}"));
        let slow = place.client.start(slow);
        place.run("export A=fast B=fast").assert_exited(0);
        assert_eq!(place.run("echo $A $B $PWD").out(), "fast fast /\n");
        std::fs::write(&gate, "").unwrap();
        place.client.wait(slow);
        assert_eq!(place.run("echo $A ${B-none} $PWD").out(), "slow none /usr\n");
    });
}
