//! What looks like a file that is not there, or like a line that says nothing: it must not be passed over in silence, since
//! commands would then run somewhere else than was said.

use std::{fs, os::unix::fs::symlink};

use predicates::{prelude::PredicateBooleanExt as _, str::contains};

use crate::support::{Home, complaint};

/// Asserts that nothing runs, and that this is told.
fn refuses(home: &Home, told: &[&str]) {
    let mark = home.beside("mark");
    let text = format!("touch {}", mark.display());
    let key = ["exec", "--key", "k", "-c", &text];
    for arguments in [
        &["exec", "-c", &text][..],
        &key,
        &["config", "check"],
        &["config", "list"],
    ] {
        let seen = home.herm(arguments).code(2).stdout("");
        let complaint = complaint(&seen);
        for told in told {
            assert!(complaint.contains(told), "{arguments:?}: {told:?} in {complaint}");
        }
    }
    assert!(!mark.exists());
}

#[test]
fn a_link_that_leads_nowhere_is_no_missing_file() {
    for name in ["config.yaml", ".env"] {
        let home = Home::none();
        fs::create_dir(home.path()).unwrap();
        symlink("../dotfiles/gone", home.path().join(name)).unwrap();
        refuses(&home, &[name, "dotfiles/gone", "does not exist", "; "]);
    }
    // The directory itself.
    let home = Home::none();
    symlink("gone", home.path()).unwrap();
    refuses(&home, &["hermes", "gone", "does not exist"]);
}

#[test]
fn a_dotenv_of_another_encoding_is_told() {
    let wide = |text: &str| {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [0xff, 0xfe].into_iter().chain(units).collect::<Vec<u8>>()
    };
    let without_mark: Vec<u8> = "TERMINAL_ENV=docker\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for (content, told) in [
        (wide("TERMINAL_ENV=docker\n"), ".env:1:1: the file is UTF-16"),
        (without_mark, ".env:1:2: the character U+0000"),
        (
            b"A=b\n\x7fELF\x02\x01\x01\0\0\xff".to_vec(),
            ".env:2:1: the character U+007F",
        ),
    ] {
        let home = Home::with("");
        fs::write(home.dotenv(), content).unwrap();
        refuses(&home, &[told, "save it as"]);
    }
}

#[test]
fn the_mark_of_utf_8_is_read_through() {
    let home = Home::with("# mine\n");
    let old = "\u{feff}TERMINAL_ENV=ssh\r\nA=b\r\n";
    fs::write(home.dotenv(), old).unwrap();
    assert_eq!(home.get("terminal.backend", &[]), "ssh");
    home.herm(&["exec", "--", "true"])
        .code(2)
        .stderr(contains(".env:1"));
    home.set("terminal.backend", "local").success();
    assert_eq!(
        fs::read_to_string(home.dotenv()).unwrap(),
        old.replace("ssh", "local")
    );
}

#[test]
fn a_line_of_a_setting_that_says_nothing_is_told() {
    for line in [
        "TERMINAL_ENV: docker",
        "TERMINAL_ENV docker",
        "TERMINAL_ENV",
        "set TERMINAL_ENV=docker",
        "setenv TERMINAL_ENV docker",
        "  - TERMINAL_ENV=docker",
        "terminal_env=docker",
        "\"TERMINAL_ENV\": \"docker\"",
        "$env:TERMINAL_ENV=docker",
    ] {
        let home = Home::with("");
        fs::write(home.dotenv(), format!("# mine\nKEY=s3cret\n{line}\n")).unwrap();
        refuses(
            &home,
            &[".env:3", "TERMINAL_ENV", "write it as TERMINAL_ENV=VALUE"],
        );
        let seen = home.herm(&["config", "check"]).code(2);
        assert!(!complaint(&seen).contains("s3cret"));
    }
    // What is not ours, and what is commented out, is nobody's business.
    let home = Home::with("");
    fs::write(
        home.dotenv(),
        "#TERMINAL_ENV: docker\n # set TERMINAL_ENV=docker\nOTHER: x\nNOTE=about TERMINAL_ENV here\n\nexport TERMINAL_TIMEOUT=7\n\
         LATIN=\u{fffd}\n",
    )
    .unwrap();
    home.herm(&["exec", "-c", "echo ran"]).success().stdout("ran\n");
    assert_eq!(home.get("terminal.timeout", &[]), "7");
}

#[test]
fn a_key_of_the_file_that_is_beside_its_section_is_told() {
    for (text, told) in [
        (
            "terminal.backend: docker\n",
            "config.yaml:1:1: terminal.backend is no key of the file",
        ),
        (
            "a: 1\nTerminal:\n  backend: docker\n",
            "config.yaml:2:1: Terminal is no section",
        ),
        (
            "TERMINAL_ENV: docker\n",
            "config.yaml:1:1: TERMINAL_ENV is a variable",
        ),
        ("terminals:\n  backend: docker\n", "did you mean `terminal`?"),
    ] {
        let home = Home::with(text);
        refuses(&home, &[told]);
    }
}

#[test]
fn a_list_that_is_no_list_is_told_as_it_was_given() {
    Home::none().set("terminal.docker_volumes", "x").code(2).stderr(
        contains("a list of mounts")
            .and(contains("\"x\""))
            .and(contains("empty").not()),
    );
}

#[test]
fn a_backend_that_this_build_does_not_have_fails_the_check() {
    let home = Home::with("terminal:\n  backend: ssh\n");
    home.herm(&["config", "check"])
        .code(2)
        .stdout(contains("commands run on: ssh"))
        .stderr(contains("this build of herm does not have it"));
}

#[test]
fn sandboxes_can_be_removed_although_the_file_is_broken() {
    let home = Home::with("");
    home.herm(&["exec", "--key", "k", "-c", "true"]).success();
    fs::write(home.file(), "terminal: [\n").unwrap();
    home.herm(&["rm", "k"]).code(2).stderr(contains("--backend"));
    home.herm(&["exec", "--backend", "local", "--", "true"]).code(2);
    home.herm(&["ps", "--backend", "local"])
        .success()
        .stdout(contains("k"))
        .stderr(contains("config.yaml"));
    home.herm(&["rm", "--backend", "local", "k"]).success();
    home.herm(&["rm", "--backend", "lokal", "k"]).code(2);
}
