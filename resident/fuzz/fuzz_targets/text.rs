//! A channel of lines: however it is cut, the same bytes come out of it, and a line that is read returns to its text.

#![no_main]

use herm_resident::wire::{
    decode_base64, encode_base64,
    text::{Line, Receiver},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (cut, channel) = input;
    let (mut whole, mut pieces) = (Receiver::default(), Receiver::default());
    let at_once = whole.receive(channel);
    let mut bytes = Vec::new();
    for piece in channel.chunks(usize::from(cut) + 1) {
        bytes.extend(pieces.receive(piece).bytes);
    }
    assert_eq!(bytes, at_once.bytes);
    assert_eq!(whole.resume(), pieces.resume());
    if let Some(line) = Line::decode(channel) {
        assert_eq!(Line::decode(line.encode().trim_end().as_bytes()), Some(line));
    }
    if let Some(decoded) = decode_base64(channel) {
        assert_eq!(encode_base64(&decoded).as_bytes(), channel);
    }
});
