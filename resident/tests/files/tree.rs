//! What there is besides content: names, kinds, modes, directories, places.

use super::*;

#[test]
fn what_the_user_may_not_do_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    fs::write(at("f"), b"old").unwrap();
    fs::set_permissions(at("f"), Permissions::from_mode(0o400)).unwrap();
    fs::create_dir(at("closed")).unwrap();
    fs::write(at("closed/f"), b"").unwrap();
    fs::set_permissions(at("closed"), Permissions::from_mode(0o000)).unwrap();
    let closed = at("closed");
    let under = at("closed/f");
    let new = at("new");
    let file = at("f");
    let is_root = directory.path().metadata().unwrap().uid() == 0;
    let asked = |operation: &str, words: &[&OsStr]| {
        let mut command = command(operation, words);
        if is_root {
            // As root may do everything, another user is asked.
            command.uid(NOBODY).gid(NOBODY);
        }
        answer_of(&mut command, b"x")
    };
    let denied = FileErrorKind::PermissionDenied;
    let one = OsStr::new("1");
    assert_refused(asked("write", &[file.as_os_str(), one]), denied, &file);
    assert_refused(
        asked("read", &[under.as_os_str(), "0".as_ref(), one]),
        denied,
        &under,
    );
    assert_refused(asked("stat", &[under.as_os_str()]), denied, &under);
    assert_refused(asked("list", &[closed.as_os_str()]), denied, &closed);
    if is_root {
        assert_refused(asked("write", &[new.as_os_str(), one]), denied, &new);
        assert_refused(asked("mkdir", &[new.as_os_str()]), denied, &new);
        assert_refused(asked("remove", &[file.as_os_str()]), denied, &file);
        assert_refused(
            asked("remove", &[closed.as_os_str(), "recursive".as_ref()]),
            denied,
            &closed,
        );
        assert_refused(asked("chmod", &[file.as_os_str(), "777".as_ref()]), denied, &file);
        assert_refused(asked("move", &[file.as_os_str(), new.as_os_str()]), denied, &new);
    }
    fs::set_permissions(at("closed"), Permissions::from_mode(0o700)).unwrap();
    assert_eq!(fs::read(at("f")).unwrap(), b"old");
    assert_eq!((mode(&at("f")), at("closed/f").exists()), (0o400, true));
    assert_eq!(names(directory.path()), ["closed", "f"]);
}

#[test]
fn directories_are_made_with_parents_and_listed_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let made = directory.path().join("a/b");
    for _ in 0..2 {
        assert_eq!(ask("mkdir", &[made.as_os_str()]), FileAnswer::Done);
    }
    for name in ODD {
        fs::write(made.join(OsStr::from_bytes(name)), name).unwrap();
    }
    symlink("nowhere", made.join("link")).unwrap();
    fs::create_dir(made.join("dir")).unwrap();
    let FileAnswer::Listing(entries) = ask("list", &[made.as_os_str()]) else {
        panic!()
    };
    let mut expected: Vec<&[u8]> = ODD.to_vec();
    expected.extend([&b"link"[..], b"dir"]);
    expected.sort_unstable();
    let listed: Vec<_> = entries.iter().map(|entry| entry.name.as_slice()).collect();
    assert_eq!(listed, expected);
    let kind = |name: &[u8]| entries.iter().find(|entry| entry.name == name).unwrap().kind;
    assert_eq!(
        (kind(b"link"), kind(b"dir")),
        (FileKind::Symlink, FileKind::Directory)
    );
    let file = made.join("plain");
    assert_refused(
        ask("mkdir", &[file.as_os_str()]),
        FileErrorKind::AlreadyExists,
        &file,
    );
    assert_refused(
        ask("list", &[file.as_os_str()]),
        FileErrorKind::NotADirectory,
        &file,
    );
}

#[test]
fn what_is_not_there_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing");
    let path = missing.as_os_str();
    let other = directory.path().join("new/x");
    for (operation, words) in [
        ("read", &[path, "0".as_ref(), "1".as_ref()][..]),
        ("stat", &[path]),
        ("list", &[path]),
        ("remove", &[path]),
        ("remove", &[path, "recursive".as_ref()]),
        ("move", &[path, other.as_os_str()]),
        ("chmod", &[path, "600".as_ref()]),
    ] {
        assert_refused(ask(operation, words), FileErrorKind::NotFound, &missing);
    }
    assert_eq!(names(directory.path()), [""; 0]);
}

#[test]
fn a_tree_goes_whole_however_deep_and_what_links_lead_to_stays() {
    let directory = tempfile::tempdir().unwrap();
    let [top, outside] = ["top", "outside"].map(|name| directory.path().join(name));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), b"").unwrap();
    fs::create_dir(&top).unwrap();
    // Deeper than a path can say, from the inside out.
    let next = directory.path().join("next");
    for _ in 0..1000 {
        fs::create_dir(&next).unwrap();
        symlink(&outside, next.join("link")).unwrap();
        fs::write(next.join("f"), b"").unwrap();
        fs::rename(&top, next.join("deep")).unwrap();
        fs::rename(&next, &top).unwrap();
    }
    let refused = ask("remove", &[top.as_os_str()]);
    assert_refused(refused, FileErrorKind::IsADirectory, &top);
    assert!(top.join("f").exists());
    let removed = ask("remove", &[top.as_os_str(), "recursive".as_ref()]);
    assert_eq!(removed, FileAnswer::Done);
    assert_eq!(names(directory.path()), ["outside"]);
    symlink(&outside, &top).unwrap();
    let removed = ask("remove", &[top.as_os_str(), "recursive".as_ref()]);
    assert_eq!(removed, FileAnswer::Done);
    assert!(outside.join("f").exists());
    let removed = ask("remove", &[outside.join("f").as_os_str()]);
    assert_eq!(removed, FileAnswer::Done);
    assert_eq!(ask("remove", &[outside.as_os_str()]), FileAnswer::Done);
    assert_eq!(names(directory.path()), [""; 0]);
}

#[test]
fn nothing_of_a_directory_goes_that_cannot_go_itself() {
    let directory = tempfile::tempdir().unwrap();
    let [full, link] = ["full", "link"].map(|name| directory.path().join(name));
    fs::create_dir(&full).unwrap();
    fs::write(full.join("f"), b"").unwrap();
    symlink(&full, &link).unwrap();
    for (path, kind) in [
        (link.join(""), FileErrorKind::NotADirectory),
        (full.join("."), FileErrorKind::InvalidArgument),
        (full.join(".."), FileErrorKind::InvalidArgument),
    ] {
        let answer = ask("remove", &[path.as_os_str(), "recursive".as_ref()]);
        assert_refused(answer, kind, &path);
        assert!(full.join("f").exists());
    }
}

#[test]
fn moves_replace_files_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let moved = |from: &str, to: &str| ask("move", &[at(from).as_os_str(), at(to).as_os_str()]);
    fs::create_dir_all(at("full/sub")).unwrap();
    fs::create_dir(at("dir")).unwrap();
    fs::write(at("file"), b"1").unwrap();
    for (from, to, kind) in [
        ("file", "dir", FileErrorKind::IsADirectory),
        ("dir", "file", FileErrorKind::NotADirectory),
        ("dir", "full", FileErrorKind::AlreadyExists),
        ("full", "full/sub/x", FileErrorKind::InvalidArgument),
    ] {
        assert_refused(moved(from, to), kind, &at(to));
    }
    assert_eq!(moved("file", "new/file"), FileAnswer::Done);
    fs::write(at("file"), b"2").unwrap();
    assert_eq!(moved("file", "new/file"), FileAnswer::Done);
    assert_eq!(moved("full/sub", "dir"), FileAnswer::Done);
    assert_eq!(moved("new/file", "new/file"), FileAnswer::Done);
    assert_eq!(fs::read(at("new/file")).unwrap(), b"2");
    assert_eq!(names(directory.path()), ["dir", "full", "new"]);
}

#[test]
fn files_and_links_go_to_another_file_system_as_they_were() {
    let (Ok(here), Ok(there)) = (tempfile::tempdir(), tempfile::tempdir_in("/dev/shm")) else {
        return;
    };
    let device = |path: &Path| path.metadata().unwrap().dev();
    if device(here.path()) == device(there.path()) {
        return;
    }
    let (from, to) = (here.path().join("f"), there.path().join("new/f"));
    let moved = || ask("move", &[from.as_os_str(), to.as_os_str()]);
    fs::write(&from, every_byte(200_000)).unwrap();
    fs::set_permissions(&from, Permissions::from_mode(0o751)).unwrap();
    assert_eq!(moved(), FileAnswer::Done);
    assert_eq!((mode(&to), fs::read(&to).unwrap().len()), (0o751, 200_000));
    symlink("target", &from).unwrap();
    assert_eq!(moved(), FileAnswer::Done);
    assert_eq!(fs::read_link(&to).unwrap(), Path::new("target"));
    fs::create_dir(&from).unwrap();
    assert_refused(moved(), FileErrorKind::Unsupported, &from);
    assert_eq!(names(to.parent().unwrap()), ["f"]);
    assert_eq!(names(here.path()), ["f"]);
}

#[test]
fn modes_are_set_and_links_never_followed() {
    let directory = tempfile::tempdir().unwrap();
    let [file, link] = ["file", "link"].map(|name| directory.path().join(name));
    fs::write(&file, b"").unwrap();
    symlink("file", &link).unwrap();
    let change = |path: &Path, mode: &str| ask("chmod", &[path.as_os_str(), mode.as_ref()]);
    for octal in ["4751", "0", "1777", "0444"] {
        assert_eq!(change(&file, octal), FileAnswer::Done);
        assert_eq!(mode(&file), u32::from_str_radix(octal, 8).unwrap());
    }
    assert_refused(change(&link, "600"), FileErrorKind::InvalidArgument, &link);
    let beyond = failure(change(&file, "10000"));
    assert_eq!(
        (beyond.kind, &*beyond.resource),
        (FileErrorKind::InvalidArgument, "mode")
    );
    assert_eq!(change(directory.path(), "750"), FileAnswer::Done);
    assert_eq!(mode(directory.path()), 0o750);
}

#[test]
fn the_root_and_what_lies_above_are_called_by_their_paths() {
    for (path, name) in [
        ("/", "/"),
        ("/proc/..", "/proc/.."),
        ("/proc/", "proc"),
        ("/proc/.", "proc"),
    ] {
        let FileAnswer::Info(info) = ask("stat", &[path.as_ref()]) else {
            panic!("{path}")
        };
        assert_eq!(
            (info.name.as_slice(), info.kind),
            (name.as_bytes(), FileKind::Directory)
        );
    }
}

#[test]
fn wrong_calls_and_a_reader_who_is_gone_have_codes_of_their_own() {
    let wrong = command("stat", &[]).output().unwrap();
    assert_eq!(
        (wrong.status.code(), wrong.stdout.as_slice()),
        (Some(64), &b""[..])
    );
    assert!(wrong.stderr.starts_with(b"herm-resident: usage: file "));
    let directory = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let unheard = command("list", &[directory.path().as_os_str()])
        .stdout(writer)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(unheard.code(), Some(70));
}
