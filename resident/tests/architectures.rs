//! What is embedded for an architecture runs there; another one than this machine's runs where `qemu-user-static` is.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use herm_resident::BINARIES;

#[test]
fn every_program_runs_where_it_is_for() {
    assert!(!BINARIES.is_empty());
    let directory = tempfile::tempdir().unwrap();
    for binary in BINARIES {
        let path = directory.path().join(binary.architecture);
        fs::write(&path, binary.bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let mut command = if binary.architecture == std::env::consts::ARCH {
            Command::new(&path)
        } else {
            let mut command = Command::new(format!("qemu-{}-static", binary.architecture));
            command.arg(&path);
            command
        };
        let output = match command.arg("--version").output() {
            Ok(output) => output,
            Err(error) if binary.architecture != std::env::consts::ARCH => {
                println!("skipped: {}: no qemu: {error}", binary.architecture);
                continue;
            }
            Err(error) => panic!("{}: {error}", binary.architecture),
        };
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.starts_with("herm-resident "), "{said}");
        assert!(
            said.trim_end()
                .ends_with(&format!("{}-linux", binary.architecture)),
            "{said}"
        );
    }
}
