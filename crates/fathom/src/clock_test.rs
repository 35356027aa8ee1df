//! `--cpuclock-test`: whether the processors' counters agree, so that a time read on one processor is never before an earlier
//! time read on another.
//!
//! A thread on each processor takes numbers from one sequence. It reads the clock between loading the number
//! and incrementing it, so the thread with the next number read the clock later. If times do not increase with
//! the numbers, the clocks disagree.

use crate::output::Output;
use fathom_errors::plain;
use fathom_sys::clock::{Calibration, Clock, Source};
use fathom_sys::{Errno, affinity};
use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use thiserror::Error;

/// Duration of the test.
const TIME: Duration = Duration::from_millis(200);
/// Maximum number of readings kept, over all processors.
const MOST: usize = 1 << 21;

/// A clock reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    number: u64,
    ticks: u64,
    cpu: u32,
}

/// Prints the result, and `cs: Pass!` or `cs: Fail` at the end.
pub(crate) fn run(calibration: Calibration) -> ExitCode {
    let mut output = Output::terminal();
    let clock = calibration.finish();
    let reliable = clock.source() == Source::Cpu;
    output.line(&format!("cs: reliable_tsc: {}", if reliable { "yes" } else { "no" }));
    let cpus = match affinity::current() {
        Ok(cpus) => cpus,
        Err(errno) => {
            output.error_line(&format!("fathom: cannot determine the processors of this process: {errno}"));
            return ExitCode::FAILURE;
        }
    };
    output.line(&format!("cs: Testing {} CPUs", cpus.len()));
    let looks = match look(&cpus, clock) {
        Ok(looks) => looks,
        Err(error) => {
            output.error_line(&format!("fathom: {error}"));
            return ExitCode::FAILURE;
        }
    };
    for (cpu, looks) in cpus.iter().zip(&looks).rev() {
        let first = looks.first().map_or(0, |look| look.ticks);
        output.line(&format!("cs: cpu {cpu:>2}: {} clocks seen, first {first}", looks.len()));
    }
    let mut all: Vec<Look> = looks.into_iter().flatten().collect();
    all.sort_unstable_by_key(|look| look.number);
    match backwards(&all) {
        None => {
            output.line("cs: Pass!");
            ExitCode::SUCCESS
        }
        Some((before, after)) => {
            let behind = before.ticks - after.ticks;
            output.line(&format!(
                "cs: CPU clock mismatch: cpu {} read {} after cpu {} had read {}, {behind} ticks behind",
                after.cpu, after.ticks, before.cpu, before.ticks
            ));
            output.line("cs: Fail");
            ExitCode::FAILURE
        }
    }
}

/// Why a processor's clock could not be read.
#[derive(Debug, Error)]
enum LookError {
    #[error("no thread for processor {cpu}: {error}", error = plain(.error))]
    NoThread { cpu: u32, error: io::Error },
    #[error("cannot run on processor {cpu}: {errno}")]
    NotBound { cpu: u32, errno: Errno },
    #[error("a thread ended badly")]
    Panicked,
}

/// The readings of each processor.
fn look(cpus: &[u32], clock: Clock) -> Result<Vec<Vec<Look>>, LookError> {
    let (sequence, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let (sequence, is_over) = (&sequence, &is_over);
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for &cpu in cpus {
            let most = MOST / cpus.len();
            let look = move || look_on(cpu, clock, most, sequence, is_over);
            match thread::Builder::new().spawn_scoped(scope, look) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    is_over.store(true, Ordering::Relaxed);
                    return Err(LookError::NoThread { cpu, error });
                }
            }
        }
        thread::sleep(TIME);
        is_over.store(true, Ordering::Relaxed);
        let join = |thread: thread::ScopedJoinHandle<'_, Result<Vec<Look>, LookError>>| {
            thread.join().unwrap_or(Err(LookError::Panicked))
        };
        threads.into_iter().map(join).collect()
    })
}

fn look_on(
    cpu: u32,
    clock: Clock,
    most: usize,
    sequence: &AtomicU64,
    is_over: &AtomicBool,
) -> Result<Vec<Look>, LookError> {
    affinity::bind(&[cpu]).map_err(|errno| LookError::NotBound { cpu, errno })?;
    let mut looks = Vec::with_capacity(most);
    while !is_over.load(Ordering::Relaxed) && looks.len() < most {
        let number = sequence.load(Ordering::SeqCst);
        let ticks = clock.ordered_ticks();
        if sequence.compare_exchange(number, number + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            looks.push(Look { number, ticks, cpu });
        }
    }
    Ok(looks)
}

/// The first two consecutive readings in the wrong order.
fn backwards(looks: &[Look]) -> Option<(Look, Look)> {
    looks.windows(2).find(|pair| pair[1].ticks < pair[0].ticks).map(|pair| (pair[0], pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_goes_back_is_found() {
        let look = |number, ticks, cpu| Look { number, ticks, cpu };
        let rising = [look(0, 5, 0), look(1, 5, 1), look(2, 9, 0)];
        assert_eq!(backwards(&rising), None);
        let falling = [look(0, 5, 0), look(1, 9, 1), look(2, 8, 0), look(3, 10, 1)];
        assert_eq!(backwards(&falling), Some((falling[1], falling[2])));
        assert_eq!(backwards(&[]), None);
    }
}
