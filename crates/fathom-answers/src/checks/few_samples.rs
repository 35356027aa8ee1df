//! `few-samples`: percentiles that rest on too few I/Os.

use super::{Found, Severity};
use crate::evidence::Evidence;
use crate::figures;
use fathom_stats::inference::percentile::{FEWEST_SLOWER, fewest_for, is_carried};

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
        let is_carried = |percent: f64| is_carried(percent, count);
        if count == 0 || highest == 0.0 || is_carried(highest) {
            continue;
        }
        let carried =
            latency.percentiles.iter().map(|(percent, _)| *percent).filter(|&percent| is_carried(percent));
        let what = if name == "mixed" { "I/O" } else { name };
        let all = match count {
            1 => format!("there was only 1 {what}"),
            _ => format!("there were only {} {what}s", figures::count(count as f64)),
        };
        let is_needed = own_list || !is_carried(EXPECTED.min(highest));
        let text = match carried.fold(0.0, f64::max) {
            0.0 => format!("{all}: too few for any percentile, which needs {FEWEST_SLOWER} slower ones"),
            percent => format!(
                "{all}: too few for percentiles above p{percent}, each of which needs {FEWEST_SLOWER} slower ones"
            ),
        };
        let severity = if is_needed { Severity::Doubtful } else { Severity::Note };
        let advice = match fewest_for(highest) {
            Some(needed) => {
                format!("p{highest} needs {} I/Os: a longer run", figures::count(needed as f64))
            }
            None => "a lower percentile_list, or a longer run".to_owned(),
        };
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
        is_told(
            &of("", 300),
            Severity::Doubtful,
            "there were only 300 reads: too few for percentiles above p50, each of which needs 10 slower ones",
        );
        is_told(&of("", 5000), Severity::Note, "only 5.00k reads: too few for percentiles above p99");
        is_told(&of(r#""percentile_list":"50:99:99.99""#, 5000), Severity::Doubtful, "above p99");
        is_told(&of("", 1), Severity::Doubtful, "there was only 1 read: too few for any percentile");
        assert_eq!((of("", 200_000), of(r#""ioengine":"null""#, 3)), (Vec::new(), Vec::new()));
    }
}
