//! Made series, whose changes are known.

use fathom_changes::Point;
use fathom_stats::split_mix::split_mix;

/// One standard deviation of the noise, as a share of the level.
pub(crate) const SIGMA: f64 = 0.05;

/// Noise of a series, each with a standard deviation of 1 where it has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Noise {
    /// Normal.
    Normal,
    /// Skewed: lognormal with a shape of 1.
    Lognormal,
    /// Heavy-tailed: Student's t with three degrees of freedom.
    T3,
    /// Normal, and 3 % of the runs are off by 8 standard deviations.
    Spikes,
    /// Normal, and the deviation grows steadily from 0.5 to 1.5.
    Growing,
    /// Normal, and the deviation is three times as large after a random run.
    Louder,
    /// Autoregressive: each run keeps this share of the distance of the one before.
    Wandering(f64),
}

/// All kinds of noise.
pub(crate) const NOISES: [Noise; 8] = [
    Noise::Normal,
    Noise::Lognormal,
    Noise::T3,
    Noise::Spikes,
    Noise::Growing,
    Noise::Louder,
    Noise::Wandering(0.3),
    Noise::Wandering(0.5),
];

/// What happens to the level, in standard deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Course {
    /// Nothing.
    Flat,
    /// A step at a random place between a fifth and four fifths.
    Step(f64),
    /// A step of this size, with this number of runs after it.
    StepBefore(f64, usize),
    /// A steady slope with this rise in total.
    Slope(f64),
    /// A change of this size for 20 runs in the middle.
    Episode(f64),
}

/// Reproducible pseudorandom numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Between 0 and 1, neither included.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((split_mix(&mut self.0) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Standard normal, by the Box-Muller method.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn t3(&mut self) -> f64 {
        let squares: f64 = (0..3).map(|_| self.normal().powi(2)).sum();
        self.normal() / squares.sqrt()
    }
}

/// A series and the place of its step, if it has one.
pub(crate) struct Made {
    /// The figures.
    pub(crate) values: Vec<f64>,
    /// Number of the first run of the new level.
    pub(crate) place: Option<usize>,
}

impl Made {
    /// The series as runs that count.
    pub(crate) fn points(&self) -> Vec<Point> {
        self.values.iter().map(|value| Point::new(*value)).collect()
    }
}

/// Makes a series of `runs`, reproducibly by its seed.
pub(crate) fn made(noise: Noise, course: Course, runs: usize, seed: u64) -> Made {
    let mut random = Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x6661_7468_6f6d);
    let middle = (runs as f64 * (0.2 + 0.6 * random.uniform())) as usize;
    let place = match course {
        Course::Step(_) => Some(middle),
        Course::StepBefore(_, after) => Some(runs - after),
        Course::Flat | Course::Slope(_) | Course::Episode(_) => None,
    };
    let level = |run: usize| match course {
        Course::Flat => 0.0,
        Course::Step(by) | Course::StepBefore(by, _) => by * f64::from(u8::from(Some(run) >= place)),
        Course::Slope(by) => by * run as f64 / runs as f64,
        Course::Episode(by) => by * f64::from(u8::from((runs / 2 - 10..runs / 2 + 10).contains(&run))),
    };
    let mut wandering = random.normal();
    let mut values = Vec::with_capacity(runs);
    for run in 0..runs {
        let value = match noise {
            Noise::Normal => random.normal(),
            // Mean and deviation of exp of a standard normal number.
            Noise::Lognormal => (random.normal().exp() - 1.6487) / 2.1612,
            Noise::T3 => random.t3(),
            Noise::Spikes => random.normal() + 8.0 * f64::from(u8::from(random.uniform() < 0.03)),
            Noise::Growing => random.normal() * (0.5 + run as f64 / runs as f64),
            Noise::Louder => random.normal() * if run < middle { 1.0 } else { 3.0 },
            Noise::Wandering(keeps) => {
                wandering = keeps * wandering + (1.0 - keeps * keeps).sqrt() * random.normal();
                wandering
            }
        };
        values.push(100.0 * (SIGMA * (value + level(run))).exp());
    }
    Made { values, place }
}
