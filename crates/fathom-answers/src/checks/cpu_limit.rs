//! `cpu-limit`: the control group throttled the job's CPU time.

use super::{Found, Severity};
use crate::evidence::Evidence;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    let Some(throttled) = evidence.throttled_at_all().filter(|_| evidence.has_storage()) else {
        return Vec::new();
    };
    // A limit just above the job's need throttles the job now and then by chance, so a few throttled periods
    // only merit a note.
    let severity = if evidence.throttled().is_some() { Severity::Doubtful } else { Severity::Note };
    let share = throttled.share();
    let found = Found::new(severity, throttled.told(), "run it in a group without this limit");
    vec![found.with(&[("throttled_periods_percent", share)]).weighing(share)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn quotas_that_held_back_are_told() {
        let of = |engine: &str, throttled: u32| {
            let more = format!(
                r#""fathom jobs":[{{"jobname":"a","limits":{{"processors":[{{"group":"/g","quota_us":20000,"period_us":100000,
                "periods":32,"throttled":{throttled},"throttled_us":2510000}}]}}}}]"#
            );
            of_job(find, &run(&format!(r#""ioengine":"{engine}""#), "", &more))
        };
        is_told(&of("psync", 32), Severity::Doubtful, "throttled in 32 of 32 periods");
        is_told(&of("psync", 3), Severity::Note, "throttled in 3 of 32 periods");
        assert_eq!((of("psync", 0), of("null", 32)), (Vec::new(), Vec::new()));
    }
}
