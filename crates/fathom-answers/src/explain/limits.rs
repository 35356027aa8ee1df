//! Limits that a job set itself: rates and think time.

use crate::evidence::Evidence;
use fathom_spec::value::{self, TimeUnit};

/// A limit and what was reached of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Limit {
    /// The option.
    pub(super) option: &'static str,
    /// What it allows all clones together.
    pub(super) allowed: f64,
    /// What they did.
    pub(super) reached: f64,
}

impl Limit {
    /// The job was as fast as it was allowed to be.
    pub(super) fn was_met(&self) -> bool {
        self.reached >= 0.95 * self.allowed
    }
}

/// The rate limits of a job, `rate` in bytes per second and `rate_iops` in I/Os per second.
pub(super) fn rates(evidence: &Evidence<'_>) -> Vec<Limit> {
    let mut limits = Vec::new();
    for option in ["rate", "rate_iops"] {
        let Some(text) = evidence.run.option(evidence.job, option) else { continue };
        let allowed: Vec<Option<f64>> = text.split(',').map(amount).collect();
        if let [("mixed", all)] = evidence.job.active().as_slice() {
            if let Some(allowed) = allowed_of_all(evidence, &allowed) {
                let reached = if option == "rate" { all.bytes_per_second } else { all.iops };
                limits.push(Limit { option, allowed: allowed * evidence.clones(), reached });
            }
            continue;
        }
        for (index, direction) in evidence.job.directions().into_iter().enumerate() {
            let Some(direction) = direction else { continue };
            // One value holds for all directions; an empty place has no limit.
            let allowed = if allowed.len() == 1 { allowed[0] } else { allowed.get(index).copied().flatten() };
            let Some(allowed) = allowed.filter(|&allowed| allowed > 0.0) else { continue };
            let reached = if option == "rate" { direction.bytes_per_second } else { direction.iops };
            limits.push(Limit { option, allowed: allowed * evidence.clones(), reached });
        }
    }
    limits
}

/// What a job that reports all directions as one may do in those that it has: the sum, as each has a limit of its own;
/// `None` when one of them has none.
fn allowed_of_all(evidence: &Evidence<'_>, allowed: &[Option<f64>]) -> Option<f64> {
    let option = |name: &str| evidence.run.option(evidence.job, name);
    let workload = option("rw").or_else(|| option("readwrite")).unwrap_or("read");
    let base = workload.split(':').next().unwrap_or_default();
    let directions: &[usize] = match base.trim_start_matches("rand") {
        "read" => &[0],
        "write" => &[1],
        "trim" => &[2],
        "trimwrite" => &[1, 2],
        _ => &[0, 1],
    };
    let of_direction = |&index: &usize| {
        let found = if allowed.len() == 1 { allowed[0] } else { allowed.get(index).copied().flatten() };
        found.filter(|&allowed| allowed > 0.0)
    };
    directions.iter().map(of_direction).sum()
}

/// A limit as it is written, k being 1024.
fn amount(text: &str) -> Option<f64> {
    value::parse_amount(text, 1024)
}

/// A pause in µs, as it is written.
pub(super) fn pause_us(text: &str) -> Option<f64> {
    value::parse_time(text, TimeUnit::Microseconds).map(|pause| pause.as_micros() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_per_direction_and_clone() {
        let text = r#"{"fio version":"fio-3.42","jobs":[{"jobname":"a",
            "job options":{"rate":"1m,","rate_iops":"100","numjobs":"2","group_reporting":""},
            "read":{"total_ios":1,"bw_bytes":2097152,"iops":190},"write":{"total_ios":1,"bw_bytes":9,"iops":200}}]}"#;
        let run = fathom_results::parse(text, "text").expect("reads");
        let found = rates(&Evidence::of(&run, 0));
        let told: Vec<(&str, f64, bool)> =
            found.iter().map(|limit| (limit.option, limit.allowed, limit.was_met())).collect();
        assert_eq!(
            told,
            [("rate", 2_097_152.0, true), ("rate_iops", 200.0, true), ("rate_iops", 200.0, true)]
        );
        assert_eq!((amount("4k"), amount("10"), amount("x")), (Some(4096.0), Some(10.0), None));
    }

    #[test]
    fn directions_reported_as_one_share_the_sum() {
        let limits = |rate: &str| {
            let text = format!(
                r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","job options":{{"rw":"randrw","rate_iops":"{rate}"}},
                "mixed":{{"total_ios":400,"io_bytes":4096,"iops":200}}}}]}}"#
            );
            let run = fathom_results::parse(&text, "text").expect("reads");
            rates(&Evidence::of(&run, 0))
                .iter()
                .map(|limit| (limit.allowed, limit.was_met()))
                .collect::<Vec<_>>()
        };
        assert_eq!(limits("100"), [(200.0, true)]);
        assert_eq!(limits("300,100"), [(400.0, false)]);
        assert_eq!(limits("100,"), []);
    }
}
