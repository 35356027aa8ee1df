//! Measures how idle the processors are (`--idle-prof`). A separate process has one thread per processor, bound
//! to that processor, which runs only when no other thread wants to. Each thread repeats a small unit of work
//! and counts the repetitions. The processor time of one unit is calibrated beforehand and does not depend on
//! other load. Then idleness = units done × time of a unit / elapsed time.

use fathom_stats::report::IdlenessReport;
use fathom_sys::clock::monotonic_ns;
use fathom_sys::memory::Mapping;
use fathom_sys::process::{self, Fork};
use fathom_sys::{Errno, affinity, scheduling};
use std::hint::black_box;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::Duration;

/// Steps of a unit: about ten microseconds of arithmetic in registers, so that the thread contends for the
/// processor only, not for memory.
const UNIT_STEPS: u32 = 6000;
/// Units per sample: enough to make the cost of reading the clock negligible.
const UNITS_PER_SAMPLE: u32 = 16;
/// Number of timed samples per calibration.
const SAMPLES: u32 = 64;
/// Time limit of the calibration, which other load may delay.
const LONGEST_CALIBRATION: Duration = Duration::from_secs(10);

/// State that a processor's thread shares with the supervisor. All-zero memory is a valid initial state.
#[repr(C, align(128))]
struct CpuBlock {
    units: AtomicU64,
    /// Mean time of a unit in ns, as bits; 0 until it is known.
    unit_mean: AtomicU64,
    /// Standard deviation of the unit's time in ns, as bits.
    unit_stddev: AtomicU64,
    /// errno of the failure that stopped the processor's thread; 0 for none.
    failed: AtomicI32,
}

/// The measuring process.
pub(crate) struct IdleProcess {
    pid: u32,
    blocks: Blocks,
    since_ns: u64,
    units_before: Vec<u64>,
}

impl IdleProcess {
    /// Starts the process and waits until it is calibrated, or until `interrupted` returns true (`EINTR`).
    /// `in_child` prepares the process like every process of a run. The process gets a new session, whose share
    /// of the processors is lowered only after the calibration, because a busy machine would delay it
    /// otherwise.
    ///
    /// # Safety
    ///
    /// The calling process must be single-threaded.
    pub(crate) unsafe fn start(
        in_child: impl Fn(),
        interrupted: impl FnMut() -> bool,
    ) -> Result<IdleProcess, Errno> {
        let cpus = scheduling::allowed_cpus()?;
        let blocks = Blocks::new(cpus.len())?;
        // SAFETY: the caller promises to be single-threaded.
        let pid = match unsafe { process::fork() }? {
            Fork::Child => {
                in_child();
                process::new_session();
                std::thread::scope(|scope| {
                    for (index, &cpu) in cpus.iter().enumerate() {
                        let block = blocks.get(index);
                        let thread = std::thread::Builder::new();
                        if let Err(error) = thread.spawn_scoped(scope, move || measure(block, cpu)) {
                            block.failed.store(error.raw_os_error().unwrap_or(libc::EAGAIN), Release);
                        }
                    }
                });
                // This point is reached only if no thread could be set up, because the threads run until they
                // are killed.
                process::exit_now(1);
            }
            Fork::Parent(pid) => pid,
        };
        let mut idle = IdleProcess { pid, units_before: vec![0; cpus.len()], blocks, since_ns: 0 };
        idle.wait_for_calibration(interrupted)?;
        scheduling::lower_session_of(pid);
        idle.restart();
        Ok(idle)
    }

    fn wait_for_calibration(&self, mut interrupted: impl FnMut() -> bool) -> Result<(), Errno> {
        const LOOK_EVERY: Duration = Duration::from_millis(1);
        let end = monotonic_ns() + LONGEST_CALIBRATION.as_nanos() as u64;
        while monotonic_ns() < end {
            if self.blocks.all().all(|block| block.unit_mean.load(Acquire) != 0) {
                return Ok(());
            }
            if let Some(failed) =
                self.blocks.all().map(|block| block.failed.load(Acquire)).find(|&errno| errno != 0)
            {
                return Err(Errno(failed));
            }
            if interrupted() {
                return Err(Errno(libc::EINTR));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Err(Errno(libc::ETIMEDOUT))
    }

    /// Restarts the measurement.
    pub(crate) fn restart(&mut self) {
        self.units_before = self.blocks.all().map(|block| block.units.load(Relaxed)).collect();
        self.since_ns = monotonic_ns();
    }

    /// The idleness measured so far.
    pub(crate) fn report(&self, per_cpu: bool) -> IdlenessReport {
        let elapsed_ns = (monotonic_ns() - self.since_ns).max(1) as f64;
        let shares: Vec<f64> = self
            .blocks
            .all()
            .zip(&self.units_before)
            .map(|(block, before)| {
                let units = block.units.load(Relaxed) - before;
                (100.0 * units as f64 * float(&block.unit_mean) / elapsed_ns).min(100.0)
            })
            .collect();
        IdlenessReport {
            system_percent: mean(shares.iter().copied()),
            per_cpu_percent: if per_cpu { shares } else { Vec::new() },
            unit_mean_us: mean(self.blocks.all().map(|block| float(&block.unit_mean))) / 1000.0,
            unit_stddev_us: mean(self.blocks.all().map(|block| float(&block.unit_stddev))) / 1000.0,
        }
    }
}

impl Drop for IdleProcess {
    fn drop(&mut self) {
        process::kill(self.pid, libc::SIGKILL);
    }
}

/// Only calibrates a unit. The calling process must be single-threaded.
pub fn calibrate() -> Result<IdlenessReport, Errno> {
    // SAFETY: the caller has one thread.
    let idle = unsafe {
        let in_child = || {
            // The measurement works without the parent-death signal, so its failure is ignored.
            let _ = process::die_with_parent();
        };
        IdleProcess::start(in_child, || false)
    }?;
    Ok(idle.report(false))
}

/// Runs in the thread of one processor; never returns.
fn measure(block: &CpuBlock, cpu: u32) {
    // The measurement is impossible on a processor that has just gone offline, and wrong on one where this
    // thread would compete with other threads.
    let arranged = affinity::bind(&[cpu]).map(|()| time_of_a_unit());
    let arranged = arranged.and_then(|times| scheduling::become_idle().map(|()| times));
    let (mean, stddev) = match arranged {
        Ok(times) => times,
        Err(errno) => return block.failed.store(errno.0, Release),
    };
    block.unit_stddev.store(stddev.to_bits(), Relaxed);
    block.unit_mean.store(mean.to_bits(), Release);
    loop {
        work();
        block.units.store(block.units.load(Relaxed) + 1, Relaxed);
    }
}

/// Mean and standard deviation of the processor time of a unit, ns.
fn time_of_a_unit() -> (f64, f64) {
    let sample = || {
        let start = scheduling::own_cpu_time_ns();
        (0..UNITS_PER_SAMPLE).for_each(|_| work());
        (scheduling::own_cpu_time_ns() - start) as f64 / f64::from(UNITS_PER_SAMPLE)
    };
    // The first samples are discarded: they only bring the processor out of its idle state.
    for _ in 0..SAMPLES / 4 {
        black_box(sample());
    }
    let samples: Vec<f64> = (0..SAMPLES).map(|_| sample()).collect();
    let mean = mean(samples.iter().copied());
    let squares: f64 = samples.iter().map(|sample| (sample - mean).powi(2)).sum();
    (mean.max(1.0), (squares / f64::from(SAMPLES - 1)).sqrt())
}

fn work() {
    let mut state = black_box(1u64);
    for _ in 0..UNIT_STEPS {
        // Every step depends on the previous result, so the compiler cannot shorten the chain.
        state = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    black_box(state);
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    sum / f64::from(count.max(1))
}

fn float(place: &AtomicU64) -> f64 {
    f64::from_bits(place.load(Relaxed))
}

/// The shared memory: one block per processor.
struct Blocks {
    mapping: Mapping,
    count: usize,
}

impl Blocks {
    fn new(count: usize) -> Result<Blocks, Errno> {
        Ok(Blocks { mapping: Mapping::shared(std::mem::size_of::<CpuBlock>() * count)?, count })
    }

    fn get(&self, index: usize) -> &CpuBlock {
        assert!(index < self.count);
        // SAFETY: the mapping has room for `count` blocks, is page aligned, begins as zeros, which is a valid block,
        // and lives as long as `self`. All fields are atomics, so sharing it with another process is sound.
        unsafe { &*self.mapping.address().cast::<CpuBlock>().add(index) }
    }

    fn all(&self) -> impl Iterator<Item = &CpuBlock> {
        (0..self.count).map(|index| self.get(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_takes_microseconds() {
        let (mean, stddev) = time_of_a_unit();
        assert!((500.0..500_000.0).contains(&mean), "{mean} ns");
        assert!(stddev.is_finite());
    }
}
