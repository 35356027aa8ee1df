//! Skipping a test where the machine cannot run it, visibly.

use std::io::Write;

/// Says past the capture of the test runner, and in the file that `FATHOM_SKIP_LOG` names, that a test was skipped.
pub fn record(test: &str, reason: &str) {
    let line = format!("SKIP {test}: {reason}\n");
    let log = std::env::var_os("FATHOM_SKIP_LOG")
        .and_then(|path| std::fs::OpenOptions::new().create(true).append(true).open(path).ok());
    if let Some(mut file) = log {
        // The line on standard error is there all the same.
        let _ = file.write_all(line.as_bytes());
    }
    let _ = std::io::stderr().write_all(line.as_bytes());
}
