//! `late-starts`: in an open loop, fathom itself started I/Os late, so response times include its own delay.

use super::{Found, Severity};
use crate::evidence::Evidence;
use crate::figures;

/// Maximum ratio of the p99 of fathom's own delay to the median response time at which the delay is negligible.
const MOST: f64 = 0.1;
/// Minimum delay that matters, in ns; shorter ones occur on every machine.
const LEAST_NS: f64 = 20_000.0;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    [0, 1, 2].into_iter().filter_map(|direction| in_direction(evidence, direction)).collect()
}

fn in_direction(evidence: &Evidence<'_>, direction: usize) -> Option<Found> {
    let figures_of = evidence.job.directions()[direction]?;
    let own = figures_of.arrivals.as_ref()?.own_delay.percentile(99.0)?;
    let median = figures_of.response.as_ref()?.percentile(50.0)?;
    if own <= LEAST_NS || own <= MOST * median {
        return None;
    }
    let text = format!(
        "fathom itself started one I/O in a hundred {} late or more (own delay), where half of them took no \
        more than {} from when they were due",
        figures::duration(own),
        figures::duration(median)
    );
    let found = Found::new(Severity::Doubtful, text, "give each clone a CPU to itself, or offer less load");
    let figures = [("own_delay_p99_ns", own), ("response_p50_ns", median)];
    Some(found.in_direction(direction).with(&figures).weighing(own / median.max(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    fn with(own_ns: u32, median_ns: u32) -> Vec<(Severity, String)> {
        let job = format!(
            r#""read":{{"total_ios":1000,"io_bytes":1,"iops":1,"runtime":1000,"resp_ns":{{"N":1000,"percentile":{{"50.000000":{median_ns}}}}},
            "arrivals":{{"due":1000,"own_delay_ns":{{"N":1000,"percentile":{{"99.000000":{own_ns}}}}}}}}}"#
        );
        of_job(find, &run("", &job, ""))
    }

    #[test]
    fn a_tester_that_is_late_says_so() {
        is_told(&with(30_000, 100_000), Severity::Doubtful, "30.0 µs late or more");
        assert_eq!(with(30_000, 1_000_000), [], "it does not show");
        assert_eq!(with(15_000, 20_000), [], "no machine is better");
        assert_eq!(
            of_job(find, &run("", r#""read":{"total_ios":1,"io_bytes":1,"iops":1}"#, "")),
            [],
            "a closed loop"
        );
    }
}
