//! Calls as they are made, and answers as a sandbox may lie.

use herm_resident::wire::MAX_FILE_DATA;

use super::*;

const FAILED: i64 = FILE_FAILED as i64;

fn info(name: &[u8]) -> wire::FileInfo {
    wire::FileInfo {
        name: name.to_vec(),
        kind: wire::FileKind::File,
        size: 1,
        mode: 0o644,
    }
}

fn listing(names: &[&[u8]]) -> FileAnswer {
    FileAnswer::Listing(names.iter().map(|name| info(name)).collect())
}

fn failure(resource: &str) -> FileAnswer {
    FileAnswer::Failed(FileFailure {
        kind: FileErrorKind::NotFound,
        resource: resource.into(),
        message: "failed".into(),
        fix: None,
    })
}

fn content(size: u64, data: &[u8]) -> FileAnswer {
    FileAnswer::Content {
        size,
        data: data.to_vec(),
    }
}

#[track_caller]
fn lies<T: fmt::Debug>(call: Call<T>, exit: i64, answer: &FileAnswer) {
    let error = call.finish(exit, &answer.encode()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal, "{error}");
    assert!(error.message.contains("gave an answer that is none"), "{error}");
    assert!(error.data.fix.is_some());
}

#[test]
fn arguments_are_text_whatever_the_path_is() {
    let call = read("/p", &"/a b".into(), 7, Some(9)).unwrap();
    assert_eq!(call.argv(), ["/p", "file", "read", "/a b", "7", "9"]);
    let odd: ByteString = b"/\xff".as_slice().into();
    let call = move_path("/p", &"-n".into(), &odd).unwrap();
    assert_eq!(call.argv(), ["/p", "file", "--base64", "move", "LW4=", "L/8="]);
    let call = write("/p", &"/f".into(), b"\0\xff".as_slice().into()).unwrap();
    assert_eq!((call.argv()[4].as_str(), call.stdin()), ("2", &b"\0\xff"[..]));
    let call = remove("/p", &"/f".into(), true).unwrap();
    assert_eq!(call.argv()[3..], ["/f", "recursive"]);
    assert_eq!(remove("/p", &"/f".into(), false).unwrap().argv().len(), 4);
    let call = change_mode("/p", &"/f".into(), 0o4751).unwrap();
    assert_eq!(call.argv()[4], "4751");
    let whole = read("/p", &"/f".into(), 0, None).unwrap();
    assert_eq!(whole.argv()[5], (LONGEST + 1).to_string());
    const { assert!(LONGEST < MAX_FILE_DATA) };
}

#[test]
fn what_cannot_be_passed_on_is_refused_before_anything_runs() {
    for path in ["", "/a\0b", &"/n".repeat(2048)] {
        let error = stat("/p", &path.into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.data.fix.is_some());
    }
    assert!(move_path("/p", &"/f".into(), &"".into()).is_err());
    let mode = change_mode("/p", &"/f".into(), 0o10000).unwrap_err();
    assert_eq!(mode.data.resource.as_deref(), Some("mode"));
}

#[test]
fn a_program_that_gave_no_answer_is_told_with_the_reason() {
    for (exit, why) in [
        (127, "could not be started"),
        (137, "was ended by signal 9"),
        (70, "ended with 70"),
        (-1, "ended with -1"),
        (i64::MAX, "gave no answer"),
    ] {
        let call = stat("/p", &"/f".into()).unwrap();
        let error = call
            .finish(exit, &FileAnswer::Info(info(b"f")).encode())
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.message.contains(why), "{error}");
        assert_eq!(error.data.resource.as_deref(), Some("/f"));
    }
}

#[test]
fn an_exit_code_and_an_answer_must_say_the_same() {
    let call = || stat("/p", &"/f".into()).unwrap();
    lies(call(), 0, &failure("/f"));
    lies(call(), FAILED, &FileAnswer::Info(info(b"f")));
    for bytes in [&b""[..], b"\x09", b"\x01\x01", b"not an answer"] {
        let error = call().finish(0, bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
    }
    let long = vec![1; MAX_OUTPUT + 1];
    assert_eq!(call().finish(0, &long).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn an_answer_to_another_question_is_none() {
    let path = "/f".into();
    for answer in [
        FileAnswer::Done,
        content(1, b"x"),
        FileAnswer::Info(info(b"f")),
        listing(&[]),
    ] {
        let is = |fits: bool| if fits { None } else { Some(&answer) };
        if let Some(answer) = is(matches!(answer, FileAnswer::Done)) {
            lies(make_directory("/p", &path).unwrap(), 0, answer);
            lies(write("/p", &path, "x".into()).unwrap(), 0, answer);
        }
        if let Some(answer) = is(matches!(answer, FileAnswer::Content { .. })) {
            lies(read("/p", &path, 0, None).unwrap(), 0, answer);
        }
        if let Some(answer) = is(matches!(answer, FileAnswer::Info(_))) {
            lies(stat("/p", &path).unwrap(), 0, answer);
        }
        if let Some(answer) = is(matches!(answer, FileAnswer::Listing(_))) {
            lies(list_directory("/p", &path).unwrap(), 0, answer);
        }
    }
}

#[test]
fn bytes_that_were_not_asked_for_are_a_lie() {
    let part = |offset, length| read("/p", &"/f".into(), offset, Some(length)).unwrap();
    lies(part(0, 3), 0, &content(10, b"four"));
    lies(part(8, 3), 0, &content(10, b"abc"));
    lies(part(u64::MAX, 3), 0, &content(u64::MAX, b"abc"));
    let read = part(7, 3).finish(0, &content(10, b"abc").encode()).unwrap();
    assert_eq!((read.data, read.size), ("abc".into(), 10));
    // Past the end there is nothing, and the size is what the file has.
    let nothing = part(99, 3).finish(0, &content(10, b"").encode()).unwrap();
    assert_eq!((nothing.data, nothing.size), ("".into(), 10));
}

#[test]
fn what_does_not_fit_a_message_is_refused_with_the_way_out() {
    let read = read("/p", &"/f".into(), 0, None).unwrap();
    // Text that grows sixfold on the wire.
    let answer = content(5_000_000, &vec![1; 3 * 1024 * 1024]).encode();
    let error = read.finish(0, &answer).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.message.contains("5000000 bytes"), "{error}");
    let list = list_directory("/p", &"/d".into()).unwrap();
    // As many as an answer holds, and more than a caller can be given.
    let entries = (0..130_000)
        .map(|number| info(format!("{number:06}").as_bytes()))
        .collect();
    let error = list
        .finish(0, &FileAnswer::Listing(entries).encode())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    assert!(error.data.fix.unwrap().contains("with a command"));
}

#[test]
fn names_are_those_of_what_was_asked_about() {
    for (path, name) in [
        ("/a/f", "f"),
        ("/a/f/", "f"),
        ("/", "/"),
        ("/a/..", "/a/.."),
        ("f", "f"),
    ] {
        let call = || stat("/p", &path.into()).unwrap();
        let answer = FileAnswer::Info(info(name.as_bytes()));
        assert_eq!(call().finish(0, &answer.encode()).unwrap().name, name.into());
        lies(call(), 0, &FileAnswer::Info(info(b"other")));
    }
    let call = || list_directory("/p", &"/d".into()).unwrap();
    let good = listing(&[b".hidden", b"a\nb", b"c", b"\xff"]);
    assert_eq!(call().finish(0, &good.encode()).unwrap().entries.len(), 4);
    for bad in [
        &[&b""[..]][..],
        &[b"."],
        &[b".."],
        &[b"a/b"],
        &[b"a\0"],
        &[b"a", b"a"],
        &[b"b", b"a"],
    ] {
        lies(call(), 0, &listing(bad));
    }
}

#[test]
fn failures_keep_their_kind_and_are_about_a_path_that_was_asked_about() {
    let call = || move_path("/p", &"/from".into(), &"/to".into()).unwrap();
    for resource in ["/from", "/to"] {
        let error = call().finish(FAILED, &failure(resource).encode()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(error.data.resource.as_deref(), Some(resource));
    }
    lies(call(), FAILED, &failure("/etc/passwd"));
    let odd: ByteString = b"/\xff".as_slice().into();
    let shown = stat("/p", &odd)
        .unwrap()
        .finish(FAILED, &failure("/\u{fffd}").encode());
    assert_eq!(shown.unwrap_err().kind(), ErrorKind::NotFound);
    for kind in FileErrorKind::ALL {
        let answer = FileAnswer::Failed(FileFailure {
            kind,
            resource: "/f".into(),
            message: "m".into(),
            fix: Some("x".into()),
        });
        let error = stat("/p", &"/f".into())
            .unwrap()
            .finish(FAILED, &answer.encode())
            .unwrap_err();
        let name = format!("{kind:?}").to_lowercase();
        assert_eq!(error.kind().to_string().replace('_', ""), name);
        assert_eq!(error.data.fix.as_deref(), Some("x"));
    }
}
