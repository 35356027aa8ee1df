//! The object of a run's course: a point a line, each with the latencies of its time in coarse bins.

use super::layout::{Object, Value};
use fathom_stats::timeline::{Timeline, TimelineEntry, TimelineFigures, TimelinePoint, coarse_value_of};

pub(super) fn object(timeline: &Timeline) -> Object {
    let mut object = Object::default();
    object.add("interval_ms", timeline.interval_ms);
    object.add("jobs", timeline.entries.iter().map(entry).collect::<Vec<Object>>());
    object
}

fn entry(entry: &TimelineEntry) -> Object {
    let mut object = Object::default();
    object.add("jobname", entry.name.as_str());
    object.add("groupid", entry.group_id);
    object.add("points", entry.points.iter().map(point).collect::<Vec<Value>>());
    object
}

fn point(point: &TimelinePoint) -> Value {
    let mut object = Object::default();
    object.add("end_ms", point.end_ms);
    for (key, figures) in ["read", "write", "trim"].into_iter().zip(&point.directions) {
        if figures.total_ios > 0 {
            object.add(key, direction(figures));
        }
    }
    Value::OnOneLine(object)
}

fn direction(figures: &TimelineFigures) -> Object {
    let mut object = Object::default();
    object.add("io_bytes", figures.io_bytes);
    object.add("total_ios", figures.total_ios);
    let bins = figures.bins.iter().map(|(&bin, &count)| (coarse_value_of(bin).to_string(), count));
    object.add("clat_bins", bins.collect::<Object>());
    object
}
