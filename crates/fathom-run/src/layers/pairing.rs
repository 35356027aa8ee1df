//! Pairs I/Os with the requests that they caused, by place and time.

use fathom_stats::Direction;
use fathom_stats::layers::Split;
use fathom_trace::Device;
use fathom_trace::blktrace::Event;
use fathom_trace::requests::{Follower, Request, Step};
use fathom_trace::side::Lost;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Range;

/// Difference that may exist between the worker's clock and the kernel's, ns.
const SLACK_NS: u64 = 20_000;
/// Completed requests are kept this long for I/Os that their worker reaps late, ns.
const KEPT_NS: u64 = 5_000_000_000;
/// Completed requests that are kept at most, and those of syncs.
const MOST_KEPT: usize = 1 << 19;
const MOST_OF_SYNCS: usize = 1 << 14;

/// An I/O of a worker.
#[derive(Clone, Debug)]
pub(super) struct Io {
    pub(super) device: Device,
    /// The worker's thread.
    pub(super) thread: u32,
    /// Its parts on the device: more than one if the file has several extents there.
    pub(super) sectors: Vec<Range<u64>>,
    pub(super) direction: Direction,
    /// Monotonic times in ns: its start, the return of the call that submitted it (`None` if the call completes it), and
    /// its end.
    pub(super) start_ns: u64,
    pub(super) submitted_ns: Option<u64>,
    pub(super) end_ns: u64,
    /// True if it bypasses the page cache, so that its requests begin after it does.
    pub(super) is_direct: bool,
    /// True if it cannot end without a request: no file system and no cache is in its way.
    pub(super) needs_request: bool,
    /// True if it is a write that ends when its data is on storage: flushes and the file system's journal follow it.
    pub(super) is_synced: bool,
}

/// A request that is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Done {
    end: u64,
    direction: Direction,
    queued_ns: u64,
    issued_ns: Option<u64>,
    done_ns: u64,
    /// The thread that made it.
    process: u32,
    /// True if the kernel queued it for the program after a delay, as its limits on groups do.
    was_held: bool,
}

/// The requests of a recording.
#[derive(Default)]
pub(super) struct Pairing {
    follower: Follower,
    /// Completed requests by device and first sector.
    done: BTreeMap<(Device, u64), Vec<Done>>,
    kept: usize,
    /// Length of the longest request so far, in sectors.
    longest: u64,
    /// Threads of the kernel that queue the requests of others.
    helpers: HashSet<u32>,
    /// The threads of the workers.
    workers: HashSet<u32>,
    /// Flushes and writes that no worker made, in the order of their completion.
    of_syncs: VecDeque<(Device, Done)>,
    /// Times in which events are missing.
    gaps: Vec<Lost>,
    requests: u64,
}

impl Pairing {
    /// Notes the name of a process that queues requests.
    pub(super) fn name(&mut self, pid: u32, name: &[u8]) {
        match name.starts_with(b"kworker") {
            true => self.helpers.insert(pid),
            false => self.helpers.remove(&pid),
        };
    }

    /// Notes the thread of a worker.
    pub(super) fn worker(&mut self, thread: u32) {
        self.workers.insert(thread);
    }

    /// Notes missing events. Requests that are in flight may have completed among them.
    pub(super) fn lose(&mut self, gap: Lost) {
        self.gaps.push(gap);
        self.follower = Follower::default();
    }

    /// Takes the next event.
    pub(super) fn take(&mut self, event: &Event) {
        let (mut completed, mut arrived) = (Vec::new(), 0);
        self.follower.add(event, |step| match step {
            Step::Arrived(_) => arrived += 1,
            Step::Completed { request, issued_ns, time_ns, .. } => {
                completed.push((request, issued_ns, time_ns));
            }
        });
        self.requests += arrived;
        for (request, issued_ns, done_ns) in completed {
            self.keep(&request, issued_ns, done_ns);
        }
    }

    fn keep(&mut self, request: &Request, issued_ns: Option<u64>, done_ns: u64) {
        if self.kept >= MOST_KEPT {
            self.done.clear();
            self.kept = 0;
        }
        let done = Done {
            end: request.end(),
            direction: request.direction,
            queued_ns: request.time_ns,
            issued_ns,
            done_ns,
            process: request.process,
            was_held: self.helpers.contains(&request.process),
        };
        if request.direction == Direction::Write
            && (request.bytes == 0 || !self.workers.contains(&request.process))
        {
            if self.of_syncs.len() >= MOST_OF_SYNCS {
                self.of_syncs.pop_front();
            }
            self.of_syncs.push_back((request.device, done));
        }
        self.longest = self.longest.max(done.end - request.sector);
        self.kept += 1;
        self.done.entry((request.device, request.sector)).or_default().push(done);
    }

    /// Number of requests that have arrived.
    pub(super) fn requests(&self) -> u64 {
        self.requests
    }

    /// Drops requests that no I/O will claim any more.
    pub(super) fn expire(&mut self, now_ns: u64) {
        let oldest = now_ns.saturating_sub(KEPT_NS);
        self.done.retain(|_, list| {
            list.retain(|done| done.done_ns >= oldest);
            !list.is_empty()
        });
        self.kept = self.done.values().map(Vec::len).sum();
        self.of_syncs.retain(|(_, done)| done.done_ns >= oldest);
        self.gaps.retain(|gap| gap.before_ns >= oldest);
    }

    /// The layers of an I/O that has ended; `None` if they are unknown.
    pub(super) fn split(&mut self, io: &Io) -> Option<Split> {
        if self.gaps.iter().any(|gap| gap.after_ns <= io.end_ns && gap.before_ns >= io.start_ns) {
            return None;
        }
        let mut own = Vec::new();
        let mut is_unsure = io.needs_request;
        for sectors in &io.sectors {
            let mut found = self.of_io(io, sectors);
            // A request from before a direct I/O or a write is another one's, or followed wrongly.
            if io.is_direct || io.direction != Direction::Read {
                let before = found.len();
                found.retain(|(_, done)| done.queued_ns + SLACK_NS >= io.start_ns);
                is_unsure |= found.len() < before;
            }
            match io.is_direct {
                true => self.claim(io.device, sectors, found, &mut own),
                false => own.extend(found.into_iter().map(|(_, done)| done)),
            }
            is_unsure |= self.follower.is_pending(io.device, sectors.clone());
        }
        let first = own.iter().min_by_key(|done| done.queued_ns);
        let last = own.iter().max_by_key(|done| done.done_ns);
        match (first, last) {
            (Some(first), Some(last)) => {
                let mut split = parts(io, first, last);
                if io.is_synced {
                    self.divide_sync(io, last.done_ns, &mut split);
                }
                Some(split)
            }
            _ if is_unsure => None,
            _ => Some(Split::above(io.end_ns.saturating_sub(io.start_ns))),
        }
    }

    /// The completed requests within sectors that an I/O may have made, the first to be queued first, each with its first
    /// sector.
    fn of_io(&self, io: &Io, sectors: &Range<u64>) -> Vec<(u64, Done)> {
        let begin = sectors.start.saturating_sub(self.longest);
        let near = self.done.range((io.device, begin)..(io.device, sectors.end));
        let all = near.flat_map(|(&(_, sector), list)| list.iter().map(move |done| (sector, *done)));
        let is_of_other = |done: &Done| done.process != io.thread && self.workers.contains(&done.process);
        let mut found: Vec<_> = all
            .filter(|(_, done)| done.end > sectors.start && may_be_of(done, io))
            .filter(|(_, done)| !io.is_direct || !is_of_other(done))
            .collect();
        found.sort_by_key(|(_, done)| done.queued_ns);
        found
    }

    /// Takes the requests of a direct I/O, which no other one shares: of those found, the oldest that cover its sectors.
    fn claim(&mut self, device: Device, sectors: &Range<u64>, found: Vec<(u64, Done)>, own: &mut Vec<Done>) {
        let mut missing = vec![sectors.clone()];
        for (sector, done) in found {
            if !subtract(&mut missing, &(sector..done.end)) {
                continue;
            }
            own.push(done);
            // A request that reaches beyond the I/O belongs to its neighbours as well.
            if sector >= sectors.start && done.end <= sectors.end {
                self.release((device, sector), &done);
            }
        }
    }

    /// Divides the time after the data of a synced write: requests of the file system and flushes, what is between
    /// them, and the rest.
    fn divide_sync(&self, io: &Io, data_ns: u64, split: &mut Split) {
        let [above, queue, device, completion] = &mut split.layers;
        let mut at = io.end_ns - *completion;
        for (_, done) in self.of_syncs.iter().filter(|(of, _)| *of == io.device) {
            if done.done_ns <= at || done.done_ns > io.end_ns || done.queued_ns < data_ns.min(at) {
                continue;
            }
            let queued = done.queued_ns.max(at);
            let issued = done.issued_ns.unwrap_or(queued).clamp(queued, done.done_ns);
            *above += queued - at;
            *queue += issued - queued;
            *device += done.done_ns - issued;
            *completion -= done.done_ns - at;
            at = done.done_ns;
        }
    }

    /// Drops a request that an I/O has claimed.
    fn release(&mut self, key: (Device, u64), done: &Done) {
        let Some(list) = self.done.get_mut(&key) else { return };
        if let Some(place) = list.iter().position(|other| other == done) {
            list.remove(place);
            self.kept -= 1;
        }
        if list.is_empty() {
            self.done.remove(&key);
        }
    }
}

/// Removes a range from others; true if a part of it was there.
fn subtract(ranges: &mut Vec<Range<u64>>, removed: &Range<u64>) -> bool {
    let before = std::mem::take(ranges);
    let mut is_hit = false;
    for range in before {
        if range.end <= removed.start || removed.end <= range.start {
            ranges.push(range);
            continue;
        }
        is_hit = true;
        let rests = [range.start..removed.start, removed.end..range.end];
        ranges.extend(rests.into_iter().filter(|rest| rest.start < rest.end));
    }
    is_hit
}

/// True if a request was under way while the I/O was.
fn may_be_of(done: &Done, io: &Io) -> bool {
    done.direction == io.direction
        && done.done_ns + SLACK_NS >= io.start_ns
        && done.queued_ns <= io.end_ns + SLACK_NS
}

/// The layers of an I/O whose first request to be queued and last one to complete are these.
fn parts(io: &Io, first: &Done, last: &Done) -> Split {
    // The order of these instants is that of the layers, and clocks may disagree a little.
    let within = |ns: u64, earliest: u64| ns.clamp(earliest, io.end_ns.max(earliest));
    // Limits hold an I/O back before it becomes a request: it has been waiting since it was submitted.
    let entered = match first.was_held {
        true => io.submitted_ns.unwrap_or(io.start_ns).min(first.queued_ns),
        false => first.queued_ns,
    };
    let entered = within(entered, io.start_ns);
    let issued = within(last.issued_ns.unwrap_or(last.queued_ns), entered);
    let done = within(last.done_ns, issued);
    Split {
        layers: [entered - io.start_ns, issued - entered, done - issued, io.end_ns.saturating_sub(done)],
        has_request: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_record::Sample;
    use fathom_trace::blktrace::code;
    use proptest::prelude::*;

    const DEVICE: Device = Device { major: 8, minor: 0 };
    const WORKER: u32 = 77;

    fn event(code: u32, time_ns: u64, sector: u64, sectors: u32) -> Event {
        Event { time_ns, sector, bytes: sectors * 512, device: DEVICE, pid: WORKER, ..Event::of_code(code) }
    }

    fn read(start_ns: u64, end_ns: u64, sectors: Range<u64>) -> Io {
        Io {
            device: DEVICE,
            thread: WORKER,
            sectors: vec![sectors],
            direction: Direction::Read,
            start_ns,
            submitted_ns: None,
            end_ns,
            is_direct: true,
            needs_request: false,
            is_synced: false,
        }
    }

    fn paired(events: &[(u32, u64, u64, u32)], io: &Io) -> Option<[u64; 4]> {
        let mut pairing = Pairing::default();
        pairing.name(3, b"kworker/0:1");
        for &(action, time, sector, sectors) in events {
            pairing.take(&event(action | code::READ, time, sector, sectors));
        }
        pairing.split(io).map(|split| split.layers)
    }

    #[test]
    fn the_parts_of_a_request_are_those_of_its_io() {
        const US: u64 = 1000;
        let request =
            [(code::QUEUE, 100 * US, 8, 8), (code::ISSUE, 130 * US, 8, 8), (code::COMPLETE, 190 * US, 8, 8)];
        let io = read(60 * US, 200 * US, 8..16);
        assert_eq!(paired(&request, &io), Some([40 * US, 30 * US, 60 * US, 10 * US]));
        // A device without a queue issues nothing.
        let bio = [request[0], request[2]];
        assert_eq!(paired(&bio, &io), Some([40 * US, 0, 90 * US, 10 * US]));
        assert_eq!(
            paired(&request, &read(60 * US, 200 * US, 16..24)),
            Some([140 * US, 0, 0, 0]),
            "elsewhere"
        );
        assert_eq!(paired(&request[..2], &io), None, "it is still under way");
        assert_eq!(paired(&request, &read(150 * US, 200 * US, 8..16)), None, "it began before the I/O");
        let cached = Io { is_direct: false, ..read(150 * US, 200 * US, 8..16) };
        assert_eq!(paired(&request, &cached), Some([0, 0, 40 * US, 10 * US]), "a read ahead");
        // An I/O ends with its last request.
        let halves = [
            (code::QUEUE, 100 * US, 8, 4),
            (code::QUEUE, 105 * US, 12, 4),
            (code::ISSUE, 110 * US, 8, 4),
            (code::ISSUE, 120 * US, 12, 4),
            (code::COMPLETE, 150 * US, 12, 4),
            (code::COMPLETE, 180 * US, 8, 4),
        ];
        assert_eq!(paired(&halves, &io), Some([40 * US, 10 * US, 70 * US, 20 * US]));
    }

    #[test]
    fn direct_ios_in_the_same_place_have_a_request_each() {
        const US: u64 = 1000;
        const OTHER: u32 = 78;
        let mut pairing = Pairing::default();
        [WORKER, OTHER].into_iter().for_each(|thread| pairing.worker(thread));
        let mut take = |action: u32, us: u64, sector: u64, sectors: u32, pid: u32| {
            pairing.take(&Event { pid, ..event(action | code::READ, us * US, sector, sectors) });
        };
        // Another worker's small read in the middle of two equal ones, and it waits the longest.
        take(code::QUEUE, 100, 0, 64, WORKER);
        take(code::QUEUE, 110, 8, 8, OTHER);
        take(code::QUEUE, 200, 0, 64, WORKER);
        take(code::ISSUE, 101, 0, 64, WORKER);
        take(code::ISSUE, 201, 0, 64, WORKER);
        take(code::COMPLETE, 150, 0, 64, 0);
        take(code::COMPLETE, 260, 0, 64, 0);
        take(code::ISSUE, 900, 8, 8, OTHER);
        take(code::COMPLETE, 950, 8, 8, 0);
        let mut layers = |io: Io| pairing.split(&io).map(|split| split.layers.map(|ns| ns / US));
        assert_eq!(layers(read(100 * US, 150 * US, 0..64)), Some([0, 1, 49, 0]));
        assert_eq!(layers(read(200 * US, 260 * US, 0..64)), Some([0, 1, 59, 0]));
        let other = Io { thread: OTHER, ..read(110 * US, 950 * US, 8..16) };
        assert_eq!(layers(other.clone()), Some([0, 790, 50, 0]));
        // Each request is claimed once: another I/O like it may have been served by a cache, but not on a device.
        assert_eq!(layers(other.clone()), Some([840, 0, 0, 0]));
        assert_eq!(layers(Io { needs_request: true, ..other }), None);
    }

    #[test]
    fn a_request_that_the_kernel_held_back_has_waited_since_its_submission() {
        let mut pairing = Pairing::default();
        pairing.name(3, b"kworker/0:1");
        for (action, time, pid) in
            [(code::QUEUE, 900_000, 3), (code::ISSUE, 900_100, 3), (code::COMPLETE, 950_000, 0)]
        {
            pairing.take(&Event { pid, ..event(action | code::READ, time, 0, 8) });
        }
        let io = Io { submitted_ns: Some(110_000), ..read(100_000, 960_000, 0..8) };
        let split = pairing.split(&io).expect("known");
        assert_eq!(split.layers, [10_000, 790_100, 49_900, 10_000]);
    }

    #[test]
    fn flushes_and_the_journal_belong_to_a_synced_write() {
        let mut pairing = Pairing::default();
        pairing.worker(WORKER);
        let write = |action, time, sector, sectors, pid| Event {
            pid,
            flushes: sectors == 0,
            ..event(action | code::WRITE, time, sector, sectors)
        };
        let journal = 4;
        for taken in [
            write(code::QUEUE, 110_000, 0, 8, WORKER),
            write(code::ISSUE, 120_000, 0, 8, WORKER),
            write(code::COMPLETE, 200_000, 0, 8, 0),
            // Another worker's write is its own.
            write(code::QUEUE, 210_000, 800, 8, WORKER),
            write(code::COMPLETE, 290_000, 800, 8, 0),
            write(code::QUEUE, 230_000, 64, 8, journal),
            write(code::ISSUE, 240_000, 64, 8, journal),
            write(code::COMPLETE, 300_000, 64, 8, 0),
            write(code::QUEUE | code::FLUSH, 310_000, 0, 0, journal),
            write(code::COMPLETE | code::FLUSH, 400_000, 0, 0, 0),
        ] {
            pairing.take(&taken);
        }
        let io = Io { direction: Direction::Write, is_synced: true, ..read(100_000, 420_000, 0..8) };
        let split = pairing.split(&io).expect("known");
        assert_eq!(
            split.layers,
            [10_000 + 30_000 + 10_000, 10_000 + 10_000, 80_000 + 60_000 + 90_000, 20_000]
        );
    }

    #[test]
    fn among_missing_events_nothing_is_known() {
        let mut pairing = Pairing::default();
        pairing.lose(Lost { cpu: 0, events: Some(3), after_ns: 100, before_ns: 200 });
        assert_eq!(pairing.split(&read(150, 180, 0..8)), None);
        assert_eq!(pairing.split(&read(50, 300, 0..8)), None);
        assert!(pairing.split(&read(201, 300, 0..8)).is_some());
        pairing.expire(KEPT_NS + 1000);
        assert!(pairing.split(&read(150, 180, 0..8)).is_some());
    }

    proptest! {
        #[test]
        fn the_parts_add_up_whatever_the_clocks_say(
            times in prop::array::uniform3(0u64..300_000),
            start in 0u64..200_000,
            length in 0u64..200_000,
            is_direct in any::<bool>(),
        ) {
            let mut times = times;
            times.sort_unstable();
            let mut pairing = Pairing::default();
            for (action, time) in [code::QUEUE, code::ISSUE, code::COMPLETE].into_iter().zip(times) {
                pairing.take(&event(action | code::READ, time, 0, 8));
            }
            let io = Io { is_direct, ..read(start, start + length, 0..8) };
            if let Some(split) = pairing.split(&io) {
                prop_assert_eq!(split.total(), length);
            }
        }

        #[test]
        fn a_sample_holds_its_share_of_all_regions(shift in 0u32..8) {
            let sample = Sample { region: 11, shift };
            let held = (0..1024u64).filter(|region| sample.holds(&(region * 2048..region * 2048 + 8))).count();
            prop_assert_eq!(held, 1024 >> shift);
            prop_assert_eq!(sample.holds(&(2040..2056)), shift == 0);
        }
    }
}
