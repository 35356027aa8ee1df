//! `rate-missed`: the job did not reach its requested rate.

use super::{Found, Severity};
use crate::evidence::{Evidence, own_limits};
use crate::figures;

/// Share of the requested rate that counts as reached.
const KEPT: f64 = 0.95;
/// Minimum duration in ms; a shorter run mostly consists of its beginning and end.
const LEAST_MS: u64 = 500;
/// Number of standard deviations above which a deviation is not chance; the standard deviation of a number of
/// random arrivals is its square root.
const DEVIATIONS: f64 = 4.0;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    if evidence.span_ms() < LEAST_MS || evidence.job.error != 0 || !evidence.has_storage() {
        return Vec::new();
    }
    let ios = evidence.ios() as f64;
    let is_missed = |limit: &own_limits::OwnLimit| {
        let expected_ios = ios * limit.allowed / limit.reached.max(f64::MIN_POSITIVE);
        limit.reached < KEPT * limit.allowed && expected_ios - ios > DEVIATIONS * expected_ios.sqrt() + 1.0
    };
    let missed = own_limits::rates(evidence).into_iter().filter(is_missed);
    missed.map(|limit| of_limit(&limit)).collect()
}

fn of_limit(limit: &own_limits::OwnLimit) -> Found {
    let shown = |value: f64| match limit.option {
        "rate" => figures::bandwidth(value),
        _ => format!("{} IOPS", figures::count(value.round())),
    };
    let found = Found::new(
        Severity::Doubtful,
        format!(
            "{} asks for {}, and {} were reached: latencies are those of a storage that cannot keep up",
            limit.option,
            shown(limit.allowed),
            shown(limit.reached)
        ),
        "ask for less, or for more I/Os in flight",
    );
    let figures = [("asked_per_second", limit.allowed), ("reached_per_second", limit.reached)];
    found.with(&figures).weighing(limit.allowed / limit.reached.max(1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn rates_that_are_not_kept_are_told() {
        let of = |rate: u32, ios: u32| {
            let job =
                format!(r#""read":{{"total_ios":{},"io_bytes":9,"runtime":10000,"iops":{ios}}}"#, 10 * ios);
            of_job(find, &run(&format!(r#""rate_iops":"{rate}""#), &job, ""))
        };
        is_told(
            &of(1000, 700),
            Severity::Doubtful,
            "rate_iops asks for 1.00k IOPS, and 700 IOPS were reached",
        );
        assert_eq!((of(1000, 990), of(0, 700)), (Vec::new(), Vec::new()));
        // A difference of one I/O per second is within chance.
        assert_eq!(of(5, 4), []);
    }
}
