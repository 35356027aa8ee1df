//! Passes the fuzzer's input to the target `result`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fathom_fuzz::result(data));
