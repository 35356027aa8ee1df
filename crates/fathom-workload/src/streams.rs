//! Sequential streams: requests that begin where an earlier one of the same direction ended. Many streams may be interleaved.
//!
//! Whether a request is part of a stream is known once its run has [`SHORTEST_RUN`] requests, or has ended before.

use crate::timeline::{Bin, Timeline};
use fathom_stats::Direction;
use fathom_trace::Device;
use fathom_trace::requests::Request;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Maximum number of streams tracked together.
const FOLLOWED: usize = 256;
/// Maximum number of requests remembered as possible starts of streams.
const BEGUN: usize = 8192;
/// Requests of a stream may arrive in another order: a run that began at most this long ago is joined to the one that ends where it
/// begins, ns.
const REORDERED: u64 = 10_000_000;
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

/// The byte where a stream goes on.
type Place = (Device, Direction, u64);

#[derive(Clone, Copy, Debug)]
struct Run {
    start: u64,
    place: Place,
    requests: u64,
    bytes: u64,
    first_ns: u64,
    last_ns: u64,
    /// Its first requests, while it is too short for a stream.
    first: [Request; SHORTEST_RUN as usize - 1],
    /// It went on since the hand of its table passed it.
    is_recent: bool,
}

impl Run {
    fn of(request: &Request) -> Run {
        Run {
            start: request.first_byte(),
            place: (request.device, request.direction, request.end_byte()),
            requests: 1,
            bytes: u64::from(request.bytes),
            first_ns: request.time_ns,
            last_ns: request.time_ns,
            first: [*request; SHORTEST_RUN as usize - 1],
            is_recent: false,
        }
    }

    fn go_on(&mut self, request: &Request, mut found: impl FnMut(&Request, bool)) {
        if let Some(early) = self.first.get_mut(self.requests as usize) {
            *early = *request;
        } else {
            if self.requests + 1 == SHORTEST_RUN {
                self.first.iter().for_each(|early| found(early, true));
            }
            found(request, true);
        }
        self.place.2 = request.end_byte();
        self.requests += 1;
        self.bytes += u64::from(request.bytes);
        self.last_ns = self.last_ns.max(request.time_ns);
        self.is_recent = true;
    }

    /// The requests that are not known to be part of a stream yet.
    fn early(&self) -> &[Request] {
        match self.requests < SHORTEST_RUN {
            true => &self.first[..self.requests as usize],
            false => &[],
        }
    }

    /// Adds the run that begins where this one ends.
    fn join(&mut self, after: &Run, mut found: impl FnMut(&Request, bool)) {
        let requests = self.requests + after.requests;
        if requests >= SHORTEST_RUN {
            self.early().iter().chain(after.early()).for_each(|early| found(early, true));
        } else {
            let own = self.requests as usize;
            self.first[own..requests as usize].copy_from_slice(after.early());
        }
        self.place = after.place;
        self.requests = requests;
        self.bytes += after.bytes;
        self.first_ns = self.first_ns.min(after.first_ns);
        self.last_ns = self.last_ns.max(after.last_ns);
        self.is_recent = true;
    }

    fn start(&self) -> Place {
        (self.place.0, self.place.1, self.start)
    }
}

/// Runs, of which the one that has not gone on for longest makes room for a new one (the clock algorithm).
#[derive(Debug)]
struct Table {
    slots: Vec<Option<Run>>,
    /// Slots without a run.
    free: Vec<usize>,
    hand: usize,
    most: usize,
}

impl Table {
    fn new(most: usize) -> Table {
        Table { slots: Vec::new(), free: Vec::new(), hand: 0, most }
    }

    /// Takes the run out of a slot, which is the next to be used.
    fn take(&mut self, index: usize) -> Run {
        self.free.push(index);
        self.slots[index].take().expect("places and starts lead to runs")
    }

    /// The slot of a new run, and the run that was there.
    fn put(&mut self, run: Run) -> (usize, Option<Run>) {
        if let Some(index) = self.free.pop() {
            self.slots[index] = Some(run);
            return (index, None);
        }
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
    /// Where each run began.
    starts: HashMap<Place, (bool, usize)>,
    found: [Streams; 3],
    lasted: Timeline<Lasted>,
}

impl Default for StreamFinder {
    fn default() -> StreamFinder {
        StreamFinder {
            begun: Table::new(BEGUN),
            streams: Table::new(FOLLOWED),
            places: HashMap::new(),
            starts: HashMap::new(),
            found: Default::default(),
            lasted: Timeline::default(),
        }
    }
}

impl StreamFinder {
    /// Takes the next request. `found` gets each request once, here or in [`StreamFinder::finish`], and whether it is part of a stream.
    pub(crate) fn add(&mut self, request: &Request, mut found: impl FnMut(&Request, bool)) {
        if self.begun.slots.is_empty() {
            // Streams end in any order, and none began before this request.
            self.lasted.at(request.time_ns);
        }
        let run = match self.places.remove(&(request.device, request.direction, request.first_byte())) {
            Some(place) => {
                let mut run = self.take(place);
                run.go_on(request, &mut found);
                run
            }
            None => Run::of(request),
        };
        self.put(run, request.time_ns, found);
    }

    /// Puts a run into its table, joined with the one that begins where it ends, if that began just before.
    fn put(&mut self, mut run: Run, now_ns: u64, mut found: impl FnMut(&Request, bool)) {
        let after = self.starts.get(&run.place).copied();
        let after = after.filter(|place| {
            let begun = self.table(place.0).slots[place.1].map_or(0, |after| after.first_ns);
            now_ns.saturating_sub(begun) <= REORDERED
        });
        if let Some(place) = after {
            let after = self.take(place);
            self.places.remove(&after.place);
            run.join(&after, &mut found);
        }
        let is_stream = run.requests > 1;
        let (index, old) = self.table(is_stream).put(run);
        if let Some(old) = old {
            self.forget(&old, (is_stream, index));
            self.end(&old, &mut found);
        }
        // Two runs that meet go on as the newer one.
        self.places.insert(run.place, (is_stream, index));
        self.starts.insert(run.start(), (is_stream, index));
    }

    fn table(&mut self, is_stream: bool) -> &mut Table {
        if is_stream { &mut self.streams } else { &mut self.begun }
    }

    /// Takes a run out of its slot.
    fn take(&mut self, place: (bool, usize)) -> Run {
        let run = self.table(place.0).take(place.1);
        self.forget(&run, place);
        run
    }

    /// Removes what leads to a run in this slot.
    fn forget(&mut self, run: &Run, place: (bool, usize)) {
        for (map, key) in [(&mut self.places, run.place), (&mut self.starts, run.start())] {
            if map.get(&key) == Some(&place) {
                map.remove(&key);
            }
        }
    }

    fn end(&mut self, run: &Run, mut found: impl FnMut(&Request, bool)) {
        self.found[run.place.1.index()].add(run);
        if run.requests >= SHORTEST_RUN {
            self.lasted.share(run.first_ns, run.last_ns, |bin, ns| bin.0 += ns);
        }
        run.early().iter().for_each(|request| found(request, false));
    }

    /// The streams of each direction, and the largest mean number of concurrent streams in a bin of the timeline.
    pub(crate) fn finish(mut self, mut found: impl FnMut(&Request, bool)) -> ([Streams; 3], f64) {
        for table in [std::mem::take(&mut self.begun.slots), std::mem::take(&mut self.streams.slots)] {
            table.iter().flatten().for_each(|run| self.end(run, &mut found));
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
        Request {
            time_ns,
            device,
            direction: Direction::Read,
            sector,
            skip: 0,
            bytes: 4096,
            code: 0,
            process: 0,
        }
    }

    #[test]
    fn interleaved_streams_are_told_from_jumps() {
        let mut finder = StreamFinder::default();
        for step in 0..1000u64 {
            for stream in 0..3 {
                finder.add(&request(step * 1_000_000, stream * (1 << 30) + step * 8), |_, _| {});
            }
            finder.add(&request(step * 1_000_000, (step * 7919 + 13) << 20), |_, _| {});
        }
        let (found, most) = finder.finish(|_, _| {});
        let reads = &found[0];
        assert_eq!((reads.sequential_requests, reads.sequential_runs), (3000, 3));
        assert!((most - 3.0).abs() < 0.1, "{most}");
        assert_eq!(reads.runs.iter().sum::<u64>(), 1003);
        assert_eq!(reads.sequential_bytes, 3000 * 4096);
    }

    #[test]
    fn a_stream_whose_requests_change_places_is_one_run() {
        let mut finder = StreamFinder::default();
        for step in 0..1000u64 {
            // Each two come the other way round.
            finder.add(&request(step * 100_000, (step ^ 1) * 8), |_, _| {});
        }
        let reads = &finder.finish(|_, _| {}).0[0];
        assert_eq!((reads.sequential_requests, reads.sequential_runs), (1000, 1));
    }

    #[test]
    fn a_slow_stream_survives_many_random_requests() {
        let mut finder = StreamFinder::default();
        for step in 0..100_000u64 {
            finder.add(&request(step, 1 << 40 | (step * 7919) << 10), |_, _| {});
            if step % 2000 == 0 {
                finder.add(&request(step, step / 2000 * 8), |_, _| {});
            }
        }
        assert_eq!(finder.finish(|_, _| {}).0[0].sequential_requests, 50);
    }

    /// Calls of programs have any length: lines of a log, records of 97 bytes.
    #[test]
    fn a_stream_of_odd_lengths_is_followed_by_its_bytes() {
        let mut finder = StreamFinder::default();
        let (mut place, mut streams) = (0u64, 0);
        for number in 0..1000u32 {
            let bytes = 1 + number * 7919 % 700;
            let base = request(u64::from(number), place / 512);
            let request = Request { skip: (place % 512) as u16, bytes, direction: Direction::Write, ..base };
            assert_eq!((request.first_byte(), request.end_byte()), (place, place + u64::from(bytes)));
            finder.add(&request, |_, is_stream| streams += u32::from(is_stream));
            // Reads at random in the same sectors do not disturb it.
            finder.add(&self::request(u64::from(number), place / 512 * 7919 % 100_000), |_, _| {});
            place += u64::from(bytes);
        }
        let (found, _) = finder.finish(|_, _| {});
        assert_eq!((streams, found[Direction::Write.index()].sequential_runs), (1000, 1));
        assert_eq!(found[Direction::Write.index()].sequential_bytes, place);
    }

    proptest! {
        #[test]
        fn every_request_is_in_one_run(sectors in prop::collection::vec(0u64..400, 0..1500)) {
                        let mut finder = StreamFinder::default();
            let mut classified = Vec::new();
            for (time, sector) in sectors.iter().enumerate() {
                finder.add(&request(time as u64, sector * 8), |request, is_stream| classified.push((request.time_ns, is_stream)));
            }
            let (found, _) = finder.finish(|request, is_stream| classified.push((request.time_ns, is_stream)));
            let in_streams = classified.iter().filter(|(_, is_stream)| *is_stream).count();
            prop_assert_eq!(in_streams as u64, found[0].sequential_requests);
            classified.sort_unstable();
            prop_assert!(classified.iter().map(|(time, _)| *time).eq(0..sectors.len() as u64), "each one once");
            let runs = &found[0].runs;
            let least: u64 = runs.iter().enumerate().map(|(class, count)| count << class).sum();
            let most: u64 = runs.iter().enumerate().map(|(class, count)| count * ((2 << class) - 1)).sum();
            prop_assert!((least..=most).contains(&(sectors.len() as u64)));
        }
    }
}
