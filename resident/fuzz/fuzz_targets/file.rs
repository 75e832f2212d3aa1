//! Files of a sandbox that says anything: any bytes are an answer, which then returns to the same bytes, or an error; and
//! whatever was asked, what a caller is given fits the question and one message.

#![no_main]

use herm::files::inside;
use herm_protocol::{ByteString, DEFAULT_MAX_MESSAGE_BYTES, Error};
use herm_resident::wire::{FILE_FAILED, FileAnswer};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;

/// The resident's program in the sandbox.
const PROGRAM: &str = "/herm/resident";

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (choice, part, bytes) = input;
    if let Ok(answer) = FileAnswer::decode(bytes) {
        assert_eq!(answer.encode(), bytes);
    }
    let exit = [0, FILE_FAILED.into(), i64::from(choice)][usize::from(choice >> 3) % 3];
    for path in ["/a/f", "/", "b\u{e9}/.."].map(ByteString::from) {
        ask(choice, part, &path, exit, bytes);
    }
});

fn ask(choice: u8, part: u16, path: &ByteString, exit: i64, bytes: &[u8]) {
    let to = ByteString::from(b"/t\xff".as_slice());
    let (offset, length) = (u64::from(part >> 8), u64::from(part & 0xff));
    match choice & 7 {
        0 => {
            let read = inside::read(PROGRAM, path, offset, Some(length)).and_then(|call| call.finish(exit, bytes));
            if let Ok(content) = fits(read, path) {
                assert!(content.data.len() as u64 <= length);
                assert!(content.data.is_empty() || offset + content.data.len() as u64 <= content.size);
            }
        }
        1 => drop(fits(
            inside::read(PROGRAM, path, offset, None).and_then(|call| call.finish(exit, bytes)),
            path,
        )),
        2 => {
            let stat = inside::stat(PROGRAM, path).and_then(|call| call.finish(exit, bytes));
            if let Ok(info) = fits(stat, path) {
                assert!(path.as_bytes().ends_with(info.name.as_bytes()) && info.mode <= 0o7777);
            }
        }
        3 => {
            let list = inside::list_directory(PROGRAM, path).and_then(|call| call.finish(exit, bytes));
            if let Ok(listing) = fits(list, path) {
                assert!(listing.entries.is_sorted_by(|left, right| left.name < right.name));
                assert!(listing.entries.iter().all(|entry| !entry.name.as_bytes().contains(&b'/')));
            }
        }
        4 => drop(inside::write(PROGRAM, path, "x".into()).and_then(|call| call.finish(exit, bytes))),
        5 => drop(inside::remove(PROGRAM, path, true).and_then(|call| call.finish(exit, bytes))),
        6 => {
            let moved = inside::move_path(PROGRAM, path, &to).and_then(|call| call.finish(exit, bytes));
            if let Err(error) = moved {
                let about = error.data.resource.unwrap_or_default();
                assert!([path, &to].iter().any(|path| path.to_string_lossy() == about));
            }
        }
        _ => drop(inside::change_mode(PROGRAM, path, 0).and_then(|call| call.finish(exit, bytes))),
    }
}

/// Whatever comes out fits one message, and an error is about the path.
fn fits<T: Serialize>(result: Result<T, Error>, path: &ByteString) -> Result<T, Error> {
    match &result {
        Ok(result) => {
            let message = serde_json::to_string(result).unwrap_or_default();
            assert!(message.len() < DEFAULT_MAX_MESSAGE_BYTES);
        }
        Err(error) => assert_eq!(error.data.resource.as_deref(), Some(&*path.to_string_lossy())),
    }
    result
}
