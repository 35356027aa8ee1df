//! Skipping a test where the machine cannot run it, visibly.

use std::io::Write;

/// Ends the test with a line `SKIP test: reason`.
macro_rules! skip {
    ($($reason:tt)*) => {{
        $crate::support::skip::record(&format!($($reason)*));
        return;
    }};
}

/// The value of a `Result<T, String>`, or the end of the test with the reason it could not be had.
macro_rules! require {
    ($have:expr) => {
        match $have {
            Ok(value) => value,
            Err(reason) => skip!("{reason}"),
        }
    };
}

/// Ends the test when another program than fathom is tried, which makes no such promise.
macro_rules! fathom_only {
    () => {
        if $crate::support::program::is_another() {
            skip!("only fathom promises this");
        }
    };
}

/// Ends the test when the program says that it does not have the option yet; it says so by name.
macro_rules! built {
    ($words:expr) => {
        if let Err(reason) = $crate::support::program::knows($words) {
            skip!("{reason}");
        }
    };
}

/// Writes the line to standard error past the capture of the test runner, and to the file named by
/// `FATHOM_SKIP_LOG`.
pub(crate) fn record(reason: &str) {
    let thread = std::thread::current();
    // Tools say things on several lines, and each line counts as one skip.
    let reason = reason.split_whitespace().collect::<Vec<&str>>().join(" ");
    let line = format!("SKIP {}: {reason}\n", thread.name().unwrap_or("a test"));
    let mut log = std::env::var_os("FATHOM_SKIP_LOG")
        .and_then(|path| std::fs::OpenOptions::new().create(true).append(true).open(path).ok());
    if let Some(file) = &mut log {
        file.write_all(line.as_bytes()).expect("the skip log can be written");
    }
    // A closed standard error must not turn a skip into a failure.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// `Ok` when the test runs as root.
pub(crate) fn root() -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    match std::fs::metadata("/proc/self").map(|own| own.uid()) {
        Ok(0) => Ok(()),
        _ => Err("needs root".into()),
    }
}

/// `Ok` when the executable is on the path.
pub(crate) fn tool(name: &str) -> Result<(), String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Administrators' tools are often missing from a user's path.
    let administrators = ["/usr/sbin", "/sbin"].map(std::path::PathBuf::from);
    match std::env::split_paths(&path).chain(administrators).any(|directory| directory.join(name).is_file()) {
        true => Ok(()),
        false => Err(format!("{name} is not installed")),
    }
}
