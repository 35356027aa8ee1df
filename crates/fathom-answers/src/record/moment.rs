//! When and under which kernel a recording begins.

use fathom_sys::clock;

/// The start of a recording.
pub(super) struct Moment {
    /// Release of the kernel.
    pub(super) kernel: String,
    /// Time of day in ns since 1970 when the monotonic clock read `clock_ns`.
    pub(super) wall_ns: u64,
    pub(super) clock_ns: u64,
}

impl Moment {
    pub(super) fn now() -> Moment {
        let clock_ns = clock::monotonic_ns();
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let wall_ns = clock_ns.saturating_add_signed(clock::wall_minus_monotonic_ns());
        Moment { kernel: kernel.trim().to_owned(), wall_ns, clock_ns }
    }
}
