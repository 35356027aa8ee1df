//! Passes the fuzzer's input to the target `ledger`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fathom_fuzz::ledger(data));
