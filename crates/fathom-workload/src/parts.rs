//! Parts of a load: for each direction its sequential streams, and the requests outside of streams.

use crate::arrivals::Scales;
use crate::sizes::Sizes;
use fathom_trace::requests::Request;

use crate::space::{Counter, Popularity};
use crate::timeline::{Bin, Timeline};
use fathom_stats::Direction;
use fathom_trace::blktrace::code;

/// Requests of one direction, either those in streams or the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Reads, writes or trims.
    pub direction: Direction,
    /// The requests in streams.
    pub is_sequential: bool,
    /// Sizes and alignment.
    pub sizes: Sizes,
    /// Writes that are durable once complete.
    pub durable: u64,
    /// Accesses to each block.
    pub popularity: Popularity,
    /// Requests that begin at each place.
    pub starts: Popularity,
    /// Arrivals in each step of the time.
    pub over_time: Vec<u64>,
    /// Length of a step, s.
    pub step_s: f64,
    /// Dispersion of the arrivals of the whole direction, as in [`Arrivals`](crate::arrivals::Arrivals).
    pub dispersion: Vec<(f64, f64)>,
}

impl Part {
    /// Number of requests.
    pub fn requests(&self) -> u64 {
        self.sizes.requests()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Count(u64);

impl Bin for Count {
    fn absorb(&mut self, next: Count) {
        self.0 += next.0;
    }
}

#[derive(Debug, Default)]
struct Collected {
    sizes: Sizes,
    durable: u64,
    counter: Counter,
    starts: Counter,
    over_time: Timeline<Count>,
}

/// Collects the parts.
#[derive(Debug, Default)]
pub(crate) struct PartFinder {
    start_ns: Option<u64>,
    /// By direction: outside of streams, in streams.
    parts: [[Collected; 2]; 3],
    scales: [Scales; 3],
}

impl PartFinder {
    /// Takes a request when it arrives.
    pub(crate) fn arrived(&mut self, request: &Request) {
        let start = *self.start_ns.get_or_insert(request.time_ns);
        for scales in &mut self.scales {
            scales.begin(start);
        }
        if request.bytes > 0 {
            self.scales[request.direction.index()].add(request.time_ns);
        }
    }

    /// Takes a request with data once it is known whether it is part of a stream, in any order.
    pub(crate) fn add(&mut self, request: &Request, is_sequential: bool) {
        let start = *self.start_ns.get_or_insert(request.time_ns);
        let part = &mut self.parts[request.direction.index()][usize::from(is_sequential)];
        part.sizes.add(request);
        part.durable += u64::from(request.is(code::DURABLE));
        part.counter.add(request);
        part.starts.add_start(request);
        // The steps of all parts begin together.
        part.over_time.at(start);
        part.over_time.at(request.time_ns).0 += 1;
    }

    /// The parts with requests.
    pub(crate) fn finish(self, end_ns: u64) -> Vec<Part> {
        let mut parts = Vec::new();
        for ((direction, collected), scales) in Direction::ALL.into_iter().zip(self.parts).zip(self.scales) {
            let dispersion = scales.finish(end_ns);
            for (is_sequential, mut collected) in [false, true].into_iter().zip(collected) {
                if collected.sizes.requests() == 0 {
                    continue;
                }
                // They end together as well.
                collected.over_time.at(end_ns);
                parts.push(Part {
                    direction,
                    is_sequential,
                    popularity: collected.counter.finish(),
                    starts: collected.starts.finish(),
                    sizes: collected.sizes,
                    durable: collected.durable,
                    over_time: collected.over_time.bins().iter().map(|count| count.0).collect(),
                    step_s: collected.over_time.width_ns() as f64 / 1e9,
                    dispersion: dispersion.clone(),
                });
            }
        }
        parts
    }
}
