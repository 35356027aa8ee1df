//! Passes the fuzzer's input to the target `command_line`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fathom_fuzz::command_line(data));
