//! A write, as described by its header and its content.

/// The parameters of one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Seed of the content.
    pub seed: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Number of writes that the job had issued before.
    pub number: u64,
    /// Number of the clone; the first is 1.
    pub thread: u16,
    /// Time at which it was issued on the monotonic clock: seconds, and nanoseconds of the second.
    pub time: (u32, u32),
}

/// Splits a time in ns into seconds and nanoseconds.
pub fn split_time(time_ns: u64) -> (u32, u32) {
    const SECOND: u64 = 1_000_000_000;
    let seconds = u32::try_from(time_ns / SECOND);
    assert!(seconds.is_ok(), "the seconds of a write's time, {time_ns} ns, do not fit its header");
    (seconds.unwrap_or(u32::MAX), (time_ns % SECOND) as u32)
}
