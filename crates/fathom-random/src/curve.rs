//! Piecewise cubic approximation of a power of a uniform number.

/// `scale * base^power`, where the base is linear in a 32-bit number. Returns integer parts, always identical
/// to those of the computed power: the approximation is used only where it is proven exact.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    scale: f64,
    line: Line,
    power: f64,
    pieces: Option<Box<[Piece; PIECES]>>,
}

/// The base of the power for a uniform number `u` from 0 to 1.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Line {
    /// `u`.
    Uniform,
    /// `slope * u - slope + 1`.
    ToOne { slope: f64 },
}

/// The cubic Hermite interpolation between both ends of a piece; its variable runs from 0 to 1.
#[derive(Clone, Copy, Debug)]
struct Piece {
    coefficients: [f64; 4],
    /// A value further than this from an integer boundary has the same integer part as the power.
    margin: f64,
}

const PIECE_BITS: u32 = 11;
const PIECES: usize = 1 << PIECE_BITS;
/// Bits of a number within a piece.
const NUMBER_BITS: u32 = 32 - PIECE_BITS;
const NUMBERS: u32 = 1 << NUMBER_BITS;

/// Adding this to a number below 2^51 rounds the sum to the nearest integer.
const ROUNDING: f64 = 1.5 * (1u64 << 52) as f64;

/// A uniform number from 0 to 1.
#[inline(always)]
pub(crate) fn uniform(number: u32) -> f64 {
    f64::from(number) / f64::from(u32::MAX)
}

impl Curve {
    /// A curve that computes the power of each number.
    pub(crate) fn new(scale: f64, line: Line, power: f64) -> Curve {
        Curve { scale, line, power, pieces: None }
    }

    /// Builds the table of pieces: 80 KiB, which more than halves the time per number.
    pub(crate) fn cut(&mut self) {
        let pieces: Vec<Piece> = (0..PIECES).map(|index| self.piece(index as u32)).collect();
        self.pieces = pieces.try_into().ok();
    }

    /// The integer part of the curve at this number.
    #[inline(always)]
    pub(crate) fn whole_part(&self, number: u32) -> u64 {
        self.foreseen(number).unwrap_or_else(|| self.computed(number))
    }

    /// The integer part, if the piece can determine it with certainty.
    #[inline(always)]
    pub(crate) fn foreseen(&self, number: u32) -> Option<u64> {
        let piece = &self.pieces.as_ref()?[(number >> NUMBER_BITS) as usize];
        let passed = f64::from(number & (NUMBERS - 1)) * (1.0 / f64::from(NUMBERS));
        let [first, second, third, fourth] = piece.coefficients;
        let from_middle = first + passed * (second + passed * (third + passed * fourth)) - 0.5;
        let rounded = from_middle + ROUNDING;
        let is_certain = (from_middle - (rounded - ROUNDING)).abs() < piece.margin;
        is_certain.then_some(rounded.to_bits() & ((1 << 51) - 1))
    }

    /// The integer part of the computed power.
    #[cold]
    #[inline(never)]
    pub(crate) fn computed(&self, number: u32) -> u64 {
        let uniform = uniform(number);
        let base = match self.line {
            Line::Uniform => uniform,
            Line::ToOne { slope } => slope * uniform - slope + 1.0,
        };
        (self.scale * base.powf(self.power)) as u64
    }

    /// Computes a piece and its margin of certainty. Both ends must be finite, and the curve must be smooth
    /// between them. Otherwise the margin is NaN, so no number of the piece is certain.
    fn piece(&self, index: u32) -> Piece {
        let slope = match self.line {
            Line::Uniform => 1.0,
            Line::ToOne { slope } => slope,
        };
        let width = slope * f64::from(NUMBERS) / f64::from(u32::MAX);
        let base_at = |index: u32| {
            let uniform = f64::from(index) * f64::from(NUMBERS) / f64::from(u32::MAX);
            match self.line {
                Line::Uniform => uniform,
                Line::ToOne { slope } => slope * uniform - slope + 1.0,
            }
        };
        let bases = [base_at(index), base_at(index + 1)];
        let power = self.power;
        let [from, to] = bases.map(|base| self.scale * base.powf(power));
        let [rise_from, rise_to] = bases.map(|base| self.scale * power * base.powf(power - 1.0) * width);
        let coefficients = [
            from,
            rise_from,
            3.0 * (to - from) - 2.0 * rise_from - rise_to,
            2.0 * (from - to) + rise_from + rise_to,
        ];
        // The error of the cubic is at most the fourth derivative over 384, which is largest at an end.
        let factor = self.scale * power * (power - 1.0) * (power - 2.0) * (power - 3.0) * width.powi(4);
        let fourth = greatest(&bases.map(|base| factor * base.powf(power - 4.0)));
        // Computed values have errors too: the base by a few roundings of its terms, the power by a multiple
        // of them. Each coefficient sums up to nine values, and this bound is several times their total.
        let least_base = bases[0].abs().min(bases[1].abs());
        let rounding = f64::EPSILON * (power.abs() * (slope.abs() + 1.0) / least_base + 1.0);
        let bound = fourth * (1.001 / 384.0) + 128.0 * rounding * greatest(&[from, to, rise_from, rise_to]);
        Piece { coefficients, margin: if bases[0] * bases[1] > 0.0 { 0.5 - bound } else { f64::NAN } }
    }
}

/// The largest absolute value; NaN if any is NaN.
fn greatest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |greatest, value| if value.abs() <= greatest { greatest } else { value.abs() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Taus88;

    /// Share of numbers for which the pieces are not certain; for all others they must be correct.
    fn undecided(mut curve: Curve, numbers: impl Iterator<Item = u32>) -> f64 {
        curve.cut();
        let (mut count, mut undecided) = (0, 0);
        for number in numbers {
            count += 1;
            match curve.foreseen(number) {
                Some(rank) => assert_eq!(rank, curve.computed(number), "{number} of {curve:?}"),
                None => undecided += 1,
            }
        }
        f64::from(undecided) / f64::from(count)
    }

    fn at_random(count: usize) -> impl Iterator<Item = u32> {
        let mut generator = Taus88::new(7);
        std::iter::repeat_with(move || generator.next_u32()).take(count)
    }

    /// The curve of Zipf's distribution over this many blocks, with approximately its slope.
    fn zipf(theta: f64, blocks: f64) -> Curve {
        let slope = 1.1 * (1.0 - (2.0 / blocks).powf(1.0 - theta));
        Curve::new(blocks, Line::ToOne { slope }, 1.0 / (1.0 - theta))
    }

    fn pareto(h: f64, blocks: f64) -> Curve {
        Curve::new(blocks - 1.0, Line::Uniform, h.ln() / (1.0 - h).ln())
    }

    #[test]
    fn pieces_give_the_whole_parts_of_the_power() {
        for blocks in [1.0, 2.0, 3.0, 1000.0, 4_194_304.0, 268_435_456.0, 1e11, 1e14, 1e18] {
            for theta in [0.01, 0.3, 0.5, 0.75, 0.8, 0.99, 1.01, 1.1, 1.2, 1.5, 2.0, 3.0, 10.0] {
                undecided(zipf(theta, blocks), at_random(20_000));
            }
            for h in [0.01, 0.1, 0.2, 0.3, 0.5, 0.6, 0.75, 0.9, 0.99] {
                undecided(pareto(h, blocks), at_random(20_000));
            }
        }
    }

    #[test]
    fn pieces_are_right_at_their_ends_and_where_the_whole_part_changes() {
        let ends = (0..PIECES as u64).map(|index| index << NUMBER_BITS);
        let around: Vec<u32> =
            ends.flat_map(|end| end.saturating_sub(20)..end + 20).map(|number| number as u32).collect();
        for curve in [zipf(1.1, 4_194_304.0), zipf(0.8, 1e6), pareto(0.2, 4_194_304.0), pareto(0.7, 1e4)] {
            undecided(curve.clone(), around.iter().copied());
            // There are so few ranks that all their boundaries can be tested.
            let mut few = Curve { scale: 50.0, ..curve };
            few.cut();
            let borders = (1..u32::MAX >> 12).map(|n| n << 12);
            let borders = borders.filter(|&n| few.computed(n) != few.computed(n - 4096)).collect::<Vec<_>>();
            undecided(few, borders.into_iter().flat_map(|border| border - 4096..=border));
        }
    }

    #[test]
    fn pieces_mostly_tell() {
        for blocks in [1000.0, 4_194_304.0, 268_435_456.0] {
            for curve in [zipf(0.8, blocks), zipf(1.1, blocks), zipf(1.5, blocks), pareto(0.2, blocks)] {
                let share = undecided(curve, at_random(100_000));
                assert!(share < 0.1, "{share} of {blocks}");
            }
        }
    }
}
