//! Draws two latency distributions in one chart.

use crate::bars::Ink;
use crate::figures;
use fathom_stats::Histogram;

/// Maximum number of rows.
const MOST_ROWS: i64 = 18;
/// Number of columns of the longest bar; lines then have at most 80 columns.
const WIDTH: usize = 46;
/// Share of the I/Os at either end that get no separate rows.
const TAIL: f64 = 0.0005;

/// One line per range of latencies, with a length proportional to its share of the I/Os; empty without I/Os.
pub(super) fn overlay(histograms: &[Histogram; 2], ink: Ink) -> String {
    let [both, only_a, only_b] = ink.overlay();
    let Some((first, last, rows_per_octave)) = range(histograms) else { return String::new() };
    let shares: [Vec<f64>; 2] =
        [0, 1].map(|side: usize| shares(&histograms[side], first, last, rows_per_octave));
    let largest = shares.iter().flatten().fold(0.0, |largest: f64, share| largest.max(*share));
    let mut text = format!("  {:>12}  {:<WIDTH$}  {:>6}  {:>6}\n", "latency from", "", "A", "B");
    for (row, (&a, &b)) in (first..).zip(shares[0].iter().zip(&shares[1])) {
        let places = |share: f64| (share / largest * WIDTH as f64).round() as usize;
        let (shorter, longer) = (places(a.min(b)), places(a.max(b)));
        let more = if a > b { only_a } else { only_b };
        let bar: String =
            std::iter::repeat_n(both, shorter).chain(std::iter::repeat_n(more, longer - shorter)).collect();
        let from = figures::duration((row as f64 / rows_per_octave).exp2());
        let percent = |share: f64| match share {
            0.0 => String::new(),
            share if share < 0.0005 => "<0.1 %".to_owned(),
            share => figures::percent(share * 100.0),
        };
        text.push_str(&format!("  {from:>12}  {bar:<WIDTH$}  {:>6}  {:>6}\n", percent(a), percent(b)));
    }
    text + &format!("  {:>12}  {both} both  {only_a} more in A  {only_b} more in B\n", "")
}

/// The first and the last row, and the number of rows per power of two, which is the largest that the maximum
/// allows.
fn range(histograms: &[Histogram; 2]) -> Option<(i64, i64, f64)> {
    let end = |percent: f64| {
        histograms.iter().filter_map(move |histogram| histogram.percentiles(&[percent]).first().copied())
    };
    let low = end(TAIL * 100.0).min()?.max(1) as f64;
    let high = end((1.0 - TAIL) * 100.0).max()?.max(1) as f64;
    [8.0, 4.0, 2.0, 1.0, 0.5, 0.25].into_iter().find_map(|rows_per_octave| {
        let row = |ns: f64| (ns.log2() * rows_per_octave).floor() as i64;
        (row(high) - row(low) < MOST_ROWS).then(|| (row(low), row(high), rows_per_octave))
    })
}

/// Share of the I/Os in each row; the first and the last row include all I/Os beyond them.
fn shares(histogram: &Histogram, first: i64, last: i64, rows_per_octave: f64) -> Vec<f64> {
    let total = histogram.count().max(1) as f64;
    let mut shares = vec![0.0; (last - first + 1) as usize];
    for (ns, count) in histogram.values().chain([(u64::MAX, histogram.beyond_range)]) {
        let row = ((ns.max(1) as f64).log2() * rows_per_octave).floor() as i64;
        shares[(row.clamp(first, last) - first) as usize] += count as f64 / total;
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|&ns| histogram.record(ns));
        histogram
    }

    #[test]
    fn what_is_common_and_what_is_not() {
        let chart = overlay(&[of(&[100_000, 100_000]), of(&[100_000, 400_000])], Ink::Letters);
        let lines: Vec<&str> = chart.lines().collect();
        assert!(lines[1].contains("#aaa") || lines[1].contains("aaa"), "{chart}");
        assert!(chart.lines().any(|line| line.contains("bbbb") && line.ends_with("50.0 %")), "{chart}");
        assert_eq!(overlay(&[Histogram::default(), Histogram::default()], Ink::Blocks), "");
    }

    proptest! {
        #[test]
        fn it_fits_a_terminal(a in prop::collection::vec(any::<u64>(), 1..200), b in prop::collection::vec(0u64..1 << 30, 1..200)) {
            let chart = overlay(&[of(&a), of(&b)], Ink::Blocks);
            prop_assert!(chart.lines().all(|line| line.chars().count() <= 80), "{}", chart);
            prop_assert!(chart.lines().count() as i64 <= MOST_ROWS + 2);
        }
    }
}
