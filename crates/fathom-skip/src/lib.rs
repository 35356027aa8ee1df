//! For tests only: skipping one where the machine cannot run it, visibly.

#![forbid(unsafe_code)]

use std::io::Write;

/// Says that the test of this thread is skipped, on a line `SKIP test: reason`: on standard error, past the capture of the
/// test runner, and in the file that `FATHOM_SKIP_LOG` names, whose lines `make test` counts.
///
/// # Panics
/// When that file cannot be written: a skip must not go uncounted.
pub fn record(reason: &str) {
    let thread = std::thread::current();
    // Tools say things on several lines, and each line counts as one skip.
    let reason = reason.split_whitespace().collect::<Vec<&str>>().join(" ");
    let line = format!("SKIP {}: {reason}\n", thread.name().unwrap_or("a test"));
    if let Some(path) = std::env::var_os("FATHOM_SKIP_LOG") {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(&path);
        if let Err(error) = log.and_then(|mut log| log.write_all(line.as_bytes())) {
            panic!("{}: {error}", path.display());
        }
    }
    // A closed standard error must not turn a skip into a failure.
    let _ = std::io::stderr().write_all(line.as_bytes());
}
