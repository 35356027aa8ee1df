//! For tests only: skips a test visibly if the machine cannot run it.

#![forbid(unsafe_code)]

use std::io::Write;

/// Reports that the test of this thread is skipped with a line `SKIP test: reason`: on standard error,
/// bypassing the test runner's capture, and in the file named by `FATHOM_SKIP_LOG`, whose lines `make test`
/// counts.
///
/// # Panics If that file cannot be written: a skip must not go uncounted.
pub fn record(reason: &str) {
    let thread = std::thread::current();
    // Tools report reasons on several lines, each of which would count as one skip, so they are joined.
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
