//! `submission`: the submission call blocks until the I/O is done, so completion latencies do not include the
//! time spent in it.

use super::{Found, Severity};
use crate::evidence::Evidence;
use crate::figures;

/// Minimum mean submission latency, in ns; a faster submission only queues the I/O.
const LEAST_NS: f64 = 10_000.0;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    // Synchronous engines have no separate submission step.
    if evidence.is_synchronous() || !evidence.has_storage() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, direction) in evidence.job.directions().into_iter().enumerate() {
        let Some(direction) = direction else { continue };
        let (slat, clat) = (direction.slat.mean_ns, direction.clat.mean_ns);
        if slat < LEAST_NS || slat <= clat {
            continue;
        }
        let text = format!(
            "submitting an I/O took {} on average, its completion only {} after that: the percentiles leave most of the wait out",
            figures::duration(slat),
            figures::duration(clat)
        );
        let advice = if evidence.is_direct() {
            "look at lat instead of clat"
        } else {
            "use direct=1, or look at lat instead of clat"
        };
        found.push(
            Found::new(Severity::Doubtful, text, advice)
                .in_direction(index)
                .with(&[("submission_ns", slat), ("completion_ns", clat)])
                .weighing(slat / clat.max(1.0)),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn submissions_that_wait_are_told() {
        let of = |slat: u32, clat: u32| {
            let job = format!(
                r#""read":{{"total_ios":9,"io_bytes":9,"slat_ns":{{"mean":{slat}}},"clat_ns":{{"mean":{clat}}}}}"#
            );
            of_job(find, &run(r#""ioengine":"libaio""#, &job, ""))
        };
        is_told(
            &of(80_000, 20_000),
            Severity::Doubtful,
            "took 80.0 µs on average, its completion only 20.0 µs",
        );
        assert_eq!((of(2_000, 900), of(20_000, 80_000)), (Vec::new(), Vec::new()));
    }
}
