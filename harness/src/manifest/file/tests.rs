use super::*;
use crate::manifest::file::wrong::place_of;

const SMALL: &str = r#"
name = "small"
capabilities = ["argv", "cwd"]
choices = { shell = "posix" }
[exec]
run = ["env", { when = "cwd", words = ["-C", "{cwd}"] }, "{command}"]
shell = ["sh", "-c", "{text}"]
"#;

fn parse(text: &str) -> Result<Manifest, String> {
    Manifest::parse(text, &Catalogue::embedded().unwrap()).map_err(|wrong| {
        let (line, column) = place_of(text, wrong.offset);
        format!("{line}:{column}: {}", wrong.problem)
    })
}

/// Checks what is told of the small manifest with a change in it.
fn told(from: &str, to: &str, expected: &str) {
    assert!(SMALL.contains(from), "{from}");
    let error = parse(&SMALL.replace(from, to)).unwrap_err();
    assert!(error.starts_with(expected), "{to}: {error}");
}

/// Checks what is told of the small manifest with more behind it.
fn told_of(more: &str, expected: &str) {
    let error = parse(&format!("{SMALL}{more}")).unwrap_err();
    assert!(error.contains(expected), "{more}: {error}");
}

#[test]
fn a_small_manifest_is_enough() {
    let manifest = parse(SMALL).unwrap();
    assert_eq!(
        (*manifest.parallelism.get_ref(), manifest.open.id),
        (1, IdFrom::Given)
    );
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_what_may_have_been_meant() {
    for (from, to, expected) in [
        (
            "\"argv\"",
            "\"argvv\"",
            "3:17: there is no capability \"argvv\" (did you mean `argv`?)",
        ),
        (
            "\"argv\"",
            "\"timeout\"",
            "3:17: timeout cannot be given by commands alone",
        ),
        (
            "\"argv\"",
            "\"env\"",
            "6:7: env is declared, but exec.run does not name env",
        ),
        (
            "\"argv\"",
            "\"list\"",
            "3:17: list is declared, but there is no [list]",
        ),
        (
            "\"argv\"",
            "\"preflight\"",
            "3:17: preflight is declared, but there is no [[preflight]]",
        ),
        (
            "\"argv\"",
            "\"ledger\"",
            "3:17: ledger is declared, but there is no [[ledger]]",
        ),
        (
            "\"argv\"",
            "\"limits_cpu\"",
            "3:17: limits_cpu is declared, but neither open.run nor exec.run names cpu_millis or cpus",
        ),
        (
            "\"argv\"",
            "\"network_none\"",
            "3:17: network_none is declared, but neither open.run nor exec.run names network_none",
        ),
        ("\"argv\"", "\"cwd\"", "3:24: cwd is declared twice"),
        (
            "\"posix\"",
            "\"fish\"",
            "4:21: shell is one of bash, posix, and not \"fish\"",
        ),
        (
            "\"posix\"",
            "\"poxis\"",
            "4:21: shell is one of bash, posix, and not \"poxis\" (did you mean `posix`?)",
        ),
        (
            "shell = \"posix\"",
            "shel = \"posix\"",
            "4:13: there is no choice \"shel\" (did you mean `shell`?)",
        ),
        ("[exec]\nrun", "[exec]\nrum", "6:1: unknown field `rum`"),
        ("name = \"small\"", "name = \"a b\"", "2:8: name is not made of"),
        (
            "name = \"small\"",
            "name = \"x\"\nparallelism = 0",
            "3:15: parallelism is 0",
        ),
        (
            "name = \"small\"",
            "name = \"x\"\nopen = { within_s = 0 }",
            "3:21: open.within_s is 0",
        ),
        (
            "name = \"small\"",
            "name = \"x\"\nenvironment = [\"A\", \"B=1\"]",
            "3:21: environment names \"B=1\", which is no name",
        ),
        (
            "name = \"small\"",
            "name = \"x\"\nshim = \"herm\"",
            "3:1: shim is not there yet",
        ),
    ] {
        told(from, to, expected);
    }
}

#[test]
fn a_template_is_told_of_at_the_word_that_is_wrong() {
    for (from, to, expected) in [
        ("{cwd}", "{pwd}", "6:15: exec.run names {pwd}"),
        (
            "\"env\"",
            "\"\"",
            "6:8: exec.run names no program: its first word is empty",
        ),
        (
            "\"env\", ",
            "",
            "6:8: exec.run begins with words that may be left out",
        ),
        (
            "\"{command}\"",
            "\"x\"",
            "6:7: the command does not name {command}",
        ),
        (
            "\"{command}\"",
            "\"in {command}\"",
            "6:58: exec.run has {command} within another word",
        ),
        (
            "\"{command}\"",
            "\"{Command}\"",
            "6:58: exec.run has \"{Command}\", which would stay as it is (did you mean `{command}`?)",
        ),
        (
            "\"{command}\"",
            "\"{command\"",
            "6:58: exec.run has \"{command\", which would stay",
        ),
        (
            "\"{command}\"",
            "\"{$HOST}\", \"{command}\"",
            "6:58: exec.run names {$HOST}, but `environment` does not name HOST",
        ),
        ("\"{text}\"", "\"x\"", "7:9: the command does not name {text}"),
        (
            "\"{text}\"",
            "\"a\\u0000b\", \"{text}\"",
            "7:22: exec.shell holds a NUL byte",
        ),
        (
            "\"sh\", \"-c\", \"{text}\"",
            "",
            "7:9: exec.shell is an empty command",
        ),
        ("\"sh\"", "1", "7:10: this is the number 1, but a word in quotes"),
    ] {
        told(from, to, expected);
    }
}

#[test]
fn a_variable_that_is_named_is_a_placeholder() {
    let text = SMALL
        .replace("capab", "environment = [\"HOST?\", \"PORT_2\"]\ncapab")
        .replace(
            "\"{command}\"",
            "{ when = \"$HOST\", words = [\"{$HOST}:{$PORT_2}\"] }, \"{command}\"",
        );
    parse(&text).unwrap();
    let error = parse(&text.replace("{$HOST}", "{$HOSTS}")).unwrap_err();
    assert!(error.contains("(did you mean `HOST`?)"), "{error}");
}

#[test]
fn what_a_sandbox_may_be_asked_to_be_is_named_somewhere() {
    let mounts = |words: &str| {
        let text = SMALL.replace("\"argv\"", "\"mounts\"");
        parse(&text.replace("\"{command}\"", &format!("{words}, \"{{command}}\"")))
    };
    let each = |list: &str| format!("{{ each = \"{list}\", words = [\"{{source}}:{{target}}\"] }}");
    let error = mounts(&each("mounts")).unwrap_err();
    assert!(error.contains("names read_only_mounts, so it would"), "{error}");
    mounts(&[each("mounts"), each("read_only_mounts")].join(", ")).unwrap();
    let error = mounts(&each("mounts").replace("source", "path")).unwrap_err();
    assert!(error.contains("names {path}"), "{error}");
    let open = "open = { run = [\"make\", { unless = \"network_none\", words = [\"--net\"] }] }\n[exec]";
    let text = SMALL.replace("\"argv\"", "\"network_none\"");
    parse(&text.replace("[exec]", open)).unwrap();
}

#[test]
fn what_is_there_is_declared() {
    for (more, expected) in [
        (
            "[list]\nrun = [\"ls\"]",
            "there is [list], but the capability list is not declared",
        ),
        (
            "[[preflight]]\nrun = [\"true\"]\nmissing = \"x\"\nfix = \"y\"",
            "there is [[preflight]], but the capability preflight is not declared",
        ),
        (
            "[[ledger]]\nkind = \"file\"\nrun = [\"ls\", \"{scratch}\"]",
            "there is [[ledger]], but the capability ledger is not declared",
        ),
        (
            "[files]\nread = [\"cat\", \"{path}\"]\nwrite = [\"tee\", \"{path}\"]",
            "there is [files], but the capability files is not declared",
        ),
        ("[close]\nrun = [\"rm\"]", "9:7: close.run names no {sandbox}"),
    ] {
        told_of(more, expected);
    }
}

#[test]
fn a_ledger_lists_things_of_the_run_only() {
    let text = SMALL.replace("\"argv\"", "\"argv\", \"ledger\"");
    let with = |more: &str| parse(&format!("{text}{more}"));
    with("[[ledger]]\nkind = \"container\"\nrun = [\"ps\", \"{run}\"]\nremove = [\"rm\", \"{item}\"]")
        .unwrap();
    for (more, expected) in [
        (
            "[[ledger]]\nkind = \"container\"\nrun = [\"ps\"]",
            "ledger.run names no {run} or {scratch}, so it cannot know whose things to list",
        ),
        (
            "[[ledger]]\nkind = \"container\"\nrun = [\"ps\", \"{run}\"]\nremove = [\"rm\"]",
            "ledger.remove names no {item}",
        ),
        (
            "[[ledger]]\nkind = \"A b\"\nrun = [\"ps\", \"{run}\"]",
            "9:8: kind is \"A b\"",
        ),
        (
            "[[ledger]]\nkind = \"file\"\nrun = [\"ps\", \"{sandbox}\"]",
            "ledger.run names {sandbox}, which there is not here; there is {run}, {scratch}",
        ),
        ("[[ledger]]\nrun = [\"ps\", \"{run}\"]", "missing field `kind`"),
        (
            "[ledger]\nkind = \"file\"\nrun = [\"ps\", \"{run}\"]",
            "[ledger] is the only one, but there can be several; write [[ledger]]",
        ),
    ] {
        let error = with(more).unwrap_err();
        assert!(error.contains(expected), "{more}: {error}");
    }
}

#[test]
fn a_condition_is_one_that_there_is_and_does_something() {
    for (more, expected) in [
        (
            "[conditions.\"engine.mising\"]\ndoes = \"x\"\nenvironment = { A = \"b\" }",
            "8:13: there is no condition \"engine.mising\" (did you mean `engine.missing`?)",
        ),
        (
            "[conditions.engine.missing]\ndoes = \"x\"",
            "a name with a dot in it is written in quotes: [conditions.\"engine.missing\"]",
        ),
        (
            "[conditions.stop]\ndoes = \"x\"",
            "8:13: the condition stop has neither apply nor environment",
        ),
        (
            "[conditions.stop]\ndoes = \"x\"\nclear = [\"x\"]\nenvironment = { A = \"b\" }",
            "there is clear without apply",
        ),
        (
            "[conditions.stop]\napply = [\"x\", \"{sandbox}\"]",
            "missing field `does`",
        ),
    ] {
        told_of(more, expected);
    }
}

#[test]
fn a_condition_of_a_sandbox_strikes_that_one() {
    for (more, expected) in [
        (
            "[conditions.stop]\ndoes = \"x\"\napply = [\"kill\"]",
            "10:9: apply of stop names no {sandbox}",
        ),
        (
            "[conditions.pause]\ndoes = \"x\"\napply = [\"x\", \"{sandbox}\"]\nclear = [\"y\"]",
            "11:9: clear of pause names no {sandbox}",
        ),
        (
            "[conditions.stop]\ndoes = \"x\"\napply = [\"x\", \"{sandbox}\"]\nenvironment = { A = \"b\" }",
            "11:17: stop strikes one sandbox, but variables reach whole adapters",
        ),
    ] {
        told_of(more, expected);
    }
}

#[test]
fn a_condition_of_the_subject_is_undone() {
    for (more, expected) in [
        (
            "[conditions.\"disk.full\"]\ndoes = \"x\"\napply = [\"fill\"]",
            "10:9: disk.full strikes the whole subject, and there is no clear",
        ),
        (
            "[conditions.\"disk.full\"]\ndoes = \"x\"\napply = [\"fill\", \"{sandbox}\"]\nclear = [\"x\"]",
            "apply of disk.full names {sandbox}",
        ),
        (
            "[conditions.\"tool.missing\"]\ndoes = \"x\"\nenvironment = { \"A=B\" = \"c\" }",
            "\"A=B\" is no name of a variable",
        ),
        (
            "[conditions.\"tool.missing\"]\ndoes = \"x\"\nenvironment = { TMPDIR = \"c\" }",
            "TMPDIR is set by the harness",
        ),
        (
            "[conditions.\"tool.missing\"]\ndoes = \"x\"\nenvironment = { PATH = \"{scrach}/no\" }",
            "PATH names {scrach}, which there is not here (did you mean `scratch`?)",
        ),
        (
            "[conditions.\"tool.missing\"]\ndoes = \"x\"\nnames = \"{tool}\"\nenvironment = { PATH = \"/no\" }",
            "10:9: names names {tool}",
        ),
    ] {
        told_of(more, expected);
    }
}

/// Writes a file and says what is wrong with it.
fn told_of_file(content: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.toml");
    std::fs::write(&path, content).unwrap();
    let error = Manifest::load(&path, &Catalogue::embedded().unwrap()).unwrap_err();
    error.to_string().replace(&path.display().to_string(), "m.toml")
}

#[test]
fn a_file_that_is_no_text_is_told_as_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let error = Manifest::load(folder.path(), &Catalogue::embedded().unwrap()).unwrap_err();
    assert!(error.to_string().contains("it is a directory"), "{error}");
    let long = told_of_file(&vec![b'#'; 10 << 20]);
    assert!(long.contains("longer than 1 MiB"), "{long}");
    let bytes = told_of_file(b"name = \"x\"\n# \xff\n");
    assert!(
        bytes.starts_with("m.toml:2:3: the file is not text in UTF-8"),
        "{bytes}"
    );
}

#[test]
fn marks_of_the_byte_order_and_of_other_systems_are_borne() {
    let windows = format!("\u{feff}{}", SMALL.replace('\n', "\r\n"));
    parse(&windows).unwrap();
    let error = parse(&windows.replace("\"argv\"", "\"argvv\"")).unwrap_err();
    assert!(error.starts_with("3:17: there is no capability"), "{error}");
    let error = parse("\u{feff}nam = 1").unwrap_err();
    assert!(error.starts_with("1:1: unknown field `nam`"), "{error}");
}

#[test]
fn a_slip_of_toml_is_told_at_its_place() {
    for (text, expected) in [
        ("name = ", "1:8: this is no TOML: "),
        ("name = \"x\"\nname = \"y\"", "2:1: `name` is there twice"),
        ("[exec]\n[exec]", "2:2: `exec` is there twice"),
        ("name = \"x", "1:"),
        ("[exec", "1:"),
        ("{\"name\": \"x\"}", "1:1: this is no TOML: "),
    ] {
        let error = parse(text).unwrap_err();
        assert!(
            error.starts_with(expected) && !error.contains('\n'),
            "{text}: {error}"
        );
    }
}

#[test]
fn a_value_of_the_wrong_type_is_told_in_words_of_toml() {
    for (from, to, expected) in [
        (
            "name = \"small\"",
            "name = 3",
            "2:8: this is the number 3, but text in quotes is expected here",
        ),
        (
            "[\"argv\", \"cwd\"]",
            "\"argv\"",
            "3:16: this is text \"argv\", but a list, [\"…\", \"…\"], is expected here",
        ),
        (
            "{ shell = \"posix\" }",
            "[]",
            "4:11: this is a list, but a table, { … = … }, is expected here",
        ),
        (
            "name = \"small\"",
            "name = \"x\"\nparallelism = -1",
            "3:15: this is the number -1, but a whole number, not negative",
        ),
        (
            "[exec]",
            "[[exec]]",
            "5:1: [[exec]] is one of several, but there can be only one; write [exec]",
        ),
    ] {
        told(from, to, expected);
    }
    told_of(
        "[conditions]\nstop = \"x\"",
        "9:8: this is text \"x\", but a table",
    );
}
