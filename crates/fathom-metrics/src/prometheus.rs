//! Families in Prometheus' text format (0.0.4), which Prometheus and node_exporter read.

use crate::figures::{Family, Labels, Metric, MetricKind, Values};
use fathom_stats::LatencyStats;
use fathom_stats::histogram::bounds_of;
use prometheus::proto::{
    Bucket, Counter, Gauge, Histogram, LabelPair, Metric as Series, MetricFamily, MetricType,
};
use prometheus::{Encoder, TEXT_FORMAT, TextEncoder};

/// Content type of the text.
pub const CONTENT_TYPE: &str = TEXT_FORMAT;

/// Exponents of the bounds of buckets, in ns: from 256 ns to 17 s. Each power of two is split into two
/// buckets, so that every bound is also a bound of fathom's bins and the counts are exact.
const POWERS: std::ops::RangeInclusive<u32> = 8..=34;

/// Upper bounds of latency buckets in ns; a value equal to a bound belongs to the next bucket.
pub fn bounds_ns() -> Vec<u64> {
    POWERS.flat_map(|power| [1 << power, (1 << power) + (1 << (power - 1))]).collect()
}

/// Number of latencies below each of [`bounds_ns`].
pub fn counts_below(stats: &LatencyStats) -> Vec<u64> {
    let bounds = bounds_ns();
    let mut counts = Vec::with_capacity(bounds.len());
    let mut below = 0;
    let mut bins = stats.histogram.bins.iter().peekable();
    for bound in bounds {
        while let Some((_, count)) = bins.next_if(|(bin, _)| bounds_of(usize::from(**bin)).1 < bound) {
            below += count;
        }
        counts.push(below);
    }
    counts
}

/// The text.
pub fn text(families: &[Family]) -> String {
    let families: Vec<MetricFamily> = families.iter().map(family).collect();
    let mut text = Vec::new();
    match TextEncoder::new().encode(&families, &mut text) {
        Ok(()) => String::from_utf8_lossy(&text).into_owned(),
        // This can fail only for a family without series or with an invalid name, so the error is shown as a
        // comment.
        Err(error) => format!("# {error}\n"),
    }
}

/// Prometheus' name of a metric.
pub fn name(metric: &Metric, is_counter: bool) -> String {
    let total = if is_counter { "_total" } else { "" };
    format!("{}{}{total}", metric.name.replace('.', "_"), metric.unit.ending())
}

fn family(family: &Family) -> MetricFamily {
    let is_counter = matches!(family.values, Values::Numbers(MetricKind::Counter, _));
    let mut text = MetricFamily::default();
    text.set_name(name(&family.metric, is_counter));
    text.set_help(family.metric.meaning.to_owned());
    match &family.values {
        Values::Numbers(kind, series) => {
            text.set_field_type(match kind {
                MetricKind::Counter => MetricType::COUNTER,
                MetricKind::Gauge => MetricType::GAUGE,
            });
            text.set_metric(series.iter().map(|(labels, value)| number(*kind, labels, *value)).collect());
        }
        Values::Latencies(series) => {
            text.set_field_type(MetricType::HISTOGRAM);
            text.set_metric(series.iter().map(|(labels, stats)| latency(labels, stats)).collect());
        }
    }
    text
}

fn series(labels: &Labels) -> Series {
    let pairs = labels.iter().map(|(name, value)| {
        let mut pair = LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value(value.clone());
        pair
    });
    let mut series = Series::default();
    series.set_label(pairs.collect());
    series
}

fn number(kind: MetricKind, labels: &Labels, value: f64) -> Series {
    let mut series = series(labels);
    match kind {
        MetricKind::Counter => {
            let mut counter = Counter::default();
            counter.set_value(value);
            series.set_counter(counter);
        }
        MetricKind::Gauge => {
            let mut gauge = Gauge::default();
            gauge.set_value(value);
            series.set_gauge(gauge);
        }
    }
    series
}

fn latency(labels: &Labels, stats: &LatencyStats) -> Series {
    let buckets = bounds_ns().into_iter().zip(counts_below(stats)).map(|(bound, count)| {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(bound as f64 / 1e9);
        bucket.set_cumulative_count(count);
        bucket
    });
    let mut histogram = Histogram::default();
    histogram.set_bucket(buckets.collect());
    histogram.set_sample_count(stats.histogram.count());
    histogram.set_sample_sum(stats.sum_ns as f64 / 1e9);
    let mut series = series(labels);
    series.set_histogram(histogram);
    series
}

#[cfg(test)]
pub(crate) fn recorded(values: &[u64]) -> LatencyStats {
    let mut stats = LatencyStats::default();
    values.iter().for_each(|&ns| stats.record(ns));
    stats
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Unit;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_latency_is_on_the_wrong_side_of_a_bound(values in prop::collection::vec(0u64..1 << 45, 0..200)) {
            let stats = recorded(&values);
            for (bound, count) in bounds_ns().into_iter().zip(counts_below(&stats)) {
                let expected = values.iter().filter(|&&ns| ns < bound).count() as u64;
                prop_assert_eq!(count, expected, "below {}", bound);
            }
        }
    }

    #[test]
    fn the_text_is_prometheus_own() {
        let families = [
            Family {
                metric: Metric { name: "fathom.job.io", unit: Unit::Bytes, meaning: "Bytes" },
                values: Values::Numbers(
                    MetricKind::Counter,
                    vec![(vec![("job", "a \"b\"\n\\".to_owned())], 4096.0)],
                ),
            },
            Family {
                metric: Metric { name: "fathom.job.latency", unit: Unit::Seconds, meaning: "Latency" },
                values: Values::Latencies(vec![(Labels::new(), recorded(&[255, 256, 400, 1 << 44]))]),
            },
        ];
        let text = text(&families);
        let expected = "# HELP fathom_job_io_bytes_total Bytes\n\
                        # TYPE fathom_job_io_bytes_total counter\n\
                        fathom_job_io_bytes_total{job=\"a \\\"b\\\"\\n\\\\\"} 4096\n\
                        # HELP fathom_job_latency_seconds Latency\n\
                        # TYPE fathom_job_latency_seconds histogram\n\
                        fathom_job_latency_seconds_bucket{le=\"0.000000256\"} 1\n\
                        fathom_job_latency_seconds_bucket{le=\"0.000000384\"} 2\n\
                        fathom_job_latency_seconds_bucket{le=\"0.000000512\"} 3\n";
        assert!(text.starts_with(expected), "{text}");
        // Latencies beyond the last bound are counted in the last bucket.
        assert!(text.contains("_bucket{le=\"+Inf\"} 4\n") && text.ends_with("_count 4\n"), "{text}");
    }
}
