//! Skips a test visibly if the machine cannot run it.

/// Ends the test with a line `SKIP test: reason`.
macro_rules! skip {
    ($($reason:tt)*) => {{
        fathom_skip::record(&format!($($reason)*));
        return;
    }};
}

/// The value of a `Result<T, String>`; otherwise ends the test with the reason why it is missing.
macro_rules! require {
    ($have:expr) => {
        match $have {
            Ok(value) => value,
            Err(reason) => skip!("{reason}"),
        }
    };
}

/// Ends the test if it runs on another program than fathom, which makes no such promise.
macro_rules! fathom_only {
    () => {
        if $crate::support::program::is_another() {
            skip!("only fathom promises this");
        }
    };
}

/// Ends the test if the program reports, by name, that it does not have the option yet.
macro_rules! built {
    ($words:expr) => {
        if let Err(reason) = $crate::support::program::knows($words) {
            skip!("{reason}");
        }
    };
}

/// `Ok` if the test runs as root.
pub(crate) fn root() -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    match std::fs::metadata("/proc/self").map(|own| own.uid()) {
        Ok(0) => Ok(()),
        _ => Err("needs root".into()),
    }
}

/// `Ok` if the executable is on the path.
pub(crate) fn tool(name: &str) -> Result<(), String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Administrators' tools are often missing from a user's path.
    let administrators = ["/usr/sbin", "/sbin"].map(std::path::PathBuf::from);
    match std::env::split_paths(&path).chain(administrators).any(|directory| directory.join(name).is_file()) {
        true => Ok(()),
        false => Err(format!("{name} is not installed")),
    }
}
