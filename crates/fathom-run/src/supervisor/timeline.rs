//! The timeline of a run for the report: differences of the workers' samples, taken without involving the
//! workers.

use super::Supervisor;
use crate::crew::{LatencyKind, WorkerState};
use fathom_stats::timeline::{Timeline, TimelineEntry, TimelineFigures};
use fathom_stats::{Direction, PerDirection};
use std::time::Duration;

/// Length of a timeline point in a short run, in ms.
const SHORTEST_MS: u64 = 250;
/// Maximum number of workers polled at the shortest interval; with more workers the interval grows.
const WORKERS_AT_SHORTEST: usize = 64;
/// Maximum number of report entries with separate timelines; more entries share one timeline.
const MOST_ENTRIES: usize = 16;

/// The points recorded so far.
pub(super) struct TimelineWatch {
    timeline: Timeline,
    /// The report entry of each worker; `None` for workers without one.
    entry_of: Vec<Option<usize>>,
    origin_ns: u64,
    since_ns: u64,
    /// Totals of each worker at the last point, with their epoch.
    before: Vec<(u64, PerDirection<TimelineFigures>)>,
}

impl TimelineWatch {
    fn next_ns(&self) -> u64 {
        self.since_ns + self.timeline.interval_ms * 1_000_000
    }

    pub(super) fn time_to_next(&self, now_ns: u64) -> Duration {
        Duration::from_nanos(self.next_ns().saturating_sub(now_ns))
    }
}

impl Supervisor<'_> {
    /// Starts the timeline of a run whose jobs start now.
    pub(super) fn begin_timeline(&self, now_ns: u64) -> TimelineWatch {
        let workers = &self.plan.workers;
        let numbered = (0..workers.len()).map(|index| (vec![index], workers[index].group_id)).collect();
        let join = |own: &mut (Vec<usize>, u32), theirs: &(Vec<usize>, u32)| own.0.extend(&theirs.0);
        let mut members: Vec<(Vec<usize>, u32)> = self.merged(numbered, |entry| entry.1, join);
        let name_of = |indices: &[usize]| workers[indices[0]].name.clone();
        let mut entries: Vec<TimelineEntry> = members
            .iter()
            .map(|(indices, group_id)| TimelineEntry {
                name: name_of(indices),
                group_id: *group_id,
                points: Vec::new(),
            })
            .collect();
        if entries.len() > MOST_ENTRIES {
            entries = vec![TimelineEntry { name: "all jobs".to_owned(), ..TimelineEntry::default() }];
            members = vec![(members.into_iter().flat_map(|(indices, _)| indices).collect(), 0)];
        }
        let mut entry_of = vec![None; workers.len()];
        for (entry, (indices, _)) in members.iter().enumerate() {
            indices.iter().for_each(|&index| entry_of[index] = Some(entry));
        }
        let interval_ms = SHORTEST_MS * workers.len().div_ceil(WORKERS_AT_SHORTEST).max(1) as u64;
        TimelineWatch {
            timeline: Timeline { interval_ms, entries },
            entry_of,
            origin_ns: now_ns,
            since_ns: now_ns,
            before: vec![Default::default(); workers.len()],
        }
    }

    /// Adds a point if one is due.
    pub(super) fn watch_timeline(&mut self, now_ns: u64) {
        if self.timeline.as_ref().is_some_and(|watch| now_ns >= watch.next_ns()) {
            self.add_point(now_ns);
        }
    }

    /// The complete timeline, including the time since the last point.
    pub(super) fn timeline_so_far(&mut self, now_ns: u64) -> Option<Timeline> {
        let since_ns = self.timeline.as_ref()?.since_ns;
        // A very short last point would show extreme rates, so it is left out.
        if now_ns - since_ns >= SHORTEST_MS * 1_000_000 / 2 {
            self.add_point(now_ns);
        }
        self.timeline.as_ref().map(|watch| watch.timeline.clone())
    }

    fn add_point(&mut self, now_ns: u64) {
        let Some(mut watch) = self.timeline.take() else { return };
        let mut figures: Vec<PerDirection<TimelineFigures>> =
            vec![Default::default(); watch.timeline.entries.len()];
        for index in 0..self.tracked.len() {
            let Some(entry) = watch.entry_of[index] else { continue };
            let state = self.crew.state(index);
            // A worker in its ramp does not count, because its figures are discarded at the end of the ramp.
            let counts = state.start_ns != 0;
            if !counts {
                continue;
            }
            let epoch = state.epoch;
            let now = PerDirection::from_fn(|direction| self.totals(index, direction, &state));
            let (epoch_before, before) = std::mem::replace(&mut watch.before[index], (epoch, now.clone()));
            for (direction, total) in now.iter() {
                let since = match epoch_before == epoch {
                    true => total.since(&before[direction]),
                    false => total.clone(),
                };
                figures[entry][direction].merge(&since);
            }
        }
        watch.since_ns = now_ns;
        watch.timeline.push((now_ns - watch.origin_ns) / 1_000_000, figures);
        self.timeline = Some(watch);
    }

    fn totals(&self, index: usize, direction: Direction, state: &WorkerState) -> TimelineFigures {
        let so_far = &state.directions[direction];
        if so_far.ios == 0 {
            return TimelineFigures::default();
        }
        // Jobs without completion latencies may still have total latencies.
        let kind = if so_far.latencies > 0 { LatencyKind::Completion } else { LatencyKind::Total };
        TimelineFigures::of(so_far.bytes, so_far.ios, &self.crew.latencies(index, direction, kind))
    }
}
