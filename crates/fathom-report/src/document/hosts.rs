//! The hosts of a multi-host run.

use fathom_results::model::RunResult;
use fathom_results::{
    FilesResult, HostFigures, HostResult, HostsResult, OverlapResult, SkewResult, StragglingResult, figure,
};
use fathom_stats::hosts::{
    self as stats, HostEnd, HostFiles, HostPercentiles, HostRow, HostsReport, Overlap, OverlapFigures,
    StartSkew, Straggling, rows, start_skew,
};
use fathom_stats::report::RunReport;

/// Converts the hosts of a run; `result` converts a host's own report.
pub(super) fn hosts(report: &HostsReport, result: impl Fn(&RunReport) -> RunResult) -> HostsResult {
    let rows = rows(&report.hosts);
    HostsResult {
        hosts: report.hosts.iter().zip(&rows).map(|(of_host, row)| host(of_host, row, &result)).collect(),
        skew: start_skew(&report.hosts).as_ref().map(skew),
        overlap: report.overlap.as_ref().map(overlap),
        files: report.files.iter().map(files).collect(),
    }
}

fn host(host: &stats::HostRunReport, row: &HostRow, result: impl Fn(&RunReport) -> RunResult) -> HostResult {
    let (state, reason, snapshot_ms) = match &host.end {
        HostEnd::Whole => ("whole", "", None),
        HostEnd::NeverBegan { reason } => ("never began", reason.as_str(), None),
        HostEnd::Lost { reason, snapshot_ms } => ("lost", reason.as_str(), *snapshot_ms),
    };
    let [read, write, trim] = row.directions.each_ref().map(figures).into_array();
    // A digest lacks the long parts of a report, so it is not a full document.
    let whole = host.report.as_deref().filter(|_| host.digest.is_none());
    HostResult {
        name: host.name.clone(),
        host_name: host.host_name.clone(),
        groups: host.groups.clone(),
        transport: host.transport.clone(),
        state: state.to_owned(),
        reason: reason.to_owned(),
        snapshot_ms,
        clock: Some(host.clock.clone()),
        start_skew_ns: host.start_skew_ns,
        first_done_ms: host.first_done_ms,
        last_done_ms: host.last_done_ms,
        errors: row.errors,
        read,
        write,
        trim,
        straggling: row.straggling.iter().map(straggling).collect(),
        result: whole.map(result).unwrap_or_default(),
    }
}

fn files(files: &HostFiles) -> FilesResult {
    FilesResult {
        job: files.job.clone(),
        name: files.name.clone(),
        ownership: files.ownership.word().to_owned(),
        text: files.to_string(),
    }
}

/// A direction with I/O.
fn figures(figures: &stats::HostFigures) -> Option<HostFigures> {
    let percentile = |which: fn(&HostPercentiles) -> u64| figures.percentiles.as_ref().map(which);
    (figures.total_ios > 0).then(|| HostFigures {
        total_ios: figures.total_ios,
        bytes_per_second: figure(figures.bytes_per_second),
        iops: figure(figures.iops),
        p50_ns: percentile(|percentiles| percentiles.p50_ns),
        p99_ns: percentile(|percentiles| percentiles.p99_ns),
        p99_9_ns: percentile(|percentiles| percentiles.p99_9_ns),
        max_ns: figures.max_ns,
    })
}

fn straggling(straggling: &Straggling) -> StragglingResult {
    StragglingResult {
        direction: straggling.direction.word().to_owned(),
        figure: straggling.figure.word().to_owned(),
        value: figure(straggling.value),
        median: figure(straggling.median),
        text: straggling.to_string(),
    }
}

fn skew(skew: &StartSkew) -> SkewResult {
    SkewResult { median_ns: skew.median_ns, largest_ns: skew.largest_ns, clock_bound_ns: skew.clock_bound_ns }
}

fn overlap(overlap: &Overlap) -> OverlapResult {
    let direction = |figures: &OverlapFigures| {
        (figures.iops > 0.0).then(|| HostFigures {
            bytes_per_second: figure(figures.bytes_per_second),
            iops: figure(figures.iops),
            ..HostFigures::default()
        })
    };
    let [read, write, trim] = overlap.directions.each_ref().map(direction).into_array();
    OverlapResult { begin_ms: overlap.begin_ms, end_ms: overlap.end_ms, read, write, trim }
}
