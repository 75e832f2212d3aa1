//! What of the network is reachable, and what contradicts it.

use herm_protocol::sandbox::Network as Wish;

use super::*;

fn asking(network: Wish) -> SandboxSpec {
    SandboxSpec {
        network: Some(network),
        ..SandboxSpec::default()
    }
}

fn hosts() -> Wish {
    Wish::Allow {
        hosts: vec!["example.org".into()],
    }
}

#[test]
fn none_is_none_whoever_asks_for_it() {
    let off = config("  docker_network: false\n");
    for (config, spec) in [
        (&off, SandboxSpec::default()),
        (&off, asking(Wish::Default)),
        (&config(""), asking(Wish::None)),
        (&config("  docker_network: true\n"), asking(Wish::None)),
        (&with_args(&["--network", "none"]), SandboxSpec::default()),
        (&with_args(&["--net=none"]), asking(Wish::None)),
    ] {
        assert_eq!(planned(config, &spec).0.network.mode, NetworkMode::None);
    }
}

#[test]
fn a_network_of_the_users_own_is_taken_by_its_name() {
    let mode = |arguments: &[&str]| {
        planned(&with_args(arguments), &SandboxSpec::default())
            .0
            .network
            .mode
    };
    assert_eq!(mode(&["--network=mine"]), NetworkMode::Named("mine".into()));
    assert_eq!(mode(&["--network", "bridge"]), NetworkMode::Default);
    assert_eq!(mode(&[]).name(), "bridge");
}

#[test]
fn a_contradiction_names_both_who_ask() {
    let with = |section: &str, arguments: &[&str]| {
        let mut config = config(section);
        config.extra_args.value = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        config
    };
    let off = "  docker_network: false\n";
    for (config, spec, words) in [
        (
            with(off, &["--network", "x1"]),
            SandboxSpec::default(),
            ["--network x1", "terminal.docker_network ("],
        ),
        (
            with(off, &["--network=bridge"]),
            SandboxSpec::default(),
            ["--network bridge", "terminal.docker_network ("],
        ),
        (
            with("", &["--network=x1"]),
            asking(Wish::None),
            ["--network x1", "spec.network"],
        ),
        (
            with(off, &[]),
            asking(hosts()),
            ["allow list", "terminal.docker_network ("],
        ),
        (
            with("  docker_network: true\n", &["--network=none"]),
            SandboxSpec::default(),
            ["terminal.docker_network (", "--network none"],
        ),
    ] {
        let error = refused(&config, &spec);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        for word in words {
            assert!(error.message.contains(word), "{word}: {error}");
        }
    }
    let error = refused(&config(""), &asking(hosts()));
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn a_proxy_that_is_asked_for_is_not_gone_around() {
    let mut config = config("");
    config.egress = crate::config::EgressProxy::Required;
    assert_eq!(
        refused(&config, &SandboxSpec::default()).kind(),
        ErrorKind::Unsupported
    );
    config.egress = crate::config::EgressProxy::Preferred;
    assert_eq!(subjects(&planned(&config, &SandboxSpec::default()).1), ["egress"]);
}
