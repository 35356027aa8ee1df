//! Percentiles of one run with an interval, from its histogram.

use super::Interval;
use super::distributions::normal_quantile;
use super::timeline::Estimate;
use crate::histogram::{Histogram, bounds_of};

/// Returns the interval of a percentile in ns, which lies between the percentiles at a distance of
/// `half_width`, the half width of the interval of the share below the percentile. `None` if the interval
/// extends beyond all I/Os, as for a percentile that fewer than one I/O exceeds.
///
/// Source: R. S. Woodruff, "Confidence intervals for medians and other position measures", Journal of the American
/// Statistical Association 47 (1952).
pub fn interval(histogram: &Histogram, percent: f64, half_width: f64) -> Option<Interval> {
    let share = percent / 100.0;
    let (below, above) = (share - half_width, share + half_width);
    if histogram.count() == 0 || histogram.beyond_range > 0 || below <= 0.0 || above >= 1.0 {
        return None;
    }
    let ends = histogram.percentiles(&[below * 100.0, above * 100.0]);
    let bounds = |ns: u64| crate::histogram::bin_of(ns).map(bounds_of);
    // Values within a bin cannot be distinguished, so the interval includes the outer bins as a whole.
    let (low, high) = (bounds(*ends.first()?)?.0, bounds(*ends.last()?)?.1);
    Some(Interval { low: low as f64, high: high as f64 })
}

/// Minimum number of slower I/Os for a percentile to be meaningful.
pub const FEWEST_SLOWER: u64 = 10;

/// Returns the minimum number of I/Os for which enough are slower than a percentile; `None` for the 100th,
/// which no I/O exceeds.
pub fn fewest_for(percent: f64) -> Option<u64> {
    let slower = 1.0 - percent / 100.0;
    // The number is reduced slightly, because 1 - 0.999 is not exactly a thousandth.
    (slower > 0.0).then(|| (FEWEST_SLOWER as f64 / slower * (1.0 - 1e-9)).ceil() as u64)
}

/// True if enough of `count` I/Os are slower than a percentile.
pub fn is_carried(percent: f64, count: u64) -> bool {
    fewest_for(percent).is_some_and(|fewest| count >= fewest)
}

/// Returns the half width of the 95 % interval of a share for independent I/Os; `percent` is the share. Real
/// I/Os are correlated, so the result is a lower bound.
pub fn half_width_of_independent(percent: f64, count: u64) -> f64 {
    let share = percent / 100.0;
    normal_quantile(0.5 + super::CONFIDENCE / 2.0) * (share * (1.0 - share) / count.max(1) as f64).sqrt()
}

/// Returns the half width of a share's interval from the timeline of the run: the larger of the timeline's half
/// width and the half width for independent I/Os.
pub fn half_width_of_timeline(percent: f64, count: u64, timeline: &Estimate) -> f64 {
    timeline.half_width().max(half_width_of_independent(percent, count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::simulation::{Noise, coverage};
    use crate::inference::timeline::ratio_of_sums;

    #[test]
    fn intervals_of_independent_latencies() {
        let share = coverage(|noise: &mut Noise| {
            let mut histogram = Histogram::default();
            (0..500).for_each(|_| histogram.record((1e5 * noise.normal().exp()) as u64));
            let half = half_width_of_independent(90.0, 500);
            // The 90th percentile of the normal distribution is at 1.2816.
            interval(&histogram, 90.0, half).expect("inside").contains(1e5 * 1.2816f64.exp())
        });
        assert!(share > 0.94, "{share}");
    }

    #[test]
    fn slow_seconds_widen_the_interval() {
        // In each second, either all I/Os are fast, or half of them are slow.
        let mut histogram = Histogram::default();
        let (mut slow, mut all) = (Vec::new(), Vec::new());
        let mut noise = Noise::new(7);
        for _ in 0..40 {
            let bad = noise.normal() > 1.0;
            let mut count = 0.0;
            for io in 0..1000 {
                let ns = if bad && io % 2 == 0 { 1_000_000 + io } else { 100_000 + io };
                histogram.record(ns);
                count += f64::from(u8::from(ns > 500_000));
            }
            slow.push(count);
            all.push(1000.0);
        }
        let timeline = ratio_of_sums(&slow, &all).expect("there are enough");
        let independent = half_width_of_independent(90.0, 40_000);
        assert!(half_width_of_timeline(90.0, 40_000, &timeline) > 5.0 * independent);
    }

    #[test]
    fn ten_slower_ios_carry_a_percentile() {
        let fewest = [50.0, 90.0, 99.0, 99.9, 99.99, 100.0].map(fewest_for);
        assert_eq!(fewest, [Some(20), Some(100), Some(1000), Some(10_000), Some(100_000), None]);
        assert!(is_carried(99.9, 10_000) && !is_carried(99.9, 9_999) && !is_carried(100.0, u64::MAX));
    }

    #[test]
    fn beyond_the_last_io_there_is_nothing() {
        let mut histogram = Histogram::default();
        (0..100).for_each(|ns| histogram.record(ns));
        assert_eq!(interval(&histogram, 99.9, half_width_of_independent(99.9, 100)), None);
        assert_eq!(interval(&Histogram::default(), 50.0, 0.1), None);
        assert!(interval(&histogram, 50.0, 0.1).is_some_and(|found| found.low <= 40.0 && found.high >= 59.0));
    }
}
