//! Steady state as SNIA's Performance Test Specification defines it; a pure function of the rounds. A window of
//! five rounds is steady if its values of the tracking variable are within 20 % of their average, and if the
//! line fitted to them (least squares) changes by no more than 10 % of the average from the first round to the
//! last.

use serde::Serialize;

/// Number of rounds in a window.
pub(crate) const ROUNDS: usize = 5;
/// Maximum range of the values, as a share of their average.
pub(crate) const MOST_RANGE: f64 = 0.20;
/// Maximum change of the fitted line across the window, as a share of the average.
pub(crate) const MOST_SLOPE: f64 = 0.10;

/// Tolerance for binary rounding, so that values exactly at a limit are within it.
const ROUNDING: f64 = 1e-9;

/// A window of five rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Window {
    /// First round of the window, counted from 0.
    pub(crate) first: usize,
    /// The tracking variable in each round.
    pub(crate) values: [f64; ROUNDS],
    /// Their mean.
    pub(crate) average: f64,
    /// Range of the values: maximum minus minimum.
    pub(crate) range: f64,
    /// Slope of the fitted line per round.
    pub(crate) slope: f64,
    /// Value of the fitted line at round 0.
    pub(crate) intercept: f64,
}

impl Window {
    /// The window that ends with the last of these rounds; `None` for fewer than five rounds.
    pub(crate) fn last_of(rounds: &[f64]) -> Option<Window> {
        let first = rounds.len().checked_sub(ROUNDS)?;
        let values: [f64; ROUNDS] = rounds[first..].try_into().ok()?;
        let average = values.iter().sum::<f64>() / ROUNDS as f64;
        let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
        let middle = (ROUNDS - 1) as f64 / 2.0;
        let offsets = (0..ROUNDS).map(|place| place as f64 - middle);
        let products: f64 =
            offsets.clone().zip(values).map(|(offset, value)| offset * (value - average)).sum();
        let slope = products / offsets.map(|offset| offset * offset).sum::<f64>();
        let intercept = average - slope * (first as f64 + middle);
        Some(Window { first, values, average, range: high - low, slope, intercept })
    }

    /// Rounds of the window, counted from 0.
    pub(crate) fn rounds(&self) -> std::ops::Range<usize> {
        self.first..self.first + ROUNDS
    }

    /// Value of the fitted line at a round, counted from 0.
    pub(crate) fn fit(&self, round: f64) -> f64 {
        self.intercept + self.slope * round
    }

    /// The range as a share of the average.
    pub(crate) fn range_share(&self) -> f64 {
        self.range / self.average
    }

    /// Change of the fitted line across the window, as a share of the average.
    pub(crate) fn slope_share(&self) -> f64 {
        (self.slope * (ROUNDS - 1) as f64).abs() / self.average
    }

    /// True if both limits are met. Rounds without I/O are not steady.
    pub(crate) fn is_steady(&self) -> bool {
        self.average > 0.0
            && self.range_share() <= MOST_RANGE + ROUNDING
            && self.slope_share() <= MOST_SLOPE + ROUNDING
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn window(values: [f64; ROUNDS]) -> Window {
        Window::last_of(&values).expect("five rounds")
    }

    #[test]
    fn fewer_than_five_rounds_are_no_window() {
        assert_eq!(Window::last_of(&[1.0; 4]), None);
        assert_eq!(Window::last_of(&[1.0; 7]).map(|window| window.rounds()), Some(2..7));
    }

    #[test]
    fn the_range_may_be_exactly_a_fifth() {
        // The deviations are symmetric, so the fitted line has no slope.
        for scale in [1.0, 0.01, 1234.5, 1e6] {
            let at = |half: f64| {
                window([100.0, 100.0 - half, 100.0, 100.0 + half, 100.0].map(|value| value * scale))
            };
            assert!((at(10.0).range_share() - 0.2).abs() < 1e-12);
            // The two extremes are two rounds apart, so the slope is 2 * half / 10 per round.
            assert!(at(10.0).is_steady(), "exactly 20 % of {scale}");
            assert!(!at(10.01).is_steady(), "more than 20 % of {scale}");
        }
    }

    #[test]
    fn the_slope_may_be_exactly_a_tenth() {
        for direction in [1.0, -1.0] {
            let at =
                |step: f64| window([-2.0, -1.0, 0.0, 1.0, 2.0].map(|place| 100.0 + direction * place * step));
            let exact = at(2.5);
            assert!(
                (exact.slope - direction * 2.5).abs() < 1e-12 && (exact.slope_share() - 0.1).abs() < 1e-12
            );
            assert!(exact.is_steady(), "exactly 10 %");
            assert!(!at(2.501).is_steady(), "a range of 10 %, but a slope of more than that");
        }
    }

    #[test]
    fn known_fits() {
        // The window consists of rounds 3 to 7, in which the values rise from 12 in steps of 2.
        let rounds = [50.0, 40.0, 30.0, 12.0, 14.0, 16.0, 18.0, 20.0];
        let found = Window::last_of(&rounds).expect("a window");
        assert_eq!((found.first, found.average, found.range), (3, 16.0, 8.0));
        assert!((found.slope - 2.0).abs() < 1e-12 && (found.fit(3.0) - 12.0).abs() < 1e-12);
        assert!((found.intercept - 6.0).abs() < 1e-12 && !found.is_steady());
        assert!(!window([0.0; 5]).is_steady(), "nothing was done");
        assert!(!window([f64::NAN; 5]).is_steady());
    }

    proptest! {
        /// Neither the unit nor the direction of time affects the result.
        #[test]
        fn scaled_and_reversed_windows_are_as_steady(
            values in prop::array::uniform5(50.0f64..150.0), factor in 1e-3f64..1e6
        ) {
            let own = window(values);
            // Values exactly at a limit are skipped, because rounding would decide there.
            prop_assume!((own.range_share() - MOST_RANGE).abs() > 1e-6 && (own.slope_share() - MOST_SLOPE).abs() > 1e-6);
            prop_assert_eq!(own.is_steady(), window(values.map(|value| value * factor)).is_steady());
            let mut reversed = values;
            reversed.reverse();
            prop_assert_eq!(own.is_steady(), window(reversed).is_steady());
        }

        /// The residuals of the fitted line have a mean and a trend of zero.
        #[test]
        fn the_line_is_that_of_least_squares(values in prop::array::uniform5(1.0f64..1e6), before in 0usize..9) {
            let rounds: Vec<f64> = std::iter::repeat_n(7.0, before).chain(values).collect();
            let found = Window::last_of(&rounds).expect("a window");
            let residuals: Vec<f64> =
                found.rounds().zip(values).map(|(round, value)| value - found.fit(round as f64)).collect();
            let trend: f64 = residuals.iter().zip(-2i32..).map(|(rest, place)| rest * f64::from(place)).sum();
            prop_assert!(residuals.iter().sum::<f64>().abs() < 1e-6 * found.average && trend.abs() < 1e-6 * found.average);
        }

        /// Values within a twentieth of a level are steady, but a decline of a tenth per round is not.
        #[test]
        fn levels_are_steady_and_decays_are_not(level in 1.0f64..1e6, noise in prop::array::uniform5(-0.02f64..0.02)) {
            prop_assert!(window(noise.map(|part| level * (1.0 + part))).is_steady());
            let mut rest = level;
            let decay = noise.map(|part| { rest *= 0.9; rest * (1.0 + part / 4.0) });
            prop_assert!(!window(decay).is_steady());
        }
    }
}
