//! What is in files: read, written, and left alone.

use super::*;

#[test]
fn any_name_is_written_read_described_listed_and_removed() {
    let directory = tempfile::tempdir().unwrap();
    for (in_base64, name) in ODD.iter().flat_map(|name| [(false, name), (true, name)]) {
        let path = directory.path().join("made/here").join(OsStr::from_bytes(name));
        let data = every_byte(1000);
        let named = |operation: &str, rest: &[&str]| {
            let mut command = Command::new(program());
            command.arg("file");
            if in_base64 {
                let text = encode_base64(path.as_os_str().as_bytes());
                command.args(["--base64", operation, &text]);
            } else {
                command.arg(operation).arg(&path);
            }
            command.args(rest);
            command
        };
        let written = answer_of(&mut named("write", &["1000"]), &data);
        assert_eq!(written, FileAnswer::Done);
        assert_eq!(fs::read(&path).unwrap(), data);
        let part = answer_of(&mut named("read", &["10", "20"]), b"");
        assert_eq!(part, content(&data[10..30], 1000));
        assert_eq!(answer_of(&mut named("chmod", &["640"]), b""), FileAnswer::Done);
        let info = FileInfo {
            name: name.to_vec(),
            kind: FileKind::File,
            size: 1000,
            mode: 0o640,
        };
        let described = answer_of(&mut named("stat", &[]), b"");
        assert_eq!(described, FileAnswer::Info(info.clone()));
        let listed = ask("list", &[path.parent().unwrap().as_os_str()]);
        assert_eq!(listed, FileAnswer::Listing(vec![info]));
        assert_eq!(answer_of(&mut named("remove", &[]), b""), FileAnswer::Done);
        assert!(!path.exists());
    }
}

#[test]
fn relative_paths_begin_where_the_program_is_started() {
    let directory = tempfile::tempdir().unwrap();
    for path in ["f", "new/f"] {
        let mut asked = command("write", &[path.as_ref(), "1".as_ref()]);
        let answer = answer_of(asked.current_dir(&directory), b"x");
        assert_eq!(answer, FileAnswer::Done);
        assert_eq!(fs::read(directory.path().join(path)).unwrap(), b"x");
    }
    let mut asked = command("move", &["f".as_ref(), "g".as_ref()]);
    let answer = answer_of(asked.current_dir(&directory), b"");
    assert_eq!(answer, FileAnswer::Done);
    assert_eq!(names(directory.path()), ["g", "new"]);
}

#[test]
fn parts_are_read_and_never_more_than_was_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f");
    fs::write(&path, b"0123456789").unwrap();
    for (offset, length, expected) in [
        ("0", "18446744073709551615", &b"0123456789"[..]),
        ("3", "4", b"3456"),
        ("8", "9", b"89"),
        ("10", "5", b""),
        ("99", "1", b""),
        ("2", "0", b""),
        ("9223372036854775808", "1", b""),
    ] {
        assert_eq!(read(&path, offset, length), content(expected, 10));
    }
    let FileAnswer::Content { size, data } = read(Path::new("/proc/self/stat"), "0", "4096") else {
        panic!("the kernel's files are read");
    };
    assert!(!data.is_empty());
    assert_eq!(size, data.len() as u64, "their size says nothing");
}

#[test]
fn big_files_are_written_whole_and_read_in_parts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("big");
    let mut data = every_byte(MAX_FILE_DATA + 10_000);
    assert_eq!(write(&path, &data), FileAnswer::Done);
    assert!(fs::read(&path).unwrap() == data);
    let size = data.len() as u64;
    let rest = data.split_off(MAX_FILE_DATA);
    // An answer holds no more, whatever is asked.
    assert!(read(&path, "0", &u64::MAX.to_string()) == content(&data, size));
    assert!(read(&path, &MAX_FILE_DATA.to_string(), "99999") == content(&rest, size));
    let sparse = fs::File::create(directory.path().join("sparse")).unwrap();
    sparse.set_len(5 << 30).unwrap();
    let far = read(&directory.path().join("sparse"), "5368709119", "10");
    assert_eq!(far, content(b"\0", 5 << 30));
}

#[test]
fn what_could_wait_for_ever_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    for path in [&pipe, Path::new("/dev/zero")] {
        assert_refused(read(path, "0", "1"), FileErrorKind::InvalidArgument, path);
        assert_refused(write(path, b"x"), FileErrorKind::InvalidArgument, path);
    }
    let at = directory.path();
    assert_refused(read(at, "0", "1"), FileErrorKind::IsADirectory, at);
    let info = ask("stat", &[pipe.as_os_str()]);
    assert!(matches!(info, FileAnswer::Info(info) if info.kind == FileKind::Other));
}

#[test]
fn a_write_keeps_mode_and_owner_and_goes_through_links() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    for kept in [0o664, 0o755, 0o600, 0o4711] {
        fs::write(at("f"), b"old").unwrap();
        let owned = chown(at("f"), Some(NOBODY), Some(NOBODY)).is_ok();
        fs::set_permissions(at("f"), Permissions::from_mode(kept)).unwrap();
        assert_eq!(write(&at("f"), b"new"), FileAnswer::Done);
        assert_eq!(
            (mode(&at("f")), fs::read(at("f")).unwrap()),
            (kept, b"new".to_vec())
        );
        if owned {
            let metadata = fs::metadata(at("f")).unwrap();
            assert_eq!((metadata.uid(), metadata.gid()), (NOBODY, NOBODY));
        }
        fs::remove_file(at("f")).unwrap();
    }
    symlink("second", at("first")).unwrap();
    symlink("target", at("second")).unwrap();
    for data in [&b"made"[..], b"made again", b""] {
        assert_eq!(write(&at("first"), data), FileAnswer::Done);
        assert_eq!(fs::read(at("target")).unwrap(), data);
    }
    assert_eq!(fs::read_link(at("first")).unwrap(), Path::new("second"));
    symlink("loop", at("loop")).unwrap();
    assert_refused(
        write(&at("loop"), b"x"),
        FileErrorKind::InvalidArgument,
        &at("loop"),
    );
    fs::write(at("usual"), b"").unwrap();
    assert_eq!(mode(&at("target")), mode(&at("usual")), "as any new file");
    assert_eq!(
        names(directory.path()),
        ["first", "loop", "second", "target", "usual"]
    );
}

#[test]
fn a_write_that_is_refused_or_cut_off_changes_and_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("d")).unwrap();
    fs::write(at("f"), b"old").unwrap();
    for (name, kind) in [
        ("d", FileErrorKind::IsADirectory),
        ("new/", FileErrorKind::IsADirectory),
        ("f/under", FileErrorKind::NotADirectory),
        (&"n".repeat(300), FileErrorKind::InvalidArgument),
    ] {
        assert_refused(write(&at(name), b"new"), kind, &at(name));
    }
    for name in ["f", "g"] {
        let path = at(name);
        let mut cut = command("write", &[path.as_os_str(), "1000000".as_ref()]);
        let failure = failure(answer_of(&mut cut, &every_byte(999_999)));
        assert_eq!(failure.kind, FileErrorKind::Internal);
        assert!(
            failure.message.contains("after 999999 of 1000000 bytes"),
            "{failure:?}"
        );
    }
    assert_eq!(names(directory.path()), ["d", "f"]);
    assert_eq!(fs::read(at("f")).unwrap(), b"old");
}

#[test]
fn a_write_needs_no_end_of_its_input_and_takes_no_more_than_it_was_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f");
    let mut child = command("write", &[path.as_os_str(), "3".as_ref()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"abcdef").unwrap();
    let mut answer = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut answer).unwrap();
    assert!(child.wait().unwrap().success());
    drop(stdin);
    assert_eq!(FileAnswer::decode(&answer), Ok(FileAnswer::Done));
    assert_eq!(fs::read(&path).unwrap(), b"abc");
}

#[test]
fn readers_see_the_old_content_or_the_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("f");
    fs::write(&path, vec![b'0'; 300_000]).unwrap();
    let ended = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(std::sync::atomic::Ordering::Relaxed) {
                let seen = fs::read(&path).unwrap();
                assert_eq!(seen.len(), 300_000);
                assert!(seen.iter().all(|byte| *byte == seen[0]), "half of each");
            }
        });
        for round in b'1'..=b'9' {
            assert_eq!(write(&path, &vec![round; 300_000]), FileAnswer::Done);
        }
        ended.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_full_disk_is_a_limit_and_the_old_content_stays() {
    let directory = tempfile::tempdir().unwrap();
    let text = r#"mount -t tmpfs -o size=64k none "$1" || exit 99
printf old >"$1/f"; "$2" file write "$1/f" 100000; code=$?
[ "$(cat "$1/f")" = old ] && [ "$(ls -A "$1")" = f ] || exit 98
exit $code"#;
    let mut unshare = Command::new("unshare");
    unshare
        .args([
            "--map-root-user",
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            text,
            "sh",
        ])
        .args([directory.path(), program()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let Ok(mut child) = unshare.spawn() else { return };
    let _ = child.stdin.take().unwrap().write_all(&every_byte(100_000));
    let output = child.wait_with_output().unwrap();
    if matches!(output.status.code(), Some(1 | 99)) {
        // This machine lets nobody mount.
        return;
    }
    assert_eq!(output.status.code(), Some(i32::from(FILE_FAILED)), "{output:?}");
    let answer = FileAnswer::decode(&output.stdout).unwrap();
    assert_refused(answer, FileErrorKind::LimitExceeded, &directory.path().join("f"));
}
