//! Dependencies between the I/Os of a block trace: an I/O depends on all I/Os of its process that had completed
//! before it was queued.
//!
//! The I/Os that a process depends on only become more, so an entry lists those that completed since the previous
//! entry of its process. A replay that has issued the previous entry has waited for all others already.

use crate::blktrace::Event;
use crate::entry::Entry;
use crate::requests::{Follower, Step};
use crate::rules::Rules;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Maximum number of groups; the processes beyond share the last one.
const MOST_GROUPS: usize = 1 << 16;

/// An entry with its dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependent {
    /// The I/O.
    pub entry: Entry,
    /// The process, numbered from 0 in order of first appearance. All I/Os of a trace without processes belong to
    /// one group.
    pub group: u32,
    /// Number of the request, ascending over the whole trace; `None` for the flush before a write, which is the
    /// first half of its request.
    pub request: Option<u64>,
    /// When it is due.
    pub start: Start,
    /// Requests of its group that completed since the previous entry of the group.
    pub awaits: Box<[u64]>,
    /// Number of requests of its group in flight in the trace once it was queued, including itself. Requests
    /// whose completion is missing stay in flight.
    pub depth: u32,
}

/// The event from which the due time of an entry counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The start of the replay, as [`Entry::due_ns`] says: nothing in its group had completed.
    Recorded,
    /// This many ns after the last completion that it depends on: the think time.
    AfterEnds(u64),
    /// This many ns after the issue of the group's previous entry: nothing has completed since.
    AfterPrevious(u64),
}

/// Completeness of the dependencies of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completions {
    /// Number of replayed requests whose completion is in the trace.
    pub known: u64,
    /// Number of replayed requests whose completion is missing; nothing waits for them.
    pub missing: u64,
}

/// Computes the dependencies of a trace from its events.
#[derive(Debug, Default)]
pub(crate) struct Dependencies {
    follower: Follower,
    numbers: HashMap<u32, u32>,
    groups: Vec<Group>,
    known: u64,
    latest: Option<Latest>,
}

/// State of a process.
#[derive(Debug, Default)]
struct Group {
    /// Requests that completed since the last arrival.
    ended: Vec<u64>,
    /// Time of the last completion.
    end_ns: Option<u64>,
    /// Time of the last arrival.
    arrival_ns: u64,
    in_flight: u32,
}

/// The request that arrived last.
#[derive(Debug)]
struct Latest {
    group: u32,
    request: u64,
    start: Start,
    awaits: Box<[u64]>,
    depth: u32,
}

impl Dependencies {
    /// Takes the arrival of a request that is replayed.
    pub(crate) fn arrived(&mut self, event: &Event, rules: &Rules) {
        let request = self.follower.arrived();
        self.follower.add(event, |_| {});
        let number = self.group_of(event.pid);
        let group = &mut self.groups[number as usize];
        let awaits = std::mem::take(&mut group.ended).into_boxed_slice();
        let since = |begin_ns: u64| rules.time(event.time_ns.saturating_sub(begin_ns)).unwrap_or(0);
        let start = match group.end_ns {
            None => Start::Recorded,
            Some(end_ns) if !awaits.is_empty() => Start::AfterEnds(since(end_ns)),
            Some(_) => Start::AfterPrevious(since(group.arrival_ns)),
        };
        group.arrival_ns = event.time_ns;
        group.in_flight += 1;
        self.latest = Some(Latest { group: number, request, start, awaits, depth: group.in_flight });
    }

    /// Takes an event other than an arrival.
    pub(crate) fn other(&mut self, event: &Event) {
        let Dependencies { follower, numbers, groups, known, .. } = self;
        follower.add(event, |step| {
            let Step::Completed { number, request, time_ns, .. } = step else { return };
            let group = numbers.get(&request.process).and_then(|group| groups.get_mut(*group as usize));
            let Some(group) = group else { return };
            group.ended.push(number);
            group.end_ns = group.end_ns.max(Some(time_ns));
            group.in_flight -= 1;
            *known += 1;
        });
    }

    /// Adds its dependencies to the entry of the last arrival. `is_first_half` is true for a flush whose write
    /// follows: it waits for the dependencies of both.
    pub(crate) fn of(&mut self, entry: Entry, is_first_half: bool) -> Option<Dependent> {
        let Latest { group, request, start, awaits, depth } = self.latest.take()?;
        if is_first_half {
            let start = Start::AfterPrevious(0);
            self.latest = Some(Latest { group, request, start, awaits: Box::default(), depth });
        }
        let request = (!is_first_half).then_some(request);
        Some(Dependent { entry, group, request, start, awaits, depth })
    }

    /// Counts the requests with and without a completion so far.
    pub(crate) fn completions(&self) -> Completions {
        Completions { known: self.known, missing: self.follower.arrived() - self.known }
    }

    fn group_of(&mut self, process: u32) -> u32 {
        let next = self.groups.len().min(MOST_GROUPS - 1);
        let number = *self.numbers.entry(process).or_insert(next as u32);
        if number as usize == self.groups.len() {
            self.groups.push(Group::default());
        }
        number
    }
}

#[cfg(test)]
mod tests;
