//! The median of repeated runs and its interval.

use super::distributions::{coin_cdf, student_quantile};
use super::{CONFIDENCE, Interval, mean, sorted, variance};

/// Minimum number of values for which two of them enclose the median of the distribution with a probability of
/// 95 %. For five values, even the extremes do so with only 93.75 %.
pub const FEWEST_FOR_ORDER: usize = 6;

/// Returns the median: the middle value, or the mean of the two middle values. `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Returns the quantile at `share` (0 to 1), interpolated linearly: definition 7 of R. J. Hyndman and Y. Fan,
/// "Sample quantiles in statistical packages", The American Statistician 50 (1996). `None` without values.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let values = sorted(values);
    let last = values.len().checked_sub(1)?;
    let position = share.clamp(0.0, 1.0) * last as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(last);
    Some(values[below] + (position - below as f64) * (values[above] - values[below]))
}

/// Returns the 95 % interval of the median; `None` for fewer than two values.
///
/// For six or more values, the ends of the interval are two of the values, regardless of the distribution. The
/// largest k is used for which the k-th smallest and the k-th largest value enclose the median with a
/// probability of at least 95 % (H. A. David and H. N. Nagaraja, "Order Statistics", 2003, section 7.1). Fewer
/// values have no such pair. For them, the result is Student's interval of the mean, which assumes that runs
/// are distributed about evenly to both sides. For two to five values, this interval always contains the sample
/// median, which is never further than one standard deviation from the mean.
pub fn interval(values: &[f64]) -> Option<Interval> {
    match values.len() {
        0 | 1 => None,
        few if few < FEWEST_FOR_ORDER => Some(mean_interval(values)),
        _ => Some(order_interval(&sorted(values))),
    }
}

fn mean_interval(values: &[f64]) -> Interval {
    let count = values.len() as f64;
    let t = student_quantile(0.5 + CONFIDENCE / 2.0, count - 1.0);
    Interval::around(mean(values), t * (variance(values) / count).sqrt())
}

/// Returns the interval of at least six ascending values.
fn order_interval(values: &[f64]) -> Interval {
    let outside = 1.0 - CONFIDENCE;
    let count = values.len();
    let fits = |outer: &usize| 2.0 * coin_cdf(*outer, count) <= outside;
    let outer = (0..count / 2).take_while(fits).last().unwrap_or(0);
    Interval { low: values[outer], high: values[count - 1 - outer] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::simulation::{Noise, coverage};
    use proptest::prelude::*;

    #[test]
    fn one_value_has_no_interval() {
        assert_eq!((interval(&[]), interval(&[5.0])), (None, None));
        assert_eq!((median(&[]), median(&[5.0])), (None, Some(5.0)));
    }

    #[test]
    fn ranks_of_published_tables() {
        // According to David and Nagaraja, the ends are the extremes for 6 values, the second from either end
        // for 10, the sixth for 20, and the fortieth for 100.
        for (count, rank) in [(6, 1), (8, 1), (9, 2), (10, 2), (20, 6), (100, 40)] {
            let values: Vec<f64> = (1..=count).map(f64::from).collect();
            let found = interval(&values);
            let wanted = Interval { low: f64::from(rank), high: f64::from(count + 1 - rank) };
            assert_eq!(found, Some(wanted), "of {count}");
        }
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_promised() {
        for count in [3, 5, 6, 10, 25] {
            let share = coverage(|noise: &mut Noise| {
                let values: Vec<f64> = (0..count).map(|_| 100.0 + noise.normal()).collect();
                interval(&values).expect("there are enough").contains(100.0)
            });
            assert!(share > 0.94, "{share} with {count} values");
        }
    }

    proptest! {
        #[test]
        fn the_median_lies_in_its_interval(values in prop::collection::vec(0.0f64..1e6, 2..40)) {
            let median = median(&values).expect("there are values");
            let interval = interval(&values).expect("there are two");
            let slack = 1e-9 * median.abs();
            prop_assert!(interval.low - slack <= median && median <= interval.high + slack, "{interval:?} {median}");
        }

        #[test]
        fn quantiles_ascend(values in prop::collection::vec(-1e6f64..1e6, 1..40), one in 0.0f64..1.0, other in 0.0f64..1.0) {
            let (low, high) = (quantile(&values, one.min(other)), quantile(&values, one.max(other)));
            prop_assert!(low <= high);
        }
    }
}
