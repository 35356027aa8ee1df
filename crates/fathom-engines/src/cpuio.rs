//! `cpuio`: keeps a processor busy next to jobs that do I/O. Each "I/O" is `cpuchunks` of work; the pause
//! between two of them, which determines the load, is the job's think time.

use fathom_run::engine::{Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_spec::engines::cpuio::CpuMode;
use fathom_spec::engines::{self, EngineDef};
use std::hint::{black_box, spin_loop};
use std::time::{Duration, Instant};

/// Number of iterations of an empty loop between two clock readings.
const TURNS: u32 = 1000;
/// Number of values to sort; it must be a power of two.
const NUMBERS: usize = 4096;

/// Burns processor time in chunks of equal length.
pub(crate) struct Cpuio {
    stretch: Duration,
    /// The values to sort; empty if the work is counting instead.
    numbers: Vec<u32>,
}

impl EngineType for Cpuio {
    const DEFINITION: &'static EngineDef = &engines::cpuio::DEFINITION;

    fn new(setup: &Setup<'_>) -> Result<Cpuio, SetupError> {
        let options = &setup.job.private.cpuio;
        let count = if options.cpumode == CpuMode::Qsort { NUMBERS } else { 0 };
        let stretch = Duration::from_micros(u64::from(options.cpuchunks));
        Ok(Cpuio { stretch, numbers: vec![0; count] })
    }
}

impl Engine for Cpuio {
    fn queue(&mut self, _slot: u32, io: &Io) -> Queued {
        let start = Instant::now();
        while start.elapsed() < self.stretch {
            if self.numbers.is_empty() {
                (0..TURNS).for_each(|_| spin_loop());
            } else {
                sort_anew(&mut self.numbers);
            }
        }
        Queued::Done(i64::from(io.length()))
    }
}

/// Shuffles the values and sorts them.
fn sort_anew(numbers: &mut [u32]) {
    for (index, number) in numbers.iter_mut().enumerate() {
        *number = (index as u32).wrapping_mul(0x9e37_79b1).rotate_left(16);
    }
    black_box(&mut *numbers).sort_unstable();
    black_box(&*numbers);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_sorted_anew_each_time() {
        let mut numbers = vec![0; NUMBERS];
        for _ in 0..2 {
            sort_anew(&mut numbers);
            assert!(numbers.is_sorted());
            assert!(numbers[0] < numbers[NUMBERS - 1]);
        }
    }
}
