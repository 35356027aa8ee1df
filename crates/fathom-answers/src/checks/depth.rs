//! `depth`: fewer I/Os were in flight than requested, so the figures are those of a smaller queue depth.

use super::{Found, Severity};
use crate::evidence::{Evidence, own_limits};
use crate::figures;

/// Share of the requested depth below which the job did not run as requested.
const REACHED: f64 = 0.75;
/// Minimum number of I/Os per slot; with fewer, filling and draining the queue dominate.
const LEAST_ROUNDS: f64 = 20.0;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    let asked = evidence.depth_asked();
    let Some(reached) = evidence.depth_reached() else { return Vec::new() };
    let is_queued = !evidence.is_synchronous() && asked > evidence.clones();
    let is_long = evidence.ios() as f64 >= LEAST_ROUNDS * asked;
    if !is_queued || !is_long || !evidence.has_storage() || reached >= REACHED * asked {
        return Vec::new();
    }
    let figures = [("asked", asked), ("reached", reached)];
    let found = match own_reason(evidence) {
        // The job's own options limit the depth, so this is only a note.
        Some(reason) => Found::new(
            Severity::Note,
            format!(
                "the queue depth was {} on average, of {asked}: {reason}",
                figures::three_figures(reached)
            ),
            "",
        ),
        None => Found::new(
            Severity::Doubtful,
            format!(
                "the queue depth was {} on average instead of {asked}, so this is the figure of a smaller depth",
                figures::three_figures(reached)
            ),
            match evidence.is_direct() {
                true => "use more clones, or a smaller iodepth that is reached",
                false => "use direct=1: buffered I/O is done while it is submitted",
            },
        ),
    };
    vec![found.with(&figures).weighing(asked / reached.max(0.01))]
}

/// The option of the job that keeps the queue short.
fn own_reason(evidence: &Evidence<'_>) -> Option<&'static str> {
    let is_asked = |option: &str| {
        evidence.run.option(evidence.job, option).is_some_and(|value| !matches!(value.trim(), "0" | ""))
    };
    if own_limits::rates(evidence).iter().any(own_limits::OwnLimit::was_met) {
        return Some("its rate limit needs no more");
    }
    let reasons = [
        ("thinktime", "thinktime empties the queue"),
        ("latency_target", "latency_target keeps it down"),
        ("iodepth_low", "iodepth_low lets it run empty"),
        ("read_iolog", "the log that is replayed determines when I/Os are issued"),
        ("fsync", "each fsync waits for the queue"),
        ("fdatasync", "each fdatasync waits for the queue"),
    ];
    reasons.into_iter().find(|(option, _)| is_asked(option)).map(|(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    /// A result of a job with depth 32 and 10,000 I/Os per second, which have this latency in ns.
    fn after(options: &str, latency_ns: u32) -> Vec<(Severity, String)> {
        let job = format!(
            r#""read":{{"total_ios":100000,"io_bytes":9,"runtime":10000,"iops":10000,"lat_ns":{{"mean":{latency_ns}}}}}"#
        );
        of_job(find, &run(&format!(r#""iodepth":"32"{options}"#), &job, ""))
    }

    #[test]
    fn depths_that_are_not_reached_are_told() {
        let aio = r#","ioengine":"libaio","direct":"1""#;
        is_told(&after(aio, 400_000), Severity::Doubtful, "was 4.00 on average instead of 32");
        is_told(&after(&format!(r#"{aio},"rate_iops":"10000""#), 400_000), Severity::Note, "its rate limit");
        is_told(&after(&format!(r#"{aio},"thinktime":"5ms""#), 400_000), Severity::Note, "thinktime");
        assert_eq!(after(aio, 3_200_000), []);
        // Synchronous engines have no queue, so the check does not apply to them.
        assert_eq!(
            (after(r#","ioengine":"psync""#, 100_000), after(r#","ioengine":"null""#, 9)),
            Default::default()
        );
    }
}
