//! The course of a run: points, each with the latencies of its time in coarse bins.

use fathom_results::model::{Course, CourseEntry, CourseFigures, CoursePoint};
use fathom_stats::timeline::{Timeline, TimelineEntry, TimelineFigures, TimelinePoint, coarse_value_of};

pub(super) fn course(timeline: &Timeline) -> Course {
    Course {
        interval_ms: timeline.interval_ms,
        condensed: false,
        jobs: timeline.entries.iter().map(entry).collect(),
    }
}

fn entry(entry: &TimelineEntry) -> CourseEntry {
    CourseEntry {
        jobname: entry.name.clone(),
        groupid: entry.group_id.into(),
        points: entry.points.iter().map(point).collect(),
    }
}

fn point(point: &TimelinePoint) -> CoursePoint {
    let [read, write, trim] = point.directions.each_ref().into_array().map(figures);
    CoursePoint { end_ms: point.end_ms, read, write, trim }
}

/// The figures of a direction, if something was done in it.
fn figures(figures: &TimelineFigures) -> CourseFigures {
    if figures.total_ios == 0 {
        return CourseFigures::default();
    }
    let bins = figures.bins.iter().map(|(&bin, &count)| (coarse_value_of(bin), count));
    CourseFigures { io_bytes: figures.io_bytes, total_ios: figures.total_ios, clat_bins: bins.collect() }
}
