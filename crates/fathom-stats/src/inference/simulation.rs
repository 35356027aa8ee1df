//! Made-up measurements whose truth is known, for tests of intervals.

/// Numbers that look random, the same on every run.
pub(super) struct Noise(u64);

impl Noise {
    pub(super) fn new(seed: u64) -> Noise {
        Noise(seed)
    }

    /// Between 0 and 1. Source: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators" (2014).
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Of the standard normal distribution, by the method of Box and Muller.
    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// The share of 4000 trials in which `holds` says so.
pub(super) fn coverage(mut holds: impl FnMut(&mut Noise) -> bool) -> f64 {
    const TRIALS: u32 = 4000;
    let mut noise = Noise::new(20_240_329);
    let held = (0..TRIALS).filter(|_| holds(&mut noise)).count();
    held as f64 / f64::from(TRIALS)
}
