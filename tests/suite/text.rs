//! A backend whose output is text: what is not valid UTF-8 is replaced.

use crate::support::{HERM, Place, row, verdict};

/// Decodes both streams of a command as the encoding standard asks, and passes its exit code on.
const DECODE: &str = r"
import subprocess, sys
done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, capture_output=True)
for data, stream in (done.stdout, sys.stdout), (done.stderr, sys.stderr):
    stream.buffer.write(data.decode(errors=sys.argv[0]).encode())
sys.exit(done.returncode)
";

/// A tool whose sandboxes are folders beside its manifest, and whose output goes through the decoder.
fn manifest(place: &Place, errors: &str) {
    place.write(
        "decode.py",
        &DECODE.replace("sys.argv[0]", &format!("{errors:?}")),
    );
    place.write(
        "text.toml",
        r#"
name = "text"
capabilities = ["streams_apart"]
choices = { latency = "local", left_behind = "keep", relative_path = "workdir", shell = "posix", state = "none", stream_bytes = "text", streams = "apart" }
[open]
run = ["mkdir", "{sandbox}"]
[exec]
run = ["python3", "decode.py", "{command}"]
shell = ["sh", "-c", "cd {sandbox} || exit; {text}"]
[close]
run = ["rm", "-r", "{sandbox}"]
"#,
    );
}

#[test]
fn one_that_replaces_each_broken_sequence_is_conformant() {
    let place = Place::new();
    manifest(&place, "replace");
    place.run("run --only ENC --subject text.toml", &[]).code(0);
    let report = place.report();
    for id in ["ENC-001", "ENC-003", "ENC-006", "ENC-008", "ENC-010"] {
        assert_eq!(verdict(&report, id), "passed", "{id}");
    }
    for id in ["ENC-004", "ENC-005"] {
        assert_eq!(verdict(&report, id), "unsupported", "{id}");
    }
}

#[test]
fn one_that_drops_them_is_not() {
    let place = Place::new();
    manifest(&place, "ignore");
    place.run("run --only ENC --subject text.toml", &[]).code(1);
    let report = place.report();
    assert_eq!(verdict(&report, "ENC-010"), "failed");
    assert_eq!(verdict(&report, "ENC-001"), "passed");
}

#[test]
fn one_that_replaces_nothing_is_not() {
    let place = Place::new();
    let words = [
        "mutant",
        "replaces-nothing",
        "--",
        HERM,
        "adapter",
        "--backend",
        "local",
    ];
    place
        .run("run --only ENC --adapter", &[&[HERM][..], &words].concat())
        .code(1);
    let report = place.report();
    let row = row(&report, "ENC-010");
    assert_eq!(row["verdict"], "failed");
    let seen = row["detail"]["seen"].as_str().unwrap();
    assert!(seen.contains(r"\xed\xa0\x80"), "{seen}");
    assert_eq!(verdict(&report, "ENC-001"), "passed");
}
