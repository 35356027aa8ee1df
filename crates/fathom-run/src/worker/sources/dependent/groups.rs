//! Decides which entries of a log may be issued, and when they are due, if dependencies are kept. Entries of a
//! group are issued in their order, each after the I/Os it depends on; groups do not wait for each other.

use crate::invariant::holds;
use fathom_sys::clock::Clock;
use fathom_trace::Entry;
use fathom_trace::dependencies::{Dependent, Start};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

/// Number of issued requests to remember until an entry waits for them. Nothing waits for requests whose
/// completion the trace lacks, so without a limit they would accumulate.
const MOST_REMEMBERED: usize = 1 << 17;

/// The entries that have been read and not issued, by group.
pub(super) struct Groups {
    clock: Clock,
    /// Tick at which the replay began.
    start: u64,
    groups: Vec<Group>,
    /// Groups whose first entry waits for nothing but its time: due tick, number of the entry, group.
    offered: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// Requests that were issued, until an entry has waited for them.
    issued: HashMap<u64, Issued>,
    /// Number of entries so far.
    added: u64,
    /// Number of entries that wait to be drawn.
    waiting: usize,
    /// Number of entries in flight.
    in_flight: usize,
}

/// One process of the trace.
#[derive(Default)]
struct Group {
    queue: VecDeque<Waiting>,
    /// Number of requests that the first entry depends on and that have completed.
    awaited: usize,
    /// Tick of the latest completion of all requests that an entry has waited for.
    end: u64,
    /// Tick at which the previous entry was issued.
    issue: u64,
    /// Number of the last request that was issued.
    request: Option<u64>,
    /// Files of the entries in flight.
    in_flight: Vec<u32>,
    /// True while a sync is in flight.
    behind_sync: bool,
    /// True from when the first entry waits for nothing but its time, until it is issued.
    is_offered: bool,
}

struct Waiting {
    item: Dependent,
    number: u64,
}

#[derive(Clone, Copy)]
struct Issued {
    group: u32,
    /// Tick of the completion; `None` while it is in flight.
    end: Option<u64>,
}

/// An entry that is due.
#[derive(Clone, Copy)]
pub(super) struct Drawn {
    pub(super) entry: Entry,
    pub(super) due: u64,
    group: u32,
    request: Option<u64>,
    depth: u32,
}

impl Groups {
    pub(super) fn new(clock: Clock, start: u64) -> Groups {
        Groups {
            clock,
            start,
            groups: Vec::new(),
            offered: BinaryHeap::new(),
            issued: HashMap::new(),
            added: 0,
            waiting: 0,
            in_flight: 0,
        }
    }

    /// Adds the next entry of the log.
    pub(super) fn add(&mut self, item: Dependent) {
        let group = item.group;
        if self.groups.len() <= group as usize {
            self.groups.resize_with(group as usize + 1, Group::default);
        }
        let number = self.added;
        self.groups[group as usize].queue.push_back(Waiting { item, number });
        self.added += 1;
        self.waiting += 1;
        self.offer(group);
    }

    /// Number of entries that wait to be drawn.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// The earliest tick at which an entry is due; `None` if all wait for I/Os in flight.
    pub(super) fn due(&self) -> Option<u64> {
        let due = self.offered.peek().map(|Reverse((due, ..))| *due);
        let can_go_on = due.is_some() || self.waiting == 0 || self.in_flight > 0;
        holds!(can_go_on, Dependency, "entries wait, but nothing is in flight");
        due
    }

    /// Takes the entry that is due first.
    pub(super) fn draw(&mut self) -> Option<Drawn> {
        let Reverse((due, _, number)) = self.offered.pop()?;
        let group = &mut self.groups[number as usize];
        let Dependent { entry, group: number, request, depth, .. } = group.queue.pop_front()?.item;
        group.awaited = 0;
        self.waiting -= 1;
        Some(Drawn { entry, due, group: number, request, depth })
    }

    /// Records that a drawn entry is issued now.
    pub(super) fn began(&mut self, drawn: &Drawn, now: u64) {
        let group = &mut self.groups[drawn.group as usize];
        let (depth, most, request) = (group.in_flight.len(), drawn.depth, drawn.request);
        holds!(
            depth < most as usize && !group.behind_sync,
            Dependency,
            "{depth} are in flight when one is issued that had at most {most} with it"
        );
        group.in_flight.push(drawn.entry.file);
        group.issue = now;
        group.is_offered = false;
        group.behind_sync = drawn.entry.action.is_sync();
        if let Some(request) = request {
            let last = group.request.replace(request);
            let (is_next, number) = (last < Some(request), drawn.group);
            holds!(is_next, Dependency, "request {request} of group {number} is issued after {last:?}");
            self.remember(drawn.group, request);
        }
        self.in_flight += 1;
        self.offer(drawn.group);
    }

    /// Records that an entry completed at this tick.
    pub(super) fn ended(&mut self, drawn: &Drawn, now: u64) {
        let group = &mut self.groups[drawn.group as usize];
        let place = group.in_flight.iter().position(|file| *file == drawn.entry.file);
        holds!(place.is_some(), Dependency, "an entry of no group ends");
        if let Some(place) = place {
            group.in_flight.swap_remove(place);
        }
        if drawn.entry.action.is_sync() {
            group.behind_sync = false;
        }
        if let Some(issued) = drawn.request.and_then(|request| self.issued.get_mut(&request)) {
            issued.end = Some(now);
        }
        self.in_flight -= 1;
        self.offer(drawn.group);
    }

    /// Determines when the first entry of a group is due, unless it waits for an I/O in flight.
    fn offer(&mut self, number: u32) {
        let Groups { clock, start, groups, offered, issued, .. } = self;
        let group = &mut groups[number as usize];
        if group.is_offered || group.behind_sync {
            return;
        }
        let Some(Waiting { item, number: order }) = group.queue.front() else { return };
        while let Some(request) = item.awaits.get(group.awaited) {
            match issued.get(request) {
                Some(Issued { end: None, .. }) => return,
                Some(Issued { end: Some(end), .. }) => {
                    group.end = group.end.max(*end);
                    issued.remove(request);
                }
                // It was forgotten, and its group took over its end.
                None => {}
            }
            group.awaited += 1;
        }
        // A sync covers what was completed before it.
        if item.entry.action.is_sync() && group.in_flight.contains(&item.entry.file) {
            return;
        }
        let (since, ns) = match item.start {
            Start::Recorded => (*start, item.entry.due_ns.unwrap_or(0)),
            Start::AfterEnds(ns) => (group.end, ns),
            Start::AfterPrevious(ns) => (group.issue, ns),
        };
        let due = since.saturating_add(clock.ticks_of_ns(ns));
        group.is_offered = true;
        // The order of a process is kept even if its I/Os complete in another order than in the trace.
        offered.push(Reverse((due.max(group.issue), *order, number)));
    }

    fn remember(&mut self, group: u32, request: u64) {
        self.issued.insert(request, Issued { group, end: None });
        if self.issued.len() < MOST_REMEMBERED {
            return;
        }
        let oldest = request.saturating_sub(MOST_REMEMBERED as u64 / 2);
        let groups = &mut self.groups;
        self.issued.retain(|request, Issued { group, end }| {
            let Some(end) = end.filter(|_| *request < oldest) else { return true };
            let group = &mut groups[*group as usize];
            group.end = group.end.max(end);
            false
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_trace::Action;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// A recorded request: process, times of arrival and completion; the completion may be missing.
    type Recorded = (u32, u64, Option<u64>);

    fn item(request: u64, group: u32, due_ns: u64, start: Start, awaits: &[u64], depth: u32) -> Dependent {
        let entry = Entry { due_ns: Some(due_ns), action: Action::Read, file: 0, offset: 0, length: 512 };
        Dependent { entry, group, request: Some(request), start, awaits: awaits.into(), depth }
    }

    /// Computes dependencies from whole lists, as their definition says.
    fn dependents(all: &[Recorded]) -> Vec<Dependent> {
        let mut items: Vec<Dependent> = Vec::new();
        for (request, &(group, arrival, _)) in all.iter().enumerate() {
            let own = || all[..request].iter().enumerate().filter(move |(_, other)| other.0 == group);
            let ended = || own().filter(move |(_, other)| other.2.is_some_and(|end| end <= arrival));
            let before: BTreeSet<u64> = items
                .iter()
                .filter(|item| item.group == group)
                .flat_map(|item| item.awaits.to_vec())
                .collect();
            let new = ended().map(|(number, _)| number as u64).filter(|number| !before.contains(number));
            let awaits: Vec<u64> = new.collect();
            let start = match ended().filter_map(|(_, other)| other.2).max() {
                None => Start::Recorded,
                Some(last) if !awaits.is_empty() => Start::AfterEnds(arrival - last),
                Some(_) => Start::AfterPrevious(arrival - own().map(|(_, other)| other.1).max().unwrap_or(0)),
            };
            let depth = own().count() - ended().count() + 1;
            items.push(item(request as u64, group, arrival, start, &awaits, depth as u32));
        }
        items
    }

    /// Replays entries on a device with these service times; returns the times of issue and completion.
    fn replay(items: &[Dependent], service: &[u64], slots: usize) -> Vec<(u64, u64)> {
        let mut groups = Groups::new(Clock::monotonic(), 0);
        items.iter().cloned().for_each(|item| groups.add(item));
        let (mut times, mut in_flight, mut now) = (vec![(0, 0); items.len()], BTreeMap::new(), 0);
        loop {
            if let Some(due) = groups.due().filter(|_| in_flight.len() < slots) {
                if due <= now {
                    let drawn = groups.draw().expect("it is due");
                    let request = drawn.request.expect("a request");
                    let end = now + service[request as usize % service.len()];
                    groups.began(&drawn, now);
                    assert_eq!(times[request as usize], (0, 0), "issued once");
                    times[request as usize] = (now, end);
                    in_flight.insert((end, request), drawn);
                    continue;
                }
                if in_flight.first_key_value().is_none_or(|((end, _), _)| *end > due) {
                    now = due;
                    continue;
                }
            }
            let Some(((end, _), drawn)) = in_flight.pop_first() else { break };
            now = end;
            groups.ended(&drawn, now);
        }
        assert_eq!(groups.waiting(), 0);
        times
    }

    #[test]
    fn think_times_follow_completions_and_bursts_stay_bursts() {
        let trace = [(0, 0, Some(10)), (1, 0, Some(500)), (0, 15, Some(18)), (0, 16, None), (0, 30, None)];
        let items = dependents(&trace);
        assert_eq!(items[4].start, Start::AfterEnds(12));
        let times = replay(&items, &[100, 1000, 100, 50, 1], 4);
        // Group 0: 5 after the first I/O, 1 after that, 12 after the end of the second.
        let issued: Vec<u64> = times.iter().map(|(issue, _)| *issue).collect();
        assert_eq!(issued, [0, 0, 105, 106, 217]);
        // With one slot, group 1 holds back group 0, and distances count from the late issue.
        let issued: Vec<u64> =
            replay(&items, &[100, 1000, 100, 50, 1], 1).iter().map(|time| time.0).collect();
        assert_eq!(issued, [0, 100, 1100, 1200, 1250]);
    }

    #[test]
    fn a_sync_waits_for_its_group_alone() {
        let mut items: Vec<Dependent> =
            (0..4).map(|n| item(n, u32::from(n == 1), 0, Start::Recorded, &[], 4)).collect();
        items[2].entry.action = Action::Sync;
        let times = replay(&items, &[10, 100, 10, 10], 4);
        assert_eq!(times, [(0, 10), (0, 100), (10, 20), (20, 30)]);
    }

    #[test]
    fn requests_that_nothing_waits_for_are_forgotten() {
        let count = MOST_REMEMBERED as u64 * 2;
        let mut groups = Groups::new(Clock::monotonic(), 0);
        groups.add(item(0, 0, 0, Start::Recorded, &[], 1));
        let first = groups.draw().expect("due");
        groups.began(&first, 0);
        for request in 1..count {
            groups.add(item(request, 1, 0, Start::Recorded, &[], 1));
            let drawn = groups.draw().expect("due");
            groups.began(&drawn, request);
            groups.ended(&drawn, request);
        }
        assert!(groups.issued.len() <= MOST_REMEMBERED);
        groups.add(item(count, 0, 0, Start::AfterEnds(7), &[0], 1));
        assert_eq!(groups.due(), None, "what is in flight is not forgotten");
        groups.ended(&first, count);
        assert_eq!(groups.due(), Some(count + 7));
        // Request 1 was forgotten; its group took over its end.
        groups.add(item(count + 1, 1, 0, Start::AfterEnds(7), &[1], 1));
        assert!(groups.groups[1].end >= 1 && groups.groups[1].is_offered);
    }

    proptest! {
        #[test]
        fn a_replay_keeps_dependencies_and_depths(
            recorded in prop::collection::vec((0u32..4, 0u64..30, 1u64..100, prop::bool::weighted(0.9)), 1..80),
            service in prop::collection::vec(1u64..300, 1..20),
            slots in 1usize..8,
        ) {
            let mut now = 0;
            let trace: Vec<Recorded> = recorded.into_iter().map(|(group, gap, span, is_complete)| {
                now += gap;
                (group, now, is_complete.then_some(now + span))
            }).collect();
            let items = dependents(&trace);
            let times = replay(&items, &service, slots);
            for (number, item) in items.iter().enumerate() {
                let (issue, _) = times[number];
                let own: Vec<usize> = (0..number).filter(|other| trace[*other].0 == item.group).collect();
                let depth = own.iter().filter(|other| times[**other].1 > issue).count() + 1;
                prop_assert!(depth <= item.depth as usize, "{depth} instead of {} at {number}", item.depth);
                for &other in &own {
                    prop_assert!(times[other].0 <= issue, "the order of a group is kept");
                    if trace[other].2.is_some_and(|end| end <= trace[number].1) {
                        prop_assert!(times[other].1 <= issue, "{number} does not wait for {other}");
                    }
                }
                let earliest = match item.start {
                    Start::Recorded => trace[number].1,
                    Start::AfterEnds(gap) => item.awaits.iter().map(|other| times[*other as usize].1).max().unwrap_or(0) + gap,
                    Start::AfterPrevious(gap) => own.last().map_or(0, |other| times[*other].0) + gap,
                };
                prop_assert!(issue >= earliest, "{number} at {issue} instead of {earliest}");
            }
        }
    }
}
