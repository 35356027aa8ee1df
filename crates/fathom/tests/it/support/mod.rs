//! Shared parts of the tests: running programs, reading reports, and devices to run on.

#[macro_use]
pub(crate) mod skip;
pub(crate) mod browser;
pub(crate) mod compare;
pub(crate) mod devices;
pub(crate) mod groups;
pub(crate) mod json;
pub(crate) mod kernel_trace;
pub(crate) mod page;
pub(crate) mod processes;
pub(crate) mod program;
pub(crate) mod recorded;
pub(crate) mod served;
pub(crate) mod servers;
pub(crate) mod shape;
pub(crate) mod terminal;
pub(crate) mod trace;

/// Default time limit; generous, because test machines are often busy.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(180);

/// Waits until a condition is true.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what}: not in {PATIENCE:?}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Size of a kibibyte.
pub(crate) const KIB: u64 = 1 << 10;
/// Size of a mebibyte.
pub(crate) const MIB: u64 = 1 << 20;

/// Content of files that exist before a test.
pub(crate) const FILLING: u8 = 0x5a;

/// A directory for one test, removed with its contents.
pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("fathom-it-").tempdir().expect("a temporary directory can be made")
}

/// A file of `bytes` nonzero bytes.
pub(crate) fn file_of(directory: &std::path::Path, name: &str, bytes: u64) -> std::path::PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, vec![FILLING; bytes as usize]).expect("a file can be written");
    path
}

/// Average number of running and waiting tasks per processor over the last minute.
pub(crate) fn tasks_per_processor() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").expect("Linux tells its load");
    let load: f64 = text.split(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    load / std::thread::available_parallelism().map_or(1, usize::from) as f64
}
