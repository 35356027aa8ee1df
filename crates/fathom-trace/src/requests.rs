//! Follows requests from their arrival to their completion.
//!
//! A request may be merged with its neighbours, or split, before the device receives it, so events after the
//! arrival are assigned to requests by the sectors that they cover.

use crate::blktrace::{Event, SECTOR, TraceAction};
use crate::names::Device;
use fathom_stats::Direction;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Range;

/// Maximum number of requests in flight that are tracked. Without a limit, requests of traces without
/// completions would accumulate.
const MOST_IN_FLIGHT: usize = 1 << 17;

/// A request that a program or the kernel made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Arrival in ns on the clock of the trace.
    pub time_ns: u64,
    /// The device.
    pub device: Device,
    /// Direction; a flush without data is a write of 0 bytes.
    pub direction: Direction,
    /// First sector.
    pub sector: u64,
    /// Bytes from the start of that sector to the first byte; 0 except in recordings of files.
    pub skip: u16,
    /// Number of bytes; 0 for a flush.
    pub bytes: u32,
    /// Event code with its categories; see [`code`](mod@crate::blktrace::code).
    pub code: u32,
    /// The process that issued it.
    pub process: u32,
}

impl Request {
    /// Returns the sector after the last one.
    pub fn end(&self) -> u64 {
        self.sector.saturating_add((u64::from(self.skip) + u64::from(self.bytes)).div_ceil(SECTOR))
    }

    /// Returns the first byte.
    pub fn first_byte(&self) -> u64 {
        self.sector.saturating_mul(SECTOR).saturating_add(u64::from(self.skip))
    }

    /// Returns the byte after the last one.
    pub fn end_byte(&self) -> u64 {
        self.first_byte().saturating_add(u64::from(self.bytes))
    }

    /// True if its code has this category of [`code`](mod@crate::blktrace::code).
    pub fn is(&self, category: u32) -> bool {
        self.code & category != 0
    }
}

/// Arrival or completion of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It arrived.
    Arrived(Request),
    /// A request is complete.
    Completed {
        /// Number of requests that arrived before it.
        number: u64,
        /// The request.
        request: Request,
        /// Time at which the device received it, in ns; `None` if the trace does not contain it.
        issued_ns: Option<u64>,
        /// Time of the completion in ns.
        time_ns: u64,
        /// Error number; 0 for success.
        error: u16,
    },
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    number: u64,
    request: Request,
    /// End of the sectors that are not complete yet; their start is the key.
    end: u64,
    issued_ns: Option<u64>,
    /// End of the sectors that the device has received; the request was split if it is not `end`.
    issued_end: u64,
}

/// Follows the requests of a trace.
#[derive(Debug, Default)]
pub struct Follower {
    /// Requests by device and first sector that is not complete; the oldest is first.
    pending: BTreeMap<(Device, u64), Vec<Pending>>,
    in_flight: usize,
    /// Number of requests that arrived so far.
    arrived: u64,
    dropped: u64,
    has_completions: bool,
}

impl Follower {
    /// Takes the next event; calls `step` for each request that arrives or completes with this event.
    pub fn add(&mut self, event: &Event, mut step: impl FnMut(Step)) {
        match event.action {
            TraceAction::Queue => {
                if let Some(request) = arrival(event) {
                    step(Step::Arrived(request));
                    self.follow(request);
                }
            }
            TraceAction::Issue => self.mark(event, Some(event.time_ns)),
            TraceAction::Requeue => self.mark(event, None),
            TraceAction::Complete => {
                self.has_completions = true;
                self.complete(event, step);
            }
            TraceAction::BackMerge | TraceAction::FrontMerge | TraceAction::Note | TraceAction::Other => {}
        }
    }

    /// True if a request that is not complete begins within these sectors of a device.
    pub fn is_pending(&self, device: Device, sectors: Range<u64>) -> bool {
        self.pending.range((device, sectors.start)..(device, sectors.end)).next().is_some()
    }

    /// Returns the number of requests in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Returns the number of requests that arrived so far, which is the number of the next one.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// True once the trace has contained a completion.
    pub fn has_completions(&self) -> bool {
        self.has_completions
    }

    /// Returns the number of requests without a completion so far.
    pub fn incomplete(&self) -> u64 {
        self.dropped + self.in_flight as u64
    }

    fn follow(&mut self, request: Request) {
        if self.in_flight >= MOST_IN_FLIGHT
            && let Some((_, dropped)) = self.pending.pop_first()
        {
            self.in_flight -= dropped.len();
            self.dropped += dropped.len() as u64;
        }
        let pending =
            Pending { number: self.arrived, request, end: request.end(), issued_ns: None, issued_end: 0 };
        self.pending.entry((request.device, request.sector)).or_default().push(pending);
        self.arrived += 1;
        self.in_flight += 1;
    }

    /// Marks the requests that an event's sectors consist of as issued or not issued. Others may overlap them.
    fn mark(&mut self, event: &Event, issued_ns: Option<u64>) {
        let end = end_of(event).max(event.sector + 1);
        let mut place = event.sector;
        let before = self.pending.range_mut((event.device, 0)..(event.device, place)).next_back();
        if let Some(part) = before.and_then(|(_, all)| {
            all.iter_mut().find(|pending| pending.issued_end == place && pending.end >= end)
        }) {
            part.issued_end = end;
            return;
        }
        while place < end {
            let range = (event.device, place)..(event.device, end);
            let Some((&(_, start), all)) = self.pending.range_mut(range).next() else { return };
            let is_wanted = |pending: &Pending| {
                (pending.request.direction == event.direction || event.bytes == 0)
                    && pending.issued_ns.is_some() != issued_ns.is_some()
            };
            place = start + 1;
            if let Some(found) = nearest(all, end, is_wanted) {
                let pending = &mut all[found];
                pending.issued_ns = issued_ns;
                pending.issued_end = if issued_ns.is_some() { pending.end.min(end) } else { 0 };
                place = pending.end.max(place);
            }
        }
    }

    fn complete(&mut self, event: &Event, mut step: impl FnMut(Step)) {
        let end = end_of(event);
        let mut place = self.trim_before(event).unwrap_or(event.sector);
        if place >= end && end > event.sector {
            return;
        }
        loop {
            let range = (event.device, place)..=(event.device, end.max(place));
            let Some((&(_, start), all)) = self.pending.range_mut(range).next() else { return };
            // A flush has no sectors, so its end is compared only if the event has sectors.
            if start >= end && end > event.sector {
                return;
            }
            // What completes was issued, in a trace that says so.
            let found = nearest(all, end, |pending| is_of(pending, event) && pending.issued_ns.is_some())
                .or_else(|| nearest(all, end, |pending| is_of(pending, event)));
            let Some(found) = found else {
                place = start + 1;
                if place >= end {
                    return;
                }
                continue;
            };
            let pending = all.remove(found);
            if all.is_empty() {
                self.pending.remove(&(event.device, start));
            }
            if pending.end > end {
                // The request was split, so its remainder completes separately.
                self.pending.entry((event.device, end)).or_default().push(pending);
                return;
            }
            self.in_flight -= 1;
            step(Step::Completed {
                number: pending.number,
                request: pending.request,
                issued_ns: pending.issued_ns,
                time_ns: event.time_ns,
                error: event.error,
            });
            place = pending.end;
            if place >= end {
                return;
            }
        }
    }

    /// Removes a completed end of a split request, which may complete before the beginning. Returns the sector
    /// after it.
    fn trim_before(&mut self, event: &Event) -> Option<u64> {
        let (sector, end) = (event.sector, end_of(event));
        let is_whole = |pending: &Pending| pending.end == end && is_of(pending, event);
        let is_split = |pending: &Pending| {
            pending.end > sector && pending.end <= end && pending.request.direction == event.direction
        };
        let (&start, all) = self.pending.range((event.device, 0)..(event.device, sector)).next_back()?;
        let place = all.iter().position(is_split)?;
        if self.pending.get(&(event.device, sector)).is_some_and(|all| all.iter().any(is_whole)) {
            return None;
        }
        let split = self.pending.get_mut(&start)?.get_mut(place)?;
        Some(std::mem::replace(&mut split.end, sector))
    }
}

/// Returns the place of the oldest request that ends where an event does, or else of the oldest one before that, or
/// else of the oldest.
fn nearest(all: &[Pending], end: u64, is_wanted: impl Fn(&Pending) -> bool) -> Option<usize> {
    let wanted = all.iter().enumerate().filter(|(_, pending)| is_wanted(pending));
    let order = |pending: &Pending| match pending.end.cmp(&end) {
        Ordering::Equal => 0,
        Ordering::Less => 1,
        Ordering::Greater => 2,
    };
    wanted.min_by_key(|(place, pending)| (order(pending), *place)).map(|(place, _)| place)
}

fn is_of(pending: &Pending, event: &Event) -> bool {
    let is_flush = pending.request.bytes == 0;
    is_flush == (event.bytes == 0) && (is_flush || pending.request.direction == event.direction)
}

fn end_of(event: &Event) -> u64 {
    event.sector.saturating_add((u64::from(event.skip) + u64::from(event.bytes)).div_ceil(SECTOR))
}

/// Returns the request of a queue event; `None` for an event that neither moves data nor flushes.
fn arrival(event: &Event) -> Option<Request> {
    (event.bytes > 0 || event.flushes).then_some(Request {
        time_ns: event.time_ns,
        device: event.device,
        direction: event.direction,
        sector: event.sector,
        skip: event.skip,
        bytes: event.bytes,
        code: event.code & !0xffff,
        process: event.pid,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blktrace::code;
    use proptest::prelude::*;

    const DEVICE: Device = Device { major: 8, minor: 0 };

    fn event(code: u32, time_ns: u64, sector: u64, sectors: u32) -> Event {
        Event { time_ns, sector, bytes: sectors * 512, device: DEVICE, ..Event::of_code(code) }
    }

    /// Returns sector and end time of the requests that completed.
    fn completed(events: &[Event]) -> Vec<(u64, u64, Option<u64>)> {
        let (mut follower, mut all) = (Follower::default(), Vec::new());
        for event in events {
            follower.add(event, |step| {
                if let Step::Completed { request, issued_ns, time_ns, .. } = step {
                    all.push((request.sector, time_ns, issued_ns));
                }
            });
        }
        all
    }

    #[test]
    fn requests_that_are_merged_or_split_complete_once() {
        let (queue, issue, end) =
            (code::QUEUE | code::READ, code::ISSUE | code::READ, code::COMPLETE | code::READ);
        let merged =
            [event(queue, 1, 8, 8), event(queue, 2, 16, 8), event(issue, 3, 8, 16), event(end, 9, 8, 16)];
        assert_eq!(completed(&merged), [(8, 9, Some(3)), (16, 9, Some(3))]);
        for order in [[(0, 8), (8, 8)], [(8, 8), (0, 8)]] {
            let [first, last] = [(5, order[0]), (7, order[1])]
                .map(|(time, (sector, sectors))| event(end, time, sector, sectors));
            let split = [event(queue, 1, 0, 16), first, last];
            assert_eq!(completed(&split), [(0, 7, None)], "with its last part: {order:?}");
        }
        let twice = [event(queue, 1, 0, 8), event(queue, 2, 0, 8), event(end, 5, 0, 8), event(end, 7, 0, 8)];
        assert_eq!(completed(&twice), [(0, 5, None), (0, 7, None)], "the oldest first");
        let other = [event(code::QUEUE | code::WRITE, 1, 0, 8), event(end, 2, 0, 8)];
        assert_eq!(completed(&other), [], "of the other direction");
    }

    /// Two programs that read the same place at the same time, one of them in large pieces.
    #[test]
    fn requests_that_overlap_are_kept_apart() {
        let (queue, issue, end) =
            (code::QUEUE | code::READ, code::ISSUE | code::READ, code::COMPLETE | code::READ);
        let small_first = [
            event(queue, 1, 0, 64),
            event(queue, 2, 8, 8),
            event(issue, 3, 0, 64),
            event(end, 5, 0, 64),
            event(issue, 7, 8, 8),
            event(end, 9, 8, 8),
        ];
        assert_eq!(completed(&small_first), [(0, 5, Some(3)), (8, 9, Some(7))]);
        for parts in [[(0, 32), (32, 32)], [(32, 32), (0, 32)]] {
            let [first, last] = parts.map(|(sector, sectors)| event(end, 6, sector, sectors));
            let split = [
                event(queue, 1, 0, 64),
                event(queue, 2, 40, 8),
                event(issue, 3, 0, 32),
                event(issue, 4, 32, 32),
                first,
                last,
                event(issue, 7, 40, 8),
                event(end, 9, 40, 8),
            ];
            assert_eq!(completed(&split), [(0, 6, Some(3)), (40, 9, Some(7))], "{parts:?}");
        }
        let same_start = [
            event(queue, 1, 0, 64),
            event(queue, 2, 0, 8),
            event(issue, 3, 0, 8),
            event(end, 4, 0, 8),
            event(issue, 5, 0, 64),
            event(end, 6, 0, 64),
        ];
        assert_eq!(completed(&same_start), [(0, 4, Some(3)), (0, 6, Some(5))]);
        let twice = [
            event(queue, 1, 0, 8),
            event(queue, 2, 0, 8),
            event(issue, 3, 0, 8),
            event(end, 4, 0, 8),
            event(issue, 5, 0, 8),
            event(end, 6, 0, 8),
        ];
        assert_eq!(completed(&twice), [(0, 4, Some(3)), (0, 6, Some(5))]);
    }

    #[test]
    fn flushes_complete_and_requeued_requests_are_issued_again() {
        let flush = |action| event(action | code::FLUSH | code::WRITE, 1, 0, 0);
        assert_eq!(completed(&[flush(code::QUEUE), flush(code::COMPLETE)]), [(0, 1, None)]);
        let read = |action, time| event(action | code::READ, time, 0, 8);
        let requeued = [
            read(code::QUEUE, 1),
            read(code::ISSUE, 2),
            read(code::REQUEUE, 3),
            read(code::ISSUE, 4),
            read(code::COMPLETE, 5),
        ];
        assert_eq!(completed(&requeued), [(0, 5, Some(4))]);
    }

    proptest! {
        #[test]
        fn every_arrival_completes_at_most_once(all in prop::collection::vec((0usize..5, 0u64..64, 0u32..24), 0..300)) {
            let actions = [code::QUEUE, code::ISSUE, code::COMPLETE, code::REQUEUE, code::QUEUE | code::FLUSH];
            let (mut follower, mut arrived, mut done) = (Follower::default(), 0u64, 0u64);
            for (time, (action, sector, sectors)) in all.into_iter().enumerate() {
                let code = actions[action] | if sector % 2 == 0 { code::READ } else { code::WRITE };
                follower.add(&event(code, time as u64, sector, sectors), |step| match step {
                    Step::Arrived(_) => arrived += 1,
                    Step::Completed { .. } => done += 1,
                });
            }
            prop_assert_eq!(arrived, done + follower.incomplete());
        }
    }
}
