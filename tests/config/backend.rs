//! One choke point: commands run where the configuration says, or nowhere.

use std::fs;

use predicates::str::contains;

use crate::support::{Home, complaint};

/// Every command that runs or finds something in a backend.
const ENTRIES: [&[&str]; 6] = [
    &["exec", "--", "touch", "ran"],
    &["exec", "--key", "k", "--", "touch", "ran"],
    &["exec", "--key", "k", "--detach", "--", "touch", "ran"],
    &["jobs", "k"],
    &["ps"],
    &["rm", "k"],
];

#[test]
fn a_backend_that_is_not_there_is_an_error_and_nothing_runs() {
    for backend in ["ssh", "singularity", "modal", "daytona", "vercel_sandbox"] {
        let home = Home::with(format!("terminal:\n  backend: {backend}\n"));
        let here = home.beside("here");
        fs::create_dir(&here).unwrap();
        for entry in ENTRIES {
            let seen = home.command(entry, &[]).current_dir(&here).assert();
            let seen = seen.code(2).stdout("");
            let told = complaint(&seen);
            assert!(told.contains(backend) && told.contains("config.yaml:2"), "{told}");
            assert_eq!(
                fs::read_dir(&here).unwrap().count(),
                0,
                "{entry:?} ran on this machine"
            );
            assert!(!home.beside("state").exists(), "{entry:?} made something");
        }
    }
}

/// An engine that does not answer is told, and nothing runs on this machine in its place.
#[test]
fn an_engine_that_is_not_there_is_an_error_and_nothing_runs() {
    let home = Home::with("terminal:\n  backend: docker\n");
    let here = home.beside("here");
    fs::create_dir(&here).unwrap();
    let nowhere = format!("unix://{}", home.beside("no-engine.sock").display());
    for entry in ENTRIES {
        let seen = home
            .command(entry, &[("DOCKER_HOST", nowhere.as_str())])
            .current_dir(&here)
            .assert()
            .failure()
            .stdout("");
        let told = complaint(&seen);
        assert!(
            told.contains("no engine answers") && told.contains(&nowhere),
            "{told}"
        );
        assert_eq!(
            fs::read_dir(&here).unwrap().count(),
            0,
            "{entry:?} ran on this machine"
        );
        assert!(!home.beside("state").exists(), "{entry:?} made something");
    }
}

#[test]
fn the_variable_alone_is_obeyed_too() {
    let home = Home::none();
    for entry in ENTRIES {
        let seen = home.command(entry, &[("TERMINAL_ENV", "modal")]).assert().code(2);
        assert!(
            complaint(&seen).contains("the variable TERMINAL_ENV"),
            "{}",
            complaint(&seen)
        );
    }
    fs::create_dir(home.path()).unwrap();
    fs::write(home.dotenv(), "TERMINAL_ENV=ssh\n").unwrap();
    home.herm(&["exec", "--", "true"])
        .code(2)
        .stderr(contains(".env:1"));
}

#[test]
fn an_option_wins_and_is_judged_alike() {
    let home = Home::with("terminal:\n  backend: docker\n");
    home.herm(&["exec", "--backend", "local", "-c", "echo here"])
        .success()
        .stdout("here\n");
    home.herm(&["ps", "--backend", "local"]).success();
    home.herm(&["exec", "--backend", "modal", "--", "true"])
        .code(2)
        .stderr(contains("--backend"));
    home.herm(&["exec", "--backend", "lcoal", "--", "true"])
        .code(2)
        .stderr(contains("did you mean `local`?"));
}

#[test]
fn a_configuration_that_cannot_be_used_runs_nothing() {
    for text in [
        "terminal:\n  backend: dokcer\n",
        "terminal:\n  bakend: local\n",
        "terminal: [\n",
    ] {
        let home = Home::with(text);
        for entry in ENTRIES {
            home.herm(entry)
                .code(2)
                .stdout("")
                .stderr(contains("config.yaml:"));
        }
    }
}

#[test]
fn the_doctor_tells_where_commands_run() {
    let home = Home::with("terminal:\n  backend: daytona\n");
    home.herm(&["doctor", "--subject", "local-native"])
        .code(1)
        .stdout(contains("the backend daytona is asked for"));
    home.set("terminal.backend", "local").success();
    home.herm(&["doctor", "--subject", "local-native"])
        .stdout(contains("herm exec runs commands on: local"));
}

#[test]
fn what_concerns_commands_on_this_machine_takes_effect() {
    let home = Home::with("terminal:\n  timeout: 1\n  env_passthrough: [HERM_TEST_SEEN]\n");
    let seen = home.herm(&["exec", "-c", "sleep 30"]).code(124);
    assert!(
        complaint(&seen).contains("terminal.timeout"),
        "{}",
        complaint(&seen)
    );
    // An option wins.
    home.herm(&["exec", "--timeout", "0s", "-c", "sleep 1.2; echo end"])
        .stdout("end\n");
    let variables = [("HERM_TEST_SEEN", "seen"), ("HERM_TEST_HIDDEN", "hidden")];
    let text = "echo \"$HERM_TEST_SEEN|$HERM_TEST_HIDDEN\"";
    for arguments in [&["exec", "-c", text][..], &["exec", "--key", "k", "-c", text]] {
        home.command(arguments, &variables)
            .assert()
            .success()
            .stdout("seen|\n");
    }
    home.herm(&["rm", "k"]).success();
}

#[test]
fn the_directory_is_that_of_the_configuration() {
    let home = Home::none();
    let (there, here) = (home.beside("there"), home.beside("here"));
    for directory in [&there, &here] {
        fs::create_dir(directory).unwrap();
    }
    let pwd = |arguments: &[&str]| {
        let words = [&["exec"], arguments, &["--", "pwd"]].concat();
        let seen = home
            .command(&words, &[("HOME", home.beside("").to_str().unwrap())])
            .current_dir(&here)
            .assert();
        String::from_utf8(seen.success().get_output().stdout.clone()).unwrap()
    };
    let line = |path: &std::path::Path| format!("{}\n", path.display());
    assert_eq!(pwd(&[]), line(&here));
    for cwd in [there.to_str().unwrap(), "../there", "~/there"] {
        home.set("terminal.cwd", cwd).success();
        assert_eq!(fs::canonicalize(pwd(&[]).trim_end()).unwrap(), there, "{cwd}");
        assert_eq!(pwd(&["--cwd", here.to_str().unwrap()]), line(&here));
    }
    assert_eq!(fs::canonicalize(pwd(&["--key", "k"]).trim_end()).unwrap(), there);
    home.herm(&["rm", "k"]).success();
    home.set("terminal.cwd", "/not/there").success();
    home.herm(&["exec", "--", "pwd"])
        .code(126)
        .stderr(contains("terminal.cwd ("));
}

#[test]
fn an_agent_s_credential_is_not_passed_on() {
    for name in ["OPENAI_API_KEY", "GH_TOKEN", "MODAL_TOKEN_SECRET"] {
        let home = Home::with(format!("terminal:\n  env_passthrough:\n  - {name}\n"));
        home.herm(&["exec", "--", "env"]).code(2).stderr(contains(name));
    }
}
