//! The precision of a figure from a single run, based on the variation inside that run. It says nothing about
//! the variation between runs.

use super::figure::Figure;
use super::workload::{Traffic, TrafficMoment};
use fathom_stats::inference::timeline::{self, Estimate, mean_of_samples, ratio_of_sums};
use fathom_stats::inference::{Interval, percentile};
use fathom_stats::timeline::coarse_bin_of;

/// The 95 % interval of a figure within its run; `None` without a sound basis. Rates and means are derived from
/// the timeline of the run. Results of fio have no timeline; there, a bandwidth is derived from its samples,
/// and percentiles treat each I/O as independent, which [`supposes_independence`] reports.
pub(crate) fn interval(figure: Figure, traffic: &Traffic) -> Option<Interval> {
    let value = figure.of_traffic(traffic)?;
    let moments = steady_part(&traffic.timeline);
    let sums = |amount: &dyn Fn(&TrafficMoment) -> f64, size: &dyn Fn(&TrafficMoment) -> f64| {
        let (amounts, sizes): (Vec<f64>, Vec<f64>) =
            moments.iter().map(|moment| (amount(moment), size(moment))).unzip();
        ratio_of_sums(&amounts, &sizes)
    };
    match figure {
        Figure::Bandwidth | Figure::Iops => {
            let timeline = match figure {
                Figure::Bandwidth => sums(&|moment| moment.io_bytes, &|moment| moment.seconds),
                _ => sums(&|moment| moment.total_ios, &|moment| moment.seconds),
            };
            let samples = || {
                traffic.samples.and_then(|(mean, deviation, count)| mean_of_samples(mean, deviation, count))
            };
            scaled(value, timeline.or_else(samples)?)
        }
        Figure::LatencyMean => scaled(value, sums(&total_latency, &|moment| count_in(moment, |_| true))?),
        Figure::Percentile(percent) => {
            let histogram = traffic.histogram.as_ref()?;
            let half_width = match share_below(percent, value, moments) {
                Some(share) => percentile::half_width_of_timeline(percent, histogram.count(), &share),
                None => percentile::half_width_of_independent(percent, histogram.count()),
            };
            percentile::interval(histogram, percent, half_width)
        }
        Figure::LatencyMax | Figure::ProcessorTime => None,
    }
}

/// True for a percentile whose interval treats every I/O as an independent measurement.
pub(crate) fn supposes_independence(figure: Figure, traffic: &Traffic) -> bool {
    matches!(figure, Figure::Percentile(_)) && steady_part(&traffic.timeline).len() < timeline::FEWEST_POINTS
}

/// Applies the relative width of an estimate to the figure of the whole run, on a logarithmic scale, so that
/// the interval stays positive.
fn scaled(value: f64, estimate: Estimate) -> Option<Interval> {
    let relative = estimate.half_width() / estimate.value;
    let usable = value > 0.0 && relative.is_finite();
    usable.then(|| Interval { low: value * (-relative).exp(), high: value * relative.exp() })
}

/// The points between the first and the last one with I/O, without these two, so that the job was active
/// throughout each.
fn steady_part(timeline: &[TrafficMoment]) -> &[TrafficMoment] {
    let busy = |moment: &TrafficMoment| moment.total_ios > 0.0;
    let first = timeline.iter().position(busy).map_or(0, |first| first + 1);
    let end = timeline.iter().rposition(busy).unwrap_or(0);
    timeline.get(first..end).unwrap_or_default()
}

fn total_latency(moment: &TrafficMoment) -> f64 {
    moment.bins.iter().map(|(&ns, &count)| ns as f64 * count as f64).sum()
}

fn count_in(moment: &TrafficMoment, wanted: impl Fn(u64) -> bool) -> f64 {
    moment.bins.iter().filter(|(ns, _)| wanted(**ns)).map(|(_, &count)| count as f64).sum()
}

/// The precision of the share of I/Os up to a percentile, from the timeline. The timeline has coarse bins, so
/// the share is taken at the nearer edge of the percentile's bin. Its error is then scaled, because shares near
/// a half vary more than shares near one.
fn share_below(percent: f64, value_ns: f64, moments: &[TrafficMoment]) -> Option<Estimate> {
    let share = percent / 100.0;
    let bin = coarse_bin_of(value_ns as u64);
    let all: Vec<f64> = moments.iter().map(|moment| count_in(moment, |_| true)).collect();
    let below = |last_bin: Option<u16>| {
        let within = |ns: u64| last_bin.is_some_and(|last| coarse_bin_of(ns) <= last);
        let counts: Vec<f64> = moments.iter().map(|moment| count_in(moment, within)).collect();
        ratio_of_sums(&counts, &all).filter(|estimate| estimate.value > 0.0 && estimate.value < 1.0)
    };
    let edges = [below(bin.checked_sub(1)), below(Some(bin))];
    let distance = |estimate: &Estimate| (estimate.value - share).abs();
    let nearest = edges.into_iter().flatten().min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let spread = |share: f64| (share * (1.0 - share)).sqrt();
    let standard_error = nearest.standard_error * spread(share) / spread(nearest.value);
    Some(Estimate { value: share, standard_error, ..nearest })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_stats::Histogram;

    /// A timeline of seconds with 1000 I/Os each. In the seconds that `is_slow` selects, a tenth of the I/Os is
    /// slow.
    fn traffic(is_slow: impl Fn(usize) -> bool) -> Traffic {
        let (mut timeline, mut histogram) = (Vec::new(), Histogram::default());
        for second in 0..40 {
            let slow = if is_slow(second) { 100 } else { 0 };
            let bins = [(100_000, 1000 - slow), (5_000_000, slow)].into_iter().filter(|bin| bin.1 > 0);
            let moment = TrafficMoment {
                seconds: 1.0,
                io_bytes: 4_096_000.0,
                total_ios: 1000.0,
                bins: bins.collect(),
            };
            moment.bins.iter().for_each(|(&ns, &count)| (0..count).for_each(|_| histogram.record(ns)));
            timeline.push(moment);
        }
        let mean_ns = 200_000.0;
        Traffic {
            latency_count: 40_000,
            mean_ns,
            bytes_per_second: 4_096_000.0,
            histogram: Some(histogram),
            timeline,
            ..Traffic::default()
        }
    }

    #[test]
    fn slow_seconds_make_a_percentile_unsure() {
        let steady = interval(Figure::Percentile(99.0), &traffic(|second| second % 4 == 0)).expect("enough");
        assert!(
            steady.low > 4e6,
            "every fourth second is slow, so the slow tenth always holds the percentile: {steady:?}"
        );
        let burst = interval(Figure::Percentile(99.0), &traffic(|second| (20..25).contains(&second)));
        assert!(burst.is_none_or(|burst| burst.low < 2e5), "one burst: {burst:?}");
    }

    #[test]
    fn a_steady_rate_is_sure_and_the_edges_do_not_count() {
        let mut steady = traffic(|_| false);
        steady.timeline[0].io_bytes = 1.0;
        let found = interval(Figure::Bandwidth, &steady).expect("enough");
        assert!(found.high - found.low < 1e-3, "{found:?}");
        assert_eq!(interval(Figure::LatencyMax, &steady), None);
        steady.timeline.truncate(6);
        assert_eq!(interval(Figure::Bandwidth, &steady), None);
        assert!(supposes_independence(Figure::Percentile(50.0), &steady));
    }
}
