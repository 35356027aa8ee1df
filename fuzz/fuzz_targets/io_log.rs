//! Passes the fuzzer's input to the target `io_log`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fathom_fuzz::io_log(data));
