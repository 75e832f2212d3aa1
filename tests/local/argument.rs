//! What a command is given: directory, variables, arguments, text; and what is refused.

use std::{fs, os::unix::fs::PermissionsExt as _};

use herm_protocol::{
    ErrorKind,
    exec::{Command, Outcome, Pty, RunParams, SetupFailure},
    sandbox::{SandboxSpec, Variable},
};

use crate::support::{Seen as _, Subject};

fn setup_failure(outcome: Outcome) -> (SetupFailure, String) {
    match outcome {
        Outcome::SetupFailed { kind, message } => (kind, message),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_secret_of_the_adapter_reaches_no_command_and_the_exec_wins() {
    let spec = SandboxSpec {
        env: vec![Variable::new("A", "sandbox"), Variable::new("B", "sandbox")],
        ..SandboxSpec::default()
    };
    let own = [
        ("SECRET_TOKEN", "s3cret"),
        ("LC_ALL", "C"),
        ("HOME", "/h"),
        ("OLDPWD", "/o"),
    ];
    let subject = Subject::start_with(spec, &own).await;
    let mut params = subject.argv(&["env"]);
    params.env = vec![
        Variable::new("A", "exec"),
        Variable::new("not an (identifier)", "=\n\u{e4}"),
        Variable::new("EMPTY", ""),
    ];
    let stdout = subject.run(&params).await.stdout();
    assert!(
        !stdout.contains("s3cret") && !stdout.contains("OLDPWD"),
        "{stdout}"
    );
    let pwd = format!("PWD={}\n", subject.cwd().display());
    for line in [
        "A=exec\n",
        "B=sandbox\n",
        "LC_ALL=C\n",
        "HOME=/h\n",
        "EMPTY=\n",
        "not an (identifier)==\n\u{e4}\n",
        &pwd,
    ] {
        assert!(stdout.contains(line), "{line}: {stdout}");
    }
}

#[tokio::test]
async fn the_directory_is_what_was_asked_for_and_pwd_says_so() {
    let subject = Subject::start().await;
    assert_eq!(
        subject
            .print("pwd; echo $PWD; mkdir 'a b' && ln -s 'a b' link")
            .await,
        format!("{0}\n{0}\n", subject.cwd().display())
    );
    for (cwd, physical, logical) in [
        ("a b", "a b", "a b"),
        ("link", "a b", "link"),
        ("link/../a b/.", "a b", "a b"),
    ] {
        let mut params = subject.text("pwd -P; printenv PWD");
        params.cwd = Some(cwd.into());
        let stdout = subject.run(&params).await.stdout();
        let at = |name: &str| subject.cwd().join(name).display().to_string();
        assert_eq!(stdout, format!("{}\n{}\n", at(physical), at(logical)), "{cwd}");
    }
}

#[tokio::test]
async fn a_directory_that_cannot_be_used_is_named_and_nothing_runs() {
    let subject = Subject::start().await;
    subject.print("touch file").await;
    for (cwd, kind) in [
        ("/nowhere/at/all", SetupFailure::CwdNotFound),
        ("file", SetupFailure::CwdNotADirectory),
        ("file/under", SetupFailure::CwdNotADirectory),
    ] {
        for mut params in [subject.text("touch ran"), subject.argv(&["no-such-program"])] {
            params.cwd = Some(cwd.into());
            let record = subject.run(&params).await;
            let (got, message) = setup_failure(record.outcome());
            assert_eq!(got, kind, "{message}");
            assert!(message.contains(cwd), "{message}");
            assert_eq!(record.starts, 0);
        }
    }
}

#[tokio::test]
async fn a_working_directory_that_a_command_removed_is_made_again_with_a_notice() {
    let subject = Subject::start().await;
    subject.print("rm -r \"$PWD\"").await;
    let record = subject.run(&subject.text("pwd")).await;
    assert_eq!(record.stdout().trim(), subject.cwd().to_str().unwrap());
    assert!(record.result().unwrap().notices[0].contains("made again"));
    assert!(
        subject
            .run(&subject.text("pwd"))
            .await
            .result()
            .unwrap()
            .notices
            .is_empty()
    );
}

#[tokio::test]
async fn a_program_that_cannot_be_run_is_told_apart_from_one_that_is_not_there() {
    let subject = Subject::start().await;
    let write = |name: &str, content: &str, mode| {
        let path = subject.cwd().join(name);
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    write("plain", "x", 0o644);
    write("text", "echo no shell shall run this\n", 0o755);
    write("lost", "#!/no/such/interpreter\n", 0o755);
    write("good", "#!/bin/sh\necho \"$0\" \"$@\"\n", 0o755);
    for (program, kind) in [
        ("no-such-program", SetupFailure::ProgramNotFound),
        ("./no-such-program", SetupFailure::ProgramNotFound),
        ("./plain", SetupFailure::ProgramDenied),
        ("./text", SetupFailure::ProgramDenied),
        ("./lost", SetupFailure::ProgramDenied),
        ("/", SetupFailure::ProgramDenied),
    ] {
        let (got, message) = setup_failure(subject.run(&subject.argv(&[program])).await.outcome());
        assert_eq!(got, kind, "{message}");
        assert!(message.contains(program), "{message}");
    }
    let record = subject
        .run(&subject.argv(&["./good", "", "a b", "$HOME", "*"]))
        .await;
    assert!(
        record.stdout().ends_with("/good  a b $HOME *\n"),
        "{}",
        record.stdout()
    );
    let mut params = subject.argv(&["good"]);
    params.env = vec![Variable::new("PATH", ".")];
    assert_eq!(subject.run(&params).await.outcome(), Outcome::Exited { code: 0 });
}

#[tokio::test]
async fn what_cannot_be_passed_on_is_refused_before_anything_starts() {
    let subject = Subject::start().await;
    let long = "x".repeat(200 * 1024);
    let changed = |change: &dyn Fn(&mut RunParams)| {
        let mut params = subject.text("touch ran");
        change(&mut params);
        params
    };
    let cases: [(&str, RunParams); 8] = [
        ("command.argv", subject.argv(&[])),
        ("command.argv[0]", subject.argv(&[""])),
        ("command.argv[1]", subject.argv(&["true", "a\0b"])),
        ("command.argv[1]", subject.argv(&["true", &long])),
        ("command.shell", subject.text("touch ran \0")),
        ("cwd", changed(&|params| params.cwd = Some("/tmp\0".into()))),
        (
            "env[0].name",
            changed(&|params| params.env = vec![Variable::new("A=B", "")]),
        ),
        (
            "env[1].value",
            changed(&|params| params.env = vec![Variable::new("A", ""), Variable::new("B", "\0")]),
        ),
    ];
    for (field, params) in cases {
        let error = subject.run(&params).await.error();
        assert_eq!(
            (error.kind(), error.data.resource.as_deref()),
            (ErrorKind::InvalidArgument, Some(field))
        );
    }
    let pty = Pty {
        rows: 24,
        columns: 80,
    };
    for (what, params) in [
        ("user", changed(&|params| params.user = Some("root".into()))),
        ("pty", changed(&|params| params.pty = Some(pty))),
        ("detach", changed(&|params| params.detach = true)),
    ] {
        let error = subject.run(&params).await.error();
        assert_eq!(
            (error.kind(), error.data.resource.as_deref()),
            (ErrorKind::Unsupported, Some(what))
        );
    }
    let mut params = subject.text("touch ran");
    params.sandbox = "herm-test-nobody".into();
    assert_eq!(
        subject.run(&params).await.error().kind(),
        ErrorKind::SandboxNotFound
    );
    assert!(!subject.cwd().join("ran").exists());
}

#[tokio::test]
async fn more_arguments_than_the_system_takes_are_refused_with_their_size() {
    let subject = Subject::start().await;
    let argument = "x".repeat(100 * 1024);
    let arguments: Vec<&str> = std::iter::once("true")
        .chain(std::iter::repeat_n(argument.as_str(), 64))
        .collect();
    let error = subject.run(&subject.argv(&arguments)).await.error();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(
        error.message.contains("bytes of arguments and variables"),
        "{error}"
    );
}

#[tokio::test]
async fn text_of_three_mebibytes_runs_as_short_text_does() {
    let subject = Subject::start().await;
    let filler = ": a line that makes the text long\n".repeat(100_000);
    let text = format!("x=1\n{filler}echo \"$0 $# $x\"; cat; exit 9");
    let mut params = subject.command(Command::Shell(text.into()));
    params.stdin = herm_protocol::exec::Stdin::Bytes {
        data: "input\n".into(),
    };
    let record = subject.run(&params).await;
    assert_eq!(
        record.outcome(),
        Outcome::Exited { code: 9 },
        "{}",
        record.stderr()
    );
    let shell = &subject.declared.choices["shell"];
    let name = if shell == "bash" { "bash" } else { "sh" };
    assert_eq!(record.stdout(), format!("{name} 0 1\ninput\n"));
    // Nothing of it stays.
    let directory = subject.cwd().parent().unwrap().to_owned();
    let names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["work"]);
}
