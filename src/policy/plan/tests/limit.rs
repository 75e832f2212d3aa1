//! What is bounded, and what a host cannot bound.

use herm_protocol::sandbox::ResourceLimits;

use super::*;

fn asking(limits: ResourceLimits) -> SandboxSpec {
    SandboxSpec {
        limits,
        ..SandboxSpec::default()
    }
}

/// Hosts that lack one thing each, with the subject of what is told, the setting and the field that ask for it.
type Lack = (
    fn(&mut HostFacts),
    &'static str,
    &'static str,
    fn(&mut ResourceLimits),
);

const LACKS: [Lack; 6] = [
    (
        |facts| facts.pids = false,
        "pids",
        "",
        |limits| limits.pids = Some(99),
    ),
    (
        |facts| facts.memory = false,
        "memory",
        "container_memory: 100",
        |limits| limits.memory_bytes = Some(1 << 26),
    ),
    (
        |facts| facts.swap = false,
        "swap",
        "container_memory: 100",
        |limits| limits.memory_bytes = Some(1 << 26),
    ),
    (
        |facts| facts.cpu = false,
        "cpu",
        "container_cpu: 0.5",
        |limits| {
            limits.cpu_millis = Some(500);
        },
    ),
    (
        |facts| facts.layer_quota = false,
        "disk",
        "container_disk: 100",
        |limits| limits.disk_bytes = Some(1 << 26),
    ),
    (
        |facts| facts.volume_quota = false,
        "disk",
        "container_disk: 100",
        |limits| limits.disk_bytes = Some(1 << 26),
    ),
];

#[test]
fn a_default_that_cannot_be_enforced_is_told_and_a_wish_is_an_error() {
    for (lacks, subject, setting, asks) in LACKS {
        let mut facts = HostFacts::complete();
        lacks(&mut facts);
        let (_, told) = super::plan(&config(""), &SandboxSpec::default(), &facts).unwrap();
        assert_eq!(subjects(&told), [subject]);
        assert!(told[0].notice.contains("cannot bound"), "{}", told[0]);
        let mut limits = ResourceLimits::default();
        asks(&mut limits);
        let error = super::plan(&config(""), &asking(limits), &facts).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let resource = error.data.resource.clone().unwrap();
        assert!(resource.starts_with("spec.limits."), "{resource}");
        assert!(
            error.data.fix.is_some() && error.message.contains(&resource),
            "{error}"
        );
        if let Some((key, _)) = setting.split_once(':') {
            let error = super::plan(
                &config(&format!("  {setting}\n")),
                &SandboxSpec::default(),
                &facts,
            )
            .unwrap_err();
            let key = format!("terminal.{key}");
            assert_eq!(error.data.resource.as_deref(), Some(key.as_str()));
            assert!(error.message.contains("config.yaml:3"), "{error}");
        }
    }
}

#[test]
fn a_host_that_tells_nothing_enforces_nothing_and_all_of_it_is_told() {
    let (plan, told) = super::plan(&config(""), &SandboxSpec::default(), &HostFacts::default()).unwrap();
    assert_eq!(subjects(&told), ["seccomp", "memory", "pids", "cpu", "disk"]);
    let bounds = (
        plan.limits.pids,
        plan.limits.memory_bytes,
        plan.limits.memory_and_swap_bytes,
        plan.limits.nano_cpus,
        plan.limits.disk_bytes,
    );
    assert_eq!(bounds, (None, None, None, None, None));
    assert_eq!(HostFacts::default().capabilities(), [] as [&str; 0]);
    assert_eq!(
        HostFacts::complete().capabilities(),
        ["limits_cpu", "limits_disk", "limits_memory", "limits_pids"]
    );
}

#[test]
fn defaults_are_bounds_and_memory_has_no_swap_beside_it() {
    let limits = planned(&config(""), &SandboxSpec::default()).0.limits;
    assert_eq!(limits.pids, Some(256));
    assert_eq!(limits.memory_bytes, Some(5120 << 20));
    assert_eq!(limits.memory_and_swap_bytes, limits.memory_bytes);
    assert_eq!(limits.nano_cpus, Some(1_000_000_000));
    assert_eq!(limits.disk_bytes, Some(51200 << 20));
    assert_eq!(limits.shm_bytes, Some(1 << 30));
}

#[test]
fn a_callers_bound_wins_whichever_is_larger() {
    let section = "  container_memory: 100\n  container_cpu: 0.5\n  container_disk: 0\n";
    let asked = ResourceLimits {
        memory_bytes: Some(7 << 30),
        pids: Some(1000),
        cpu_millis: Some(2500),
        disk_bytes: Some(1 << 20),
    };
    let mut config = config(section);
    config.extra_args.value = vec![
        "--memory=50m".into(),
        "--pids-limit=10".into(),
        "--cpus=.1".into(),
    ];
    // ".1" is no number.
    assert!(
        refused(&config, &SandboxSpec::default())
            .message
            .contains("--cpus")
    );
    config.extra_args.value[2] = "--cpus=0.1".into();
    let limits = planned(&config, &asking(asked)).0.limits;
    assert_eq!(limits.memory_bytes, Some(7 << 30));
    assert_eq!(limits.memory_and_swap_bytes, Some(7 << 30));
    assert_eq!(limits.pids, Some(1000));
    assert_eq!(limits.nano_cpus, Some(2_500_000_000));
    assert_eq!(limits.disk_bytes, Some(1 << 20));
    let limits = planned(&config, &SandboxSpec::default()).0.limits;
    assert_eq!(limits.memory_bytes, Some(50 << 20));
    assert_eq!(limits.pids, Some(10));
    assert_eq!(limits.nano_cpus, Some(100_000_000));
    assert_eq!(limits.disk_bytes, None);
}

#[test]
fn options_make_bounds_tighter_only() {
    for (option, word) in [
        ("--memory=6g", "terminal.container_memory"),
        ("-m8g", "terminal.container_memory"),
        ("--cpus=1.5", "terminal.container_cpu"),
        ("--pids-limit=257", "spec.limits.pids"),
        ("--storage-opt=size=60g", "terminal.container_disk"),
        ("--memory-swap=8g", "does not swap"),
        ("--memory-reservation=6g", "make it smaller"),
        ("--memory=1m", "6 MB of memory, the least"),
        ("--cpus=0.001", "hundredth"),
    ] {
        let error = refused(&with_args(&[option]), &SandboxSpec::default());
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{option}: {error}");
        assert!(error.to_string().contains(word), "{option}: {error}");
        assert_eq!(error.data.resource.as_deref(), Some("terminal.docker_extra_args"));
    }
    let limits = planned(
        &with_args(&[
            "--memory=1g",
            "--memory-swap=1g",
            "--memory-reservation=512m",
            "--storage-opt",
            "size=1g",
        ]),
        &SandboxSpec::default(),
    )
    .0
    .limits;
    assert_eq!(limits.memory_and_swap_bytes, Some(1 << 30));
    assert_eq!(limits.memory_reservation_bytes, Some(512 << 20));
    assert_eq!(limits.disk_bytes, Some(1 << 30));
}

#[test]
fn a_bound_of_nothing_is_no_bound() {
    for asks in [
        |limits: &mut ResourceLimits| limits.pids = Some(0),
        |limits: &mut ResourceLimits| limits.memory_bytes = Some(0),
        |limits: &mut ResourceLimits| limits.cpu_millis = Some(0),
        |limits: &mut ResourceLimits| limits.disk_bytes = Some(0),
    ] {
        let mut limits = ResourceLimits::default();
        asks(&mut limits);
        let error = refused(&config(""), &asking(limits));
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message.contains("is 0"), "{error}");
    }
    let little = ResourceLimits {
        memory_bytes: Some(1 << 20),
        ..ResourceLimits::default()
    };
    let error = refused(&config(""), &asking(little));
    assert_eq!(error.data.resource.as_deref(), Some("spec.limits.memory_bytes"));
    let most = ResourceLimits {
        memory_bytes: Some(u64::MAX),
        pids: Some(u64::MAX),
        cpu_millis: Some(u64::MAX),
        disk_bytes: Some(u64::MAX),
    };
    assert_eq!(
        planned(&config(""), &asking(most)).0.limits.nano_cpus,
        Some(u64::MAX)
    );
}

#[test]
fn no_more_processors_are_asked_for_than_there_are() {
    let facts = HostFacts {
        processors: 2,
        ..HostFacts::complete()
    };
    let nano = |section: &str| {
        let plan = super::plan(&config(section), &SandboxSpec::default(), &facts)
            .unwrap()
            .0;
        plan.limits.nano_cpus
    };
    assert_eq!(nano("  container_cpu: 64\n"), Some(2_000_000_000));
    assert_eq!(nano("  container_cpu: 1.5\n"), Some(1_500_000_000));
}

#[test]
fn what_a_host_cannot_choose_is_an_error_when_it_is_chosen() {
    for (option, facts) in [
        (
            "--cpuset-cpus=0",
            HostFacts {
                cpuset: false,
                ..HostFacts::complete()
            },
        ),
        (
            "--cpuset-mems=0",
            HostFacts {
                cpuset: false,
                ..HostFacts::complete()
            },
        ),
        (
            "--cpu-shares=10",
            HostFacts {
                cpu_shares: false,
                ..HostFacts::complete()
            },
        ),
    ] {
        let error = super::plan(&with_args(&[option]), &SandboxSpec::default(), &facts).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        let name = option.split('=').next().unwrap();
        assert!(error.message.contains(name), "{error}");
    }
}

#[test]
fn shared_memory_has_one_size() {
    let bytes =
        |config: &crate::config::DockerConfig| planned(config, &SandboxSpec::default()).0.limits.shm_bytes;
    assert_eq!(bytes(&with_args(&["--shm-size=64m"])), Some(64 << 20));
    assert_eq!(bytes(&config("  docker_shm_size: ''\n")), None);
    let mut both = config("  docker_shm_size: 2g\n");
    both.extra_args.value = vec!["--shm-size=64m".into()];
    let error = refused(&both, &SandboxSpec::default());
    assert!(
        error
            .message
            .contains("--shm-size contradicts terminal.docker_shm_size"),
        "{error}"
    );
}
