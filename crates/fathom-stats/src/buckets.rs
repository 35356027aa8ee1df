//! The coarse distributions of a report: number of buckets and their bounds.

/// Number of buckets of the depth, submit and complete distributions.
pub const DEPTH_BUCKETS: usize = 7;
/// Upper bounds in ns of the latency distribution: 10 in nanoseconds, 10 in microseconds, 11 in milliseconds.
/// Values at or above the last bound are in a further bucket (`>=2000` ms).
pub const DISTRIBUTION_BOUNDS_NS: [u64; 31] = [
    2,
    4,
    10,
    20,
    50,
    100,
    250,
    500,
    750,
    1000,
    2_000,
    4_000,
    10_000,
    20_000,
    50_000,
    100_000,
    250_000,
    500_000,
    750_000,
    1_000_000,
    2_000_000,
    4_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    750_000_000,
    1_000_000_000,
    2_000_000_000,
];
/// Number of buckets of the latency distribution.
pub const DISTRIBUTION_BUCKETS: usize = DISTRIBUTION_BOUNDS_NS.len() + 1;
