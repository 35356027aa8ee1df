//! How a simulated device behaves: plain data, so that a test can write it down and a property test can draw it.

use std::ops::Range;

/// A device without a fault that serves every I/O in 100 µs is [`Behaviour::default`].
#[derive(Clone, Debug, PartialEq)]
pub struct Behaviour {
    /// Of everything that is left to chance. The same seed gives the same run.
    pub seed: u64,
    /// How long an I/O is served.
    pub service: Service,
    /// How long the call takes that hands I/Os over, in ns.
    pub submission_ns: u64,
    /// I/Os that are served side by side; the others wait for their turn. 0 for as many as come.
    pub channels: u32,
    /// Every I/O ends inside the call that queues it, as with synchronous engines.
    pub ends_at_once: bool,
    /// Trims and syncs do, as with libaio.
    pub ends_rare_ones_at_once: bool,
    /// Of a thousand reads and writes, how many move only a part.
    pub short_permille: u32,
    /// Of a thousand times that I/Os are handed over, how often only some of them are taken, or none.
    pub refused_permille: u32,
    /// How often in a row none is taken then, at most.
    pub longest_refusal: u32,
    /// Of a thousand I/Os, how many fail with `EIO`.
    pub failing_permille: u32,
    /// I/Os that fail, counted from 0 in the order in which they are handed over, and their errno.
    pub failing: Vec<(u64, i32)>,
    /// I/Os that never end.
    pub lost: Vec<u64>,
    /// Spans of virtual time, in ns, within which nothing ends: it ends after them.
    pub stalls: Vec<Range<u64>>,
    /// Writes that go wrong without an error, counted from 0 in the order in which they end.
    pub damaged: Vec<(u64, Damage)>,
}

/// A distribution of service times, in ns.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// Always the same.
    Fixed(u64),
    /// Any of a range, each as likely: I/Os overtake each other.
    Uniform(Range<u64>),
    /// Exponential with this mean.
    Exponential(u64),
}

/// What becomes of a write that seems to have gone well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// Nothing is written.
    Dropped,
    /// One bit in the middle is turned.
    BitFlipped,
    /// The second half is not written.
    Torn,
    /// It is written one length further on.
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
