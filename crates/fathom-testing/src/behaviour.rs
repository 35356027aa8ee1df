//! Behaviour of a simulated device: plain data, so that a test can specify it and a property test can generate it.

use std::ops::Range;

/// [`Behaviour::default`] is a device without faults that serves every I/O in 100 µs.
#[derive(Clone, Debug, PartialEq)]
pub struct Behaviour {
    /// Seed of all random choices. The same seed gives the same run.
    pub seed: u64,
    /// Service time of an I/O.
    pub service: Service,
    /// Duration of a submitting call, in ns.
    pub submission_ns: u64,
    /// Number of I/Os served concurrently; the others wait. 0 for no limit.
    pub channels: u32,
    /// True if every I/O completes inside the call that queues it, as with synchronous engines.
    pub ends_at_once: bool,
    /// True if trims and syncs complete inside the call that queues them, as with libaio.
    pub ends_rare_ones_at_once: bool,
    /// Short reads and writes per thousand.
    pub short_permille: u32,
    /// Submissions per thousand that are accepted only in part or not at all.
    pub refused_permille: u32,
    /// Maximum number of consecutive submissions that are rejected.
    pub longest_refusal: u32,
    /// I/Os per thousand that fail with `EIO`.
    pub failing_permille: u32,
    /// I/Os that fail, by their index in order of submission from 0, with their errno.
    pub failing: Vec<(u64, i32)>,
    /// I/Os that never complete.
    pub lost: Vec<u64>,
    /// Spans of virtual time, in ns, without completions: pending I/Os complete afterwards.
    pub stalls: Vec<Range<u64>>,
    /// Silently corrupted writes, by their index in order of completion from 0.
    pub damaged: Vec<(u64, Damage)>,
}

/// A distribution of service times, in ns.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// A constant time.
    Fixed(u64),
    /// Uniform over a range: I/Os overtake each other.
    Uniform(Range<u64>),
    /// Exponential with this mean.
    Exponential(u64),
}

/// Corruption of a write that reports success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Nothing is written.
    Dropped,
    /// One bit in the middle of the data is flipped.
    BitFlipped,
    /// The second half is not written.
    Torn,
    /// The data is written at an offset one length further on.
    Misplaced,
}

impl Default for Behaviour {
    fn default() -> Behaviour {
        Behaviour {
            seed: 1,
            service: Service::Fixed(100_000),
            submission_ns: 0,
            channels: 0,
            ends_at_once: false,
            ends_rare_ones_at_once: false,
            short_permille: 0,
            refused_permille: 0,
            longest_refusal: 3,
            failing_permille: 0,
            failing: Vec::new(),
            lost: Vec::new(),
            stalls: Vec::new(),
            damaged: Vec::new(),
        }
    }
}
