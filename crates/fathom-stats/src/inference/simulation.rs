//! Simulates measurements whose true values are known, for tests of intervals.

use crate::split_mix::split_mix;

/// Generates reproducible pseudorandom numbers.
pub(super) struct Noise(u64);

impl Noise {
    pub(super) fn new(seed: u64) -> Noise {
        Noise(seed)
    }

    /// Between 0 and 1.
    fn uniform(&mut self) -> f64 {
        (split_mix(&mut self.0) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a standard normal number by the Box-Muller method.
    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// Returns the share of 4000 trials in which `holds` is true.
pub(super) fn coverage(mut holds: impl FnMut(&mut Noise) -> bool) -> f64 {
    const TRIALS: u32 = 4000;
    let mut noise = Noise::new(20_240_329);
    let held = (0..TRIALS).filter(|_| holds(&mut noise)).count();
    held as f64 / f64::from(TRIALS)
}
