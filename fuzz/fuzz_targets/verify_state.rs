//! Passes the fuzzer's input to the target `verify_state`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fathom_fuzz::verify_state(data));
