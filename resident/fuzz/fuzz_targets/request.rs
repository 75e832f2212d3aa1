//! What a client sends: any bytes are a request, which then returns to the same bytes, or an error.

#![no_main]

use herm_resident::wire::Request;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = Request::decode(bytes) {
        assert_eq!(request.encode(), bytes);
    }
});
