//! The time window in which all hosts were running, and their figures in it.

use super::{HostEnd, HostRunReport, Overlap, OverlapFigures};
use crate::per_direction::PerDirection;
use crate::timeline::Timeline;
use serde::{Deserialize, Serialize};

const NS_PER_MS: i64 = 1_000_000;

/// Returns the window from the start of the last host until the first host finished a job or was lost; `None`
/// if it is empty. Hosts that never started do not count. Figures are from the timelines, and a point that is
/// partly in the window counts in proportion. If a host has no timeline, all figures are 0.
pub fn overlap(hosts: &[HostRunReport]) -> Option<Overlap> {
    let mut window = OverlapWindow::default();
    hosts.iter().for_each(|host| window.merge(OverlapWindow::of(host)));
    let mut overlap = window.overlap()?;
    for share in hosts.iter().filter_map(|host| window.share_of(host)) {
        add(&mut overlap, &share);
    }
    Some(overlap)
}

/// Adds other hosts' figures for the same window.
pub(super) fn add(own: &mut Overlap, theirs: &Overlap) {
    for (own, theirs) in own.directions.values_mut().zip(theirs.directions.values()) {
        own.bytes_per_second += theirs.bytes_per_second;
        own.iops += theirs.iops;
    }
}

/// The time window in which a set of hosts was running. It is computed before the reports are merged, because
/// it needs no timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverlapWindow {
    /// Start of the last host, in ns after the agreed instant; `None` if none started.
    begin_ns: Option<i64>,
    /// Time at which the first host finished a job.
    end_ms: Option<u64>,
    /// True if a host that ran has no timeline.
    lacks_timeline: bool,
}

impl OverlapWindow {
    /// Returns the window of one host.
    pub fn of(host: &HostRunReport) -> OverlapWindow {
        if host.start_skew_ns.is_none() {
            return OverlapWindow::default();
        }
        let has_timeline = host.report.as_ref().is_some_and(|report| report.timeline.is_some());
        OverlapWindow { begin_ns: host.start_skew_ns, end_ms: end_ms(host), lacks_timeline: !has_timeline }
    }

    /// Adds other hosts' windows.
    pub fn merge(&mut self, other: OverlapWindow) {
        self.begin_ns = self.begin_ns.max(other.begin_ns);
        self.end_ms = [self.end_ms, other.end_ms].into_iter().flatten().min();
        self.lacks_timeline |= other.lacks_timeline;
    }

    /// Returns the overlap with empty figures.
    pub(super) fn overlap(&self) -> Option<Overlap> {
        let begin_ns = self.begin_ns?.max(0);
        let begin_ms = begin_ns.unsigned_abs().div_ceil(NS_PER_MS.unsigned_abs());
        let end_ms = self.end_ms?;
        (end_ms > begin_ms).then(|| Overlap { begin_ms, end_ms, directions: PerDirection::default() })
    }

    /// Returns the overlap with the figures of one host.
    pub(super) fn share_of(&self, host: &HostRunReport) -> Option<Overlap> {
        let mut overlap = self.overlap()?;
        let timeline = host.report.as_ref().and_then(|report| report.timeline.as_ref());
        if let (Some(timeline), Some(skew_ns), false) = (timeline, host.start_skew_ns, self.lacks_timeline) {
            let Overlap { begin_ms, end_ms, directions } = &mut overlap;
            add_figures(directions, timeline, skew_ns, (*begin_ms, *end_ms));
            let seconds = (*end_ms - *begin_ms) as f64 / 1e3;
            for figures in directions.values_mut() {
                figures.bytes_per_second /= seconds;
                figures.iops /= seconds;
            }
        }
        Some(overlap)
    }
}

/// Returns the time at which the host's first job finished; for a lost host without a finished job, the time of
/// its last snapshot.
fn end_ms(host: &HostRunReport) -> Option<u64> {
    match &host.end {
        HostEnd::Lost { snapshot_ms, .. } => host.first_done_ms.or(*snapshot_ms),
        _ => host.first_done_ms,
    }
}

/// Adds amounts; rates are computed later.
fn add_figures(
    sum: &mut PerDirection<OverlapFigures>,
    timeline: &Timeline,
    skew_ns: i64,
    (begin_ms, end_ms): (u64, u64),
) {
    let place_ms = |ms: u64| ms as f64 + skew_ns as f64 / NS_PER_MS as f64;
    for entry in &timeline.entries {
        let mut before_ms = 0;
        for point in &entry.points {
            let (begin, end) =
                (place_ms(std::mem::replace(&mut before_ms, point.end_ms)), place_ms(point.end_ms));
            let common = end.min(end_ms as f64) - begin.max(begin_ms as f64);
            if common <= 0.0 {
                continue;
            }
            let share = common / (end - begin);
            for (sum, figures) in sum.values_mut().zip(point.directions.values()) {
                sum.bytes_per_second += share * figures.io_bytes as f64;
                sum.iops += share * figures.total_ios as f64;
            }
        }
    }
}
