//! Files of a sandbox, through the protocol.

use herm_protocol::{
    ErrorKind,
    file::{ChmodParams, FileKind, MoveParams, PathParams, ReadParams, RemoveParams, WriteParams},
    method::{ChangeMode, ListDirectory, MakeDirectory, MoveFile, ReadFile, RemoveFile, StatFile, WriteFile},
};

use crate::support::Subject;

#[tokio::test]
async fn a_file_is_written_read_described_moved_and_removed() {
    let subject = Subject::start().await;
    let sandbox = subject.opened.sandbox.clone();
    let data: Vec<u8> = (0..=255).collect();
    let write = WriteParams {
        sandbox: sandbox.clone(),
        path: "dir/file".into(),
        data: data.clone().into(),
    };
    subject.call::<WriteFile>(&write).await.unwrap();
    assert_eq!(subject.print("wc -c < dir/file").await.trim(), "256");
    let read = ReadParams {
        sandbox: sandbox.clone(),
        path: subject.path("dir/file"),
        offset: 250,
        length: None,
    };
    let content = subject.call::<ReadFile>(&read).await.unwrap();
    assert_eq!((content.data.as_bytes(), content.size), (&data[250..], 256));
    let chmod = ChmodParams {
        sandbox: sandbox.clone(),
        path: "dir/file".into(),
        mode: 0o750,
    };
    subject.call::<ChangeMode>(&chmod).await.unwrap();
    let moved = MoveParams {
        sandbox: sandbox.clone(),
        from: "dir/file".into(),
        to: "new/name".into(),
    };
    subject.call::<MoveFile>(&moved).await.unwrap();
    let at = |path: &str| PathParams {
        sandbox: sandbox.clone(),
        path: path.into(),
    };
    let info = subject.call::<StatFile>(&at("new/name")).await.unwrap();
    assert_eq!((info.kind, info.size, info.mode), (FileKind::File, 256, 0o750));
    subject.call::<MakeDirectory>(&at("new/x/y")).await.unwrap();
    let listing = subject.call::<ListDirectory>(&at("new")).await.unwrap();
    let names: Vec<_> = listing
        .entries
        .iter()
        .map(|entry| entry.name.as_bytes())
        .collect();
    assert_eq!(names, [b"name".as_slice(), b"x"]);
    let remove = |recursive| RemoveParams {
        sandbox: sandbox.clone(),
        path: "new".into(),
        recursive,
    };
    assert_eq!(
        subject
            .call::<RemoveFile>(&remove(false))
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::IsADirectory
    );
    subject.call::<RemoveFile>(&remove(true)).await.unwrap();
    let error = subject.call::<StatFile>(&at("new/name")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.data.resource.unwrap().ends_with("new/name"));
}

#[tokio::test]
async fn paths_that_cannot_be_are_refused_by_name() {
    let subject = Subject::start().await;
    for path in ["", "a\0b"] {
        let params = PathParams {
            sandbox: subject.opened.sandbox.clone(),
            path: path.into(),
        };
        let error = subject.call::<StatFile>(&params).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.data.resource.as_deref()),
            (ErrorKind::InvalidArgument, Some("path"))
        );
    }
    let params = PathParams {
        sandbox: "herm-test-nobody".into(),
        path: "/".into(),
    };
    assert_eq!(
        subject.call::<StatFile>(&params).await.unwrap_err().kind(),
        ErrorKind::SandboxNotFound
    );
}

#[tokio::test]
async fn a_file_longer_than_a_message_is_read_in_parts() {
    let subject = Subject::start().await;
    subject.print("head -c 13000000 /dev/urandom > big").await;
    let read = |offset, length| ReadParams {
        sandbox: subject.opened.sandbox.clone(),
        path: "big".into(),
        offset,
        length,
    };
    let error = subject.call::<ReadFile>(&read(0, None)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
    let mut total = 0;
    while total < 13_000_000 {
        let part = subject
            .call::<ReadFile>(&read(total, Some(11_000_000)))
            .await
            .unwrap();
        total += part.data.len() as u64;
        assert_eq!(part.size, 13_000_000);
    }
    assert_eq!(total, 13_000_000);
}
