//! What stands where.

use herm_protocol::sandbox::Mount as Wish;

use super::*;
use crate::policy::mount::Source;

fn targets(plan: &Plan) -> (Vec<&str>, Vec<&str>, Vec<&str>) {
    (
        plan.tmpfs.iter().map(|tmpfs| tmpfs.target.as_str()).collect(),
        plan.kept.iter().map(|area| area.target.as_str()).collect(),
        plan.mounts.iter().map(|mount| mount.target.as_str()).collect(),
    )
}

fn volumes(specs: &[&str]) -> crate::config::DockerConfig {
    let mut config = config("");
    config.volumes.value = specs.iter().map(|spec| (*spec).to_owned()).collect();
    config
}

fn wish(source: &str, target: &str) -> Wish {
    Wish {
        source: source.into(),
        target: target.into(),
        read_only: true,
    }
}

fn asking(mounts: Vec<Wish>) -> SandboxSpec {
    SandboxSpec {
        mounts,
        ..SandboxSpec::default()
    }
}

#[test]
fn what_is_in_memory_is_bounded_and_only_tmp_runs_programs() {
    let (plan, _) = planned(&config(""), &SandboxSpec::default());
    let options: Vec<_> = plan
        .tmpfs
        .iter()
        .map(|tmpfs| (tmpfs.target.as_str(), tmpfs.options()))
        .collect();
    assert_eq!(
        options,
        [
            ("/run", "rw,nosuid,nodev,noexec,size=67108864,mode=755".to_owned()),
            ("/tmp", "rw,nosuid,nodev,exec,size=536870912,mode=1777".to_owned()),
            (
                "/var/tmp",
                "rw,nosuid,nodev,noexec,size=268435456,mode=1777".to_owned()
            ),
        ]
    );
    let (plan, _) = planned(&config("  container_memory: 100\n"), &SandboxSpec::default());
    let sizes: Vec<_> = plan
        .tmpfs
        .iter()
        .map(|tmpfs| tmpfs.size_bytes.unwrap() >> 20)
        .collect();
    assert_eq!(sizes, [64, 100, 100]);
}

#[test]
fn files_of_people_are_kept_or_in_memory() {
    let (plan, _) = planned(&config(""), &SandboxSpec::default());
    let kept: Vec<_> = plan
        .kept
        .iter()
        .map(|area| (area.target.as_str(), area.role))
        .collect();
    assert_eq!(kept, [("/root", "root"), ("/workspace", "workspace")]);
    assert!(
        plan.kept
            .iter()
            .all(|area| !area.of_user && area.size_bytes == plan.limits.disk_bytes)
    );
    let (plan, _) = planned(
        &config("  container_persistent: false\n"),
        &SandboxSpec::default(),
    );
    assert!(plan.kept.is_empty());
    let area = |plan: &Plan, target: &str| {
        plan.tmpfs
            .iter()
            .find(|tmpfs| tmpfs.target == target)
            .cloned()
            .unwrap()
    };
    let root = area(&plan, "/root");
    assert_eq!(
        (root.exec, root.size_bytes, root.mode, root.owner),
        (true, Some(1 << 30), 0o700, None)
    );
    // Its ten gibibytes are more than there is memory.
    assert_eq!(area(&plan, "/workspace").size_bytes, Some(5120 << 20));
    let as_host =
        config("  container_persistent: false\n  docker_run_as_host_user: true\n  container_disk: 10\n");
    let (plan, _) = planned(&as_host, &SandboxSpec::default());
    let root = area(&plan, "/root");
    assert_eq!(
        (root.owner, root.size_bytes),
        (Some((1000, 1001)), Some(10 << 20))
    );
    let named = SandboxSpec {
        user: Some("app".into()),
        ..SandboxSpec::default()
    };
    let (plan, _) = planned(&config("  container_persistent: false\n"), &named);
    assert_eq!(area(&plan, "/root").mode, 0o1777);
}

#[test]
fn a_mount_stands_in_place_of_the_default_at_its_target_and_no_other() {
    let (plan, told) = planned(
        &volumes(&["/data:/workspace", "vol:/tmp:ro", "/x:/root/x"]),
        &SandboxSpec::default(),
    );
    assert_eq!(told, []);
    assert_eq!(
        targets(&plan),
        (
            vec!["/run", "/var/tmp"],
            vec!["/root"],
            vec!["/root/x", "/tmp", "/workspace"]
        )
    );
    // A name that only begins the same suppresses nothing.
    let (plan, _) = planned(&volumes(&["/data:/workspaces/foo"]), &SandboxSpec::default());
    assert_eq!(plan.kept.len(), 2);
}

#[test]
fn a_default_that_lies_in_a_mount_is_left_out_and_told() {
    let (plan, told) = planned(&volumes(&["vol:/var"]), &SandboxSpec::default());
    assert_eq!(targets(&plan).0, ["/run", "/tmp"]);
    assert_eq!(subjects(&told), ["tmpfs"]);
    assert!(
        told[0].notice.contains("/var/tmp") && told[0].notice.contains("terminal.docker_volumes"),
        "{}",
        told[0]
    );
}

#[test]
fn two_mounts_on_one_target_contradict_each_other() {
    let (tmpfs, mut both) = (
        with_args(&["--tmpfs", "/tmp:size=1m"]),
        with_args(&["--tmpfs", "/data"]),
    );
    assert_eq!(
        planned(&tmpfs, &SandboxSpec::default()).0.tmpfs[1].size_bytes,
        Some(1 << 20)
    );
    both.volumes.value = vec!["/a:/data/".into()];
    for config in [
        both,
        volumes(&["/a:/x", "/b:/x"]),
        volumes(&["/a:/x", "/b:/y/../x"]),
        with_args(&["-v", "/a:/x", "--mount", "type=bind,src=/b,dst=/x"]),
    ] {
        let error = refused(&config, &SandboxSpec::default());
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message.contains("and so does"), "{error}");
    }
    let error = refused(&config(""), &asking(vec![wish("/a", "/x"), wish("/b", "/x")]));
    assert_eq!(error.data.resource.as_deref(), Some("spec.mounts[1]"));
}

#[test]
fn a_callers_mount_wins_and_that_is_told() {
    let (plan, told) = planned(
        &volumes(&["/a:/x"]),
        &asking(vec![wish("/b", "/x"), wish("cache", "/y")]),
    );
    assert_eq!(subjects(&told), ["mounts"]);
    let sources: Vec<_> = plan
        .mounts
        .iter()
        .map(|mount| (&mount.source, mount.read_only))
        .collect();
    assert!(matches!(sources[0], (Source::HostPath { path, .. }, true) if path == "/b"));
    assert!(matches!(sources[1], (Source::Volume { name: Some(name), .. }, true) if name == "cache"));
    for mount in [
        wish("./a", "/x"),
        wish("~", "/x"),
        wish("", "/x"),
        wish("a/b", "/x"),
        wish("/a", "x"),
        wish("/a", "/"),
        wish("/a", "/proc/x"),
        wish("/a\n", "/x"),
    ] {
        let error = refused(&config(""), &asking(vec![mount.clone()]));
        assert_eq!(
            error.data.resource.as_deref(),
            Some("spec.mounts[0]"),
            "{mount:?}: {error}"
        );
    }
    let bytes = Wish {
        source: vec![b'/', 0xff].into(),
        target: "/x".into(),
        read_only: false,
    };
    assert!(
        refused(&config(""), &asking(vec![bytes]))
            .message
            .contains("no text")
    );
}

#[test]
fn the_current_directory_at_workspace_gives_way_to_a_mount() {
    let mut flagged = config("  docker_mount_cwd_to_workspace: true\n");
    let (plan, told) = planned(&flagged, &SandboxSpec::default());
    assert_eq!((told.len(), plan.workdir.as_str()), (0, "/workspace"));
    assert_eq!(targets(&plan).2, ["/workspace"]);
    flagged.volumes.value = vec!["/data:/workspace".into()];
    let (plan, told) = planned(&flagged, &SandboxSpec::default());
    assert_eq!(subjects(&told), ["mounts"]);
    assert!(matches!(&plan.mounts[0].source, Source::HostPath { path, .. } if path == "/data"));
}

#[test]
fn a_path_of_windows_and_a_bad_text_are_refused_by_their_setting() {
    for spec in [r"C:\work:/work", "data/x:/x", "/a:/b:rshared", "vol"] {
        let error = refused(&volumes(&[spec]), &SandboxSpec::default());
        assert_eq!(
            error.data.resource.as_deref(),
            Some("terminal.docker_volumes"),
            "{error}"
        );
        assert!(error.data.fix.is_some());
    }
}

#[test]
fn where_commands_start_is_the_callers_then_the_options_then_the_settings() {
    let workdir = |section: &str, arguments: &[&str], spec: &SandboxSpec| {
        let mut config = config(section);
        config.extra_args.value = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let (plan, told) = planned(&config, spec);
        (plan.workdir, subjects(&told))
    };
    let none = SandboxSpec::default();
    let asked = SandboxSpec {
        cwd: Some("/srv//app/".into()),
        ..SandboxSpec::default()
    };
    assert_eq!(workdir("", &[], &none), ("/root".into(), vec![]));
    assert_eq!(workdir("  cwd: /srv\n", &[], &none), ("/srv".into(), vec![]));
    assert_eq!(workdir("", &["-w/opt"], &none), ("/opt".into(), vec![]));
    assert_eq!(workdir("  cwd: /srv\n", &[], &asked), ("/srv/app".into(), vec![]));
    assert_eq!(
        workdir("  cwd: /home/me\n", &[], &none),
        ("/root".into(), vec!["cwd"])
    );
    let mut both = config("  cwd: /srv\n");
    both.extra_args.value = vec!["--workdir=/opt".into()];
    assert!(
        refused(&both, &none)
            .message
            .contains("--workdir contradicts terminal.cwd")
    );
    for cwd in ["srv", "", "/a\0", "/a\n"] {
        let spec = SandboxSpec {
            cwd: Some(cwd.into()),
            ..SandboxSpec::default()
        };
        assert_eq!(
            refused(&config(""), &spec).data.resource.as_deref(),
            Some("spec.cwd"),
            "{cwd:?}"
        );
    }
}
