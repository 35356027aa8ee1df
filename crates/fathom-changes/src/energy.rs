//! Candidates for change points by the energy statistic of E-divisive. Source: D. S. Matteson and N. A. James, "A
//! nonparametric approach for multiple change point analysis of multivariate data", Journal of the American Statistical
//! Association 109 (2014), with alpha = 1.
//!
//! For two neighbouring sets of runs, the statistic compares the distances between the sets with the distances within
//! them. A candidate is the place, and the end of the set after it, for which the statistic is largest. The sums of
//! distances within all sets that end at a run follow from those that end at the run before, so that all places and
//! all ends of n runs together take n² steps and the memory of n numbers.

/// Minimum number of runs on either side of a change point. Fewer are a matter for the check of the newest runs.
pub const FEWEST_OF_A_SEGMENT: usize = 5;

/// The most likely place of a change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Candidate {
    /// Number of runs before the change.
    pub(crate) place: usize,
    /// The runs after the change, up to here, differ most from those before it.
    pub(crate) end: usize,
    /// The statistic.
    pub(crate) energy: f64,
}

/// Finds the candidate with the largest statistic. `None` if there are too few runs, or if all are equal.
pub(crate) fn candidate(values: &[f64]) -> Option<Candidate> {
    let mut best: Option<Candidate> = None;
    // The sum of the distances between all pairs of values[first..end], for each `first`; and of values[..end].
    let mut within = vec![0.0; values.len()];
    let mut before = vec![0.0; values.len() + 1];
    for end in 1..=values.len() {
        let newest = values[end - 1];
        let mut distances = 0.0;
        for first in (0..end - 1).rev() {
            distances += (newest - values[first]).abs();
            within[first] += distances;
        }
        before[end] = within[0];
        for place in FEWEST_OF_A_SEGMENT..(end + 1).saturating_sub(FEWEST_OF_A_SEGMENT) {
            let energy = energy(place, end, within[0], before[place], within[place]);
            if energy > best.map_or(0.0, |best| best.energy) {
                best = Some(Candidate { place, end, energy });
            }
        }
    }
    best
}

/// The statistic of two sets: `place` runs, and those up to `end`. The distances are sums over pairs: of both sets
/// together, of the first, and of the second.
fn energy(place: usize, end: usize, both: f64, first: f64, second: f64) -> f64 {
    let (m, n) = (place as f64, (end - place) as f64);
    let between = 2.0 * (both - first - second) / (m * n);
    let inside = first / (m * (m - 1.0) / 2.0) + second / (n * (n - 1.0) / 2.0);
    m * n / (m + n) * (between - inside)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The statistic by its definition.
    fn defined(first: &[f64], second: &[f64]) -> f64 {
        let mean = |a: &[f64], b: &[f64], pairs: f64| {
            a.iter().flat_map(|x| b.iter().map(move |y| (x - y).abs())).sum::<f64>() / pairs
        };
        let (m, n) = (first.len() as f64, second.len() as f64);
        let inside = mean(first, first, m * (m - 1.0)) + mean(second, second, n * (n - 1.0));
        m * n / (m + n) * (2.0 * mean(first, second, m * n) - inside)
    }

    #[test]
    fn a_step_is_the_candidate() {
        let mut values = vec![1.0; 20];
        values.extend([2.0; 12]);
        let found = candidate(&values).expect("a step");
        assert_eq!((found.place, found.end), (20, 32));
        assert_eq!(candidate(&[3.0; 40]), None);
        assert_eq!(candidate(&[1.0, 2.0, 3.0]), None);
    }

    #[test]
    fn a_step_up_and_down_is_cut_at_both_ends() {
        let values: Vec<f64> = (0..100).map(|i| if (40..60).contains(&i) { 2.0 } else { 1.0 }).collect();
        let found = candidate(&values).expect("a step");
        assert_eq!((found.place, found.end), (40, 60));
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_definition(values in prop::collection::vec(-5.0f64..5.0, 10..40)) {
            let mut largest = 0.0f64;
            for end in 2 * FEWEST_OF_A_SEGMENT..=values.len() {
                for place in FEWEST_OF_A_SEGMENT..=end - FEWEST_OF_A_SEGMENT {
                    largest = largest.max(defined(&values[..place], &values[place..end]));
                }
            }
            let found = candidate(&values).map_or(0.0, |found| found.energy);
            prop_assert!((found - largest).abs() < 1e-9, "{found} {largest}");
        }
    }
}
