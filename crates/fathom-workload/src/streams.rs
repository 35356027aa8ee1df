//! Sequential streams: requests that begin where an earlier one of the same direction ended. Many streams may be interleaved.

use crate::requests::Request;
use crate::timeline::{Bin, Timeline};
use fathom_stats::Direction;
use fathom_trace::Device;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Maximum number of streams tracked together.
const FOLLOWED: usize = 256;
/// Maximum number of requests remembered as possible starts of streams.
const BEGUN: usize = 8192;
/// Minimum number of requests in a sequential run.
pub const SHORTEST_RUN: u64 = 4;

/// Streams of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Streams {
    /// Runs by their number of requests: 1, 2 to 3, 4 to 7, 8 to 15, ...
    pub runs: Vec<u64>,
    /// Requests in runs of at least four.
    pub sequential_requests: u64,
    /// Their bytes.
    pub sequential_bytes: u64,
    /// Runs of at least four.
    pub sequential_runs: u64,
    /// Sum of their durations in ns; divided by the length of the trace, the mean number of concurrent streams.
    pub sequential_ns: u64,
}

impl Streams {
    fn add(&mut self, run: &Run) {
        let class = run.requests.ilog2() as usize;
        if self.runs.len() <= class {
            self.runs.resize(class + 1, 0);
        }
        self.runs[class] += 1;
        if run.requests >= SHORTEST_RUN {
            self.sequential_requests += run.requests;
            self.sequential_bytes += run.bytes;
            self.sequential_runs += 1;
            self.sequential_ns += run.last_ns - run.first_ns;
        }
    }
}

/// Time that streams lasted within a bin of the timeline, added up, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Lasted(u64);

impl Bin for Lasted {
    fn absorb(&mut self, next: Lasted) {
        self.0 += next.0;
    }
}

/// The place where a stream goes on.
type Place = (Device, Direction, u64);

#[derive(Clone, Copy, Debug)]
struct Run {
    place: Place,
    requests: u64,
    bytes: u64,
    first_ns: u64,
    last_ns: u64,
    /// It went on since the hand of its table passed it.
    is_recent: bool,
}

impl Run {
    fn of(request: &Request) -> Run {
        Run {
            place: (request.device, request.direction, request.end()),
            requests: 1,
            bytes: u64::from(request.bytes),
            first_ns: request.time_ns,
            last_ns: request.time_ns,
            is_recent: false,
        }
    }

    fn go_on(&mut self, request: &Request) {
        self.place.2 = request.end();
        self.requests += 1;
        self.bytes += u64::from(request.bytes);
        self.last_ns = self.last_ns.max(request.time_ns);
        self.is_recent = true;
    }
}

/// Runs, of which the one that has not gone on for longest makes room for a new one (the clock algorithm).
#[derive(Debug)]
struct Table {
    slots: Vec<Option<Run>>,
    hand: usize,
    most: usize,
}

impl Table {
    fn new(most: usize) -> Table {
        Table { slots: Vec::new(), hand: 0, most }
    }

    /// The slot of a new run, and the run that was there.
    fn put(&mut self, run: Run) -> (usize, Option<Run>) {
        if self.slots.len() < self.most {
            self.slots.push(Some(run));
            return (self.slots.len() - 1, None);
        }
        loop {
            let index = self.hand;
            self.hand = (self.hand + 1) % self.most;
            match &mut self.slots[index] {
                Some(old) if old.is_recent => old.is_recent = false,
                slot => return (index, slot.replace(run)),
            }
        }
    }
}

/// Finds streams. Requests that may begin one are kept apart from streams, so that random requests never crowd these out.
#[derive(Debug)]
pub(crate) struct StreamFinder {
    begun: Table,
    streams: Table,
    /// Where each run goes on: in which table, and where there.
    places: HashMap<Place, (bool, usize)>,
    found: [Streams; 3],
    lasted: Timeline<Lasted>,
}

impl Default for StreamFinder {
    fn default() -> StreamFinder {
        StreamFinder {
            begun: Table::new(BEGUN),
            streams: Table::new(FOLLOWED),
            places: HashMap::new(),
            found: Default::default(),
            lasted: Timeline::default(),
        }
    }
}

impl StreamFinder {
    pub(crate) fn add(&mut self, request: &Request) {
        if self.begun.slots.is_empty() {
            // Streams end in any order, and none began before this request.
            self.lasted.at(request.time_ns);
        }
        let next = (request.device, request.direction, request.end());
        let run = match self.places.remove(&(request.device, request.direction, request.sector)) {
            Some((true, index)) => {
                if let Some(run) = &mut self.streams.slots[index] {
                    run.go_on(request);
                    self.places.insert(next, (true, index));
                }
                return;
            }
            Some((false, index)) => self.begun.slots[index].take(),
            None => None,
        };
        let (is_stream, run) = match run {
            Some(mut run) => {
                run.go_on(request);
                (true, run)
            }
            None => (false, Run::of(request)),
        };
        let table = if is_stream { &mut self.streams } else { &mut self.begun };
        let (index, old) = table.put(run);
        if let Some(old) = old {
            if self.places.get(&old.place) == Some(&(is_stream, index)) {
                self.places.remove(&old.place);
            }
            self.end(&old);
        }
        // Two runs that meet go on as the newer one.
        self.places.insert(next, (is_stream, index));
    }

    fn end(&mut self, run: &Run) {
        self.found[run.place.1.index()].add(run);
        if run.requests >= SHORTEST_RUN {
            self.lasted.share(run.first_ns, run.last_ns, |bin, ns| bin.0 += ns);
        }
    }

    /// The streams of each direction, and the largest mean number of concurrent streams in a bin of the timeline.
    pub(crate) fn finish(mut self) -> ([Streams; 3], f64) {
        for table in [std::mem::take(&mut self.begun.slots), std::mem::take(&mut self.streams.slots)] {
            table.iter().flatten().for_each(|run| self.end(run));
        }
        let longest = self.lasted.bins().iter().map(|bin| bin.0).max().unwrap_or(0);
        (self.found, longest as f64 / self.lasted.width_ns() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(time_ns: u64, sector: u64) -> Request {
        let device = Device { major: 8, minor: 0 };
        Request { time_ns, device, direction: Direction::Read, sector, bytes: 4096, code: 0, process: 0 }
    }

    #[test]
    fn interleaved_streams_are_told_from_jumps() {
        let mut finder = StreamFinder::default();
        for step in 0..1000u64 {
            for stream in 0..3 {
                finder.add(&request(step * 1_000_000, stream * (1 << 30) + step * 8));
            }
            finder.add(&request(step * 1_000_000, (step * 7919 + 13) << 20));
        }
        let (found, most) = finder.finish();
        let reads = &found[0];
        assert_eq!((reads.sequential_requests, reads.sequential_runs), (3000, 3));
        assert!((most - 3.0).abs() < 0.1, "{most}");
        assert_eq!(reads.runs.iter().sum::<u64>(), 1003);
        assert_eq!(reads.sequential_bytes, 3000 * 4096);
    }

    #[test]
    fn a_slow_stream_survives_many_random_requests() {
        let mut finder = StreamFinder::default();
        for step in 0..100_000u64 {
            finder.add(&request(step, 1 << 40 | (step * 7919) << 10));
            if step % 2000 == 0 {
                finder.add(&request(step, step / 2000 * 8));
            }
        }
        assert_eq!(finder.finish().0[0].sequential_requests, 50);
    }

    proptest! {
        #[test]
        fn every_request_is_in_one_run(sectors in prop::collection::vec(0u64..400, 0..1500)) {
            let mut finder = StreamFinder::default();
            sectors.iter().enumerate().for_each(|(time, sector)| finder.add(&request(time as u64, sector * 8)));
            let (found, _) = finder.finish();
            let runs = &found[0].runs;
            let least: u64 = runs.iter().enumerate().map(|(class, count)| count << class).sum();
            let most: u64 = runs.iter().enumerate().map(|(class, count)| count * ((2 << class) - 1)).sum();
            prop_assert!((least..=most).contains(&(sectors.len() as u64)));
        }
    }
}
