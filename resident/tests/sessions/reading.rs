//! A text of a session is read as any other text.

use super::{Place, Shell, in_each_shell};

/// Texts that each of the shells reads, in or out of a session.
const TEXTS: &[&str] = &[
    "echo out; echo err >&2; exit 7",
    "",
    "echo out # and nothing else",
    "echo out; : \\",
    "printf '%s|' one two\\ ",
    "cat <<E\nbody\nE",
    "cat <<E\nbody",
    "echo 'never closed",
    "if then",
    "; echo never",
    "return 3; echo never",
    "echo $# $0; set -- a b; echo $# $2",
    "echo $-; set -o; set +o",
    "set -euf; echo *; false; echo never",
    "set -C; echo a > /dev/null; echo $?",
    "set -x; true",
    "set -x\nfalse",
    "set -n; echo never",
    "exec sh -c 'exit 5'",
    "exec >&- 2>&-; exit 5",
    "kill -9 $$",
    "alias; alias x='echo y' z=~/w; alias; unalias x; alias; unalias -a; alias; unalias x",
    "cd() { echo taken; }; pwd() { echo taken; }; printf() { echo taken; }; command() { echo taken; }; true",
    "alias exit='echo taken' set='echo taken' unset='echo taken' export='echo taken'\ncat",
    "trap",
    "trap 'echo \"it'\\''s\"' INT; trap",
    "trap 'echo bye $?' EXIT; exit 6",
    "trap 'echo bye $?' EXIT\n(exit 4)",
    "trap 'echo bye $?\necho on' EXIT; trap",
    "set -e; trap 'echo bye $?' EXIT; false; echo never",
    "set -e; trap 'echo bye $?; false; echo never' EXIT; (exit 4)",
    "set -euf; trap 'echo $-' EXIT; trap; echo $-",
    "set -u; trap 'echo bye' EXIT; trap - EXIT; trap",
    "trap 'exit 5' EXIT; exit 3",
    "trap 'exit' EXIT; exit 3",
    "trap 'false' 0; exit 3",
    "trap '' EXIT; trap; exit 3",
    "trap 'kill -9 $$' EXIT; exit 3",
    "trap 'exec sh -c \"exit 8\"' EXIT; exit 3",
    "trap 'echo one' EXIT; trap 'echo two' 0 INT TERM; trap; trap 0 INT; trap",
    "trap 'echo x' EXIT INT; trap - EXIT; trap; trap - INT; trap",
    "trap -- 'echo x' EXIT; trap --; trap EXIT; trap",
    "trap 'echo x' exit; trap; trap EXIT; trap",
    "trap 'echo 0.5' EXIT; trap 'echo 1.-x' INT; trap; trap -- '-x' INT; trap; trap 0 2; trap",
    "trap 'echo x' INT; trap 2 EXIT; trap 15; trap '' 15; trap; trap 'echo y' 00; trap",
    "trap 'echo sub' EXIT & wait; (trap 'echo sub' EXIT; exit 3); echo $?; trap",
    "saved=$(trap 'echo sub' EXIT); echo \"$saved\"; trap 'echo main' EXIT; (trap - EXIT); (exit 3)",
    "trap 'echo int' INT; trap 'echo end' EXIT; saved=$(trap); trap - INT EXIT; eval \"$saved\"; trap",
    "clean() { trap - EXIT; echo cleaned $?; exit 4; }; trap clean EXIT; exit 9",
    "f() { trap 'echo in f' EXIT; }; f; echo after",
    "set -- a b; trap 'echo $0 $# $1' EXIT; f() { exit 3; }; f x",
    "f() { x=in; trap 'echo $x' EXIT; exit 2; }; x=out; f",
    "trap 'echo usr1; exit 3' USR1; trap 'echo end' EXIT; kill -s USR1 $$; echo never",
    "trap '' TERM; kill -TERM $$; echo lives; trap",
    "trap 'echo x' EXIT; echo out | { trap 'echo piped' EXIT; cat; }",
    "trap 'echo bye >&2' EXIT; exec >&-; true",
    "! trap 'echo bye' EXIT; echo $?; false || trap 'echo or' EXIT && echo and",
    "if trap 'echo bye' EXIT; then echo set; fi",
    "unalias -a; trap 'echo bye' EXIT; alias x=y; trap",
    "alias trap='echo taken'\ntrap x EXIT\nunalias trap\ntrap 'echo bye' EXIT",
    "case trap in trap) echo word ;; esac; for trap in 1 2; do echo $trap; done; echo trap",
    "set -a; trap 'echo bye' EXIT; x=1; env | grep -c __herm",
    "eval 'trap \"echo bye\" EXIT'; t=1; eval \"trap '' EXIT\"; trap",
    "command command printf '%s\\n' out; printf() { echo mine; }; trap 'printf x' EXIT",
    "IFS=0123456789; trap 'echo \"$IFS\"' EXIT; trap",
];

/// Texts that only a POSIX shell reads as if there were no session.
const OF_POSIX: &[&str] = &[
    "set -v; echo on",
    "set -v; trap 'echo bye' EXIT",
    "trap 'return 5; echo never' EXIT; exit 3",
];

#[test]
fn a_text_of_a_session_is_read_as_any_other() {
    in_each_shell(|place| {
        let of_posix = if place.shell.is_bash() { &[] } else { OF_POSIX };
        for text in TEXTS.iter().chain(of_posix) {
            let plain = place.run_without_session(text);
            let ran = place.run(text);
            assert_eq!(
                (ran.ending.outcome.clone(), ran.out(), ran.err()),
                (plain.ending.outcome.clone(), plain.out(), plain.err()),
                "{text}"
            );
            place.end();
        }
    });
}

#[test]
fn the_numbers_of_lines_are_true_where_no_trap_is_set() {
    in_each_shell(|place| {
        for text in ["echo $LINENO", "echo one\necho $LINENO", "true\nset -u; $none"] {
            let plain = place.run_without_session(text);
            let ran = place.run(text);
            assert_eq!((ran.out(), ran.err()), (plain.out(), plain.err()), "{text}");
        }
    });
    // Where one may be set, the text begins a line of its own.
    let mut place = Place::new(Shell::BusyBox);
    let text = "echo $LINENO; trap true INT\necho $LINENO";
    assert_eq!(place.run_without_session(text).out(), "0\n1\n");
    assert_eq!(place.run(text).out(), "1\n2\n");
}

#[test]
fn what_stands_for_trap_is_told_of_by_xtrace_alone() {
    in_each_shell(|place| {
        for text in [
            "set -x; trap 'echo y' EXIT INT; true",
            "set -ax\ntrap - EXIT; true",
        ] {
            let plain = place.run_without_session(text);
            let ran = place.run(text);
            assert_eq!(ran.out(), plain.out());
            assert_eq!(ran.err().replace("__herm_run ", ""), plain.err());
        }
    });
}

#[test]
fn a_condition_that_is_none_is_told_and_changes_what_it_always_does() {
    in_each_shell(|place| {
        let text = "trap 'echo x' INT NONE EXIT; echo $?; trap; set -e; trap 'echo y' NONE; echo never";
        let plain = place.run_without_session(text);
        let ran = place.run(text);
        assert_eq!(
            (ran.ending.outcome.clone(), ran.out()),
            (plain.ending.outcome.clone(), plain.out())
        );
        // Only the number of the line is another.
        for said in [plain.err(), ran.err()] {
            assert_eq!(
                said.lines().filter(|line| line.contains("NONE")).count(),
                2,
                "{said}"
            );
        }
    });
}

#[test]
fn an_option_of_trap_is_what_it_always_is() {
    in_each_shell(|place| {
        let text = "trap 'echo end' EXIT; trap 'echo int' INT; trap -p; export A=1; echo on";
        let plain = place.run_without_session(text);
        let ran = place.run(text);
        assert_eq!(
            (ran.ending.outcome.clone(), ran.out()),
            (plain.ending.outcome.clone(), plain.out())
        );
        // Where that ended the shell, it has left its state all the same.
        assert_eq!(ran.ending.notices, Vec::<String>::new());
    });
}

#[test]
fn a_name_of_the_session_is_no_function() {
    for shell in Shell::POSIX {
        let mut place = Place::new(shell);
        let text = "trap() { :; }; echo never";
        let plain = place.run_without_session(text);
        let ran = place.run(text);
        assert_eq!(
            (ran.ending.outcome.clone(), ran.out()),
            (plain.ending.outcome.clone(), plain.out())
        );
    }
}
