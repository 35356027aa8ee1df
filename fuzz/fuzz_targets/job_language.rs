//! Passes the fuzzer's input to the target `job_language`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fathom_fuzz::job_language(data));
