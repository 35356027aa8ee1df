//! The object of a run's course: a point a line, each with the latencies of its time in coarse bins.

use super::layout::{Object, Value, list, object};
use fathom_stats::timeline::{Timeline, TimelineEntry, TimelineFigures, TimelinePoint, coarse_value_of};

pub(super) fn object(timeline: &Timeline) -> Object {
    object! {
        "interval_ms": timeline.interval_ms,
        "jobs": list(&timeline.entries, entry),
    }
}

fn entry(entry: &TimelineEntry) -> Object {
    object! {
        "jobname": &entry.name,
        "groupid": entry.group_id,
        "points": entry.points.iter().map(point).collect::<Vec<Value>>(),
    }
}

fn point(point: &TimelinePoint) -> Value {
    let [read, write, trim] = point.directions.each_ref().into_array();
    Value::OnOneLine(object! {
        "end_ms": point.end_ms,
        "read": direction(read),
        "write": direction(write),
        "trim": direction(trim),
    })
}

/// The figures of a direction in which something was done.
fn direction(figures: &TimelineFigures) -> Option<Object> {
    let bins = figures.bins.iter().map(|(&bin, &count)| (coarse_value_of(bin).to_string(), count));
    (figures.total_ios > 0).then(|| {
        object! {
            "io_bytes": figures.io_bytes,
            "total_ios": figures.total_ios,
            "clat_bins": bins.collect::<Object>(),
        }
    })
}
