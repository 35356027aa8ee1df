//! Limits that the job itself sets: rates and think time.

use crate::evidence::Evidence;
use crate::evidence::asked::{AskedWorkload, Thinking};
use crate::figures;

/// Upper bound of any CPU's frequency, from which a lower bound on the duration of a number of cycles follows.
const MOST_CYCLES_PER_SECOND: f64 = 5e9;

/// A limit, and how much of it the job used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OwnLimit {
    /// The option.
    pub(crate) option: &'static str,
    /// The limit for all clones together.
    pub(crate) allowed: f64,
    /// Their rate.
    pub(crate) reached: f64,
}

impl OwnLimit {
    /// True if the job was as fast as the limit allows.
    pub(crate) fn was_met(&self) -> bool {
        self.reached >= 0.95 * self.allowed
    }
}

/// The rate limits of a job: `rate` in bytes per second, and `rate_iops` in I/Os per second.
pub(crate) fn rates(evidence: &Evidence<'_>) -> Vec<OwnLimit> {
    let mut limits = Vec::new();
    for (option, allowed) in [("rate", &evidence.asked.rate), ("rate_iops", &evidence.asked.rate_iops)] {
        if allowed.is_empty() {
            continue;
        }
        if let [("mixed", all)] = evidence.job.active().as_slice() {
            if let Some(allowed) = allowed_of_all(evidence, allowed) {
                let reached = if option == "rate" { all.bytes_per_second } else { all.iops };
                limits.push(OwnLimit { option, allowed: allowed * evidence.clones(), reached });
            }
            continue;
        }
        for (index, direction) in evidence.job.directions().into_iter().enumerate() {
            let Some(direction) = direction else { continue };
            // A single value applies to all directions; an empty one means no limit.
            let allowed = if allowed.len() == 1 { allowed[0] } else { allowed.get(index).copied().flatten() };
            let Some(allowed) = allowed.filter(|&allowed| allowed > 0.0) else { continue };
            let reached = if option == "rate" { direction.bytes_per_second } else { direction.iops };
            limits.push(OwnLimit { option, allowed: allowed * evidence.clones(), reached });
        }
    }
    limits
}

/// The total limit of a job that reports all directions together: the sum over its directions; `None` if one of
/// them is unlimited.
fn allowed_of_all(evidence: &Evidence<'_>, allowed: &[Option<f64>]) -> Option<f64> {
    let directions: &[usize] = match evidence.asked.workload {
        AskedWorkload::Read => &[0],
        AskedWorkload::Write => &[1],
        AskedWorkload::Trim => &[2],
        AskedWorkload::TrimWrite => &[1, 2],
        AskedWorkload::Mixed | AskedWorkload::Other => &[0, 1],
    };
    let of_direction = |&index: &usize| {
        let found = if allowed.len() == 1 { allowed[0] } else { allowed.get(index).copied().flatten() };
        found.filter(|&allowed| allowed > 0.0)
    };
    directions.iter().map(of_direction).sum()
}

/// Time that a job spent in pauses that its options request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pauses {
    /// The options, and when they cause pauses.
    pub(crate) rule: String,
    /// Share of the run time, percent.
    pub(crate) share: f64,
}

/// Time spent in `thinktime` pauses, which follow a number of I/Os or a duration.
pub(crate) fn pauses(evidence: &Evidence<'_>) -> Option<Pauses> {
    let &Thinking { written, pause, blocks, io_time } = evidence.asked.thinking.as_ref()?;
    let run_time = evidence.job.runtime_ms.max(1) as f64 / 1000.0;
    let ios = evidence.ios();
    // With `thinktime_iotime`, the number of I/Os matters only if `thinktime_blocks` is set as well.
    let by_count = (io_time.is_none() || blocks.is_some()).then(|| {
        let every = blocks.unwrap_or(1.0).max(1.0);
        let when = if every > 1.0 { format!("every {every}") } else { "each".to_owned() };
        Pauses {
            rule: format!("thinktime={written} pauses after {when} of {} I/Os", figures::count(ios as f64)),
            share: 100.0 * ios as f64 / every * pause / run_time,
        }
    });
    let by_time = io_time.map(|(text, time)| Pauses {
        rule: format!("thinktime={written} pauses after every thinktime_iotime={text} of I/O"),
        share: 100.0 * pause / (pause + time),
    });
    by_count.into_iter().chain(by_time).max_by(|a, b| a.share.total_cmp(&b.share))
}

/// Lower bound of the time spent in `thinkcycles`, whose duration depends on the processor.
pub(crate) fn spinning(evidence: &Evidence<'_>) -> Option<Pauses> {
    let cycles = evidence.asked.think_cycles?;
    let ios = evidence.ios() as f64;
    let least_seconds = ios * cycles / MOST_CYCLES_PER_SECOND;
    Some(Pauses {
        rule: format!("thinkcycles={cycles} spins after each of {} I/Os", figures::count(ios)),
        share: 100.0 * least_seconds * 1000.0 / evidence.job.runtime_ms.max(1) as f64,
    })
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
        let thousands = text.replace("\"numjobs\"", "\"kb_base\":\"1000\",\"numjobs\"");
        let run = fathom_results::parse(&thousands, "text").expect("reads");
        assert_eq!(rates(&Evidence::of(&run, 0))[0].allowed, 2e6);
    }

    #[test]
    fn pauses_are_counted_by_ios_and_by_time() {
        let share = |options: &str| {
            let text = format!(
                r#"{{"fio version":"fio-3.42","jobs":[{{"jobname":"a","job options":{{{options}}},"job_runtime":10000,
                "read":{{"total_ios":4096,"io_bytes":4096,"iops":409.6}}}}]}}"#
            );
            let run = fathom_results::parse(&text, "text").expect("reads");
            pauses(&Evidence::of(&run, 0)).map(|pauses| pauses.share.round())
        };
        assert_eq!(share(r#""thinktime":"1000""#), Some(41.0));
        assert_eq!(share(r#""thinktime":"1s","thinktime_blocks":"1k""#), Some(40.0));
        // Pauses follow seconds of I/O; without thinktime_blocks, the number of I/Os does not matter.
        assert_eq!(share(r#""thinktime":"1s","thinktime_iotime":"4""#), Some(20.0));
        assert_eq!(share(r#""thinktime":"1s","thinktime_iotime":"4","thinktime_blocks":"512""#), Some(80.0));
        assert_eq!(share(r#""thinktime":"0""#), None);
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
