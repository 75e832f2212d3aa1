//! Options of `docker run`, beside what becomes of them.

use super::*;
use crate::policy::{NetworkMode, Refusal, mount::Here};

fn here() -> Here {
    Here {
        home: Some("/home/me".into()),
        directory: Some("/srv".into()),
    }
}

fn read(arguments: &[&str]) -> Result<ExtraArgs, Refusal> {
    let arguments: Vec<_> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    parse(&arguments, &here())
}

/// Options of `docker run --help` of Docker 28, and those that it hides.
const OF_DOCKER: &str = "--add-host --annotation -a,--attach --blkio-weight --blkio-weight-device --cap-add --cap-drop \
    --cgroup-parent --cgroupns --cidfile --cpu-count --cpu-percent --cpu-period --cpu-quota --cpu-rt-period --cpu-rt-runtime \
    -c,--cpu-shares --cpus --cpuset-cpus --cpuset-mems -d,--detach --detach-keys --device --device-cgroup-rule \
    --device-read-bps --device-read-iops --device-write-bps --device-write-iops --disable-content-trust --dns --dns-opt \
    --dns-option --dns-search --domainname --entrypoint -e,--env --env-file --expose --gpus --group-add --health-cmd \
    --health-interval --health-retries --health-start-interval --health-start-period --health-timeout --help -h,--hostname \
    --init -i,--interactive --io-maxbandwidth --io-maxiops --ip --ip6 --ipc --isolation --kernel-memory -l,--label \
    --label-file --link --link-local-ip --log-driver --log-opt --mac-address -m,--memory --memory-reservation --memory-swap \
    --memory-swappiness --mount --name --net --net-alias --network --network-alias --no-healthcheck --oom-kill-disable \
    --oom-score-adj --pid --pids-limit --platform --privileged -p,--publish -P,--publish-all --pull -q,--quiet --read-only \
    --restart --rm --runtime --security-opt --shm-size --sig-proxy --stop-signal --stop-timeout --storage-opt --sysctl \
    --tmpfs -t,--tty --ulimit --use-api-socket -u,--user --userns --uts -v,--volume --volume-driver --volumes-from \
    -w,--workdir";

#[test]
fn every_option_of_docker_has_a_row_and_no_other_has() {
    let rows: Vec<String> = table::OPTIONS
        .iter()
        .map(|row| match row.short {
            Some(short) => format!("-{short},--{}", row.long),
            None => format!("--{}", row.long),
        })
        .collect();
    assert_eq!(rows, OF_DOCKER.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn every_way_to_write_an_option_means_the_same() {
    let one = read(&["--env", "A=b"]).unwrap();
    for arguments in [&["--env=A=b"][..], &["-e", "A=b"], &["-eA=b"], &["-e=A=b"]] {
        assert_eq!(read(arguments).unwrap(), one, "{arguments:?}");
    }
    assert_eq!(read(&["--init"]), read(&["--init=true"]));
    assert_eq!(read(&["--init=false"]).unwrap().init, Some(false));
    assert_eq!(
        read(&["--hostname", "h1", "-lA=b"]),
        read(&["-hh1", "--label=A=b"])
    );
    assert_eq!(read(&[]), Ok(ExtraArgs::default()));
}

#[test]
fn what_is_used_up_becomes_a_field() {
    #[rustfmt::skip]
    let asked = read(&[
        "--cpu-shares=512", "--cpuset-cpus=0-1,3", "--cpuset-mems=0", "--cpus=1.5", "-m", "1g", "--pids-limit", "64",
        "--shm-size", "64m", "--ulimit", "nofile=1024:2048", "--memory-reservation=512m", "--storage-opt", "size=2g",
    ])
    .unwrap();
    assert_eq!(
        (asked.cpu_shares, asked.nano_cpus),
        (Some(512), Some(1_500_000_000))
    );
    assert_eq!(asked.cpuset_cpus.as_deref(), Some("0-1,3"));
    assert_eq!((asked.cpuset_mems.as_deref(), asked.pids), (Some("0"), Some(64)));
    assert_eq!(asked.memory_bytes, Some(1 << 30));
    assert_eq!(asked.memory_reservation_bytes, Some(512 << 20));
    assert_eq!(
        (asked.disk_bytes, asked.shm_bytes),
        (Some(2 << 30), Some(64 << 20))
    );
    let [limit] = asked.ulimits.as_slice() else {
        panic!("{:?}", asked.ulimits);
    };
    assert_eq!(
        (limit.name.as_str(), limit.soft, limit.hard),
        ("nofile", 1024, 2048)
    );
}

#[test]
fn what_is_reached_becomes_a_field() {
    #[rustfmt::skip]
    let asked = read(&[
        "--add-host=db:192.0.2.7", "--add-host", "up=host-gateway", "--add-host=six:[2001:db8::1]", "--dns", "192.0.2.1",
        "--dns-search=example.org", "--dns-option=ndots:2", "--domainname", "example.org", "--network", "mine",
        "--sysctl=net.ipv4.ip_unprivileged_port_start=0",
    ])
    .unwrap();
    assert_eq!(
        asked.add_hosts,
        ["db:192.0.2.7", "up:host-gateway", "six:2001:db8::1"]
    );
    assert_eq!(
        (asked.dns, asked.dns_search),
        (vec!["192.0.2.1".to_owned()], vec!["example.org".to_owned()])
    );
    assert_eq!(
        (asked.dns_options, asked.hostname),
        (vec!["ndots:2".to_owned()], None)
    );
    assert_eq!(asked.domainname.as_deref(), Some("example.org"));
    assert_eq!(asked.network, Some(NetworkMode::Named("mine".into())));
    assert_eq!(asked.sysctls["net.ipv4.ip_unprivileged_port_start"], "0");
}

#[test]
fn what_a_container_is_becomes_a_field() {
    #[rustfmt::skip]
    let asked = read(&[
        "--gpus", "all", "--group-add=10", "--label", "a.b=c d", "--platform=linux/arm64/v8", "--read-only", "--runtime=runsc",
        "--security-opt=no-new-privileges:true", "-u1000:1000", "-w", "/srv//x/", "--no-healthcheck", "--ipc=private",
        "--cgroupns=private", "--privileged=false",
    ])
    .unwrap();
    assert_eq!((asked.gpus[0].count, asked.gpus.len()), (Some(-1), 1));
    assert_eq!(
        (asked.groups, asked.labels["a.b"].as_str()),
        (vec!["10".to_owned()], "c d")
    );
    assert_eq!(asked.platform.as_deref(), Some("linux/arm64/v8"));
    assert_eq!(
        (asked.runtime.as_deref(), asked.user.as_deref()),
        (Some("runsc"), Some("1000:1000"))
    );
    assert_eq!(asked.workdir.as_deref(), Some("/srv/x"));
    assert!(asked.read_only_root && asked.private_cgroups);
}

#[test]
fn mounts_by_options_are_mounts() {
    let asked = read(&[
        "-v",
        "~/x:/x",
        "-v/y:/y:ro",
        "--mount",
        "type=bind,src=/z,dst=/z",
        "--mount=type=tmpfs,dst=/t",
        "--tmpfs=/u:size=1m,exec,uid=7",
    ])
    .unwrap();
    let targets: Vec<_> = asked
        .mounts
        .iter()
        .map(|mount| (mount.target.as_str(), mount.read_only))
        .collect();
    assert_eq!(targets, [("/x", false), ("/y", true), ("/z", false)]);
    let tmpfs: Vec<_> = asked.tmpfs.iter().map(Tmpfs::options).collect();
    assert_eq!(
        tmpfs,
        [
            "rw,nosuid,nodev,noexec,mode=1777",
            "rw,nosuid,nodev,exec,size=1048576,mode=1777,uid=7,gid=0"
        ]
    );
}

/// Options that reach beyond the container, and others that are not taken, with the name that has to be told.
const REFUSED: &[(&[&str], &str)] = &[
    (&["--privileged"], "--privileged"),
    (&["--privileged=true"], "--privileged"),
    (&["--pid=host"], "--pid"),
    (&["--pid", "container:x"], "--pid"),
    (&["--ipc=host"], "--ipc"),
    (&["--ipc", "container:x"], "--ipc"),
    (&["--uts=host"], "--uts"),
    (&["--userns=host"], "--userns"),
    (&["--cgroupns=host"], "--cgroupns"),
    (&["--cgroup-parent=/"], "--cgroup-parent"),
    (&["--network=host"], "--network"),
    (&["--net", "host"], "--net"),
    (&["--network=container:x"], "--network"),
    (&["--cap-add=SYS_ADMIN"], "SYS_ADMIN"),
    (&["--cap-add", "ALL"], "ALL"),
    (&["--cap-add=cap_net_raw"], "NET_RAW"),
    (&["--cap-add=CHWON"], "no capability of Linux"),
    (&["--cap-drop=CHWON"], "no capability of Linux"),
    (&["--device=/dev/kvm"], "--device"),
    (&["--device-cgroup-rule", "a *:* rwm"], "--device-cgroup-rule"),
    (&["--security-opt=seccomp=unconfined"], "seccomp"),
    (&["--security-opt", "apparmor:unconfined"], "apparmor"),
    (&["--security-opt=label=disable"], "label"),
    (&["--security-opt=systempaths=unconfined"], "systempaths"),
    (
        &["--security-opt=no-new-privileges=false"],
        "gain more privileges",
    ),
    (&["--volumes-from=x"], "--volumes-from"),
    (&["--volume-driver=x"], "--volume-driver"),
    (&["--use-api-socket"], "--use-api-socket"),
    (&["-p80:80"], "-p"),
    (&["-itv", "/:/x"], "-i"),
    (&["-P"], "-P"),
    (&["--rm"], "--rm"),
    (&["--name=x"], "--name"),
    (&["--entrypoint", "sh"], "--entrypoint"),
    (&["--env-file=/x"], "--env-file"),
    (&["--restart=always"], "--restart"),
    (&["--oom-kill-disable"], "--oom-kill-disable"),
    (&["--oom-score-adj=-1000"], "--oom-score-adj"),
    (&["--sysctl=kernel.core_pattern=|/x"], "kernel.core_pattern"),
    (&["--sysctl=vm.overcommit_memory=1"], "vm.overcommit_memory"),
    (&["--ulimit=rtprio=99"], "rtprio"),
    (&["--ulimit=nofile=9:3"], "nofile"),
    (&["--ulimit=nofile=-1:3"], "nofile"),
    (&["--ulimit=nofile=x"], "nofile"),
    (&["--runtime=sysbox-runc"], "sysbox-runc"),
    (&["--pids-limit=-1"], "--pids-limit"),
    (&["--pids-limit=0"], "--pids-limit"),
    (&["--memory=-1"], "--memory"),
    (&["--memory-swap=-1"], "--memory-swap"),
    (&["--cpus=0"], "--cpus"),
    (&["--cpus=-1"], "--cpus"),
    (&["--cpus=1e3"], "--cpus"),
    (&["--cpu-shares=2048"], "--cpu-shares"),
    (&["--cpuset-cpus=3-1"], "--cpuset-cpus"),
    (&["--cpuset-cpus="], "--cpuset-cpus"),
    (&["--shm-size=0"], "--shm-size"),
    (&["--storage-opt=dm.fs=x"], "--storage-opt"),
    (&["--tmpfs=/x:suid"], "suid"),
    (&["--tmpfs=/x:dev"], "dev"),
    (&["--tmpfs=/proc"], "/proc"),
    (&["--tmpfs=x"], "absolute path"),
    (&["--label=hermes-agent=1"], "hermes-agent"),
    (&["--label=herm.owner=x"], "herm.owner"),
    (&["--label==x"], "label"),
    (&["--gpus=some"], "--gpus"),
    (&["--gpus=count=1,device=0"], "contradict"),
    (&["--hostname=-x"], "--hostname"),
    (&["--dns=example.org"], "--dns"),
    (&["--add-host=x"], "--add-host"),
    (&["--platform=windows/amd64"], "--platform"),
    (&["--user="], "--user"),
    (&["--workdir=x"], "--workdir"),
    (&["--volume=/a:/b:shared"], "appear on the host"),
    (&["--mount=type=bind,source=/a"], "no target"),
    (&["--env", "TOKEN"], "terminal.docker_forward_env"),
    (&["--env"], "has no value"),
    (&["-e"], "has no value"),
    (&["--env=A=1", "--env=A=2"], "stands twice"),
    (&["-m1g", "--memory=2g"], "stands twice"),
    (&["--network=a1", "--network=b1"], "stands twice"),
    (&["--init=maybe"], "--init"),
    (&["--memroy=1g"], "did you mean `memory`?"),
    (&["--label a=b"], "two items"),
    (&["--"], "--"),
    (&["-"], "is no option"),
    (&["-z"], "-z"),
    (&["busybox"], "is no option"),
    (&["--read-only", "true"], "\"true\" is no option"),
    (&["—privileged"], "is no option"),
];

#[test]
fn what_reaches_beyond_the_container_is_refused_by_its_name_with_a_way_out() {
    for (arguments, name) in REFUSED {
        let refusal = read(arguments).expect_err(&format!("{arguments:?} is taken"));
        assert!(refusal.to_string().contains(name), "{arguments:?}: {refusal}");
        assert!(!refusal.fix.is_empty(), "{arguments:?}");
    }
}

#[test]
fn no_option_that_is_refused_is_taken_behind_one_that_is_taken() {
    for (arguments, _) in REFUSED {
        let mut all = vec!["--init"];
        all.extend_from_slice(arguments);
        assert!(read(&all).is_err(), "{all:?}");
    }
}

#[test]
fn graphics_processors_are_counted_or_named() {
    let request = |text: &str| read(&["--gpus", text]).unwrap().gpus.remove(0);
    assert_eq!(request("2").count, Some(2));
    assert_eq!(request("\"device=0,1\"").devices, ["0", "1"]);
    let request = request("\"capabilities=compute,utility\",driver=nvidia");
    assert_eq!((request.count, request.driver.as_str()), (Some(-1), "nvidia"));
    assert_eq!(request.capabilities, ["compute", "utility"]);
}

#[test]
fn no_text_makes_it_panic() {
    const PIECES: [&str; 16] = [
        "-", "--", "=", "e", "v", "env", "mount", "gpus", "tmpfs", ":", "/", ",", "é", "\0", "\"", "ulimit",
    ];
    let mut seed = 0x5EED_u64;
    let mut next = || {
        // xorshift64*
        seed ^= seed >> 12;
        seed ^= seed << 25;
        seed ^= seed >> 27;
        usize::try_from(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 40).unwrap()
    };
    for _ in 0..20_000 {
        let arguments: Vec<String> = (0..next() % 3)
            .map(|_| (0..next() % 8).map(|_| PIECES[next() % PIECES.len()]).collect())
            .collect();
        let _ = parse(&arguments, &here());
    }
    for row in table::OPTIONS {
        for value in [
            "",
            "=",
            ":",
            ",",
            "a=b:c",
            "é",
            "\"",
            "-1",
            "0",
            "/",
            "18446744073709551616",
        ] {
            let _ = parse(&[format!("--{}={value}", row.long)], &here());
        }
    }
}

#[test]
fn the_page_of_the_guide_names_every_option_that_is_taken_and_no_other() {
    let page = include_str!("../../../docs/config/containers.md");
    let named: BTreeSet<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `--"))
        .filter_map(|line| line.split('|').nth(1))
        .flat_map(|cell| cell.split(','))
        .map(|option| option.trim().trim_matches('`').trim_start_matches("--"))
        .collect();
    let taken: BTreeSet<&str> = table::OPTIONS
        .iter()
        .filter(|row| matches!(row.meaning, table::Meaning::Value(_) | table::Meaning::Flag(_)))
        .map(|row| row.long)
        .collect();
    assert_eq!(named, taken);
}
