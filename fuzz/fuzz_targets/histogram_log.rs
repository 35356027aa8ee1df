//! Passes the fuzzer's input to the target `histogram_log`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fathom_fuzz::histogram_log(data));
