//! The settings of containers, from files and variables.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::config::{Config, Problems, Sources};

/// A directory of Hermes' with these files.
fn home(config: &str, dotenv: &str) -> TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("config.yaml"), config).unwrap();
    fs::write(home.path().join(".env"), dotenv).unwrap();
    home
}

fn read(home: &TempDir, variables: &[(&str, &str)]) -> Result<DockerConfig, Problems> {
    let sources = Sources {
        home: home.path().to_owned(),
        environment: variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        arguments: Vec::new(),
    };
    Config::load(&sources)?.docker(&sources)
}

/// What a section of the file makes.
fn of(section: &str) -> Result<DockerConfig, Problems> {
    read(
        &home(&format!("terminal:\n  backend: docker\n{section}"), ""),
        &[],
    )
}

fn exposed(variables: &BTreeMap<String, Secret<String>>) -> Vec<(&str, &str)> {
    variables
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose().as_str()))
        .collect()
}

#[test]
fn nobody_asks_for_a_default() {
    let config = of("").unwrap();
    assert_eq!(config.memory_bytes.value, 5120 << 20);
    assert_eq!(config.disk_bytes.value, Some(51200 << 20));
    assert_eq!(config.cpu_millis.value, 1000);
    assert_eq!(config.shm_bytes.value, Some(1 << 30));
    assert!(config.network.value && config.persistent.value);
    assert!(!config.memory_bytes.is_explicit() && !config.shm_bytes.is_explicit());
    assert_eq!(config.cwd, StartIn::Default);
    assert_eq!(config.egress, EgressProxy::Off);
    assert_eq!(config.workspace, None);
}

#[test]
fn what_is_set_is_told_with_its_line() {
    let config =
        of("  container_memory: 64\n  container_cpu: 0.25\n  container_disk: 0\n  docker_shm_size: ''\n")
            .unwrap();
    assert_eq!(config.memory_bytes.value, 64 << 20);
    assert_eq!(config.cpu_millis.value, 250);
    assert_eq!(config.disk_bytes.value, None);
    assert_eq!(config.shm_bytes.value, None);
    assert!(config.disk_bytes.is_explicit() && config.shm_bytes.is_explicit());
    let asker = config.memory_bytes.asker();
    assert!(
        asker.starts_with("terminal.container_memory (") && asker.ends_with("config.yaml:3)"),
        "{asker}"
    );
}

#[test]
fn a_variable_that_is_passed_on_has_its_value_from_here_or_else_from_the_file() {
    let section = "terminal:\n  backend: docker\n  docker_env: {A: public, TOKEN: old, MY_API_KEY: k3y}\n  \
                   docker_forward_env: [TOKEN, KEPT, EMPTY, NOWHERE]\n";
    let home = home(section, "TOKEN=fr0m-file\nKEPT=k3pt\nEMPTY=f1lled\n");
    let config = read(&home, &[("TOKEN", "fr0m-process"), ("EMPTY", "")]).unwrap();
    assert_eq!(
        exposed(&config.env),
        [
            ("A", "public"),
            ("EMPTY", "f1lled"),
            ("KEPT", "k3pt"),
            ("MY_API_KEY", "k3y"),
            ("TOKEN", "fr0m-process")
        ]
    );
    assert_eq!(config.unset, ["NOWHERE"]);
    let shown = format!("{config:?}");
    for value in ["public", "fr0m", "k3pt", "f1lled", "k3y"] {
        assert!(!shown.contains(value), "{value} is shown: {shown}");
    }
}

#[test]
fn a_directory_of_this_machine_is_told_from_one_of_the_container() {
    for (cwd, inside) in [
        ("/srv/app", true),
        ("/root", true),
        ("/homestead", true),
        ("/home/me/project", false),
        ("/Users/me", false),
        ("C:\\work", false),
        ("project", false),
        ("~/project", false),
    ] {
        let config = of(&format!("  cwd: '{cwd}'\n")).unwrap();
        match config.cwd {
            StartIn::Inside(asked) => assert!(inside && asked.value == cwd, "{cwd}"),
            StartIn::OfThisMachine(asked) => assert!(!inside && asked.value == cwd, "{cwd}"),
            StartIn::Default => panic!("{cwd} is not heard"),
        }
    }
}

#[test]
fn the_directory_at_workspace_is_one_of_this_machine() {
    let flag = "  docker_mount_cwd_to_workspace: true\n";
    let workspace = of(flag).unwrap().workspace.unwrap();
    assert_eq!(
        workspace.value,
        std::env::current_dir().unwrap().canonicalize().unwrap()
    );
    let config = of(&format!("{flag}  cwd: src\n")).unwrap();
    assert!(config.workspace.unwrap().value.ends_with("src"));
    let told = of(&format!("{flag}  cwd: nowhere/at/all\n"))
        .unwrap_err()
        .to_string();
    assert!(told.contains("nowhere/at/all is no directory"), "{told}");
}

#[test]
fn a_file_of_credentials_lies_in_hermes_directory() {
    let home = home(
        "terminal:\n  backend: docker\n  credential_files: [google/token.json, gone.json]\n",
        "",
    );
    fs::create_dir(home.path().join("google")).unwrap();
    fs::write(home.path().join("google/token.json"), "{}").unwrap();
    let config = read(&home, &[]).unwrap();
    assert_eq!(config.missing_files, ["gone.json"]);
    let [file] = config.credential_files.as_slice() else {
        panic!("{:?}", config.credential_files);
    };
    assert_eq!(file.target, "/root/.hermes/google/token.json");
    assert!(file.source.is_absolute() && file.source.is_file());
    std::os::unix::fs::symlink("/etc/hostname", home.path().join("link")).unwrap();
    for name in ["../x", "/etc/passwd", "a/../../x", "", ".", "link"] {
        let section = format!("terminal:\n  backend: docker\n  credential_files: ['{name}']\n");
        fs::write(home.path().join("config.yaml"), section).unwrap();
        let told = read(&home, &[]).unwrap_err().to_string();
        assert!(told.contains("terminal.credential_files"), "{name}: {told}");
    }
}

#[test]
fn every_fault_is_told_at_once() {
    let told = of("  docker_shm_size: big\n  credential_files: [../x]\n").unwrap_err();
    assert_eq!(told.0.len(), 2, "{told}");
    assert!(told.to_string().contains("terminal.docker_shm_size"), "{told}");
}
