//! The texts that the chapter SHELL has a shell read, and what each prints.

use crate::{scene::Failure, steps::composed::unknown};

/// A text, in the words of the features.
pub(super) struct Text {
    /// What is said of it: `a command whose text WORDS is run`.
    pub(super) words: &'static str,
    /// What the shell reads.
    pub(super) script: &'static str,
    /// What it prints on standard output.
    pub(super) output: &'static str,
}

/// Lines that whoever takes text apart, quotes it once more or ends a here-document by words of his own would damage.
pub(super) const LINES: &str = "\
plain
  between blanks  \n\
\tbehind a tab
   \n\t\n\
'single' \"double\" `backticks` $HOME ${HOME} $(id) $? !!

one \\ two \\\\ four \\\\\\\\ \\n \\t \\' end of line \\
EOF
END
__END__
# no comment; exit 1 & )
%s %d %%
last
";

/// Every text that is written out.
pub(super) const TEXTS: &[Text] = &[
    Text {
        words: "turns on errexit and then fails with 7",
        script: "set -e\nprintf 'before\\n'\n(exit 7)\nprintf 'after\\n'",
        output: "before\n",
    },
    Text {
        words: "turns on nounset and then uses what is not set",
        script: "set -u\nprintf 'before\\n'\n: \"$herm_never_set\"\nprintf 'after\\n'",
        output: "before\n",
    },
    Text {
        words: "replaces its shell by a program that exits with 5",
        script: "printf 'before\\n'\nexec sh -c 'printf \"replaced\\n\"; exit 5'\nprintf 'after\\n'",
        output: "before\nreplaced\n",
    },
    Text {
        words: "exits with 3 in its middle",
        script: "printf 'before\\n'\n{ exit 3; }\nprintf 'after\\n'",
        output: "before\n",
    },
    Text {
        words: "has a trap for its end and exits with 4",
        script: "trap 'printf \"ended with %s\\n\" \"$?\"' EXIT\nprintf 'body\\n'\nexit 4",
        output: "body\nended with 4\n",
    },
    Text {
        words: "has a trap for its end and comes to its last line",
        script: "trap 'printf \"ended with %s\\n\" \"$?\"' EXIT\nprintf 'body\\n'\n(exit 4)",
        output: "body\nended with 4\n",
    },
    Text {
        words: "ends with the end of a here-document",
        script: "printf 'first\\n'\ncat <<END\nbody\nEND",
        output: "first\nbody\n",
    },
    Text {
        words: "ends with a comment",
        script: "printf 'out\\n' # and nothing else",
        output: "out\n",
    },
    Text {
        words: "ends with a comment that ends with a backslash",
        script: "printf 'out\\n' # and nothing else \\",
        output: "out\n",
    },
    Text {
        words: "ends with an ampersand",
        script: "printf 'out\\n'; true &",
        output: "out\n",
    },
    Text {
        words: "ends with a semicolon",
        script: "printf 'out\\n';",
        output: "out\n",
    },
    Text {
        words: "ends with blank lines",
        script: "printf 'out\\n'\n\n \n",
        output: "out\n",
    },
    Text {
        words: "has a worker in the middle of its line",
        script: "true && printf 'out\\n' & wait; printf 'end\\n'",
        output: "out\nend\n",
    },
    Text {
        words: "begins with the name of another interpreter",
        script: "#!/bin/false\nprintf 'out\\n'",
        output: "out\n",
    },
    Text {
        words: "begins with a parenthesis",
        script: "(printf 'out\\n')",
        output: "out\n",
    },
    Text {
        words: "begins with a brace",
        script: "{ printf 'out\\n'; }",
        output: "out\n",
    },
    Text {
        words: "begins with an exclamation mark",
        script: "! false && printf 'out\\n'",
        output: "out\n",
    },
    Text {
        words: "begins with the value of a variable",
        script: "HERM_OWN=out; printf '%s\\n' \"$HERM_OWN\"",
        output: "out\n",
    },
    Text {
        words: "begins with blank lines and a comment",
        script: "\n \n# first\nprintf 'out\\n'",
        output: "out\n",
    },
    Text {
        words: "writes to its output as /dev/stdout in between",
        script: "printf 'one\\n'; printf 'two\\n' > /dev/stdout; printf 'three\\n'",
        output: "one\ntwo\nthree\n",
    },
    Text {
        words: "appends to its output as /dev/stdout in between",
        script: "printf 'one\\n'; printf 'two\\n' >> /dev/stdout; printf 'three\\n'",
        output: "one\ntwo\nthree\n",
    },
    Text {
        words: "writes to its output as /dev/fd/1 in between",
        script: "printf 'one\\n'; printf 'two\\n' > /dev/fd/1; printf 'three\\n'",
        output: "one\ntwo\nthree\n",
    },
    Text {
        words: "writes to its output as /proc/self/fd/1 in between",
        script: "printf 'one\\n'; printf 'two\\n' > /proc/self/fd/1; printf 'three\\n'",
        output: "one\ntwo\nthree\n",
    },
    Text {
        words: "writes to its errors as /dev/stderr in between",
        script: "printf 'one\\n' >&2; printf 'two\\n' > /dev/stderr; printf 'three\\n' >&2",
        output: "",
    },
    Text {
        words: "appends to its errors as /dev/stderr in between",
        script: "printf 'one\\n' >&2; printf 'two\\n' >> /dev/stderr; printf 'three\\n' >&2",
        output: "",
    },
    Text {
        words: "writes to its errors as /proc/self/fd/2 in between",
        script: "printf 'one\\n' >&2; printf 'two\\n' > /proc/self/fd/2; printf 'three\\n' >&2",
        output: "",
    },
    Text {
        words: "ends with a backslash",
        script: "printf 'out\\n'; : \\",
        output: "out\n",
    },
    Text {
        words: "opens a quote and never closes it",
        script: "printf '%s' \"never closed",
        output: "",
    },
    Text {
        words: "begins a loop and never ends it",
        script: "while true; do printf x",
        output: "",
    },
    Text {
        words: "closes what it never opened",
        script: "printf x; )",
        output: "",
    },
    Text {
        words: "begins a here-document and never ends it",
        script: "cat <<END\nbody",
        output: "",
    },
    Text {
        words: "has lines that end with a carriage return and a newline",
        script: "printf '[%s]\\n' one\r\nprintf '[%s]\\n' two\r\nprintf 'end\\n'",
        output: "[one\r]\n[two\r]\nend\n",
    },
    Text {
        words: "gives cd, command, printf and pwd other meanings",
        script: "cd() { echo taken; }\n\
               command() { echo taken; }\n\
               printf() { echo taken; }\n\
               pwd() { echo taken; }\n\
               alias exit='echo taken' trap='echo taken' set='echo taken'\n\
               cat <<'END'\nits own\nEND\n\
               sh -c 'exit 6'",
        output: "its own\n",
    },
    Text {
        words: "gives exit, builtin and trap other meanings",
        script: "exit() { echo taken; }\n\
               builtin() { echo taken; }\n\
               trap() { echo taken; }\n\
               return() { echo taken; }\n\
               set() { echo taken; }\n\
               cat <<'END'\nits own\nEND\n\
               sh -c 'exit 6'",
        output: "its own\n",
    },
    Text {
        words: "looks at its name and its parameters",
        script: "case ${0##*/} in *sh) ;; *) printf 'called %s\\n' \"$0\" ;; esac\nprintf '%s\\n' \"$#\"",
        output: "0\n",
    },
    Text {
        words: "looks at its options",
        script: "case $- in *[aefimnuvx]*) printf 'with %s\\n' \"$-\" ;; *) printf 'plain\\n' ;; esac",
        output: "plain\n",
    },
    Text {
        words: "tells the number of its third line",
        script: "# one\n# two\nprintf '%s\\n' \"$LINENO\"",
        output: "3\n",
    },
    Text {
        words: "lists the names that no plain shell of its kind knows",
        script: include_str!("shell_names.sh"),
        output: "",
    },
    Text {
        words: "has all of its lines indented",
        script: "    printf '%s\\n' 'one\n      two\n    three'\n    printf 'last\\n'\n",
        output: "one\n      two\n    three\nlast\n",
    },
    Text {
        words: "ends with a blank that is escaped",
        script: "printf '%s|' one two\\ ",
        output: "one|two |",
    },
    Text {
        words: "closes its outputs and exits with 5 a second later",
        script: "exec >&- 2>&-\nsleep 1\nexit 5",
        output: "",
    },
    Text {
        words: "is a program of many lines",
        script: include_str!("shell_program.sh"),
        output: "one\n<two>\n<lines>\ntotal 2\n",
    },
    Text {
        words: "uses process substitution and pipefail",
        script: "set -o pipefail\nfalse | true\nprintf '%s\\n' \"$?\"\ncat <(printf 'one\\n') <(printf 'two\\n')",
        output: "1\none\ntwo\n",
    },
    Text {
        words: "uses what every POSIX shell has",
        script: include_str!("shell_posix.sh"),
        output: "file.tar.gz /some/where/file default 23\n2:a b:c:\n42\n/\nusr1\n<one><two>\nnot\n",
    },
    Text {
        words: "starts a worker and waits for it",
        script: "true &\nwait\nprintf 'done\\n'",
        output: "done\n",
    },
    Text {
        words: "reads its input before it goes on",
        script: "cat\nprintf 'next\\n'\n",
        output: "next\n",
    },
    Text {
        words: "prints words that somebody on the way might decode",
        script: "printf '%s\\n' '&lt;b&gt; &amp;amp; &#39;' 'a%20b%2Bc+d' '\\u0041\\x41\\101' '=3D =20' '\\/' '{{ a }} ${{ b }}' '<a>&b</a>'",
        output: "&lt;b&gt; &amp;amp; &#39;\na%20b%2Bc+d\n\\u0041\\x41\\101\n=3D =20\n\\/\n{{ a }} ${{ b }}\n<a>&b</a>\n",
    },
    Text {
        words: "prints words that a backend might take for its own",
        script: "printf '%s\\n' 'sudo -k' \"sudo rm -r x\" 'a && b &' 'x; exit 1' \"wow!!\" '{1,2}' \"~root\" '%s{text}'",
        output: "sudo -k\nsudo rm -r x\na && b &\nx; exit 1\nwow!!\n{1,2}\n~root\n%s{text}\n",
    },
];

/// The text of which that is said.
pub(super) fn named(words: &str) -> Result<&'static Text, Failure> {
    let known = TEXTS.iter().find(|text| text.words == words);
    known.ok_or_else(|| unknown(words, "said of a text"))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// Texts that only Bash reads.
    const OF_BASH: &[&str] = &[
        "gives exit, builtin and trap other meanings",
        "tells the number of its third line",
        "uses process substitution and pipefail",
    ];

    fn read_by(shell: &str, text: &str) -> String {
        let run = Command::new(shell)
            .args(["-c", text])
            .stdin(Stdio::null())
            .output();
        String::from_utf8(run.unwrap().stdout).unwrap()
    }

    #[test]
    fn every_text_prints_what_it_should_in_bash_and_in_a_posix_shell() {
        for Text {
            words,
            script,
            output,
        } in TEXTS
        {
            // What becomes of the beginning of text that is no program is not promised.
            if words.contains("never") {
                continue;
            }
            assert_eq!(read_by("bash", script), *output, "{words}");
            if !OF_BASH.contains(words) {
                assert_eq!(read_by("sh", script), *output, "sh: {words}");
            }
        }
    }

    #[test]
    fn only_names_that_were_put_there_are_told() {
        for shell in ["bash", "sh"] {
            let text = format!("own=1\n{}", include_str!("shell_names.sh"));
            assert_eq!(read_by(shell, &text), "own\n");
        }
        let text = format!("own() {{ :; }}\n{}", include_str!("shell_names.sh"));
        assert_eq!(read_by("bash", &text), "declare -f own\n");
    }
}
