//! Passes the fuzzer's input to the target `block_trace`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fathom_fuzz::block_trace(data));
