//! What a text may do to the shell that is to save the state: it is saved, or its loss is told.

use herm_resident::wire::Outcome;

use super::{Place, Shell, is_told};

/// In any of the shells.
const HARM: &[&str] = &[
    "ulimit -f 0",
    "ulimit -S -f 0",
    "trap 'echo limit' XFSZ; ulimit -f 0",
    "trap true EXIT; ulimit -f 0",
    "ulimit -n 3",
    "trap true EXIT; ulimit -n 3",
    "ulimit -v 1000",
    "readonly __herm_new=/dev/null",
    "readonly __herm_name IFS=A",
    "readonly HOME PATH PROBE_BOX",
    "unset __herm_new",
    "unset __herm_cwd __herm_began __herm_own __herm_state",
    "export __herm_new",
    "printf() { :; }; read() { :; }",
    "set -eufC",
    "set -a; __herm_cwd=/nowhere",
    "set -n",
    "exec 1>&- 2>&-",
    "exec <&- 1>&- 2>&-; trap true EXIT",
    "exec true",
    "exec 3</dev/null 4<&3 5<&3 6<&3 7<&3 8<&3 9<&3",
    "umask 777",
    "export POSIXLY_CORRECT=1",
    "IFS=X",
    "unset IFS PATH HOME PWD OLDPWD",
    "PWD=/nowhere",
    "command trap - EXIT",
    "t=trap; $t true EXIT",
    "trap '' CHLD; trap true EXIT",
];

const OF_BASH: &[&str] = &[
    "unset -f $(compgen -A function)",
    "unset $(compgen -v | grep herm)",
    "builtin trap - EXIT",
    "builtin trap true EXIT",
    "enable -n declare export printf compgen mapfile",
    "enable -n builtin",
    "enable -n enable",
    "builtin() { :; }",
    "local() { :; }; set() { :; }; export() { :; }; printf() { :; }",
    "alias printf=false compgen=false; shopt -s expand_aliases",
    "shopt -s failglob nullglob extglob nocasematch; IFS=X",
    "set -euf -o pipefail -o noclobber",
    "set -o posix; trap true EXIT",
    "set -r",
    "shopt -s extdebug; set -T; trap false DEBUG",
];

const OF_POSIX: &[&str] = &[
    "unset -f __herm_save",
    "unset -f __herm_write __herm_run",
    "unset -f __herm_run; trap true EXIT",
    "unset $(set | sed -n 's/^\\(__herm[a-zA-Z_]*\\)=.*/\\1/p')",
    "command unalias -a; trap true EXIT",
    "\\trap true EXIT",
    "alias trap='echo taken'\ntrap true EXIT",
    "readonly __herm_cwd __herm_found __herm_whole __herm_gone __herm_set",
    "readonly __herm_action; trap true EXIT",
    "command() { :; }; printf() { :; }; trap true EXIT",
    "command() { return 1; }",
    "exec 2>/dev/null; set -x",
];

fn harm(shell: Shell, all: &[&str]) -> usize {
    let mut place = Place::new(shell);
    let mut saved = 0;
    for (index, harm) in all.iter().enumerate() {
        let ran = place.run(&format!("export A='{index} *'; {harm}"));
        assert!(
            matches!(ran.ending.outcome, Outcome::Exited { .. }),
            "{harm}: {ran:?}"
        );
        let told = is_told(&ran);
        let seen = place.run("PATH=/usr/bin:/bin; /usr/bin/printf '%s' \"$A\"");
        let is_kept = seen.out() == format!("{index} *");
        assert!(told != is_kept, "{harm}: told {told}, {ran:?} and {seen:?}");
        assert!(!seen.err().contains("herm"), "{harm}: {seen:?}");
        println!("{harm}: {}", if is_kept { "kept" } else { "told" });
        saved += usize::from(is_kept);
        place.end();
    }
    saved
}

#[test]
fn whatever_keeps_the_state_from_being_saved_is_told() {
    for shell in Shell::ALL {
        let saved = harm(shell, HARM);
        assert!(saved >= 12, "{saved}");
    }
    assert!(harm(Shell::Bash, OF_BASH) >= 5);
    for shell in Shell::POSIX {
        assert!(harm(shell, OF_POSIX) >= 2);
    }
}

/// The directory of the resident is the superuser's of a container, and so anybody's there.
#[test]
fn a_session_begins_anew_when_its_files_were_removed() {
    super::in_each_shell(|place| {
        place.run("export A=1").assert_exited(0);
        let directory = place.resident.directory().display().to_string();
        place
            .run_without_session(&format!("rm -f '{directory}'/session*"))
            .assert_exited(0);
        let seen = place.run("echo ${A-none}; export B=2");
        assert_eq!((seen.out().as_str(), seen.err().as_str()), ("none\n", ""));
        assert_eq!(place.run("echo $B").out(), "2\n");
    });
}
