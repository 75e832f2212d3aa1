//! Plans, from configurations and wishes.

mod limit;
mod network;
mod place;
mod variable;

use herm_protocol::{ErrorKind, sandbox::SandboxSpec};

use super::*;
use crate::policy::{
    HostFacts,
    testing::{config, planned, refused, with_args},
};

/// The subjects of what is told.
fn subjects(told: &[super::super::Weakening]) -> Vec<&'static str> {
    told.iter().map(|weakening| weakening.subject).collect()
}

fn names(set: &BTreeSet<String>) -> Vec<&str> {
    set.iter().map(String::as_str).collect()
}

#[test]
fn nothing_said_is_a_hardened_container_with_nothing_to_tell() {
    let (plan, told) = planned(&config(""), &SandboxSpec::default());
    assert_eq!(told, []);
    assert_eq!(plan.hardening.cap_drop, ["ALL"]);
    assert_eq!(
        names(&plan.hardening.cap_add),
        ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID"]
    );
    assert!(plan.hardening.no_new_privileges && plan.hardening.init && !plan.hardening.read_only_root);
    assert_eq!(plan.hardening.security_options(), ["no-new-privileges"]);
    assert_eq!(plan.network.mode, NetworkMode::Default);
    assert_eq!((plan.user, plan.workdir.as_str()), (None, "/root"));
    assert_eq!(plan.image, "nikolaik/python-nodejs:python3.11-nodejs20");
    assert!(plan.mounts.is_empty());
}

#[test]
fn a_namespace_of_cgroups_is_asked_for_where_it_is_meant() {
    let usual = planned(&config(""), &SandboxSpec::default()).0;
    assert!(!usual.hardening.private_cgroups);
    let mut asked = config("");
    asked.extra_args.value = vec!["--cgroupns=private".into()];
    let asked = planned(&asked, &SandboxSpec::default()).0;
    assert!(asked.hardening.private_cgroups);
}

#[test]
fn this_users_id_comes_without_the_capabilities_of_switching() {
    let as_host = config("  docker_run_as_host_user: true\n");
    let (plan, told) = planned(&as_host, &SandboxSpec::default());
    assert_eq!(told, []);
    assert_eq!(plan.user.as_deref(), Some("1000:1001"));
    assert_eq!(
        names(&plan.hardening.cap_add),
        ["CHOWN", "DAC_OVERRIDE", "FOWNER"]
    );
    assert!(plan.kept.iter().all(|area| area.of_user));
    for (facts, word) in [
        (
            HostFacts {
                rootless: true,
                ..HostFacts::complete()
            },
            "rootless",
        ),
        (
            HostFacts {
                user_namespace: true,
                ..HostFacts::complete()
            },
            "userns-remap",
        ),
    ] {
        let error = super::plan(&as_host, &SandboxSpec::default(), &facts).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(word), "{error}");
    }
    let mut both = with_args(&["--user", "7"]);
    both.run_as_host_user.value = true;
    let error = refused(&both, &SandboxSpec::default());
    assert!(
        error
            .message
            .contains("--user contradicts terminal.docker_run_as_host_user"),
        "{error}"
    );
}

#[test]
fn a_callers_user_wins_and_only_root_switches() {
    for (user, switches) in [
        ("root", true),
        ("0", true),
        ("0:5", true),
        ("app", false),
        ("1000:1000", false),
        ("00", true),
    ] {
        let spec = SandboxSpec {
            user: Some(user.into()),
            ..SandboxSpec::default()
        };
        let (plan, _) = planned(&config("  docker_run_as_host_user: true\n"), &spec);
        assert_eq!(plan.user.as_deref(), Some(user));
        assert_eq!(plan.hardening.cap_add.contains("SETUID"), switches, "{user}");
    }
    for user in ["", "a b", "a:b:c", ":", "-x", "a\n"] {
        let spec = SandboxSpec {
            user: Some(user.into()),
            ..SandboxSpec::default()
        };
        let error = refused(&config(""), &spec);
        assert_eq!(error.data.resource.as_deref(), Some("spec.user"), "{user:?}");
    }
}

#[test]
fn capabilities_are_taken_away_further_and_never_given_beyond_the_set() {
    let (plan, _) = planned(
        &with_args(&["--cap-drop=cap_setuid", "--cap-drop", "SETGID"]),
        &SandboxSpec::default(),
    );
    assert_eq!(
        names(&plan.hardening.cap_add),
        ["CHOWN", "DAC_OVERRIDE", "FOWNER"]
    );
    let (plan, _) = planned(&with_args(&["--cap-drop", "ALL"]), &SandboxSpec::default());
    assert!(plan.hardening.cap_add.is_empty());
    let (plan, _) = planned(&with_args(&["--cap-add", "CHOWN"]), &SandboxSpec::default());
    assert_eq!(plan.hardening.cap_add.len(), 5);
    let error = refused(
        &with_args(&["--cap-add", "CHOWN", "--cap-drop", "CHOWN"]),
        &SandboxSpec::default(),
    );
    assert!(error.message.contains("--cap-drop takes it away"), "{error}");
    let ordinary = SandboxSpec {
        user: Some("app".into()),
        ..SandboxSpec::default()
    };
    let error = refused(&with_args(&["--cap-add", "SETUID"]), &ordinary);
    assert!(error.message.contains("no other one's rights"), "{error}");
}

#[test]
fn what_a_snap_cannot_do_and_a_missing_filter_are_told() {
    let (plan, told) = planned(&config("  docker_snap_compat: true\n"), &SandboxSpec::default());
    assert!(!plan.hardening.no_new_privileges && !plan.hardening.init);
    assert_eq!(subjects(&told), ["no_new_privileges"]);
    assert!(
        told[0].notice.contains("terminal.docker_snap_compat ("),
        "{}",
        told[0]
    );
    let facts = HostFacts {
        seccomp: false,
        ..HostFacts::complete()
    };
    let (_, told) = super::plan(&config(""), &SandboxSpec::default(), &facts).unwrap();
    assert_eq!(subjects(&told), ["seccomp"]);
}

#[test]
fn what_names_no_image_is_refused_by_who_says_it() {
    for image in ["", " ", "-v", "a b", "a\n"] {
        let spec = SandboxSpec {
            image: Some(image.into()),
            ..SandboxSpec::default()
        };
        let error = refused(&config(""), &spec);
        assert_eq!(error.data.resource.as_deref(), Some("spec.image"), "{image:?}");
    }
    let error = refused(&config("  docker_image: 'a b'\n"), &SandboxSpec::default());
    assert_eq!(error.data.resource.as_deref(), Some("terminal.docker_image"));
    let spec = SandboxSpec {
        image: Some("busybox".into()),
        ..SandboxSpec::default()
    };
    assert_eq!(planned(&config(""), &spec).0.image, "busybox");
}

#[test]
fn two_plans_have_one_digest_only_if_they_need_no_new_container() {
    let digest =
        |section: &str, spec: &SandboxSpec| planned(&config(section), spec).0.digest_input().unwrap();
    let base = digest("", &SandboxSpec::default());
    assert_eq!(base, digest("", &SandboxSpec::default()));
    let of_commands = SandboxSpec {
        env: vec![herm_protocol::sandbox::Variable::new("A", "b")],
        ..SandboxSpec::default()
    };
    assert_eq!(base, digest("", &of_commands));
    assert_eq!(base, digest("  docker_env: {A: b}\n", &SandboxSpec::default()));
    let others = [
        "  docker_network: false\n".to_owned(),
        "  container_memory: 100\n".to_owned(),
        "  docker_run_as_host_user: true\n".to_owned(),
        "  container_persistent: false\n".to_owned(),
    ];
    let mut digests: Vec<_> = others
        .iter()
        .map(|section| digest(section, &SandboxSpec::default()))
        .collect();
    digests.push(base);
    for device in ["/a", "/b"] {
        let mount = format!(
            "type=volume,src=vol,dst=/v,volume-opt=type=none,volume-opt=o=bind,volume-opt=device={device}"
        );
        let (plan, _) = planned(&with_args(&["--mount", &mount]), &SandboxSpec::default());
        digests.push(plan.digest_input().unwrap());
    }
    digests.sort();
    digests.dedup();
    assert_eq!(digests.len(), others.len() + 3);
}
