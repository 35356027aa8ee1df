//! The arrivals of an open loop.

use super::job::latency;
use super::layout::{Object, object};
use fathom_stats::arrivals::ArrivalsReport;
use fathom_stats::report::ViewOptions;

/// How many I/Os were due, how many of them waited, and what became of the time from when they were due.
pub(super) fn object(arrivals: &ArrivalsReport, view: &ViewOptions, with_bins: bool) -> Object {
    let figures = |stats| latency(stats, view, true, with_bins);
    object! {
        "due": arrivals.due(),
        "offered_iops": arrivals.offered_per_second(),
        "waiting": arrivals.waiting,
        "backlog_mean": arrivals.mean_backlog(),
        "backlog_max": arrivals.highest_backlog,
        "start_delay_ns": figures(&arrivals.start_delay),
        "own_delay_ns": figures(&arrivals.own_delay),
        "service_ns": figures(&arrivals.service),
    }
}
