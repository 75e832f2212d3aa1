//! What commands of sessions do to their shells, as texts.

use super::session::VALUE;
use crate::{scene::Failure, steps::composed::unknown};

/// Shell text for what a command does that ends or spoils its shell.
pub(super) fn hostile(what: &str) -> Option<&'static str> {
    Some(match what {
        "exits" => "exit 3",
        "becomes another program" => "exec true",
        "kills its shell" => "kill -9 $$",
        "cannot be parsed" => "if then",
        "has no end" => "cat <<EOF\nunfinished \"",
        "sets a trap on its end" => "trap 'exit 5' EXIT",
        "loses its search path" => "PATH=; true",
        "splits words at slashes" => "IFS=/; set -f; set -C",
        "has a variable of 1 MiB" => {
            "PROBE_BIG=x; i=0; while [ $i -lt 20 ]; do PROBE_BIG=$PROBE_BIG$PROBE_BIG; i=$((i+1)); done; export PROBE_BIG"
        }
        "has constants" => "readonly PROBE_KEPT; readonly HERM_CONSTANT=1; export HERM_CONSTANT",
        "names a function cd" => {
            "cd() { echo taken; }; pwd() { echo taken; }; printf() { echo taken; }; cd /; unset -f pwd printf"
        }
        "closes its streams" => "exec <&- >&- 2>&-",
        "lets nobody use its files" => "umask 777",
        "may write no files" => "ulimit -f 0",
        "has no place for temporary files" => "TMPDIR=/herm-nowhere; export TMPDIR",
        "has no home" => "HOME=/herm-nowhere; export HOME",
        "ignores requests to end" => "trap '' TERM HUP INT PIPE",
        "names what shells are to read first" => {
            "BASH_ENV=/herm-nowhere; ENV=/herm-nowhere; export BASH_ENV ENV"
        }
        _ => return None,
    })
}

/// Shell text that takes something away, and that asks whether it is there.
pub(super) fn taken_away(what: &str) -> Result<(String, String), Failure> {
    let is_a_name = "command -v herm_name >/dev/null 2>&1";
    let (take, ask) = match what {
        "the variable" => (format!("unset {VALUE}"), format!("[ -n \"${{{VALUE}+x}}\" ]")),
        // As `export -n` does it, which not every shell has.
        "the variable from programs" => (
            format!("herm_own=${VALUE}; unset {VALUE}; {VALUE}=$herm_own"),
            format!("sh -c '[ -n \"${{{VALUE}+x}}\" ]'"),
        ),
        "the function" => ("unset -f herm_name".into(), is_a_name.into()),
        "the alias" => ("unalias herm_name".into(), is_a_name.into()),
        other => return Err(unknown(other, "taken away")),
    };
    Ok((take, ask))
}

/// Shell text that turns an option on, and text that is of no use where it is on; there is a file `one`.
pub(super) fn option_of(name: &str) -> Result<(&'static str, &'static str), Failure> {
    Ok(match name {
        "nounset" => ("set -u", "echo \"done$HERM_NOT_SET\""),
        "noglob" => (
            "set -f",
            "for file in on*; do if [ -e \"$file\" ]; then echo done; fi; done",
        ),
        "noclobber" => ("set -C", "echo again > one && echo done"),
        "xtrace" => ("set -x", "echo done"),
        other => return Err(unknown(other, "an option of a shell")),
    })
}
