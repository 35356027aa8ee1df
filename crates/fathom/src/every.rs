//! `--every`: repeats a run until a signal ends it.
//!
//! Runs begin at whole intervals after the first one and never overlap. A run that takes longer than the interval skips the
//! starts that it misses. Each is planned anew, as if the program had been called again; only the output and the metrics are
//! kept.

use crate::exit;
use fathom_sys::signal::{SignalQueue, wait_readable};
use std::time::{Duration, Instant};

/// Longest pause between two polls of background work.
const LOOK: Duration = Duration::from_secs(1);

/// The repeated run.
pub(crate) trait Repeated {
    /// Runs once and returns the exit status; `Err` if the run did not start.
    fn run_once(&mut self) -> Result<u8, u8>;

    /// Prints a line on standard error.
    fn say(&mut self, line: &str);

    /// Continues background work between two runs.
    fn advance(&mut self);
}

/// Repeats a run until a signal arrives; the exit status is that of the first failed run, or of the run that
/// the signal ended. The signals are those that end a run.
pub(crate) fn repeat(every: Duration, signals: &SignalQueue, repeated: &mut dyn Repeated) -> u8 {
    let begun = Instant::now();
    let (mut number, mut status) = (0, 0);
    loop {
        let ended = repeated.run_once();
        let code = ended.unwrap_or_else(|status| status);
        // If the first run cannot begin, the request is invalid; a later failure to begin may be temporary.
        let is_hopeless = number == 0 && ended.is_err();
        if status == 0 || code == exit::DEFECT {
            status = code;
        }
        if code == exit::ENDED_BY_SIGNAL || code == exit::DEFECT || is_hopeless {
            return status;
        }
        let next = next_start(begun.elapsed(), every);
        if next > number + 1 {
            let missed = next - number - 1;
            let starts = if missed == 1 { "1 start is" } else { &format!("{missed} starts are") };
            repeated
                .say(&format!("fathom: --every: the run took longer than the interval, so {starts} skipped"));
        }
        number = next;
        if !wait_until(begun, times(every, number), signals, repeated) {
            return status;
        }
    }
}

/// The number of the next start.
fn next_start(passed: Duration, every: Duration) -> u64 {
    u64::try_from(passed.as_nanos() / every.as_nanos().max(1)).unwrap_or(u64::MAX - 1) + 1
}

fn times(every: Duration, number: u64) -> Duration {
    Duration::from_nanos(u64::try_from(every.as_nanos().saturating_mul(number.into())).unwrap_or(u64::MAX))
}

/// False if a signal ended the wait.
fn wait_until(begun: Instant, due: Duration, signals: &SignalQueue, repeated: &mut dyn Repeated) -> bool {
    loop {
        if signals.asked_to_end().is_some() {
            return false;
        }
        let rest = due.saturating_sub(begun.elapsed());
        if rest.is_zero() {
            return true;
        }
        repeated.advance();
        wait_readable(&[signals.descriptor()], rest.min(LOOK));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_whole_intervals_after_the_first() {
        let (second, hour) = (Duration::from_secs(1), Duration::from_secs(3600));
        assert_eq!(next_start(Duration::ZERO, hour), 1);
        assert_eq!(next_start(hour - second, hour), 1);
        assert_eq!(next_start(hour, hour), 2, "a run that ends with the interval has missed its start");
        assert_eq!(next_start(hour * 3 + second, hour), 4);
        assert_eq!(times(hour, 4), hour * 4);
        assert_eq!(times(Duration::MAX, u64::MAX), Duration::from_nanos(u64::MAX));
    }
}
