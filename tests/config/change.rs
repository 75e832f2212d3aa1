//! `herm config set` and `unset`: one change at a time, all of it or nothing.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    process::Command,
};

use predicates::str::contains;

use crate::support::{Home, changed_lines, mode};

#[test]
fn a_file_is_made_for_its_owner_only() {
    let home = Home::none();
    home.set("terminal.timeout", "60")
        .success()
        .stdout(contains("terminal.timeout is 60"));
    assert_eq!(home.text(), "terminal:\n  timeout: 60\n");
    assert_eq!((mode(&home.path()), mode(&home.file())), (0o700, 0o600));
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    home.set("proxy.enabled", "yes").success();
    home.set("terminal.backend", "docker").success();
    assert_eq!(
        home.text(),
        "terminal:\n  timeout: 60\n  backend: docker\nproxy:\n  enabled: true\n"
    );
    home.herm(&["config", "path"])
        .success()
        .stdout(format!("{}\n", home.file().display()));
}

/// Files before and after `set terminal.backend docker`.
const SET: [(&str, &str); 22] = [
    ("", "terminal:\n  backend: docker\n"),
    ("# only this", "# only this\nterminal:\n  backend: docker\n"),
    ("a: 1\n", "a: 1\nterminal:\n  backend: docker\n"),
    ("a: 1", "a: 1\nterminal:\n  backend: docker"),
    (
        "a: |\n  text\n\n# end\n",
        "a: |\n  text\n\n# end\nterminal:\n  backend: docker\n",
    ),
    ("terminal:\nb: 1\n", "terminal:\n  backend: docker\nb: 1\n"),
    ("terminal: {}\nb: 1\n", "terminal:\n  backend: docker\nb: 1\n"),
    (
        "terminal:\n  # none yet\nb: 1\n",
        "terminal:\n  backend: docker\n  # none yet\nb: 1\n",
    ),
    (
        "terminal:\n  backend: local # why\n",
        "terminal:\n  backend: docker # why\n",
    ),
    (
        "terminal:\n  backend: \"local\"\n",
        "terminal:\n  backend: docker\n",
    ),
    (
        "terminal:\n    backend: 'local'   #x\n",
        "terminal:\n    backend: docker   #x\n",
    ),
    (
        "terminal:\n  backend:\n  timeout: 5\n",
        "terminal:\n  backend: docker\n  timeout: 5\n",
    ),
    (
        "terminal:\n  backend: # x\n",
        "terminal:\n  backend: docker # x\n",
    ),
    (
        "terminal:\r\n  timeout: 5\r\n",
        "terminal:\r\n  timeout: 5\r\n  backend: docker\r\n",
    ),
    (
        "terminal: {timeout: 5} # x\n",
        "terminal: {timeout: 5, backend: docker} # x\n",
    ),
    (
        "{terminal: {backend: local}}\n",
        "{terminal: {backend: docker}}\n",
    ),
    (
        "---\n\"terminal\":\n  'backend': local\n...\n",
        "---\n\"terminal\":\n  'backend': docker\n...\n",
    ),
    (
        "x: &x local\nterminal:\n  backend: *x\n",
        "x: &x local\nterminal:\n  backend: docker\n",
    ),
    (
        "b: &b {backend: ssh}\nterminal:\n  <<: *b\n  timeout: 5\n",
        "b: &b {backend: ssh}\nterminal:\n  <<: *b\n  timeout: 5\n  backend: docker\n",
    ),
    (
        "terminal:\n  timeout: 5\n\n# next\nb: 1\n",
        "terminal:\n  timeout: 5\n  backend: docker\n\n# next\nb: 1\n",
    ),
    (
        "terminal:\n  backend: >-\n    local\n  timeout: 5\n",
        "terminal:\n  backend: docker\n  timeout: 5\n",
    ),
    (
        "x: 'terminal: {}' # ü\nterminal: {} # y\n",
        "x: 'terminal: {}' # ü\nterminal: # y\n  backend: docker\n",
    ),
];

#[test]
fn every_way_to_write_a_file_is_kept() {
    for (old, new) in SET {
        let home = Home::with(old);
        home.set("terminal.backend", "docker").success();
        assert_eq!(home.text(), new, "{old:?}");
        let before = fs::metadata(home.file()).unwrap().ino();
        home.set("terminal.backend", "docker")
            .success()
            .stdout(contains("is already docker"));
        assert_eq!(fs::metadata(home.file()).unwrap().ino(), before, "written again");
    }
}

/// Files before and after `unset terminal.backend`.
const UNSET: [(&str, &str); 7] = [
    ("terminal:\n  backend: docker\nb: 1\n", "terminal: {}\nb: 1\n"),
    (
        "terminal:\n  # about\n  backend: docker # x\n  # t\n  timeout: 5\n",
        "terminal:\n  # about\n  # t\n  timeout: 5\n",
    ),
    (
        "terminal: {backend: docker, timeout: 5}\n",
        "terminal: {timeout: 5}\n",
    ),
    (
        "terminal:\r\n  backend: ssh\r\n  timeout: 5\r\n",
        "terminal:\r\n  timeout: 5\r\n",
    ),
    (
        "terminal:\n  timeout: 5\n  env_type: ssh",
        "terminal:\n  timeout: 5",
    ),
    (
        "terminal:\n  backend: |-\n    ssh\n\n  timeout: 5\n",
        "terminal:\n  timeout: 5\n",
    ),
    (
        "terminal:\n  timeout: 5\n  backend: ssh\n\n# b\nb: 1\n",
        "terminal:\n  timeout: 5\n\n# b\nb: 1\n",
    ),
];

#[test]
fn what_is_taken_out_takes_nothing_along() {
    for (old, new) in UNSET {
        let home = Home::with(old);
        home.herm(&["config", "unset", "terminal.backend"]).success();
        assert_eq!(home.text(), new, "{old:?}");
        home.herm(&["config", "unset", "terminal.backend"])
            .code(1)
            .stderr(contains("is not set"));
        assert_eq!(home.text(), new);
    }
    let home = Home::none();
    home.herm(&["config", "unset", "terminal.backend"]).code(1);
    assert!(!home.path().exists());
}

#[test]
fn what_cannot_be_changed_alone_is_refused() {
    for text in [
        "terminal:\n  backend: &b local\nother: *b\n",
        "x: &x\n  backend: local\nterminal: *x\n",
        "terminal: 5\n",
        "terminal: [a]\n",
    ] {
        let home = Home::with(text);
        home.set("terminal.backend", "docker")
            .code(2)
            .stderr(contains("by hand"));
        assert_eq!(home.text(), text);
    }
    let text = "x: &x\n  backend: ssh\nterminal:\n  <<: *x\n";
    let home = Home::with(text);
    home.herm(&["config", "unset", "terminal.backend"])
        .code(2)
        .stderr(contains("merge key"));
    assert_eq!(home.text(), text);
}

#[test]
fn a_value_of_another_type_is_refused_before_anything_is_written() {
    for (key, value) in [
        ("terminal.backend", "dokcer"),
        ("terminal.backend", ""),
        ("terminal.timeout", "soon"),
        ("terminal.timeout", "-1"),
        ("terminal.timeout", "1e3"),
        ("terminal.container_cpu", "nan"),
        ("terminal.docker_network", "maybe"),
        ("terminal.docker_volumes", "/a:/b"),
        ("terminal.docker_volumes", "[/a]"),
        ("terminal.docker_volumes", "[\"/a:/b\""),
        ("terminal.docker_env", "A=b"),
        ("terminal.docker_env", "[A]"),
        ("terminal.env_passthrough", "[GH_TOKEN]"),
        ("terminal.timeout", "${HERM_TEST_NOT_SET}"),
    ] {
        let home = Home::none();
        home.set(key, value).code(2).stdout("");
        assert!(!home.file().exists(), "{key} {value}");
    }
}

#[test]
fn hard_values_come_back_as_they_were() {
    for value in [
        "off",
        "22:22",
        "1e3",
        "a: b #c",
        "it's",
        "\"q\"",
        "- a",
        "*x",
        "ü☤😀",
        "a\nb\tc",
        " x ",
        "~",
        "null",
        "#",
        "\\",
        "{a",
        "%x",
        "!t",
        "0o17",
        "a\u{7}b",
        "\u{2028}",
        "${NOT_SET}",
    ] {
        let home = Home::with("terminal:\n  ssh_user: x # who\n  timeout: 5\n");
        home.set("terminal.ssh_user", value).success();
        let seen = home
            .herm(&["config", "get", "terminal.ssh_user", "--json"])
            .success();
        let got: String = serde_json::from_slice(&seen.get_output().stdout).unwrap();
        assert_eq!(got, value);
        assert!(home.text().ends_with(" # who\n  timeout: 5\n"), "{}", home.text());
    }
    let home = Home::none();
    home.set("terminal.docker_env", r#"{"A": "off", "B": "x, y", "C": ""}"#)
        .success();
    assert_eq!(
        home.text(),
        "terminal:\n  docker_env: {A: 'off', B: 'x, y', C: ''}\n"
    );
}

#[test]
fn lists_and_maps_become_yaml_and_secrets_are_masked() {
    let home = Home::with("terminal:\n  docker_volumes: '[\"/a:/b\"]'\n");
    home.set("terminal.docker_volumes", "[\"/a:/b\"]").success();
    assert_eq!(home.text(), "terminal:\n  docker_volumes: [/a:/b]\n");
    home.set("terminal.docker_volumes", "- /a:/b\n- /c:/d\n")
        .success();
    assert_eq!(home.text(), "terminal:\n  docker_volumes: [/a:/b, /c:/d]\n");
    let masked = home.set("terminal.docker_env", "TOKEN: s3cret").success();
    let masked = String::from_utf8(masked.get_output().stdout.clone()).unwrap();
    assert!(masked.contains("TOKEN") && !masked.contains("s3cret"), "{masked}");
    for list in [&["config", "list"][..], &["config", "list", "--json"]] {
        let seen = home.herm(list).success();
        let text = String::from_utf8(seen.get_output().stdout.clone()).unwrap();
        assert!(text.contains("TOKEN") && !text.contains("s3cret"));
    }
    assert_eq!(home.get("terminal.docker_env", &[]), "TOKEN: s3cret");
}

#[test]
fn a_wrong_setting_can_be_mended_and_a_misspelt_one_taken_out() {
    let home = Home::with("terminal:\n  timeout: soon\n  bakend: docker # x\n");
    home.set("terminal.timeout", "5")
        .success()
        .stderr(contains("terminal.bakend"));
    home.herm(&["config", "unset", "terminal.bakend"]).success();
    assert_eq!(home.text(), "terminal:\n  timeout: 5\n");
    home.herm(&["config", "unset", "terminal.bakend"]).code(2);
    home.herm(&["config", "check"]).success().stderr("");
}

#[test]
fn links_modes_and_owners_are_kept() {
    let home = Home::none();
    let dotfiles = home.beside("dotfiles");
    fs::create_dir_all(&dotfiles).unwrap();
    fs::create_dir(home.path()).unwrap();
    let real = dotfiles.join("real.yaml");
    fs::write(&real, "terminal:\n  timeout: 5\n").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("../dotfiles/real.yaml", home.file()).unwrap();
    home.set("terminal.timeout", "6").success();
    assert!(fs::symlink_metadata(home.file()).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "terminal:\n  timeout: 6\n");
    assert_eq!(mode(&real), 0o640);
    // A link to what is not there yet.
    fs::remove_file(&real).unwrap();
    home.set("terminal.timeout", "7").success();
    assert!(fs::symlink_metadata(home.file()).unwrap().is_symlink());
    assert_eq!(
        (fs::read_to_string(&real).unwrap().as_str(), mode(&real)),
        ("terminal:\n  timeout: 7\n", 0o600)
    );
    assert_eq!(fs::read_dir(&dotfiles).unwrap().count(), 1);
}

#[test]
fn sixteen_at_once_lose_nothing() {
    let home = Home::with("# mine\nother: 1\n");
    let keys = [
        "docker_image",
        "docker_shared_container_key",
        "docker_shm_size",
        "degraded_mode",
        "home_mode",
        "modal_image",
        "daytona_image",
        "sandbox_dir",
        "singularity_image",
        "ssh_host",
        "ssh_key",
        "ssh_user",
        "temp_dir",
        "vercel_image",
        "vercel_runtime",
        "cwd",
    ];
    let children: Vec<_> = keys
        .iter()
        .map(|key| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_herm"));
            let arguments = ["config", "set", &format!("terminal.{key}"), &format!("of-{key}")];
            command
                .args(arguments)
                .env("HERMES_HOME", home.path())
                .spawn()
                .unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let text = home.text();
    for key in keys {
        assert_eq!(text.matches(&format!("  {key}: of-{key}\n")).count(), 1, "{text}");
    }
    assert_eq!(changed_lines("# mine\nother: 1\n", &text), keys.len() + 1);
}
