//! The time in which all hosts were running, and what they did in it.

use super::{HostEnd, HostResult, Overlap, OverlapFigures};
use crate::per_direction::PerDirection;
use crate::timeline::Timeline;

const NS_PER_MS: i64 = 1_000_000;

/// From when the last host had started until the first had a job done, or was lost; `None` if there is no such time.
///
/// Hosts that never began do not count. What was done is taken from the timelines; a point that lies only partly in this time counts
/// with that share. Without a timeline of each host there are no figures: all of them are 0.
pub fn overlap(hosts: &[HostResult]) -> Option<Overlap> {
    let ran = || hosts.iter().filter(|host| host.start_skew_ns.is_some());
    let begin_ns = ran().map(HostResult::skew_ns).max()?.max(0);
    let begin_ms = begin_ns.unsigned_abs().div_ceil(NS_PER_MS.unsigned_abs());
    let end_ms = ran().filter_map(end_ms).min()?;
    if end_ms <= begin_ms {
        return None;
    }
    let timelines: Option<Vec<(&Timeline, i64)>> =
        ran().map(|host| Some((host.report.as_ref()?.timeline.as_ref()?, host.skew_ns()))).collect();
    let mut directions = PerDirection::<OverlapFigures>::default();
    for (timeline, skew_ns) in timelines.unwrap_or_default() {
        add_figures(&mut directions, timeline, skew_ns, (begin_ms, end_ms));
    }
    let seconds = (end_ms - begin_ms) as f64 / 1e3;
    for figures in directions.values_mut() {
        figures.bytes_per_second /= seconds;
        figures.iops /= seconds;
    }
    Some(Overlap { begin_ms, end_ms, directions })
}

/// When the host no longer ran all it was to run.
fn end_ms(host: &HostResult) -> Option<u64> {
    match &host.end {
        HostEnd::Lost { snapshot_ms, .. } => host.first_done_ms.or(*snapshot_ms),
        _ => host.first_done_ms,
    }
}

/// Adds amounts, not yet rates.
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
