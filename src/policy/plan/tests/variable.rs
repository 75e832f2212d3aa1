//! Which variables commands see.

use herm_protocol::sandbox::Variable;

use super::*;
use crate::policy::testing::config_with;

fn shown(plan: &Plan) -> Vec<String> {
    let variables = plan.variables.iter();
    variables
        .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.expose().to_string_lossy()))
        .collect()
}

#[test]
fn a_caller_wins_over_the_configuration() {
    let section = "  docker_env: {A: a, B: b, C: c, MY_API_KEY: k}\n  docker_forward_env: [B, GONE]\n";
    let mut config = config_with(section, "B=secret\n");
    config.extra_args.value = vec![
        "--env=D=d=d".into(),
        "-eX_API_KEY=x".into(),
        "-e".into(),
        "A=a".into(),
    ];
    let spec = SandboxSpec {
        env: vec![
            Variable::new("C", "caller"),
            Variable::new("not-a-name", vec![0xff]),
        ],
        ..SandboxSpec::default()
    };
    let (plan, told) = planned(&config, &spec);
    assert_eq!(
        shown(&plan),
        [
            "A=a",
            "B=secret",
            "C=caller",
            "D=d=d",
            "MY_API_KEY=k",
            "X_API_KEY=x",
            "not-a-name=\u{fffd}"
        ]
    );
    assert_eq!(subjects(&told), ["env"]);
    assert!(
        told[0].notice.contains("GONE") && !told[0].notice.contains('B'),
        "{}",
        told[0]
    );
}

#[test]
fn no_value_is_shown_written_or_in_an_error() {
    let section = "  docker_env: {A: s3cret}\n  docker_forward_env: [B]\n";
    let mut config = config_with(section, "B=s3cret\n");
    config.extra_args.value = vec!["--env=C=s3cret".into()];
    let (plan, _) = planned(&config, &SandboxSpec::default());
    let texts = [format!("{plan:?}"), serde_json::to_string(&plan).unwrap()];
    for arguments in [
        vec!["--env", "A=s3cret-2"],
        vec!["--env", "B=s3cret-2"],
        vec!["--env=9=s3cret"],
        vec!["--env=N=s3cret\0"],
        vec!["--env=N=s3cret", "--env=N=s3cret-2"],
        vec!["--env", "A=s3cret", "M=s3cret"],
        vec!["--environment=M=s3cret"],
        vec!["-Z=M=s3cret"],
    ] {
        config.extra_args.value = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let error = refused(&config, &SandboxSpec::default());
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
    for text in texts {
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[test]
fn what_cannot_be_passed_on_is_refused_by_its_field() {
    let spec = SandboxSpec {
        env: vec![Variable::new("A=", "b")],
        ..SandboxSpec::default()
    };
    assert_eq!(
        refused(&config(""), &spec).data.resource.as_deref(),
        Some("spec.env[0].name")
    );
}
