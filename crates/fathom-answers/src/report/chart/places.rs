//! Named places along an axis. Numbers are placed at their true distances, other names at equal distances.

use super::scale::Scale;

/// Approximate width of a letter in a label, as a share of the axis.
const LETTER: f64 = 0.0125;
/// Approximate width of a letter on a phone, where letters are larger relative to the chart.
const LETTER_OF_PHONE: f64 = 0.02;
/// Share of the axis left free before the first and after the last number.
const MARGIN: f64 = 0.06;
/// Ratio from which numbers are placed on a logarithmic scale.
const WIDE: f64 = 8.0;

/// The side on which a label has room next to the labels before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Everywhere,
    NotOnPhones,
    Nowhere,
}

/// Names along an axis, each at its position from 0 to 1.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    names: Vec<String>,
    at: Vec<f64>,
    /// A remark on the distances for the reader, such as `, logarithmic`.
    pub(crate) remark: &'static str,
}

impl Places {
    /// Names without a numerical order, at equal distances.
    pub(crate) fn even(names: Vec<String>) -> Places {
        let count = names.len().max(1) as f64;
        let at = (0..names.len()).map(|index| (index as f64 + 0.5) / count).collect();
        Places { names, at, remark: "" }
    }

    /// Names that stand for numbers. They are placed at equal distances if one of them is not a number, or if
    /// two numbers are equal.
    pub(crate) fn spaced(names: Vec<String>, values: &[Option<f64>]) -> Places {
        let numbers: Option<Vec<f64>> = values.iter().copied().collect();
        match numbers.and_then(|numbers| distances(&numbers)) {
            Some((at, remark)) => Places { names, at, remark },
            None => Places::even(names),
        }
    }

    /// The names in their order.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Position of a name, from 0 to 1.
    pub(crate) fn at(&self, index: usize) -> f64 {
        self.at[index]
    }

    /// Room for the label of each name.
    pub(crate) fn labels(&self) -> Vec<Room> {
        let room = |(fits, fits_phone)| match (fits, fits_phone) {
            (false, _) => Room::Nowhere,
            (true, false) => Room::NotOnPhones,
            (true, true) => Room::Everywhere,
        };
        self.fitting(LETTER).into_iter().zip(self.fitting(LETTER_OF_PHONE)).map(room).collect()
    }

    fn fitting(&self, letter: f64) -> Vec<bool> {
        let mut order: Vec<usize> = (0..self.at.len()).collect();
        order.sort_by(|a, b| self.at[*a].total_cmp(&self.at[*b]));
        let mut fits = vec![false; self.at.len()];
        let mut end = f64::NEG_INFINITY;
        for index in order {
            let half = (self.names[index].chars().count() + 1) as f64 * letter / 2.0;
            if self.at[index] - half >= end {
                fits[index] = true;
                end = self.at[index] + half;
            }
        }
        fits
    }
}

/// Positions of numbers, with the remark on the axis; `None` if there are fewer than two different numbers.
fn distances(numbers: &[f64]) -> Option<(Vec<f64>, &'static str)> {
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    if low >= high || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return None;
    }
    let is_logarithmic = low > 0.0 && high / low >= WIDE;
    let share = |value: f64| match is_logarithmic {
        true => Scale::Logarithmic { min: low, max: high }.place(value),
        false => (value - low) / (high - low),
    };
    let at = numbers.iter().map(|&value| MARGIN + share(value) * (1.0 - 2.0 * MARGIN)).collect();
    Some((at, if is_logarithmic { ", logarithmic" } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(values: &[Option<f64>]) -> Places {
        Places::spaced((0..values.len()).map(|index| index.to_string()).collect(), values)
    }

    #[test]
    fn numbers_are_at_their_distances() {
        let linear = places(&[Some(1.0), Some(2.0), Some(5.0)]);
        let at = |index| (linear.at(index) - MARGIN) / (1.0 - 2.0 * MARGIN);
        assert!((at(1) - 0.25).abs() < 1e-9 && at(0).abs() < 1e-9 && linear.remark.is_empty());
        let doubled = places(&[Some(4096.0), Some(16_384.0), Some(65_536.0)]);
        assert!((doubled.at(1) - 0.5).abs() < 1e-9 && doubled.remark == ", logarithmic");
        let with_zero = places(&[Some(0.0), Some(50.0), Some(100.0)]);
        assert!((with_zero.at(1) - 0.5).abs() < 1e-9 && with_zero.remark.is_empty());
    }

    #[test]
    fn other_names_are_equally_far_apart() {
        for values in [&[Some(1.0), None][..], &[Some(1.0), Some(1.0)], &[None, None]] {
            assert_eq!([places(values).at(0), places(values).at(1)], [0.25, 0.75]);
        }
    }

    #[test]
    fn labels_do_not_cover_each_other() {
        let close = Places::spaced(
            ["1000000", "1010000", "2000000"].map(String::from).to_vec(),
            &[Some(1e6), Some(1.01e6), Some(2e6)],
        );
        assert_eq!(close.labels(), [Room::Everywhere, Room::Nowhere, Room::Everywhere]);
        let many = Places::even((0..12).map(|index| format!("{index} name")).collect());
        assert!(many.labels().iter().any(|room| *room != Room::Everywhere));
    }
}
