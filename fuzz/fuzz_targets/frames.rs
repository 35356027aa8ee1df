//! Passes the fuzzer's input to the target `frames`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fathom_fuzz::frames(data));
