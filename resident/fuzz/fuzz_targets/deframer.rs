//! A stream of frames: however it is cut, the same messages come out of it, or the same error.

#![no_main]

use herm_resident::wire::{Deframer, FrameError};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 4096;

fuzz_target!(|input: (u8, &[u8])| {
    let (cut, stream) = input;
    assert_eq!(messages(stream.chunks(usize::from(cut) + 1)), messages([stream].into_iter()));
});

fn messages<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Vec<u8>>, Option<FrameError>) {
    let mut deframer = Deframer::default();
    let mut all = Vec::new();
    for piece in pieces {
        deframer.add(piece);
        loop {
            match deframer.next(LIMIT) {
                Ok(Some(message)) => {
                    assert!(message.len() <= LIMIT);
                    all.push(message);
                }
                Ok(None) => break,
                Err(error) => return (all, Some(error)),
            }
        }
    }
    (all, None)
}
