//! Hands what the fuzzer makes up to the target `frames`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fathom_fuzz::frames(data));
