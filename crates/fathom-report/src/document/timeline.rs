//! The timeline of a run: points, each with the latencies of its span in coarse bins.

use fathom_results::model::{TimelineFiguresResult, TimelineJobResult, TimelinePointResult, TimelineResult};
use fathom_stats::timeline::{Timeline, TimelineEntry, TimelineFigures, TimelinePoint, coarse_value_of};

pub(super) fn timeline(timeline: &Timeline) -> TimelineResult {
    TimelineResult {
        interval_ms: timeline.interval_ms,
        condensed: false,
        jobs: timeline.entries.iter().map(entry).collect(),
    }
}

fn entry(entry: &TimelineEntry) -> TimelineJobResult {
    TimelineJobResult {
        jobname: entry.name.clone(),
        groupid: entry.group_id.into(),
        points: entry.points.iter().map(point).collect(),
    }
}

fn point(point: &TimelinePoint) -> TimelinePointResult {
    let [read, write, trim] = point.directions.each_ref().into_array().map(figures);
    TimelinePointResult { end_ms: point.end_ms, read, write, trim }
}

/// Returns the figures of a direction, if it had I/O.
fn figures(figures: &TimelineFigures) -> TimelineFiguresResult {
    if figures.total_ios == 0 {
        return TimelineFiguresResult::default();
    }
    let bins = figures.bins.iter().map(|(&bin, &count)| (coarse_value_of(bin), count));
    TimelineFiguresResult {
        io_bytes: figures.io_bytes,
        total_ios: figures.total_ios,
        clat_bins: bins.collect(),
    }
}
