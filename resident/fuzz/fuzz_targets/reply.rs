//! What a sandbox sends: any bytes are a reply, which then returns to the same bytes, or an error.

#![no_main]

use herm_resident::wire::Reply;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(reply) = Reply::decode(bytes) {
        assert_eq!(reply.encode(), bytes);
    }
});
