//! The `steadystate` line.

use crate::scale::{Base, Scale, scaled};
use fathom_stats::report::{SteadyStateMetric, SteadyStateReport};

/// Appends a line that says whether the run became steady, its level, and the distance from the limit.
pub(super) fn append(text: &mut String, steady: &SteadyStateReport, scale: &Scale) {
    let kib = steady.bandwidth_mean() / 1024;
    // As in fio's reports, the figure in parentheses is the same number with decimal prefixes, not the
    // converted rate.
    let (binary, decimal) = (
        scaled(u128::from(kib) * 1024, scale.figures, Base::Binary, "B/s"),
        scaled(u128::from(kib) * 1000, scale.figures, Base::Decimal, "B/s"),
    );
    let latency = match steady.metric {
        SteadyStateMetric::Latency => format!(", lat={:.0}nsec", steady.latency_mean_ns()),
        _ => String::new(),
    };
    *text += &format!(
        "  steadystate  : attained={}, bw={binary} ({decimal}), iops={}{latency}, {} {}={:.3}{}\n",
        if steady.attained { "yes" } else { "no" },
        steady.iops_mean(),
        metric_word(steady.metric),
        if steady.slope_mode { "slope" } else { "mean dev" },
        steady.criterion,
        if steady.percent { "%" } else { "" }
    );
}

fn metric_word(metric: SteadyStateMetric) -> &'static str {
    match metric {
        SteadyStateMetric::Iops => "iops",
        SteadyStateMetric::Bandwidth => "bw",
        SteadyStateMetric::Latency => "lat",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_and_criterion() {
        let mut steady = SteadyStateReport {
            percent: true,
            attained: true,
            criterion: 0.065_062,
            iops: vec![769, 768],
            bytes_per_second: vec![3_150_769, 3_145_728],
            ..Default::default()
        };
        let mut text = String::new();
        append(&mut text, &steady, &Scale::new(1024, 8, 4));
        assert_eq!(
            text,
            "  steadystate  : attained=yes, bw=3074KiB/s (3074kB/s), iops=768, iops mean dev=0.065%\n"
        );
        steady.metric = SteadyStateMetric::Latency;
        steady.slope_mode = true;
        steady.percent = false;
        steady.attained = false;
        steady.latency_ns = vec![114, 116];
        text.clear();
        append(&mut text, &steady, &Scale::new(1024, 8, 4));
        assert!(text.contains("attained=no"), "{text}");
        assert!(text.ends_with("iops=768, lat=115nsec, lat slope=0.065\n"), "{text}");
    }
}
