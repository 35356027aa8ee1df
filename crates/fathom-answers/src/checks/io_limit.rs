//! `io-limit`: the control group's I/O limit was reached, so the figures show the limit.

use super::{Found, Severity};
use crate::evidence::Evidence;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    let Some(limited) = evidence.io_limited().filter(|_| evidence.is_on_this_machine()) else {
        return Vec::new();
    };
    let found = Found::new(
        Severity::Doubtful,
        format!("{}: the figure shows the limit, not the storage", limited.told()),
        "run it in a group without this limit",
    );
    let (allowed, reached) = limited.figures();
    vec![found.with(&[("allowed_per_second", allowed), ("reached_per_second", reached)])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn limits_that_are_met_are_told() {
        let of = |engine: &str, iops: u32| {
            let more = r#""fathom host":{"processors":2},"fathom jobs":[{"jobname":"a","processors":{"user_ms":0,"busy_ms":0,"stolen_ms":0,"total_ms":4000},
                "limits":{"io":[{"group":"/g","device":"sda","read_ios_per_second":500,"read_ios":0}]}}]"#;
            let job = format!(r#""read":{{"total_ios":9,"io_bytes":9,"iops":{iops}}}"#);
            of_job(find, &run(&format!(r#""direct":"1","ioengine":"{engine}""#), &job, more))
        };
        is_told(&of("psync", 500), Severity::Doubtful, "io.max riops=500), and 500 were reached: the figure");
        assert_eq!((of("psync", 100), of("null", 500)), (Vec::new(), Vec::new()));
    }
}
