//! `random_generator=lfsr`: a maximum-length linear feedback shift register visits every block once.
//!
//! It is a right-shifting Galois register with inverted feedback (XNOR), so that zero is a legal state. Taps
//! are from the usual tables of maximum-length registers (Xilinx XAPP 052).

/// Taps for each register width, from width 3 on; each list starts with the width itself.
const TAPS: [&[u32]; 61] = [
    &[3, 2],
    &[4, 3],
    &[5, 3],
    &[6, 5],
    &[7, 6],
    &[8, 6, 5, 4],
    &[9, 5],
    &[10, 7],
    &[11, 9],
    &[12, 6, 4, 1],
    &[13, 4, 3, 1],
    &[14, 5, 3, 1],
    &[15, 14],
    &[16, 15, 13, 4],
    &[17, 14],
    &[18, 11],
    &[19, 6, 2, 1],
    &[20, 17],
    &[21, 19],
    &[22, 21],
    &[23, 18],
    &[24, 23, 22, 17],
    &[25, 22],
    &[26, 6, 2, 1],
    &[27, 5, 2, 1],
    &[28, 25],
    &[29, 27],
    &[30, 6, 4, 1],
    &[31, 28],
    &[32, 22, 2, 1],
    &[33, 20],
    &[34, 27, 2, 1],
    &[35, 33],
    &[36, 25],
    &[37, 5, 4, 3, 2, 1],
    &[38, 6, 5, 1],
    &[39, 35],
    &[40, 38, 21, 19],
    &[41, 38],
    &[42, 41, 20, 19],
    &[43, 42, 38, 37],
    &[44, 43, 18, 17],
    &[45, 44, 42, 41],
    &[46, 45, 26, 25],
    &[47, 42],
    &[48, 47, 21, 20],
    &[49, 40],
    &[50, 49, 24, 23],
    &[51, 50, 36, 35],
    &[52, 49],
    &[53, 52, 38, 37],
    &[54, 53, 18, 17],
    &[55, 31],
    &[56, 55, 35, 34],
    &[57, 50],
    &[58, 39],
    &[59, 58, 38, 37],
    &[60, 59],
    &[61, 60, 46, 45],
    &[62, 61, 6, 5],
    &[63, 62],
];

/// A register that visits `0..blocks`.
#[derive(Clone, Debug)]
pub struct ShiftRegister {
    blocks: u64,
    feedback: u64,
    top_bit: u64,
    state: u64,
    seed: u64,
    given: u64,
}

impl ShiftRegister {
    /// The smallest register that covers `blocks`. As in fio, the first step from `seed` is discarded, so its
    /// block comes last.
    pub fn new(blocks: u64, seed: u64) -> ShiftRegister {
        let width = (64 - blocks.leading_zeros()).clamp(3, 63);
        let feedback = TAPS[width as usize - 3].iter().fold(0, |mask, tap| mask | 1u64 << (tap - 1));
        let top_bit = 1 << (width - 1);
        let mask = (top_bit << 1) - 1;
        // All ones is the only state that an XNOR register never leaves.
        let seed = if seed & mask == mask { 0 } else { seed & mask };
        let mut register = ShiftRegister { blocks, feedback, top_bit, state: seed, seed, given: 0 };
        register.step();
        register
    }

    /// Restarts in the same order, but beginning with the block of the first step: as in fio, all passes after
    /// the first begin with it.
    pub fn rewind(&mut self) {
        self.state = self.seed;
        self.given = 0;
    }

    /// The next block; `None` once each block has been returned.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<u64> {
        if self.given == self.blocks {
            return None;
        }
        self.given += 1;
        loop {
            self.step();
            if self.state < self.blocks {
                return Some(self.state);
            }
        }
    }

    #[inline(always)]
    fn step(&mut self) {
        // The register is the complement of a Galois register: a one enters at the top, and a zero shifted out
        // triggers the feedback.
        let leaving_bit = self.state & 1;
        self.state = (self.state >> 1) | self.top_bit;
        if leaving_bit == 0 {
            self.state ^= self.feedback;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_exactly_once() {
        for blocks in [1u64, 2, 3, 7, 8, 100, 255, 256, 4095, 4096, 70_000] {
            let mut register = ShiftRegister::new(blocks, 0x5e6a4773b256008f);
            let mut seen = vec![false; blocks as usize];
            while let Some(block) = register.next() {
                assert!(!std::mem::replace(&mut seen[block as usize], true), "{blocks}: {block} twice");
            }
            assert!(seen.iter().all(|&s| s), "{blocks}");
        }
    }

    #[test]
    fn golden_order() {
        let mut register = ShiftRegister::new(256, 0x5e6a4773b256008f);
        let order: Vec<u64> = std::iter::from_fn(|| register.next()).take(16).collect();
        assert_eq!(order, [228, 98, 33, 152, 92, 62, 15, 224, 96, 32, 0, 16, 24, 28, 30, 31]);
        // The block of the first step comes last in the first pass and first in all other passes.
        let mut register = ShiftRegister::new(500, 0x5e6a4773b256008f);
        let order: Vec<u64> = std::iter::from_fn(|| register.next()).collect();
        assert_eq!((&order[..4], &order[497..]), (&[419, 465, 488, 228][..], &[318, 143, 327][..]));
        register.rewind();
        let order: Vec<u64> = std::iter::from_fn(|| register.next()).collect();
        assert_eq!((&order[..4], &order[497..]), (&[327, 419, 465, 488][..], &[125, 318, 143][..]));
    }

    /// A linear map over bits: the image of each single bit.
    type Matrix = Vec<u64>;

    fn applied(matrix: &Matrix, bits: u64) -> u64 {
        (0..matrix.len()).filter(|bit| bits >> bit & 1 == 1).fold(0, |sum, bit| sum ^ matrix[bit])
    }

    fn power(mut base: Matrix, mut exponent: u64) -> Matrix {
        let mut result: Matrix = (0..base.len()).map(|bit| 1 << bit).collect();
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = result.iter().map(|&column| applied(&base, column)).collect();
            }
            base = base.iter().map(|&column| applied(&base, column)).collect();
            exponent >>= 1;
        }
        result
    }

    fn prime_factors(mut number: u64) -> Vec<u64> {
        let mut factors = Vec::new();
        let mut divisor = 2;
        while divisor * divisor <= number {
            if number.is_multiple_of(divisor) {
                factors.push(divisor);
                number /= divisor;
            } else {
                divisor += 1;
            }
        }
        factors.push(number);
        factors
    }

    #[test]
    fn registers_visit_all_their_states_up_to_2_to_40_blocks() {
        // Complemented states evolve linearly. The order of that map divides 2^width - 1 but none of its
        // largest proper divisors, so the cycle contains all states but one, which is never entered.
        for width in 3..=41u32 {
            let all = (1u64 << width) - 1;
            let complemented_step = |bits: u64| {
                let mut register = ShiftRegister::new(all, 0);
                assert_eq!(register.top_bit, 1 << (width - 1));
                register.state = bits ^ all;
                let leaving = register.next().expect("a block");
                leaving ^ all
            };
            let step: Matrix = (0..width).map(|bit| complemented_step(1 << bit)).collect();
            let identity: Matrix = (0..width).map(|bit| 1 << bit).collect();
            assert!(power(step.clone(), all) == identity, "width {width}");
            for factor in prime_factors(all) {
                assert!(
                    all == factor || power(step.clone(), all / factor) != identity,
                    "width {width}: a cycle of {} states",
                    all / factor
                );
            }
        }
    }
}
