//! Samples per time interval, weighted by overlap.

use super::series::Series;
use fathom_command::Failure;

/// Maximum number of intervals; more indicate a wrong interval.
const MOST_INTERVALS: f64 = 10e6;

/// Statistics of all series in one interval, or in total.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interval {
    /// Milliseconds.
    pub(crate) end_ms: f64,
    /// Mean per series, weighted by time (or over I/Os); `None` without samples.
    pub(crate) means: Vec<Option<f64>>,
    /// Values of all series and their weights, by value.
    weighted: Vec<(f64, f64)>,
}

impl Interval {
    pub(crate) fn samples(&self) -> usize {
        self.weighted.len()
    }

    /// Sum of the means of all series.
    pub(crate) fn sum(&self) -> f64 {
        self.means.iter().flatten().sum()
    }

    /// The weighted mean over the samples of all series; a series that has ended does not count.
    pub(crate) fn average(&self) -> Option<f64> {
        let weights: f64 = self.weighted.iter().map(|(_, weight)| weight).sum();
        let sum: f64 = self.weighted.iter().map(|(value, weight)| value * weight).sum();
        (weights > 0.0).then_some(sum / weights)
    }

    /// The smallest value at or below which this percentage of the weight lies; 0 gives the minimum, 100 the maximum.
    pub(crate) fn percentile(&self, percent: f64) -> Option<f64> {
        let total: f64 = self.weighted.iter().map(|(_, weight)| weight).sum();
        let mut sum = 0.0;
        let reached = self.weighted.iter().find(|(_, weight)| {
            sum += weight;
            // Rounding of fractional sums may miss the total slightly, so the comparison is less strict.
            sum >= percent / 100.0 * total * (1.0 - 1e-12)
        });
        reached.or(self.weighted.last()).map(|(value, _)| *value)
    }
}

/// Divides the time of the series into intervals of this length. The last one ends with the last sample.
pub(crate) fn divide(all: &[Series], interval_ms: f64) -> Result<Vec<Interval>, Failure> {
    let starts = all.iter().filter_map(|series| series.samples.first()).map(|sample| sample.start_ms);
    let first = (starts.fold(f64::INFINITY, f64::min) / interval_ms).floor();
    let ends = all.iter().filter_map(|series| series.samples.last()).map(|sample| sample.end_ms);
    let end_ms = ends.fold(0.0, f64::max);
    let count = (end_ms / interval_ms - first).ceil().max(1.0);
    if count > MOST_INTERVALS {
        return Err(Failure::new(format!(
            "intervals of {interval_ms} ms make {count:.0} lines; use longer intervals"
        )));
    }
    let mut intervals: Vec<Interval> = (0..count as usize)
        .map(|number| Interval {
            end_ms: (first + number as f64 + 1.0) * interval_ms,
            means: vec![None; all.len()],
            weighted: Vec::new(),
        })
        .collect();
    for (number, series) in all.iter().enumerate() {
        add(series, number, first * interval_ms, interval_ms, end_ms, &mut intervals);
    }
    intervals
        .iter_mut()
        .for_each(|interval| interval.weighted.sort_by(|one, other| one.0.total_cmp(&other.0)));
    Ok(intervals)
}

/// The whole time as one interval.
pub(crate) fn whole(all: &[Series]) -> Interval {
    let ends = all.iter().filter_map(|series| series.samples.last()).map(|sample| sample.end_ms);
    let end_ms = ends.fold(1.0, f64::max);
    let starts = all.iter().filter_map(|series| series.samples.first()).map(|sample| sample.start_ms);
    let start_ms = starts.fold(f64::INFINITY, f64::min);
    let mut one = [Interval { end_ms, means: vec![None; all.len()], weighted: Vec::new() }];
    for (number, series) in all.iter().enumerate() {
        add(series, number, start_ms, (end_ms - start_ms).max(1.0), end_ms, &mut one);
    }
    let [mut interval] = one;
    interval.weighted.sort_by(|one, other| one.0.total_cmp(&other.0));
    interval
}

/// Adds a series to the intervals, which begin at `start_ms`.
fn add(
    series: &Series,
    number: usize,
    start_ms: f64,
    interval_ms: f64,
    end_ms: f64,
    intervals: &mut [Interval],
) {
    let last = intervals.len() - 1;
    let place = |time: f64| (((time - start_ms) / interval_ms).max(0.0) as usize).min(last);
    let mut counts = vec![0u64; if series.single_ios { intervals.len() } else { 0 }];
    for sample in &series.samples {
        if series.single_ios {
            let interval = place(sample.end_ms);
            counts[interval] += 1;
            intervals[interval].weighted.push((sample.value, 1.0));
            *intervals[interval].means[number].get_or_insert(0.0) += sample.value;
            continue;
        }
        let first = place(sample.start_ms);
        let touched = &mut intervals[first..=place(sample.end_ms)];
        for (index, interval) in touched.iter_mut().enumerate() {
            let start = start_ms + (first + index) as f64 * interval_ms;
            let end = (start + interval_ms).min(end_ms);
            let overlap = sample.end_ms.min(end) - sample.start_ms.max(start);
            if overlap > 0.0 {
                interval.weighted.push((sample.value, overlap));
                *interval.means[number].get_or_insert(0.0) += sample.value * overlap / (end - start);
            }
        }
    }
    for (interval, count) in intervals.iter_mut().zip(counts) {
        if let Some(mean) = &mut interval.means[number] {
            *mean /= count as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log_summary::series::Sample;
    use proptest::prelude::*;

    fn series(step_ms: f64, values: &[f64], single_ios: bool) -> Series {
        let samples = values
            .iter()
            .enumerate()
            .map(|(number, &value)| Sample {
                start_ms: number as f64 * step_ms,
                end_ms: (number + 1) as f64 * step_ms,
                value,
            })
            .collect();
        Series { file: "log".into(), direction: 0, samples, single_ios }
    }

    #[test]
    fn samples_count_by_their_overlap() {
        // Windows of 600 ms in intervals of 1000 ms: the first has 600 ms of 10 and 400 of 20, the second 200
        // of 20 and 600 of 30.
        let intervals = divide(&[series(600.0, &[10.0, 20.0, 30.0], false)], 1000.0).expect("few");
        assert_eq!(intervals.len(), 2);
        assert_eq!(intervals[0].sum(), 14.0);
        // The last interval ends with the log, after 800 ms.
        assert_eq!(intervals[1].sum(), (20.0 * 200.0 + 30.0 * 600.0) / 800.0);
        assert_eq!(
            [0.0, 60.0, 61.0, 100.0].map(|percent| intervals[0].percentile(percent)),
            [10.0, 10.0, 20.0, 20.0].map(Some)
        );
    }

    #[test]
    fn single_ios_count_one_each() {
        let intervals = divide(&[series(250.0, &[1.0, 2.0, 3.0, 4.0, 9.0], true)], 1000.0).expect("few");
        assert_eq!(intervals.iter().map(Interval::samples).collect::<Vec<_>>(), [3, 2]);
        assert_eq!(intervals[0].sum(), 2.0);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_added(values in proptest::collection::vec(0u32..1000, 1..40), step in 1u32..900, interval in 100u32..2000) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let one = series(f64::from(step), &values, false);
            let total: f64 = values.iter().sum::<f64>() * f64::from(step);
            let length = values.len() as f64 * f64::from(step);
            let intervals = divide(std::slice::from_ref(&one), f64::from(interval)).expect("few");
            let sum: f64 = intervals
                .iter()
                .map(|each| each.sum() * (each.end_ms.min(length) - (each.end_ms - f64::from(interval))))
                .sum();
            prop_assert!((sum - total).abs() <= 1e-6 * total.max(1.0), "{} {}", sum, total);
            let whole = whole(&[one]);
            prop_assert!((whole.sum() - total / length).abs() < 1e-6);
        }
    }
}
