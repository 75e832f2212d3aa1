//! Mounts as people write them, beside what they mean.

use super::*;

/// What a text means.
#[derive(Debug, PartialEq, Eq)]
enum Means {
    /// This path of the host at that target.
    Path(&'static str, &'static str),
    /// The same, read-only.
    ReadOnly(&'static str, &'static str),
    /// A path of Windows.
    Windows(&'static str),
    /// The volume of this name at that target.
    Volume(&'static str, &'static str),
    /// A volume without a name.
    Unnamed(&'static str),
    /// A file system in memory.
    Memory(&'static str),
    /// Nothing: it is refused, and the reason has this in it.
    Refused(&'static str),
}

use Means::{Memory, Path, ReadOnly, Refused, Unnamed, Volume, Windows};

fn here() -> Here {
    Here {
        home: Some("/home/me".into()),
        directory: Some("/srv/project".into()),
    }
}

/// Whether a text means that; what it means else is told.
fn agrees(text: &str, means: &Means) -> Result<(), String> {
    let parsed = parse_mount(text, &here());
    let agrees = match (&parsed, means) {
        (Err(refusal), Refused(word)) => refusal.what.contains(word) && !refusal.fix.is_empty(),
        (Ok(Asked::Tmpfs(tmpfs)), Memory(target)) => tmpfs.target == *target,
        (Ok(Asked::Mount(mount)), means) => match (&mount.source, means) {
            (Source::HostPath { path, .. }, Path(source, target)) => {
                path == source && mount.target == *target && !mount.read_only
            }
            (Source::HostPath { path, .. }, ReadOnly(source, target)) => {
                path == source && mount.target == *target && mount.read_only
            }
            (Source::WindowsPath(path), Windows(source)) => path == source,
            (Source::Volume { name: Some(name), .. }, Volume(source, target)) => {
                name == source && mount.target == *target
            }
            (Source::Volume { name: None, .. }, Unnamed(target)) => mount.target == *target,
            _ => false,
        },
        _ => false,
    };
    if agrees {
        Ok(())
    } else {
        Err(format!("{text:?} is {parsed:?}, and should be {means:?}"))
    }
}

/// The texts that Hermes' own check of host access was recorded with. It says no to the four that are marked, which do reach
/// the host, and yes to `/`, which nothing can be mounted from.
const OF_HERMES: &[(&str, Means)] = &[
    ("/h:/c", Path("/h", "/c")),
    (" /h:/c", Path("/h", "/c")),
    ("/", Refused("root of the container")),
    ("//server/share:/x", Path("/server/share", "/x")),
    (
        "/var/run/docker.sock:/var/run/docker.sock",
        Path("/var/run/docker.sock", "/var/run/docker.sock"),
    ),
    ("~/d:/d", Path("/home/me/d", "/d")),
    ("~:/x", Path("/home/me", "/x")),
    ("./r:/r", Path("/srv/project/r", "/r")),
    ("../u:/u", Path("/srv/u", "/u")),
    (r"C:\w:/w", Windows(r"C:\w")),
    ("C:/w:/w", Windows("C:/w")),
    (".:/x", Path("/srv/project", "/x")),
    ("mydata:/data", Volume("mydata", "/data")),
    ("mydata:/data:ro", Volume("mydata", "/data")),
    ("data/x:/x", Refused("has no slash")),
    // Missed by Hermes.
    ("$HOME/x:/x", Path("/home/me/x", "/x")),
    ("${HOME}:/x", Path("/home/me", "/x")),
    ("..:/x", Path("/srv", "/x")),
    (".hidden:/x", Path("/srv/project/.hidden", "/x")),
    ("type=bind,source=/,target=/h", Path("/", "/h")),
    (r"\\server\share:/x", Windows(r"\\server\share")),
    // Nothing that could be mounted.
    ("C:", Refused("nothing on one side")),
    ("c:x", Refused("no name of a volume")),
    ("", Refused("is empty")),
];

const OF_OURS: &[(&str, Means)] = &[
    ("/a/../b/./c//d:/x", Path("/b/c/d", "/x")),
    ("/..:/x", Path("/", "/x")),
    ("/:/host", Path("/", "/host")),
    ("/a:/b:ro", ReadOnly("/a", "/b")),
    ("/a:/b:rw", Path("/a", "/b")),
    ("/a:/b:ro,z", ReadOnly("/a", "/b")),
    ("/a:/b:Z", Path("/a", "/b")),
    ("/a:/b:rslave", Path("/a", "/b")),
    ("/a:/b:cached", Path("/a", "/b")),
    ("/a b:/c d", Path("/a b", "/c d")),
    ("/ä:/ö", Path("/ä", "/ö")),
    ("/a:/b/../c", Path("/a", "/c")),
    ("~/:/x", Path("/home/me", "/x")),
    ("~/../other:/x", Path("/home/other", "/x")),
    ("$HOME:/x", Path("/home/me", "/x")),
    ("${HOME}/x:/x", Path("/home/me/x", "/x")),
    ("./:/x", Path("/srv/project", "/x")),
    ("..x:/x", Path("/srv/project/..x", "/x")),
    ("...:/x", Path("/srv/project/...", "/x")),
    ("data:/data:nocopy", Volume("data", "/data")),
    ("d1.x_y-z:/data", Volume("d1.x_y-z", "/data")),
    ("/data", Unnamed("/data")),
    ("d:/data", Refused("path of Windows")),
    ("d:/data:/x", Windows("d:/data")),
    (r"\\.\pipe\docker_engine:/x", Windows(r"\\.\pipe\docker_engine")),
    (r"C:\w:C:\x", Refused("absolute path of the container")),
    ("~other/x:/x", Refused("another user")),
    ("$HOMES/x:/x", Refused("variable")),
    ("$DATA:/x", Refused("variable")),
    ("${DATA}/x:/x", Refused("variable")),
    ("-data:/x", Refused("no name of a volume")),
    ("_data:/x", Refused("no name of a volume")),
    ("/a", Unnamed("/a")),
    ("data", Refused("where it is to appear")),
    ("/a:", Refused("nothing on one side")),
    (":/a", Refused("nothing on one side")),
    ("/a::ro", Refused("nothing on one side")),
    ("/a:b", Refused("absolute path of the container")),
    ("/a:/b:/c", Refused("no word for a mount")),
    ("/a:/b:ro:z", Refused("too many colons")),
    ("/a:/b:ro,rw", Refused("says twice")),
    ("/a:/b:ro,ro", Refused("says twice")),
    ("/a:/b:shared", Refused("appear on the host")),
    ("/a:/b:rshared", Refused("appear on the host")),
    ("/a:/b:U", Refused("podman")),
    ("/a:/b:exec", Refused("no word for a mount")),
    ("/a:/b:", Refused("nothing on one side")),
    ("/a:/b:ro,", Refused("empty")),
    ("/a:/b:nocopy", Refused("for volumes")),
    ("data:/b:slave", Refused("name of a volume")),
    ("/a:/", Refused("root of the container")),
    ("/a:/b/..", Refused("root of the container")),
    ("/a:/proc", Refused("/proc")),
    ("/a:/sys/fs/cgroup", Refused("/sys")),
    ("/a:/dev/shm", Refused("/dev")),
    ("/a:/x/../dev/null", Refused("/dev")),
    ("/a:/.herm/resident", Refused("/.herm")),
    ("/a:/device", Path("/a", "/device")),
    ("/a\n:/b", Refused("control character")),
    ("/a\0:/b", Refused("control character")),
];

const OF_THE_LONG_FORM: &[(&str, Means)] = &[
    ("type=bind,source=/a,target=/b", Path("/a", "/b")),
    ("type=bind,src=/a,dst=/b,ro", ReadOnly("/a", "/b")),
    (
        "type=bind,src=/a,destination=/b,readonly=true",
        ReadOnly("/a", "/b"),
    ),
    ("type=bind,src=/a,dst=/b,readonly=false", Path("/a", "/b")),
    ("type=bind,src=~/x,dst=/b", Path("/home/me/x", "/b")),
    ("type=bind,src=..,dst=/b", Path("/srv", "/b")),
    ("type=bind,src=/a:b,dst=/b", Path("/a:b", "/b")),
    (r"type=bind,src=C:\w,dst=/b", Windows(r"C:\w")),
    ("dst=/b,src=/a,type=bind", Path("/a", "/b")),
    ("Type=bind,Source=/a,Target=/b", Path("/a", "/b")),
    ("type=bind,\"source=/a,b\",target=/b", Path("/a,b", "/b")),
    ("type=bind,\"source=/a\"\"b\",target=/b", Path("/a\"b", "/b")),
    (
        "type=bind,src=/a,dst=/b,bind-propagation=rslave,consistency=cached",
        Path("/a", "/b"),
    ),
    ("type=bind,src=/a,dst=/b,bind-nonrecursive", Path("/a", "/b")),
    ("source=data,target=/b", Volume("data", "/b")),
    ("type=volume,target=/b", Unnamed("/b")),
    (
        "type=volume,src=data,dst=/b,volume-nocopy,volume-subpath=a/b",
        Volume("data", "/b"),
    ),
    ("type=tmpfs,dst=/b,tmpfs-size=64m,tmpfs-mode=700", Memory("/b")),
    ("type=bind,target=/b", Refused("no source")),
    ("type=bind,source=/a", Refused("no target")),
    ("type=bind,source=a,target=/b", Refused("no path of this machine")),
    (
        "type=bind,source=/a,target=b",
        Refused("absolute path of the container"),
    ),
    (
        "type=volume,source=/a,target=/b",
        Refused("type of the mount is volume"),
    ),
    ("type=bind,source=/a,source=/b,target=/b", Refused("stands twice")),
    ("type=bind,source=/a,src=/b,target=/b", Refused("stands twice")),
    (
        "type=bind,source=/a,target=/b,bind-propagation=rshared",
        Refused("appear on the host"),
    ),
    (
        "type=bind,source=/a,target=/b,bind-recursive=writable",
        Refused("bind-recursive"),
    ),
    (
        "type=bind,source=/a,target=/b,volume-opt=o=x",
        Refused("volume-opt says nothing"),
    ),
    (
        "type=bind,source=/a,target=/b,tmpfs-size=1",
        Refused("tmpfs-size says nothing"),
    ),
    (
        "type=volume,src=data,dst=/b,volume-subpath=../x",
        Refused("out of the volume"),
    ),
    (
        "type=volume,src=data,dst=/b,volume-subpath=/x",
        Refused("out of the volume"),
    ),
    (
        "type=volume,src=data,dst=/b,volume-opt=o=a,volume-opt=o=b",
        Refused("stands twice"),
    ),
    ("type=tmpfs,dst=/b,src=/a", Refused("source says nothing")),
    ("type=tmpfs,dst=/b,tmpfs-size=big", Refused("no size")),
    ("type=tmpfs,dst=/b,tmpfs-mode=4777", Refused("no permissions")),
    ("type=npipe,src=x,dst=/b", Refused("named pipe")),
    ("type=image,src=x,dst=/b", Refused("type \"image\"")),
    ("type=,src=x,dst=/b", Refused("no value")),
    (
        "type=bind,source=/a,target=/b,color=red",
        Refused("no key of a mount"),
    ),
    ("type=bind,source=/a,target=/b,", Refused("no key of a mount")),
    ("type=bind,\"source=/a,target=/b", Refused("opens a quote")),
    ("type=bind,source=/a,target=/proc", Refused("/proc")),
    (
        "type=bind,source=/a,target=/b,readonly=maybe",
        Refused("readonly is"),
    ),
];

#[test]
fn every_text_means_what_it_says_or_is_refused() {
    let tables = [OF_HERMES, OF_OURS, OF_THE_LONG_FORM];
    let wrong: Vec<_> = tables
        .into_iter()
        .flatten()
        .filter_map(|(text, means)| agrees(text, means).err())
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_a_path_starts_from_has_to_be_known() {
    for text in ["~/x:/x", "$HOME:/x", "./x:/x", ".:/x", "type=bind,src=..,dst=/x"] {
        let refusal = parse_mount(text, &Here::default()).unwrap_err();
        assert!(refusal.what.contains("is not known"), "{text}: {refusal}");
    }
    assert!(parse_mount("/x:/x", &Here::default()).is_ok());
}

#[test]
fn the_words_behind_a_mount_are_kept() {
    let source = |text: &str| match parse_mount(text, &here()).unwrap() {
        Asked::Mount(mount) => mount.source,
        Asked::Tmpfs(tmpfs) => panic!("{tmpfs:?}"),
    };
    let Source::HostPath {
        propagation, relabel, ..
    } = source("/a:/b:rslave,Z")
    else {
        panic!()
    };
    assert_eq!(
        (propagation, relabel),
        (Propagation::Rslave, Some(Relabel::Private))
    );
    assert_eq!(propagation.name(), "rslave");
    let Source::Volume { no_copy, relabel, .. } = source("data:/b:nocopy,z") else {
        panic!()
    };
    assert_eq!((no_copy, relabel), (true, Some(Relabel::Shared)));
    let Source::Volume {
        driver: Some(driver), ..
    } = source(
        "type=volume,src=data,dst=/b,volume-driver=local,volume-opt=type=none,\"volume-opt=o=bind,ro\",volume-opt=device=/a=b",
    )
    else {
        panic!()
    };
    let options: Vec<_> = driver
        .options
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose().as_str()))
        .collect();
    assert_eq!(options, [("device", "/a=b"), ("o", "bind,ro"), ("type", "none")]);
    assert_eq!(driver.name, "local");
}

#[test]
fn a_password_of_a_file_server_is_not_shown() {
    let text =
        "type=volume,src=share,dst=/b,volume-opt=type=cifs,\"volume-opt=o=username=u,password=s3cret\"";
    assert!(!format!("{:?}", parse_mount(text, &here()).unwrap()).contains("s3cret"));
}

/// Texts without end: pieces that mean something, put together as a generator of random numbers says.
fn made(seed: &mut u64) -> String {
    const PIECES: [&str; 24] = [
        "/",
        ":",
        ",",
        "=",
        "\"",
        "..",
        ".",
        "~",
        "$HOME",
        "${",
        "}",
        "\\",
        "C:",
        "type",
        "bind",
        "volume-opt",
        "source",
        "target",
        "ro",
        "é",
        "\0",
        " ",
        "a",
        "readonly",
    ];
    let mut next = || {
        // xorshift64*
        *seed ^= *seed >> 12;
        *seed ^= *seed << 25;
        *seed ^= *seed >> 27;
        usize::try_from(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 40).unwrap()
    };
    let length = next() % 12;
    (0..length).map(|_| PIECES[next() % PIECES.len()]).collect()
}

#[test]
fn any_text_is_a_mount_at_an_absolute_clean_target_or_is_refused() {
    let mut seed = 0x5EED;
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let text = made(&mut seed);
        match parse_mount(&text, &here()) {
            Ok(asked) => {
                taken += 1;
                let target = asked.target();
                assert!(
                    target.starts_with('/') && target == clean(target) && target != "/",
                    "{text:?}: {target:?}"
                );
                if let Asked::Mount(Mount {
                    source: Source::HostPath { path, .. },
                    ..
                }) = &asked
                {
                    assert!(
                        path.starts_with('/') && *path == clean(path),
                        "{text:?}: {path:?}"
                    );
                }
            }
            Err(refusal) => {
                refused += 1;
                assert!(!refusal.what.is_empty() && !refusal.fix.is_empty(), "{text:?}");
            }
        }
    }
    assert!(taken > 20 && refused > 1000, "{taken} and {refused}");
}
