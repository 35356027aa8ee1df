//! `few-samples`: percentiles that rest on too few I/Os.

use super::{Found, Severity};
use crate::evidence::Evidence;
use crate::figures;

/// A percentile is reliable if at least this many I/Os were slower.
const BEYOND: f64 = 10.0;
/// The percentile that every reader looks at.
const EXPECTED: f64 = 99.0;

pub(super) fn find(evidence: &Evidence<'_>) -> Vec<Found> {
    if !evidence.has_storage() {
        return Vec::new();
    }
    let own_list = evidence.run.option(evidence.job, "percentile_list").is_some();
    let mut found = Vec::new();
    for (name, direction) in evidence.job.active() {
        let latency = direction.latency();
        let count = if latency.count > 0 { latency.count } else { direction.total_ios };
        let highest = latency.percentiles.iter().map(|(percent, _)| *percent).fold(0.0, f64::max);
        let is_carried = |percent: f64| count as f64 * (1.0 - percent / 100.0) >= BEYOND * (1.0 - 1e-9);
        if count == 0 || highest == 0.0 || is_carried(highest) {
            continue;
        }
        let carried =
            latency.percentiles.iter().map(|(percent, _)| *percent).filter(|&percent| is_carried(percent));
        let up_to = match carried.fold(0.0, f64::max) {
            0.0 => "no percentile that is printed has".to_owned(),
            percent => format!("only those up to p{percent} have"),
        };
        let is_needed = own_list || !is_carried(EXPECTED.min(highest));
        let text = format!(
            "the percentiles of {} {name} I/Os: {up_to} 10 or more slower I/Os, the others rest on too few",
            figures::count(count as f64)
        );
        let severity = if is_needed { Severity::Doubtful } else { Severity::Note };
        let needed = BEYOND / (1.0 - highest / 100.0).max(1e-9);
        let advice = format!("p{highest} needs {} I/Os: a longer run", figures::count(needed.round()));
        let direction = ["read", "write", "trim"].iter().position(|own| *own == name);
        let own = Found::new(severity, text, advice)
            .with(&[("ios", count as f64), ("highest_percentile", highest)])
            .weighing(1.0 / count as f64);
        found.push(direction.map_or(own.clone(), |direction| own.in_direction(direction)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, of_job, run};

    #[test]
    fn percentiles_without_samples_are_told() {
        let of = |options: &str, ios: u32| {
            let job = format!(
                r#""read":{{"total_ios":{ios},"io_bytes":9,"clat_ns":{{"N":{ios},"percentile":{{"50.000000":5,"99.000000":6,"99.990000":7}}}}}}"#
            );
            of_job(find, &run(options, &job, ""))
        };
        is_told(&of("", 300), Severity::Doubtful, "of 300 read I/Os: only those up to p50 have 10");
        is_told(&of("", 5000), Severity::Note, "only those up to p99 have");
        is_told(&of(r#""percentile_list":"50:99:99.99""#, 5000), Severity::Doubtful, "up to p99");
        assert_eq!((of("", 200_000), of(r#""ioengine":"null""#, 3)), (Vec::new(), Vec::new()));
    }
}
