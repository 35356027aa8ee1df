//! Merges the hosts' timelines by the controller's clock. A point is assigned to the span that contains its
//! middle, on a grid that begins at the agreed instant. Each span has a point, so a point begins where the
//! previous one ends, and only the last may end before its span does. Spans are as long as the longest interval
//! of a host, or longer if there would be too many spans. One length is usually a multiple of the other, so the
//! order of the hosts does not matter.

use super::join::{Entry, join_with};
use crate::per_direction::PerDirection;
use crate::timeline::{MOST_POINTS, Timeline, TimelineEntry, TimelineFigures, TimelinePoint};

/// Name of the entry for all jobs of a run that has too many jobs for individual entries.
const ALL_JOBS: &str = "all jobs";

const NS_PER_MS: i128 = 1_000_000;

impl Entry for TimelineEntry {
    fn key(&self) -> (u32, &str) {
        (self.group_id, &self.name)
    }
}

/// Adds the timeline of a host whose jobs started this many ns after the agreed instant.
pub(super) fn add_host(own: &mut Option<Timeline>, theirs: &Timeline, skew_ns: i64) {
    let shift = |ms: u64| i128::from(ms) * NS_PER_MS + i128::from(skew_ns);
    let ms_of = |ns: i128| u64::try_from(ns / NS_PER_MS).unwrap_or(0);
    let interval_ms = theirs.interval_ms.max(1);
    add(own, theirs, |before_ms, point| {
        let middle_ms = ms_of((shift(before_ms) + shift(point.end_ms)) / 2);
        let begin_ms = middle_ms - middle_ms % interval_ms;
        let end_ms = ms_of(shift(point.end_ms) + NS_PER_MS - 1);
        (begin_ms, end_ms.clamp(begin_ms.saturating_add(1), begin_ms.saturating_add(interval_ms)))
    });
}

/// Adds the sum of other hosts.
pub(super) fn add_sum(own: &mut Option<Timeline>, theirs: &Timeline) {
    add(own, theirs, on_grid);
}

/// Returns a time within the span of a grid point, and the point's end, in ms.
fn on_grid(_: u64, point: &TimelinePoint) -> (u64, u64) {
    (point.end_ms.saturating_sub(1), point.end_ms)
}

/// Adds a timeline; `place` maps a point and the end of the previous one to the result of [`on_grid`].
fn add(own: &mut Option<Timeline>, theirs: &Timeline, place: impl Fn(u64, &TimelinePoint) -> (u64, u64)) {
    let own = own.get_or_insert_default();
    let last = |timeline: &Timeline, place: &dyn Fn(u64, &TimelinePoint) -> (u64, u64)| {
        let ends = timeline.entries.iter().flat_map(|entry| {
            let before = entry.points.len().checked_sub(2).map_or(0, |index| entry.points[index].end_ms);
            entry.points.last().map(|point| place(before, point).1)
        });
        ends.max().unwrap_or(0)
    };
    let last_ms = last(own, &on_grid).max(last(theirs, &place));
    let mut interval_ms = own.interval_ms.max(theirs.interval_ms).max(1);
    while last_ms.div_ceil(interval_ms) > MOST_POINTS as u64 {
        interval_ms = interval_ms.saturating_mul(2);
    }
    if own.interval_ms != interval_ms {
        coarsen(own, interval_ms);
    }
    let add_points = |own: &mut TimelineEntry, theirs: &TimelineEntry| {
        let mut before_ms = 0;
        for point in &theirs.points {
            let (inside_ms, end_ms) = place(before_ms, point);
            before_ms = point.end_ms;
            add_point(own, interval_ms, (inside_ms, end_ms), &point.directions);
        }
    };
    let are_of_all_jobs = is_of_all_jobs(&theirs.entries);
    if are_of_all_jobs || is_of_all_jobs(&own.entries) {
        make_one(own);
        theirs.entries.iter().for_each(|entry| add_points(&mut own.entries[0], entry));
        return;
    }
    join_with(&mut own.entries, &theirs.entries, add_points, |entry| {
        let mut new = blank(&entry.name, entry.group_id);
        add_points(&mut new, entry);
        new
    });
}

fn blank(name: &str, group_id: u32) -> TimelineEntry {
    TimelineEntry { name: name.to_owned(), group_id, points: Vec::new() }
}

fn add_point(
    entry: &mut TimelineEntry,
    interval_ms: u64,
    (inside_ms, end_ms): (u64, u64),
    directions: &PerDirection<TimelineFigures>,
) {
    // Ascending times never need more than the maximum number of points, so any excess is added to the last
    // point.
    let stretch = (inside_ms / interval_ms).min(MOST_POINTS as u64 - 1);
    let grid_end = |stretch: u64| (stretch + 1).saturating_mul(interval_ms);
    while entry.points.len() as u64 <= stretch {
        let new = entry.points.len() as u64;
        if let Some(last) = entry.points.last_mut() {
            last.end_ms = grid_end(new - 1);
        }
        let end_ms = new.saturating_mul(interval_ms).saturating_add(1);
        entry.points.push(TimelinePoint { end_ms, directions: PerDirection::default() });
    }
    let Some(point) = entry.points.get_mut(stretch as usize) else { return };
    point.end_ms = point.end_ms.max(end_ms).min(grid_end(stretch));
    for (own, theirs) in point.directions.values_mut().zip(directions.values()) {
        own.merge(theirs);
    }
}

fn coarsen(timeline: &mut Timeline, interval_ms: u64) {
    timeline.interval_ms = interval_ms;
    for entry in &mut timeline.entries {
        for point in std::mem::take(&mut entry.points) {
            add_point(entry, interval_ms, on_grid(0, &point), &point.directions);
        }
    }
}

fn is_of_all_jobs(entries: &[TimelineEntry]) -> bool {
    matches!(entries, [entry] if entry.name == ALL_JOBS)
}

/// Merges all jobs into one entry.
fn make_one(timeline: &mut Timeline) {
    if is_of_all_jobs(&timeline.entries) {
        return;
    }
    let mut all = blank(ALL_JOBS, 0);
    for point in timeline.entries.iter().flat_map(|entry| &entry.points) {
        add_point(&mut all, timeline.interval_ms, on_grid(0, point), &point.directions);
    }
    timeline.entries = vec![all];
}
