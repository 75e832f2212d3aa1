//! What reaches the host, and what does not.

use super::{
    super::mount::{Here, parse_mount},
    AccessLevel::{Control, None, Read, Write},
    *,
};

fn here() -> Here {
    Here {
        home: Some("/home/me".into()),
        directory: Some("/srv/project".into()),
    }
}

/// How far one text reaches, and why.
fn of_text(text: &str) -> (AccessLevel, String) {
    let texts = [text.to_owned()];
    let access = classify_texts(&texts, &here(), &KnownHost::default(), |_| Option::None);
    let access = access.unwrap_or_else(|error| panic!("{text:?}: {error}"));
    assert_eq!(access.level, access.mounts[0].level);
    (access.level, access.mounts[0].reason.clone())
}

fn bind(source: &str, read_only: bool, identity: Option<FileIdentity>) -> EffectiveMount {
    EffectiveMount {
        kind: MountKind::Bind {
            source: source.into(),
            identity,
        },
        target: "/x".into(),
        read_only,
    }
}

fn volume(driver: &str, options: Option<&[(&str, &str)]>) -> EffectiveMount {
    let kept = |(name, value): &(&str, &str)| ((*name).to_owned(), Secret::new((*value).to_owned()));
    EffectiveMount {
        kind: MountKind::Volume {
            name: "vol".into(),
            driver: driver.into(),
            options: options.map(|options| options.iter().map(kept).collect()),
        },
        target: "/x".into(),
        read_only: false,
    }
}

fn level_of(mount: EffectiveMount) -> AccessLevel {
    classify(&[mount], &Exposure::default(), &KnownHost::default()).level
}

/// The texts that Hermes' own check was recorded with, and others of ours; the answers are those that are right.
const TEXTS: &[(&str, AccessLevel)] = &[
    ("/h:/c", Write),
    (" /h:/c", Write),
    ("//server/share:/x", Write),
    ("/var/run/docker.sock:/var/run/docker.sock", Control),
    ("~/d:/d", Write),
    ("~:/x", Write),
    ("./r:/r", Write),
    ("../u:/u", Write),
    (r"C:\w:/w", Write),
    ("C:/w:/w", Write),
    (".:/x", Write),
    ("mydata:/data", None),
    ("mydata:/data:ro", None),
    ("$HOME/x:/x", Write),
    ("${HOME}:/x", Write),
    ("type=bind,source=/,target=/h", Control),
    ("..:/x", Write),
    (".hidden:/x", Write),
    (r"\\server\share:/x", Write),
    ("/data", None),
    ("/h:/c:ro", Read),
    ("~:/x:ro", Read),
    (r"C:\w:/w:ro", Read),
    ("/:/host:ro", Control),
    ("/run:/x:ro", Control),
    ("/var/run:/x", Control),
    ("/var/../run/./docker.sock:/x:ro", Control),
    ("/run/user/1000:/x:ro", Control),
    ("/run/user/1000/podman/podman.sock:/x", Control),
    ("/run/user/1000/pulse:/x:ro", Read),
    ("/runner:/x:ro", Read),
    ("/run/lock:/x:ro", Read),
    ("/proc:/x:ro", Control),
    ("/dev/kvm:/x:ro", Control),
    ("/sys/fs/cgroup:/x:ro", Control),
    ("/device:/x:ro", Read),
    ("/tmp/agent.sock:/x:ro", Write),
    ("type=tmpfs,target=/x", None),
    ("type=volume,src=v1,target=/x", None),
    ("type=bind,src=/h,target=/x,readonly", Read),
    (
        "type=volume,src=v1,dst=/x,volume-opt=type=none,volume-opt=o=bind,volume-opt=device=/",
        Control,
    ),
    (
        "type=volume,src=v1,dst=/x,volume-driver=local,volume-opt=type=none,volume-opt=o=bind,volume-opt=device=/h",
        Write,
    ),
    (
        "type=volume,src=v1,dst=/x,readonly,volume-opt=o=bind,volume-opt=device=/h",
        Read,
    ),
    (
        r#"type=volume,src=v1,dst=/x,"volume-opt=o=bind,ro",volume-opt=device=/h"#,
        Read,
    ),
    (
        "type=volume,src=v1,dst=/x,volume-opt=type=nfs,volume-opt=o=addr=192.0.2.7,volume-opt=device=:/export",
        Write,
    ),
    (
        "type=volume,src=v1,dst=/x,volume-opt=type=tmpfs,volume-opt=device=tmpfs",
        None,
    ),
    ("type=volume,src=v1,dst=/x,volume-driver=rclone", Write),
    (r"\\.\pipe\docker_engine:/x", Control),
];

#[test]
fn every_text_reaches_as_far_as_it_would_be_mounted() {
    for (text, level) in TEXTS {
        let (seen, why) = of_text(text);
        assert_eq!(seen, *level, "{text}: {why}");
        assert!(!why.is_empty(), "{text}");
    }
}

#[test]
fn what_is_no_mount_is_refused_with_its_place() {
    for text in [
        "",
        "C:",
        "c:x",
        "/",
        "data/x:/x",
        "/a:/b:exec",
        "type=bind,source=/",
        "~other:/x",
    ] {
        let texts = ["/a:/b".to_owned(), text.to_owned()];
        let error = classify_texts(&texts, &here(), &KnownHost::default(), |_| Option::None).unwrap_err();
        assert_eq!(error.data.resource.as_deref(), Some("mounts[1]"), "{text}");
        assert_eq!(error.kind(), herm_protocol::ErrorKind::InvalidArgument);
        assert!(error.data.fix.is_some());
    }
}

#[test]
fn a_volume_that_is_there_is_what_it_was_made_as() {
    let existing = |name: &str| {
        let options = [("o", "bind"), ("device", "/etc")]
            .map(|(name, value)| (name.to_owned(), Secret::new(value.to_owned())));
        (name == "etc").then(|| Existing {
            driver: "local".into(),
            options: Some(options.into()),
        })
    };
    let texts = ["data:/a", "etc:/b:ro", "type=volume,src=etc,dst=/c"].map(str::to_owned);
    let access = classify_texts(&texts, &here(), &KnownHost::default(), existing).unwrap();
    let levels: Vec<_> = access.mounts.iter().map(|mount| mount.level).collect();
    assert_eq!((access.level, levels), (Write, vec![None, Read, Write]));
    assert!(access.mounts[1].reason.contains("/etc"), "{:?}", access.mounts);
}

#[test]
fn what_a_volumes_driver_mounts_decides() {
    for (driver, options, level) in [
        ("local", Some(&[][..]), None),
        ("", Some(&[]), None),
        ("local", Some(&[("size", "10m")]), None),
        ("local", Some(&[("o", "size=10m")]), None),
        (
            "local",
            Some(&[("type", "tmpfs"), ("device", "tmpfs"), ("o", "size=1m")]),
            None,
        ),
        (
            "local",
            Some(&[("type", "none"), ("o", "bind"), ("device", "/h")]),
            Write,
        ),
        (
            "local",
            Some(&[("TYPE", "None"), ("O", "RW, Bind"), ("Device", "/h")]),
            Control,
        ),
        (
            "local",
            Some(&[("type", "none"), ("o", "rbind"), ("device", "/run")]),
            Control,
        ),
        (
            "local",
            Some(&[("type", "ext4"), ("device", "/dev/sda1")]),
            Control,
        ),
        (
            "local",
            Some(&[("type", "cifs"), ("device", "//server/share"), ("o", "ro")]),
            Read,
        ),
        ("local", Some(&[("type", "nfs4"), ("device", ":/export")]), Write),
        (
            "local",
            Some(&[("type", "overlay"), ("device", "overlay"), ("o", "lowerdir=/etc")]),
            Control,
        ),
        ("local", Some(&[("o", "bind")]), Control),
        ("local", Some(&[("device", "h")]), Control),
        ("local", Some(&[("mountpoint", "/h")]), Control),
        ("local", Option::None, Write),
        ("sshfs", Some(&[]), Write),
        ("Local", Some(&[]), Write),
    ] {
        assert_eq!(level_of(volume(driver, options)), level, "{driver} {options:?}");
    }
}

/// The ways in which a driver was told as less than it mounts.
#[test]
fn what_a_driver_binds_is_judged_by_its_path_and_the_last_word() {
    for (driver, options, level) in [
        // What binds a path does so whatever its type says.
        ("local", Some(&[][..]), None),
        (
            "local",
            Some(&[("type", "tmpfs"), ("o", "bind"), ("device", "/")]),
            Control,
        ),
        (
            "local",
            Some(&[("type", "tmpfs"), ("o", "rbind"), ("device", "/proc")]),
            Control,
        ),
        (
            "local",
            Some(&[
                ("type", "cifs"),
                ("o", "size=1m,bind"),
                ("device", "/run/docker.sock"),
            ]),
            Control,
        ),
        (
            "local",
            Some(&[("type", "nfs4"), ("o", "bind,ro"), ("device", "/h")]),
            Read,
        ),
        // The last word counts, as it is written.
        (
            "local",
            Some(&[("type", "none"), ("o", "bind,ro,rw"), ("device", "/h")]),
            Write,
        ),
        (
            "local",
            Some(&[("type", "none"), ("o", "bind, ro"), ("device", "/h")]),
            Write,
        ),
        (
            "local",
            Some(&[("type", "none"), ("o", "bind,RO"), ("device", "/h")]),
            Write,
        ),
        (
            "local",
            Some(&[("type", "none"), ("o", "rw,bind,ro"), ("device", "/h")]),
            Read,
        ),
        // Below what is bound with all that is mounted there, the rest is as writable as it was.
        (
            "local",
            Some(&[("type", "none"), ("o", "rbind,ro"), ("device", "/h")]),
            Write,
        ),
        ("local", Some(&[("type", "proc"), ("device", "proc")]), Control),
        ("local", Some(&[("type", "proc"), ("device", "/foo")]), Control),
        ("local", Some(&[("type", "devtmpfs"), ("device", "x")]), Control),
        ("local", Some(&[("type", "sysfs"), ("device", "x")]), Control),
        ("local", Some(&[("type", "TMPFS"), ("device", "tmpfs")]), Control),
    ] {
        assert_eq!(level_of(volume(driver, options)), level, "{driver} {options:?}");
    }
}

#[test]
fn a_socket_is_one_whatever_it_is_called() {
    let host = KnownHost {
        sockets: ["/tmp/odd".to_owned(), "/tmp/second".to_owned()].into(),
        engine_sockets: vec!["/tmp/engine.sock".into(), "/tmp/second".into()],
        ..KnownHost::default()
    };
    let level = |path| classify(&[bind(path, true, Option::None)], &Exposure::default(), &host).level;
    assert_eq!(level("/tmp/odd"), Write);
    assert_eq!(level("/tmp/second"), Control);
    assert_eq!(level("/tmp/file"), Read);
}

#[test]
fn no_password_of_a_driver_is_in_a_reason() {
    let options = [
        ("type", "cifs"),
        ("o", "username=u,password=s3cret"),
        ("device", "//server/share"),
    ];
    let access = classify(
        &[volume("local", Some(&options))],
        &Exposure::default(),
        &KnownHost::default(),
    );
    assert!(
        access.reaches_out() && !format!("{access:?}").contains("s3cret"),
        "{access:?}"
    );
}

#[test]
fn our_own_mounts_are_known_by_what_they_are_and_not_by_their_name() {
    let own = FileIdentity { device: 7, inode: 42 };
    let other = FileIdentity { device: 8, inode: 42 };
    let host = KnownHost {
        own: vec![own],
        ..KnownHost::default()
    };
    let level = |mount: EffectiveMount| classify(&[mount], &Exposure::default(), &host).level;
    assert_eq!(level(bind("/any/name", true, Some(own))), None);
    assert_eq!(level(bind("/run/herm/mail", true, Some(own))), None);
    for (identity, read_only, expected) in [
        (Some(own), false, Write),
        (Some(other), true, Read),
        (Some(FileIdentity { device: 7, inode: 43 }), true, Read),
        (Option::None, true, Read),
    ] {
        assert_eq!(level(bind("/any/name", read_only, identity)), expected);
    }
    let target = EffectiveMount {
        target: "/.herm/resident".into(),
        ..bind("/etc", true, Option::None)
    };
    assert_eq!(level(target), Read);
}

#[test]
fn an_engines_own_socket_is_known_wherever_it_is() {
    let host = KnownHost {
        engine_sockets: vec!["/tmp/engine/docker.sock".into()],
        ..KnownHost::default()
    };
    for (source, expected) in [
        ("/tmp/engine/docker.sock", Control),
        ("/tmp/engine", Control),
        ("/tmp/", Control),
        ("/tmp/engine2", Read),
        ("/tmp/engine/docker.socket", Write),
    ] {
        let access = classify(&[bind(source, true, Option::None)], &Exposure::default(), &host);
        assert_eq!(access.level, expected, "{source}: {access:?}");
    }
}

#[test]
fn a_link_is_as_much_as_where_it_leads() {
    let real_paths = [
        ("/h/link", "/run"),
        ("/h/plain", "/h/plain"),
        ("/run/docker.sock", "/h/file"),
    ];
    let host = KnownHost {
        real_paths: real_paths
            .map(|(path, real)| (path.to_owned(), real.to_owned()))
            .into(),
        ..KnownHost::default()
    };
    for (source, expected) in [
        ("/h/link", Control),
        ("/h/plain", Read),
        ("/h/unknown", Read),
        // Whatever it leads to now.
        ("/run/docker.sock", Control),
    ] {
        let access = classify(&[bind(source, true, Option::None)], &Exposure::default(), &host);
        assert_eq!(access.level, expected, "{source}: {access:?}");
    }
    let device = volume("local", Some(&[("o", "bind"), ("device", "/h/link")]));
    assert_eq!(classify(&[device], &Exposure::default(), &host).level, Control);
}

#[test]
fn other_openings_of_a_container_count() {
    let level = |exposure: Exposure| classify(&[], &exposure, &KnownHost::default());
    assert_eq!(level(Exposure::default()), HostAccess::default());
    let harmless = Exposure {
        pid_mode: String::new(),
        ipc_mode: "private".into(),
        network_mode: "bridge".into(),
        cap_add: vec!["CAP_CHOWN".into(), "SETUID".into()],
        ..Exposure::default()
    };
    assert!(!level(harmless).reaches_out());
    let container = "container:4f2a";
    for (exposure, expected) in [
        (
            Exposure {
                privileged: true,
                ..Exposure::default()
            },
            Control,
        ),
        (
            Exposure {
                devices: vec!["/dev/sda".into()],
                ..Exposure::default()
            },
            Control,
        ),
        (
            Exposure {
                pid_mode: "host".into(),
                ..Exposure::default()
            },
            Control,
        ),
        (
            Exposure {
                ipc_mode: "host".into(),
                ..Exposure::default()
            },
            Write,
        ),
        (
            Exposure {
                network_mode: "host".into(),
                ..Exposure::default()
            },
            Control,
        ),
        (
            Exposure {
                pid_mode: container.into(),
                ..Exposure::default()
            },
            Write,
        ),
        (
            Exposure {
                ipc_mode: container.into(),
                ..Exposure::default()
            },
            Write,
        ),
        (
            Exposure {
                network_mode: container.into(),
                ..Exposure::default()
            },
            Write,
        ),
        (
            Exposure {
                cap_add: vec!["SYS_ADMIN".into()],
                ..Exposure::default()
            },
            Control,
        ),
        (
            Exposure {
                cap_add: vec!["ALL".into()],
                ..Exposure::default()
            },
            Control,
        ),
        (
            Exposure {
                cap_add: vec!["NEW_ONE".into()],
                ..Exposure::default()
            },
            Control,
        ),
    ] {
        let access = level(exposure);
        assert_eq!((access.level, access.reasons.len()), (expected, 1), "{access:?}");
    }
}

#[test]
fn each_mount_has_a_reason_in_its_place_and_the_furthest_decides() {
    let mounts = [
        volume("local", Some(&[])),
        bind("/h", true, Option::None),
        EffectiveMount {
            kind: MountKind::Tmpfs,
            ..bind("", false, Option::None)
        },
        EffectiveMount {
            kind: MountKind::Other("cluster".into()),
            ..bind("", false, Option::None)
        },
        EffectiveMount {
            kind: MountKind::NamedPipe(r"\\.\pipe\x".into()),
            ..bind("", true, Option::None)
        },
    ];
    let access = classify(&mounts, &Exposure::default(), &KnownHost::default());
    let levels: Vec<_> = access.reasons.iter().map(|reason| reason.level).collect();
    assert_eq!(levels, [None, Read, None, Write, Control]);
    assert_eq!(access.level, Control);
    assert_eq!(access.reasons[1].what, "/h at /x");
}

#[test]
fn every_text_that_can_be_mounted_can_be_judged() {
    for (text, level) in TEXTS {
        let mount = EffectiveMount::of(&parse_mount(text, &here()).unwrap());
        assert_eq!(level_of(mount), *level, "{text}");
    }
}
