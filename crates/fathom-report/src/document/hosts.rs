//! The object of the hosts of a run over several.

use super::layout::{Object, list_if_any, object};
use fathom_stats::hosts::{
    ClockOffset, ClockReport, HostEnd, HostFigures, HostPercentiles, HostResult, HostRow, HostsReport,
    Overlap, OverlapFigures, StartSkew, Straggling, rows, start_skew,
};
use fathom_stats::report::RunReport;

/// `results` gives what a host's own document has.
pub(super) fn object(report: &HostsReport, results: impl Fn(&RunReport) -> Object) -> Object {
    let rows = rows(&report.hosts);
    let hosts: Vec<Object> =
        report.hosts.iter().zip(&rows).map(|(of_host, row)| host(of_host, row, &results)).collect();
    object! {
        "hosts": hosts,
        "skew": start_skew(&report.hosts).as_ref().map(skew),
        "overlap": report.overlap.as_ref().map(overlap),
    }
}

fn host(host: &HostResult, row: &HostRow, results: impl Fn(&RunReport) -> Object) -> Object {
    let (state, reason, snapshot_ms) = match &host.end {
        HostEnd::Whole => ("whole", None, None),
        HostEnd::NeverBegan { reason } => ("never began", Some(reason), None),
        HostEnd::Lost { reason, snapshot_ms } => ("lost", Some(reason), *snapshot_ms),
    };
    let [read, write, trim] = row.directions.each_ref().map(figures).into_array();
    let mut object = object! {
        "name": &host.name,
        "host_name": (!host.host_name.is_empty()).then_some(&host.host_name),
        "groups": (!host.groups.is_empty()).then_some(&host.groups),
        "transport": &host.transport,
        "state": state,
        "reason": reason,
        "snapshot_ms": snapshot_ms,
        "clock": clock(&host.clock),
        "start_skew_ns": host.start_skew_ns,
        "first_done_ms": host.first_done_ms,
        "last_done_ms": host.last_done_ms,
        "errors": row.errors,
        "read": read,
        "write": write,
        "trim": trim,
        "straggling": list_if_any(&row.straggling, straggling),
    };
    // A report whose long parts are gone is no document of its own.
    if let (Some(report), None) = (&host.report, &host.digest) {
        object.append(results(report));
    }
    object
}

fn clock(clock: &ClockReport) -> Object {
    let offset = |offset: ClockOffset| object! { "offset_ns": offset.offset_ns, "bound_ns": offset.bound_ns };
    object! {
        "before": clock.before.map(offset),
        "after": clock.after.map(offset),
        "wall_clock_jump_ns": clock.wall_clock_jump_ns,
    }
}

/// A direction in which something was done.
fn figures(figures: &HostFigures) -> Option<Object> {
    let percentile = |which: fn(&HostPercentiles) -> u64| figures.percentiles.as_ref().map(which);
    (figures.total_ios > 0).then(|| {
        object! {
            "total_ios": figures.total_ios,
            "bw_bytes": figures.bytes_per_second,
            "iops": figures.iops,
            "p50_ns": percentile(|percentiles| percentiles.p50_ns),
            "p99_ns": percentile(|percentiles| percentiles.p99_ns),
            "p99_9_ns": percentile(|percentiles| percentiles.p99_9_ns),
            "max_ns": figures.max_ns,
        }
    })
}

fn straggling(straggling: &Straggling) -> Object {
    object! {
        "direction": straggling.direction.word(),
        "figure": straggling.figure.word(),
        "value": straggling.value,
        "median": straggling.median,
        "text": straggling.to_string(),
    }
}

fn skew(skew: &StartSkew) -> Object {
    object! {
        "median_ns": skew.median_ns,
        "largest_ns": skew.largest_ns,
        "clock_bound_ns": skew.clock_bound_ns,
    }
}

fn overlap(overlap: &Overlap) -> Object {
    let direction = |figures: &OverlapFigures| {
        let has_any = figures.iops > 0.0;
        has_any.then(|| object! { "bw_bytes": figures.bytes_per_second, "iops": figures.iops })
    };
    let [read, write, trim] = overlap.directions.each_ref().map(direction).into_array();
    object! {
        "begin_ms": overlap.begin_ms,
        "end_ms": overlap.end_ms,
        "read": read,
        "write": write,
        "trim": trim,
    }
}
