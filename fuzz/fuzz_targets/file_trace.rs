//! Passes the fuzzer's input to the target `file_trace`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fathom_fuzz::file_trace(data));
