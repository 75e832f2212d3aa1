//! Files that cannot be used: told with their place, never used in part, never written.

use std::{fmt::Write as _, fs, os::unix::fs::PermissionsExt as _, process::Command};

use predicates::str::contains;

use crate::support::{Home, complaint};

/// A file in which each alias stands for nine of the one before.
fn alias_bomb() -> String {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = format!("*a{}, ", level - 1).repeat(9);
        writeln!(text, "a{level}: &a{level} [{}]", before.trim_end_matches(", ")).unwrap();
    }
    text + "terminal:\n  timeout: 5\n"
}

/// Contents, and where and how each is told to be wrong.
fn broken() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let text = |text: &str| text.as_bytes().to_vec();
    vec![
        ("cut in a text", text("terminal:\n  backend: \"loc"), ":2:"),
        (
            "cut in a list",
            text("terminal:\n  docker_volumes: [/a:/b, "),
            "config.yaml:",
        ),
        (
            "mark of UTF-8",
            text("\u{feff}terminal:\n  timeout: 5\n"),
            ":1:1: the file begins with a byte order mark",
        ),
        (
            "UTF-16",
            vec![0xff, 0xfe, b'a', 0],
            ":1:1: the file begins with a byte order mark",
        ),
        ("a tab", text("terminal:\n\ttimeout: 5\n"), ":2:1: a tab stands"),
        (
            "a tab after spaces",
            text("terminal:\n  backend: local\n \ttimeout: 5\n"),
            ":3:2: a tab stands",
        ),
        (
            "a key twice",
            text("terminal:\n  timeout: 5\n  backend: local\n  timeout: 6\n"),
            ":4:3: the key timeout stands here for the second time",
        ),
        (
            "a section twice",
            text("terminal:\n  timeout: 5\nother: 1\nterminal:\n  backend: docker\n"),
            ":4:1: the key terminal stands here for the second time",
        ),
        (
            "an alias bomb",
            alias_bomb().into_bytes(),
            ": aliases (`*name`) multiply",
        ),
        (
            "an alias of itself",
            text("a: &a [*a]\nterminal:\n  timeout: 5\n"),
            ":1:4: ",
        ),
        (
            "an alias of nothing",
            text("terminal:\n  timeout: *no\n"),
            ":2:12: ",
        ),
        (
            "no UTF-8",
            b"terminal:\n  cwd: \xe9\n".to_vec(),
            ":2:8: the file is not UTF-8",
        ),
        (
            "a control character",
            text("terminal:\n  cwd: a\u{1}b\n"),
            ":2:9: the character U+0001",
        ),
        (
            "a NUL",
            text("terminal:\n  cwd: \0\n"),
            ":2:8: the character U+0000",
        ),
        (
            "two documents",
            text("terminal:\n  timeout: 5\n---\nterminal:\n  timeout: 6\n"),
            ":3:1: the file holds more",
        ),
        ("a text", text("docker\n"), ":1:1: the file holds no settings"),
        ("a list", text("- terminal\n"), ":1:1: the file holds no settings"),
        (
            "too deep",
            text(&"[".repeat(5000)),
            ":1:65: more than 64 brackets",
        ),
        (
            "huge",
            format!("# {}\n", "x".repeat(2_000_000)).into_bytes(),
            "has more than 1048576 bytes",
        ),
    ]
}

#[test]
fn a_file_that_is_no_yaml_is_told_with_its_place_and_left_alone() {
    for (name, content, told) in broken() {
        let home = Home::with(&content);
        for arguments in [
            &["get", "terminal.timeout"][..],
            &["list"],
            &["check"],
            &["set", "terminal.timeout", "7"],
            &["unset", "terminal.timeout"],
        ] {
            let seen = home.herm(&[&["config"], arguments].concat()).code(2).stdout("");
            let complaint = complaint(&seen);
            assert!(complaint.contains(told), "{name}, {arguments:?}: {complaint}");
            assert!(!complaint.contains("panicked"), "{name}: {complaint}");
            assert_eq!(fs::read(home.file()).unwrap(), content, "{name}, {arguments:?}");
            assert_eq!(
                fs::read_dir(home.path()).unwrap().count(),
                1,
                "{name} left something"
            );
        }
    }
}

#[test]
fn a_setting_that_is_wrong_is_told_with_its_place_and_what_it_takes() {
    for (settings, told) in [
        (
            "  backend: dokcer",
            ":2:12: terminal.backend is \"dokcer\" (did you mean `docker`?); it is one of: local,",
        ),
        (
            "  bakend: docker",
            ":2:3: there is no setting terminal.bakend (did you mean `backend`?)",
        ),
        ("  docker_imgae: x", "(did you mean `docker_image`?)"),
        (
            "  timeout: soon",
            ":2:12: terminal.timeout takes a whole number from 0 to 31536000, and this is \"soon\"",
        ),
        ("  timeout: 1.5", ":2:12: "),
        ("  timeout: -1", ":2:12: "),
        ("  timeout: [5]", "and this is a list"),
        ("  ssh_port: 70000", "a whole number from 1 to 65535"),
        ("  docker_network: maybe", "takes true or false"),
        ("  docker_image: 5", "write it in quotes: '5'"),
        ("  docker_volumes: /a:/b", "takes a list of mounts"),
        ("  docker_volumes: [/a]", "names \"/a\", which has no \":\""),
        ("  docker_volumes: [{a: b}]", "takes a list of mounts"),
        ("  docker_env: [A=b]", "takes values by the name of a variable"),
        ("  docker_env: {A B: c}", "no name of a variable"),
        ("  docker_forward_env: ['A=b']", "no name of a variable"),
        ("  modal_mode: driect", "(did you mean `direct`?)"),
        (
            "  backend: local\n  env_type: docker",
            "are one setting, and both are here",
        ),
        ("  5: x", "a key of terminal is no text"),
        ("  backend: ${HERM_TEST_NOT_SET}", "${HERM_TEST_NOT_SET}"),
    ] {
        let text = format!("terminal:\n{settings}\n");
        let home = Home::with(&text);
        home.herm(&["config", "check"]).code(2).stderr(contains(told));
        home.herm(&["exec", "--", "true"]).code(2);
        assert_eq!(home.text(), text);
    }
    let home = Home::with("proxy:\n  enabeld: true\n  tunnel_port: 65535\nterminal: 5\n");
    let seen = home.herm(&["config", "check"]).code(2);
    let complaint = complaint(&seen);
    for told in [
        ":2:3: there is no setting proxy.enabeld",
        ":3:16: ",
        ":4:1: terminal is a section",
    ] {
        assert!(complaint.contains(told), "{complaint}");
    }
}

#[test]
fn a_secret_that_is_wrong_is_not_told() {
    let home = Home::with("terminal:\n  docker_env: {A: 1.5, B: s3cret}\n");
    let seen = home.herm(&["config", "check"]).code(2);
    assert!(
        !complaint(&seen).contains("1.5") && complaint(&seen).contains('A'),
        "{}",
        complaint(&seen)
    );
    let home = Home::with("terminal:\n  docker_env: s3cret\n");
    let seen = home.herm(&["config", "check"]).code(2);
    assert!(!complaint(&seen).contains("s3cret"), "{}", complaint(&seen));
}

#[test]
fn what_is_no_readable_file_is_told() {
    let home = Home::none();
    fs::create_dir_all(home.file()).unwrap();
    home.set("terminal.timeout", "5")
        .code(2)
        .stderr(contains("this is a directory"));
    assert!(home.file().is_dir());

    let home = Home::none();
    fs::create_dir(home.path()).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(home.file())
            .status()
            .unwrap()
            .success()
    );
    home.set("terminal.timeout", "5")
        .code(2)
        .stderr(contains("no regular file"));

    let home = Home::none();
    fs::write(home.path(), "").unwrap();
    home.set("terminal.timeout", "5")
        .code(2)
        .stderr(contains("hermes"));

    let home = Home::with("terminal:\n  timeout: 5\n");
    fs::set_permissions(home.file(), fs::Permissions::from_mode(0o0)).unwrap();
    // For root there is no file that cannot be read.
    if fs::read(home.file()).is_err() {
        home.herm(&["exec", "--", "true"])
            .code(2)
            .stderr(contains("cannot be read"));
        home.set("terminal.timeout", "6")
            .code(2)
            .stderr(contains("cannot be read"));
    }
}

#[test]
fn the_rest_of_the_file_is_nobody_s_business() {
    let home = Home::with(
        "backend: nonsense\nmodel:\n  bakend: [1, {a: 2}]\ndisplay: !odd thing\n? [a, b]\n: c\nterminal:\n  timeout: 5\n",
    );
    home.herm(&["config", "check"]).success();
    assert_eq!(home.get("terminal.timeout", &[]), "5");
}

/// Whoever has meant a sandbox would run on this machine otherwise.
#[test]
fn what_is_meant_for_a_section_and_stands_beside_it_is_told() {
    for (text, told) in [
        ("backend: docker\n", ":1:1: backend stands beside the sections"),
        (
            "terminal:\n  timeout: 5\ndocker_network: false\n",
            ":3:1: docker_network stands",
        ),
    ] {
        let home = Home::with(text);
        home.herm(&["exec", "--", "true"]).code(2).stderr(contains(told));
    }
    for name in ["TERMINAL_BACKEND", "TERMINAL_ENV_TYPE"] {
        let home = Home::none();
        let alone = home
            .command(&["exec", "--", "true"], &[(name, "docker")])
            .assert();
        alone.code(2).stderr(contains(name));
        // Where it is said otherwise, it is nobody's business.
        let both = [(name, "docker"), ("TERMINAL_ENV", "local")];
        home.command(&["exec", "--", "true"], &both).assert().success();
    }
}

/// What every command would refuse, the check tells first.
#[test]
fn a_mount_that_no_container_could_have_is_told_by_the_check_and_when_it_is_set() {
    for mount in ["/v:x", "/v:/x:foo", "/v:/proc/x", "data/x:/x"] {
        let text = format!("terminal:\n  backend: docker\n  docker_volumes: [\"{mount}\"]\n");
        let home = Home::with(text);
        home.herm(&["config", "check"])
            .code(2)
            .stderr(contains("terminal.docker_volumes"));
    }
    let home = Home::with("terminal:\n  backend: docker\n");
    home.set("terminal.docker_volumes", "[\"/v:x\"]")
        .success()
        .stderr(contains("remains to be mended"));
}

#[test]
fn no_error_about_a_setting_has_a_value_that_may_be_a_secret() {
    for setting in [
        "docker_forward_env: [\"MY_SECRET=s3cret-1\"]",
        "docker_forward_env: [\"MY-TOKEN:s3cret-1\"]",
        "docker_volumes: [\"type=volume,src=v,dst=x:,volume-opt=o=password=s3cret-1\"]",
        "docker_extra_args: [--mount, \"type=volume,src=v,dst=x,volume-opt=o=password=s3cret-1\"]",
        "docker_extra_args: [--mount, \"type=volume,\\\"volume-opt=o=password=s3cret-1\"]",
        "docker_extra_args: [-e, \"GH-TOKEN:s3cret-1\"]",
        "docker_extra_args: [\"GH_TOKEN:s3cret-1\"]",
    ] {
        let home = Home::with(format!("terminal:\n  backend: docker\n  {setting}\n"));
        let seen = home.herm(&["config", "check"]).code(2);
        let told = complaint(&seen);
        assert!(!told.contains("s3cret"), "{setting}: {told}");
    }
}
