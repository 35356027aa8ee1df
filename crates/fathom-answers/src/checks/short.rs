//! `short`: the job was too short to be meaningful.

use super::{Found, Severity};
use crate::evidence::Evidence;
use crate::figures;

/// Minimum duration in ms: in shorter runs, caches still warm up, devices wake up, and a single slow I/O
/// dominates. It is slightly less than a second, because setup may use part of the time.
const LEAST_MS: u64 = 900;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    let span_ms = evidence.span_ms();
    if !evidence.has_storage() || span_ms == 0 || span_ms >= LEAST_MS || evidence.job.error != 0 {
        return Vec::new();
    }
    let found = Found::new(
        Severity::Doubtful,
        format!(
            "it ran for only {}, and one slow I/O more or less would change the figures",
            figures::duration(span_ms as f64 * 1e6)
        ),
        "use runtime and time_based for a longer run",
    );
    vec![found.with(&[("runtime_ms", span_ms as f64)]).weighing(1.0 / span_ms as f64)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn short_runs_are_told() {
        let of = |options: &str, ms: u32| {
            of_job(find, &run(options, &format!(r#""read":{{"total_ios":9,"runtime":{ms}}}"#), ""))
        };
        is_told(&of("", 120), Severity::Doubtful, "only 120 ms");
        assert_eq!(of("", 1000), []);
        assert_eq!(of(r#""ioengine":"null""#, 120), []);
        assert_eq!(of("", 0), []);
    }
}
