//! Converts families to OpenTelemetry's metrics.

use super::{scope, text};
use crate::Snapshot;
use crate::figures::{Family, Labels, Metric, MetricKind, Unit, Values, families};
use crate::prometheus::{bounds_ns, counts_below};
use fathom_stats::LatencyStats;
use fathom_stats::histogram::{RANGE_END_NS, value_of};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Histogram,
    HistogramDataPoint, Metric as SentMetric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use std::collections::BTreeMap;
use std::collections::HashMap;

/// Maximum number of buckets of an exponential histogram, as in the specification.
const MOST_BUCKETS: i32 = 160;
/// The finest scale: fathom has 64 bins per power of two.
const FINEST_SCALE: i32 = 6;

/// Start time of each series. A job that restarts its figures, as at the end of its ramp, restarts its
/// series.
#[derive(Default)]
pub(super) struct Starts(HashMap<(&'static str, Labels), (u64, f64)>);

impl Starts {
    /// Start time of the series, given its current value.
    fn of(&mut self, metric: &Metric, labels: &Labels, value: f64, moment: &Moment) -> u64 {
        let place = self.0.entry((metric.name, labels.clone())).or_insert((moment.started_ns, 0.0));
        if value < place.1 {
            // The series restarted between the previous export and this one, so its start is the time of the
            // previous one.
            place.0 = moment.before_ns;
        }
        place.1 = value;
        place.0
    }
}

/// Times of a snapshot.
struct Moment {
    started_ns: u64,
    taken_ns: u64,
    /// Time of the previous one.
    before_ns: u64,
}

pub(super) fn request(
    snapshot: &Snapshot,
    resource: Resource,
    starts: &mut Starts,
    exponential: bool,
) -> ExportMetricsServiceRequest {
    let place = starts.0.entry(("", Labels::new())).or_insert((snapshot.started_ns, 0.0));
    let before_ns = std::mem::replace(&mut place.0, snapshot.taken_ns);
    let moment = Moment { started_ns: snapshot.started_ns, taken_ns: snapshot.taken_ns, before_ns };
    let metrics =
        families(snapshot).iter().map(|family| sent(family, &moment, starts, exponential)).collect();
    let scope_metrics =
        ScopeMetrics { scope: Some(scope(&snapshot.version)), metrics, ..ScopeMetrics::default() };
    let resource_metrics = ResourceMetrics {
        resource: Some(resource),
        scope_metrics: vec![scope_metrics],
        ..ResourceMetrics::default()
    };
    ExportMetricsServiceRequest { resource_metrics: vec![resource_metrics] }
}

fn sent(family: &Family, moment: &Moment, starts: &mut Starts, exponential: bool) -> SentMetric {
    let metric = &family.metric;
    let temporality = AggregationTemporality::Cumulative as i32;
    let data = match &family.values {
        Values::Numbers(kind, series) => {
            let point = |(labels, value): &(Labels, f64)| NumberDataPoint {
                attributes: attributes(labels),
                start_time_unix_nano: match kind {
                    MetricKind::Counter => starts.of(metric, labels, *value, moment),
                    MetricKind::Gauge => 0,
                },
                time_unix_nano: moment.taken_ns,
                value: Some(Value::AsDouble(*value)),
                ..NumberDataPoint::default()
            };
            let data_points = series.iter().map(point).collect();
            match kind {
                MetricKind::Counter => {
                    Data::Sum(Sum { data_points, aggregation_temporality: temporality, is_monotonic: true })
                }
                MetricKind::Gauge => Data::Gauge(Gauge { data_points }),
            }
        }
        Values::Latencies(series) => {
            let begun = series.iter().map(|(labels, stats)| {
                (labels, stats, starts.of(metric, labels, stats.histogram.count() as f64, moment))
            });
            match exponential {
                true => Data::ExponentialHistogram(ExponentialHistogram {
                    data_points: begun
                        .map(|(labels, stats, start)| exponential_point(labels, stats, start, moment))
                        .collect(),
                    aggregation_temporality: temporality,
                }),
                false => Data::Histogram(Histogram {
                    data_points: begun
                        .map(|(labels, stats, start)| explicit_point(labels, stats, start, moment))
                        .collect(),
                    aggregation_temporality: temporality,
                }),
            }
        }
    };
    SentMetric {
        name: metric.name.to_owned(),
        description: metric.meaning.to_owned(),
        unit: match metric.unit {
            Unit::Bytes => "By",
            Unit::Seconds => "s",
            // The unit of a ratio is `1`; plain numbers have a unit in braces.
            Unit::Ratio => "1",
            Unit::Things => "{count}",
        }
        .to_owned(),
        data: Some(data),
        ..SentMetric::default()
    }
}

fn attributes(labels: &Labels) -> Vec<KeyValue> {
    labels.iter().map(|(name, value)| text(name, value)).collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn explicit_point(
    labels: &Labels,
    stats: &LatencyStats,
    start_time_unix_nano: u64,
    moment: &Moment,
) -> HistogramDataPoint {
    let count = stats.histogram.count();
    let mut bucket_counts = Vec::new();
    let mut before = 0;
    for below in counts_below(stats).into_iter().chain([count]) {
        bucket_counts.push(below - before);
        before = below;
    }
    HistogramDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano,
        time_unix_nano: moment.taken_ns,
        count,
        sum: Some(seconds(stats.sum_ns)),
        bucket_counts,
        explicit_bounds: bounds_ns().into_iter().map(seconds).collect(),
        min: Some(seconds(stats.min_ns)),
        max: Some(seconds(stats.max_ns)),
        ..HistogramDataPoint::default()
    }
}

fn exponential_point(
    labels: &Labels,
    stats: &LatencyStats,
    start_time_unix_nano: u64,
    moment: &Moment,
) -> ExponentialHistogramDataPoint {
    let (scale, buckets) = exponential_buckets(stats);
    let zero_count = stats.histogram.bins.get(&0).copied().unwrap_or(0);
    ExponentialHistogramDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano,
        time_unix_nano: moment.taken_ns,
        count: stats.histogram.count(),
        sum: Some(seconds(stats.sum_ns)),
        scale,
        zero_count,
        positive: Some(buckets),
        min: Some(seconds(stats.min_ns)),
        max: Some(seconds(stats.max_ns)),
        ..ExponentialHistogramDataPoint::default()
    }
}

/// Assigns bins to buckets of the finest scale at which all of them fit. A bin that spans a bound is assigned
/// by its middle, which is off by at most half a bin (0.8 %).
fn exponential_buckets(stats: &LatencyStats) -> (i32, Buckets) {
    let mut values: Vec<(f64, u64)> = stats
        .histogram
        .bins
        .iter()
        .filter(|(bin, _)| **bin > 0)
        .map(|(bin, count)| (seconds(value_of(usize::from(*bin))), *count))
        .collect();
    if stats.histogram.beyond_range > 0 {
        values.push((seconds(RANGE_END_NS), stats.histogram.beyond_range));
    }
    let mut scale = FINEST_SCALE;
    loop {
        let mut counts = BTreeMap::<i32, u64>::new();
        for (value, count) in &values {
            // Bucket i holds values in (base^i, base^(i+1)], where the base is 2^(2^-scale).
            let index = (value.log2() * f64::from(scale).exp2()).ceil() as i32 - 1;
            *counts.entry(index).or_default() += count;
        }
        let (Some((&first, _)), Some((&last, _))) = (counts.first_key_value(), counts.last_key_value())
        else {
            return (scale, Buckets::default());
        };
        if last - first < MOST_BUCKETS {
            let bucket_counts =
                (first..=last).map(|index| counts.get(&index).copied().unwrap_or(0)).collect();
            return (scale, Buckets { offset: first, bucket_counts });
        }
        scale -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prometheus::recorded;
    use proptest::prelude::*;

    const METRIC: Metric = Metric { name: "a", unit: Unit::Things, meaning: "a" };

    proptest! {
        #[test]
        fn every_latency_is_in_a_bucket_around_it(values in prop::collection::vec(1u64..1 << 44, 1..200)) {
            let stats = recorded(&values);
            let (scale, buckets) = exponential_buckets(&stats);
            prop_assert!(buckets.bucket_counts.len() <= MOST_BUCKETS as usize);
            prop_assert_eq!(buckets.bucket_counts.iter().sum::<u64>(), values.len() as u64);
            // The bounds of the first and the last bucket are at most a bucket and a bin away from the
            // extremes.
            let bound = |index: i32| (f64::from(index) / f64::from(scale).exp2()).exp2();
            let smallest = seconds(stats.min_ns);
            prop_assert!(bound(buckets.offset) <= smallest * 1.01, "{} {smallest}", bound(buckets.offset));
            prop_assert!(bound(buckets.offset + 1) >= smallest * 0.99);
        }

        #[test]
        fn explicit_buckets_add_up(values in prop::collection::vec(0u64..1 << 45, 0..200)) {
            let stats = recorded(&values);
            let moment = Moment { started_ns: 1, taken_ns: 2, before_ns: 1 };
            let point = explicit_point(&Labels::new(), &stats, 1, &moment);
            prop_assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
            prop_assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
        }
    }

    #[test]
    fn a_series_that_begins_anew_says_so() {
        let mut starts = Starts::default();
        let mut start = |value, taken_ns, before_ns| {
            starts.of(&METRIC, &Labels::new(), value, &Moment { started_ns: 10, taken_ns, before_ns })
        };
        assert_eq!(start(5.0, 20, 10), 10);
        assert_eq!(start(7.0, 30, 20), 10);
        assert_eq!(start(1.0, 40, 30), 30, "after the ramp");
        assert_eq!(start(9.0, 50, 40), 30);
    }
}
