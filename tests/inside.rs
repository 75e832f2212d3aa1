//! Work on files inside, by the resident's program, comes to the same as on the host: the same results, the same errors, and
//! the same tree.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    ffi::OsStr,
    fmt::Debug,
    fs::{self, Permissions},
    io::Write as _,
    os::unix::{
        ffi::OsStrExt as _,
        fs::{MetadataExt as _, PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use herm::{
    files::{
        self,
        inside::{self, Call},
    },
    resident::{Binary, place},
};
use herm_protocol::{ByteString, Error, ErrorKind};
use rustix::{
    fs::{CWD, FileType, Mode, mknodat},
    thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid},
};

/// A user who may do nothing in particular.
const NOBODY: u32 = 65534;

/// What there is in the tree, and what there is not.
const PATHS: [&[u8]; 30] = [
    b"file",
    b"empty",
    b"read-only",
    b"closed-file",
    b"two\nlines",
    b"-n",
    b"\xff\xfe",
    b".hidden",
    b"file/",
    b"file/under",
    b"dir",
    b"dir/",
    b"dir/inner",
    b"dir/../file",
    b"full",
    b"full/sub",
    b"full/.",
    b"full/..",
    b"closed",
    b"closed/inner",
    b"pipe",
    b"to-file",
    b"to-dir",
    b"to-dir/",
    b"to-dir/inner",
    b"to-nothing",
    b"to-itself",
    b"missing",
    b"missing/deeper/still",
    b"missing/",
];

/// The program, and a directory that is made anew for every operation.
struct Ground {
    program: String,
    tree: PathBuf,
    _folders: [tempfile::TempDir; 2],
}

impl Ground {
    fn new() -> Self {
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(&base, Permissions::from_mode(0o755)).unwrap();
        let program = place(&Binary::find().unwrap(), base.path()).unwrap();
        // In memory, where there is such a place: the tree is made some thousand times.
        let fast = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        // Another user runs it, too.
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        Self {
            program: program.to_str().unwrap().into(),
            tree: fast.path().join("tree"),
            _folders: [base, fast],
        }
    }

    fn at(&self, name: &[u8]) -> PathBuf {
        self.tree.join(OsStr::from_bytes(name))
    }

    /// Makes the tree as it is in the beginning.
    fn make(&self) {
        let _ = files::remove_tree(&self.tree);
        let at = |name: &str| self.tree.join(name);
        let mode = |name: &str, mode| fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
        fs::create_dir(&self.tree).unwrap();
        for directory in ["dir", "full", "full/sub", "closed"] {
            fs::create_dir(at(directory)).unwrap();
        }
        for name in [
            &b"file"[..],
            b"read-only",
            b"closed-file",
            b"two\nlines",
            b"-n",
            b"\xff\xfe",
            b".hidden",
        ] {
            fs::write(self.at(name), [name, b" \0\xff 0123456789"].concat()).unwrap();
        }
        for name in ["empty", "dir/inner", "full/one", "full/sub/two", "closed/inner"] {
            fs::write(at(name), b"").unwrap();
        }
        for (link, target) in [
            ("to-file", "file"),
            ("to-dir", "dir"),
            ("to-nothing", "nothing/there"),
            ("to-itself", "to-itself"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        mknodat(CWD, at("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        mode("file", 0o4751);
        mode("read-only", 0o444);
        mode("closed-file", 0);
        mode("closed", 0);
        mode("full", 0o1777);
    }

    /// Does it on the host and inside, each in a new tree, and compares what came of it.
    #[track_caller]
    fn compare<T: Debug + PartialEq>(
        &self,
        what: &str,
        host: impl FnOnce() -> Result<T, Error>,
        call: Result<Call<T>, Error>,
    ) -> Result<T, Error> {
        self.make();
        let expected = host().map_err(without_temporary_name);
        let expected_tree = self.told();
        self.make();
        let seen = call.and_then(run);
        assert_eq!(seen, expected, "{what}");
        assert_eq!(self.told(), expected_tree, "{what}");
        seen
    }

    /// Everything that can be told of the tree.
    fn told(&self) -> Vec<String> {
        let mut told = Vec::new();
        tell(&self.tree, &mut told);
        told.sort();
        told
    }
}

/// Where the host says the name of its temporary file, too, which is another each time.
fn without_temporary_name(mut error: Error) -> Error {
    if let Some(place) = error.message.find(" at path \"") {
        error.message.truncate(place);
    }
    error
}

fn tell(path: &Path, told: &mut Vec<String>) {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return told.push(format!("{} is out of reach", path.display()));
    };
    let content = match metadata.file_type() {
        kind if kind.is_file() => fs::read(path).map(|data| data.escape_ascii().to_string()),
        kind if kind.is_symlink() => fs::read_link(path).map(|target| target.display().to_string()),
        _ => Ok(String::new()),
    };
    let (mode, owner) = (metadata.mode(), metadata.uid());
    told.push(format!("{} {mode:o} {owner} {content:?}", path.display()));
    if metadata.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten() {
            tell(&entry.unwrap().path(), told);
        }
    }
}

/// Runs a call as a backend does.
fn run<T>(call: Call<T>) -> Result<T, Error> {
    let (program, arguments) = call.argv().split_first().unwrap();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // What the tests write fits into a pipe, or is read while it is written.
    let _ = child.stdin.take().unwrap().write_all(call.stdin());
    let output = child.wait_with_output().unwrap();
    call.finish(output.status.code().unwrap().into(), &output.stdout)
}

/// Does something as this user, and where this is root as somebody else, too.
fn as_both_users(test: impl Fn() + Send + Sync) {
    test();
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let as_nobody = || {
        set_thread_groups(&[]).unwrap();
        let (group, user) = (
            rustix::fs::Gid::from_raw(NOBODY),
            rustix::fs::Uid::from_raw(NOBODY),
        );
        set_thread_res_gid(group, group, group).unwrap();
        set_thread_res_uid(user, user, user).unwrap();
        test();
    };
    thread::scope(|scope| scope.spawn(as_nobody).join().unwrap());
}

#[test]
fn every_operation_comes_to_the_same_on_every_path() {
    as_both_users(|| {
        let ground = Ground::new();
        let program = &*ground.program;
        for name in PATHS {
            let at = ground.at(name);
            let path = ByteString::from(at.as_path());
            let what = |operation: &str| format!("{operation} {path:?}");
            for (offset, length) in [
                (0, None),
                (3, Some(4)),
                (0, Some(0)),
                (99, Some(1)),
                (u64::MAX, None),
            ] {
                let call = inside::read(program, &path, offset, length);
                let host = || files::read(&at, offset, length);
                let _ = ground.compare(&what("read"), host, call);
            }
            for data in [&b"new \0\xff"[..], b""] {
                let call = inside::write(program, &path, data.into());
                let _ = ground.compare(&what("write"), || files::write(&at, data), call);
            }
            let call = inside::stat(program, &path);
            let _ = ground.compare(&what("stat"), || files::stat(&at), call);
            let call = inside::list_directory(program, &path);
            let _ = ground.compare(&what("list"), || files::list_directory(&at), call);
            for recursive in [false, true] {
                let call = inside::remove(program, &path, recursive);
                let _ = ground.compare(&what("remove"), || files::remove(&at, recursive), call);
            }
            let call = inside::make_directory(program, &path);
            let _ = ground.compare(&what("mkdir"), || files::make_directory(&at), call);
            for mode in [0, 0o4751, 0o10000] {
                let call = inside::change_mode(program, &path, mode);
                let _ = ground.compare(&what("chmod"), || files::change_mode(&at, mode), call);
            }
        }
    });
}

#[test]
fn every_move_comes_to_the_same() {
    as_both_users(|| {
        let ground = Ground::new();
        let mut done = 0;
        for from in PATHS.iter().step_by(2) {
            for to in PATHS {
                let ends = [from, to].map(|name| ground.at(name));
                let [from, to] = ends.each_ref().map(|path| ByteString::from(path.as_path()));
                let call = inside::move_path(&ground.program, &from, &to);
                let host = || files::move_path(&ends[0], &ends[1]);
                let moved = ground.compare(&format!("move {from:?} to {to:?}"), host, call);
                done += usize::from(moved.is_ok());
            }
        }
        assert!(done > 50, "{done}");
    });
}

#[test]
fn odd_paths_come_to_the_same() {
    let ground = Ground::new();
    for path in [
        "/",
        "/..",
        "/proc/self/",
        "/proc/.",
        "/dev/null",
        "/dev/zero",
        "/proc/version",
    ] {
        let (at, path) = (Path::new(path), ByteString::from(path));
        let call = inside::stat(&ground.program, &path);
        let stat = ground.compare("stat", || files::stat(at), call).unwrap();
        assert!(!stat.name.is_empty());
        let call = inside::read(&ground.program, &path, 0, None);
        let _ = ground.compare(&format!("read {path:?}"), || files::read(at, 0, None), call);
    }
    for length in [255, 256, 4000, 4095, 4096, 200_000] {
        let at = PathBuf::from(format!("/{}", "n".repeat(length)));
        let path = ByteString::from(at.as_path());
        let call = inside::stat(&ground.program, &path);
        assert!(ground.compare("stat", || files::stat(&at), call).is_err());
        let call = inside::write(&ground.program, &path, "x".into());
        if length > 255 {
            let written = ground.compare("write", || files::write(&at, b"x"), call);
            assert_eq!(written.unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
    }
}

#[test]
fn what_is_too_much_for_one_message_is_too_much_for_both() {
    let ground = Ground::new();
    ground.make();
    let at = ground.at(b"large");
    let path = ByteString::from(at.as_path());
    let both = |length| {
        let host = files::read(&at, 0, length);
        let seen = inside::read(&ground.program, &path, 0, length).and_then(run);
        assert!(seen == host, "{length:?} bytes");
        host.map(|content| content.data.len())
    };
    for byte in [b'a', 0xff, 1] {
        // Three texts that are as long on the wire as they are, longer by a third, and six times as long.
        fs::write(&at, vec![byte; 17 << 20]).unwrap();
        let mut fits = 0;
        for length in [
            2_000_000, 2_793_472, 2_793_473, 12_570_624, 12_570_625, 16_760_832, 16_760_833,
        ] {
            fits += usize::from(both(Some(length)).is_ok());
        }
        assert!((1..7).contains(&fits), "{fits}");
        assert_eq!(both(None).unwrap_err().kind(), ErrorKind::LimitExceeded);
    }
}

#[test]
fn a_list_that_is_too_long_for_one_message_is_too_long_for_both() {
    let ground = Ground::new();
    ground.make();
    let at = ground.at(b"dir");
    let path = ByteString::from(at.as_path());
    let both = || {
        let host = files::list_directory(&at);
        let seen = inside::list_directory(&ground.program, &path).and_then(run);
        assert!(seen == host);
        host.map(|listing| listing.entries.len())
    };
    fs::remove_file(at.join("inner")).unwrap();
    // Names of 255 bytes, as many as fit.
    let most = (16 << 20) / (255 * 6 + 128);
    for number in 0..most {
        fs::write(at.join(format!("{number:0255}")), b"").unwrap();
    }
    assert_eq!(both(), Ok(most));
    fs::write(at.join(format!("{most:0255}")), b"").unwrap();
    assert_eq!(both().unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn what_goes_to_another_file_system_comes_to_the_same() {
    let ground = Ground::new();
    let Ok(there) = tempfile::tempdir_in("/dev/shm") else {
        return;
    };
    if there.path().metadata().unwrap().dev() == Path::new(&ground.program).metadata().unwrap().dev() {
        return;
    }
    let to = there.path().join("new/moved");
    for name in [&b"file"[..], b"to-file", b"to-nothing", b"dir", b"pipe"] {
        let at = ground.at(name);
        let [from, target] = [&at, &to].map(|path| ByteString::from(path.as_path()));
        let mut trees = Vec::new();
        let _ = ground.compare(
            "move",
            || {
                let moved = files::move_path(&at, &to);
                tell(there.path(), &mut trees);
                fs::remove_dir_all(to.parent().unwrap()).unwrap();
                moved
            },
            inside::move_path(&ground.program, &from, &target),
        );
        let mut tree = Vec::new();
        tell(there.path(), &mut tree);
        assert_eq!(tree, trees);
        fs::remove_dir_all(to.parent().unwrap()).unwrap();
    }
}
