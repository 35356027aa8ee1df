//! The clock of the run loop: the processor's time stamp counter if the kernel itself uses it, `clock_gettime`
//! otherwise. Inside a worker, all times are *ticks* of this clock, which are converted to nanoseconds when a
//! latency is recorded.

use crate::futex;
pub use crate::span::timespec;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Source of the ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// The processor's own counter.
    Cpu,
    /// `clock_gettime(CLOCK_MONOTONIC)`; a tick is a nanosecond.
    Monotonic,
    /// `gettimeofday`; ticks are nanoseconds with microsecond steps.
    TimeOfDay,
    /// A simulated time that advances only when it is read or waited for, for runs on a simulated device; a
    /// tick is a nanosecond.
    Virtual(VirtualTime),
}

/// The time of a [`Source::Virtual`], which one thread reads and advances.
#[derive(Clone, Copy, Debug)]
pub struct VirtualTime(&'static AtomicU64);

impl PartialEq for VirtualTime {
    fn eq(&self, other: &VirtualTime) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for VirtualTime {}

/// Time in ns by which a read advances the virtual time, so that busy-waiting makes progress.
const LOOK_NS: u64 = 20;

impl VirtualTime {
    /// Returns a virtual time that starts at this nanosecond. Its memory is never freed.
    pub fn starting_at(ns: u64) -> VirtualTime {
        VirtualTime(Box::leak(Box::new(AtomicU64::new(ns))))
    }

    /// Returns the current nanosecond, without advancing the time.
    pub fn ns(self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Advances the time to a nanosecond, never backwards.
    pub fn advance_to(self, ns: u64) {
        self.0.fetch_max(ns, Relaxed);
    }

    fn look(self) -> u64 {
        self.0.fetch_add(LOOK_NS, Relaxed)
    }

    fn pass(self, span: Duration) {
        self.0.fetch_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }
}

/// A calibrated clock, which is copied into every worker.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
    to_ns: Ratio,
}

/// Length of a tick, for spans shorter than four seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShortScale {
    /// A nanosecond.
    One,
    /// Less than a nanosecond: this number of 2^-32 ns.
    Below(u32),
}

impl ShortScale {
    /// Converts a span to nanoseconds, as [`Clock::span_ns`] does.
    #[inline(always)]
    pub fn span_ns(self, ticks: u32) -> u32 {
        match self {
            ShortScale::One => ticks,
            ShortScale::Below(scale) => ((u64::from(ticks) * u64::from(scale)) >> 32) as u32,
        }
    }
}

/// The same instant as read from two clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// By a [`Clock`].
    pub ticks: u64,
    /// By `CLOCK_MONOTONIC`.
    pub ns: u64,
}

impl Clock {
    /// Reads the current instant from this clock and from the system's, accurately even on a busy machine.
    pub fn moment(&self) -> Moment {
        if let Source::Virtual(time) = self.source {
            let now = time.look();
            return Moment { ticks: now, ns: now };
        }
        let (ticks, ns) = read_together(|| self.ticks(), monotonic_ns, self.ticks_of_ns(CLOSE_NS));
        Moment { ticks, ns }
    }

    /// Returns the monotonic nanoseconds at this tick, relative to a reference instant that may be before or
    /// after it.
    #[inline]
    pub fn ns_at(&self, tick: u64, from: Moment) -> u64 {
        match tick.checked_sub(from.ticks) {
            Some(ticks) => from.ns + self.span_ns(ticks),
            None => from.ns.saturating_sub(self.span_ns(from.ticks - tick)),
        }
    }

    /// Returns the current tick, read after all earlier instructions have completed, so that it is comparable
    /// with a tick read on another processor.
    pub fn ordered_ticks(&self) -> u64 {
        wait_for_earlier();
        self.ticks()
    }

    /// Returns the current tick.
    #[inline(always)]
    pub fn ticks(&self) -> u64 {
        // A branch is cheaper than a jump table, and this is the most common source.
        if let Source::Cpu = self.source { cpu_counter() } else { self.other_ticks() }
    }

    #[inline(never)]
    fn other_ticks(&self) -> u64 {
        match self.source {
            Source::Cpu => cpu_counter(),
            Source::Monotonic => monotonic_ns(),
            Source::TimeOfDay => time_of_day_ns(),
            Source::Virtual(time) => time.look(),
        }
    }

    /// Returns monotonic nanoseconds, regardless of the source of the ticks.
    pub fn monotonic_ns(&self) -> u64 {
        match self.source {
            Source::Virtual(time) => time.look(),
            _ => monotonic_ns(),
        }
    }

    /// Busy-waits until a tick.
    pub fn spin_until(&self, tick: u64) {
        match self.source {
            // A virtual clock does not advance while a thread waits, so the wait advances it.
            Source::Virtual(time) => time.pass(Duration::from_nanos(tick.saturating_sub(time.look()))),
            _ => {
                while self.ticks() < tick {
                    std::hint::spin_loop();
                }
            }
        }
    }

    /// Sleeps while `word` holds `value`, at most `span`; see [`futex::wait_while`].
    pub fn wait_while(&self, word: &AtomicU32, value: u32, span: Duration) {
        match self.source {
            Source::Virtual(time) => time.pass(span),
            _ => futex::wait_while(word, value, Some(span)),
        }
    }

    /// Sleeps.
    pub fn sleep(&self, span: Duration) {
        match self.source {
            Source::Virtual(time) => time.pass(span),
            _ => std::thread::sleep(span),
        }
    }

    /// Converts a span of ticks to nanoseconds. Spans up to 500 years are exact within the calibration.
    #[inline(always)]
    pub fn span_ns(&self, ticks: u64) -> u64 {
        self.to_ns.apply(ticks)
    }

    /// Returns how vector operations can do the same conversion, if a tick is no longer than a nanosecond.
    pub fn short_scale(&self) -> Option<ShortScale> {
        match self.to_ns.scaled {
            scaled @ ..0x1_0000_0000 => Some(ShortScale::Below(scaled as u32)),
            0x1_0000_0000 => Some(ShortScale::One),
            _ => None,
        }
    }

    /// Converts nanoseconds to ticks.
    pub fn ticks_of_ns(&self, ns: u64) -> u64 {
        self.to_ns.invert(ns)
    }

    /// Converts a duration to ticks.
    pub fn ticks_of(&self, duration: Duration) -> u64 {
        self.ticks_of_ns(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }

    /// The source.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Returns a clock that needs no calibration.
    pub fn monotonic() -> Clock {
        Clock { source: Source::Monotonic, to_ns: Ratio::ONE }
    }

    /// Returns a clock with microsecond steps, like `gettimeofday`.
    pub fn time_of_day() -> Clock {
        Clock { source: Source::TimeOfDay, to_ns: Ratio::ONE }
    }

    /// Returns a clock that shows a virtual time.
    pub fn of_virtual_time(time: VirtualTime) -> Clock {
        Clock { source: Source::Virtual(time), to_ns: Ratio::ONE }
    }
}

/// First half of a calibration. Callers start it early, do other work, and [`finish`](Calibration::finish) it
/// later.
pub struct Calibration {
    counter: u64,
    ns: u64,
    trusted: bool,
}

/// Minimum span over which the counter is compared with the monotonic clock. An error of 50 ns in reading
/// either clock then amounts to at most 25 parts per million.
const CALIBRATION_NS: u64 = 2_000_000;

impl Calibration {
    /// Reads both clocks. The counter is trusted only if it is the kernel's current clocksource.
    pub fn start() -> Calibration {
        let (counter, ns) = read_together(cpu_counter, monotonic_ns, 0);
        Calibration { counter, ns, trusted: counter_is_trusted() }
    }

    /// Returns the best clock of this machine; waits for the rest of 2 ms if less time has passed since the
    /// start.
    pub fn finish(self) -> Clock {
        if !self.trusted {
            return Clock::monotonic();
        }
        loop {
            let (counter, ns) = read_together(cpu_counter, monotonic_ns, 0);
            let (counter_span, ns_span) = (counter.wrapping_sub(self.counter), ns - self.ns);
            if ns_span < CALIBRATION_NS {
                std::hint::spin_loop();
                continue;
            }
            if counter_span == 0 || counter_span > ns_span.saturating_mul(64) {
                return Clock::monotonic();
            }
            return Clock { source: Source::Cpu, to_ns: Ratio::new(ns_span, counter_span) };
        }
    }
}

/// Maximum distance of two readings that need no retry.
const CLOSE_NS: u64 = 500;

/// Reads two clocks as close together as possible: the best of a few tries, or the first within `close`, so
/// that an interrupt or another program between the two reads does not distort the comparison.
fn read_together<T>(clock: impl Fn() -> u64, other: impl Fn() -> T, close: u64) -> (u64, T) {
    let read = || {
        let before = clock();
        let value = other();
        let gap = clock().wrapping_sub(before);
        (gap, before.wrapping_add(gap / 2), value)
    };
    let mut best = read();
    for _ in 1..8 {
        if best.0 <= close {
            break;
        }
        let again = read();
        if again.0 < best.0 {
            best = again;
        }
    }
    (best.1, best.2)
}

/// The kernel checks the counter across processors and power states; it reports `tsc` (or `arch_sys_counter`)
/// here only while it trusts it.
fn counter_is_trusted() -> bool {
    std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .is_ok_and(|name| matches!(name.trim(), "tsc" | "arch_sys_counter"))
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn cpu_counter() -> u64 {
    // SAFETY: RDTSC has no preconditions; user space may always execute it where Linux uses it as clock source.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn cpu_counter() -> u64 {
    let ticks: u64;
    // SAFETY: reading CNTVCT_EL0 has no side effects and Linux allows it from user space.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn cpu_counter() -> u64 {
    monotonic_ns()
}

/// Waits until all previous instructions have completed.
#[inline(always)]
fn wait_for_earlier() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: LFENCE has no preconditions and changes no register.
    unsafe {
        core::arch::asm!("lfence", options(nostack, preserves_flags))
    };
    #[cfg(target_arch = "aarch64")]
    // SAFETY: ISB has no preconditions and changes no register.
    unsafe {
        core::arch::asm!("isb", options(nostack, preserves_flags))
    };
}

/// Keeps the processor busy for about this many cycles of its time stamp counter.
pub fn spin_cycles(cycles: u64) {
    let start = cpu_counter();
    while cpu_counter().wrapping_sub(start) < cycles {
        std::hint::spin_loop();
    }
}

/// `CLOCK_MONOTONIC` in nanoseconds.
#[inline]
pub fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Sleeps until this time of [`monotonic_ns`]; returns immediately if it is past.
pub fn sleep_until(moment_ns: u64) {
    let time = timespec(Duration::from_nanos(moment_ns));
    // SAFETY: `time` lives through the call; with an absolute time nothing is written to the null pointer. A
    // signal that interrupts it only causes another call.
    while unsafe {
        libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &time, std::ptr::null_mut())
    } == libc::EINTR
    {}
}

/// Reads a system clock by its ID, in nanoseconds; `None` if the kernel does not support the clock.
pub(crate) fn clock_ns(clock: i32) -> Option<u64> {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec for the whole call.
    let result = unsafe { libc::clock_gettime(clock, &mut now) };
    (result == 0).then(|| now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

fn time_of_day_ns() -> u64 {
    let mut now = libc::timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: `now` is a valid timeval; the time zone pointer may be null.
    unsafe { libc::gettimeofday(&mut now, std::ptr::null_mut()) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_usec as u64 * 1000
}

/// Returns another clock's value at a past or future time of [`monotonic_ns`], in nanoseconds; `None` if the
/// kernel does not support the clock.
pub fn clock_at(clock: i32, monotonic: u64) -> Option<u64> {
    let (now, other) = read_together(monotonic_ns, || clock_ns(clock), CLOSE_NS);
    Some((other? + monotonic).saturating_sub(now))
}

/// Returns the wall clock minus [`monotonic_ns`], in ns, which changes only when the wall clock is set.
pub fn wall_minus_monotonic_ns() -> i64 {
    let (monotonic, wall) = read_together(monotonic_ns, || clock_ns(libc::CLOCK_REALTIME), CLOSE_NS);
    wall.unwrap_or(0) as i64 - monotonic as i64
}

/// Returns the wall-clock time in milliseconds since the epoch.
pub fn wall_clock_ms() -> u64 {
    clock_ns(libc::CLOCK_REALTIME).unwrap_or(0) / 1_000_000
}

/// A ratio as a 32-bit binary fraction, so that applying it takes one multiplication and one shift.
#[derive(Clone, Copy, Debug)]
struct Ratio {
    scaled: u64,
}

impl Ratio {
    const ONE: Ratio = Ratio { scaled: 1 << 32 };

    fn new(numerator: u64, denominator: u64) -> Ratio {
        Ratio { scaled: ((u128::from(numerator) << 32) / u128::from(denominator)) as u64 }
    }

    #[inline(always)]
    fn apply(self, value: u64) -> u64 {
        ((u128::from(value) * u128::from(self.scaled)) >> 32) as u64
    }

    fn invert(self, value: u64) -> u64 {
        u64::try_from((u128::from(value) << 32) / u128::from(self.scaled)).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn ticks_follow_the_monotonic_clock() {
        let clock = Calibration::start().finish();
        let begin = clock.moment();
        std::thread::sleep(Duration::from_millis(20));
        let end = clock.moment();
        let (ticks_span, ns_span) = (clock.span_ns(end.ticks - begin.ticks), end.ns - begin.ns);
        assert!(clock.ns_at(end.ticks, begin).abs_diff(end.ns) < ns_span / 100 + 200_000);
        assert!(clock.ns_at(begin.ticks, end).abs_diff(begin.ns) < ns_span / 100 + 200_000);
        // This does not depend on the machine's speed: both clocks measure the same sleep, regardless of its
        // length.
        assert!(ticks_span.abs_diff(ns_span) < ns_span / 100 + 200_000, "{ticks_span} against {ns_span}");
    }

    #[test]
    fn a_program_in_between_does_not_move_clocks_against_each_other() {
        // Simulates preemption in the first tries.
        let (time, tries) = (Cell::new(0), Cell::new(0));
        let clock = || {
            time.set(time.get() + 1);
            time.get()
        };
        let other = || {
            tries.set(tries.get() + 1);
            time.set(time.get() + if tries.get() < 5 { 1000 } else { 0 });
            time.get()
        };
        let (own, others) = read_together(clock, other, 2);
        assert!(others.abs_diff(own) <= 1, "{own} and {others}");
        assert_eq!(tries.get(), 5, "no further try when they are close");
    }

    #[test]
    fn another_clock_at_a_moment_that_is_past() {
        let moment = monotonic_ns();
        std::thread::sleep(Duration::from_millis(20));
        assert!(
            clock_at(libc::CLOCK_MONOTONIC, moment).is_some_and(|same| same.abs_diff(moment) < 5_000_000)
        );
        assert_eq!(clock_at(-77, moment), None);
    }

    #[test]
    fn virtual_time_passes_for_those_who_wait() {
        let time = VirtualTime::starting_at(1000);
        let clock = Clock::of_virtual_time(time);
        assert_eq!((clock.ticks(), clock.monotonic_ns()), (1000, 1020));
        clock.sleep(Duration::from_secs(3600));
        clock.wait_while(&AtomicU32::new(0), 0, Duration::from_nanos(60));
        assert_eq!(time.ns(), 3_600_000_001_100);
        time.advance_to(7);
        let moment = clock.moment();
        assert_eq!((moment.ticks, moment.ns), (3_600_000_001_100, 3_600_000_001_100));
        assert_eq!(clock.span_ns(clock.ticks_of_ns(12_345)), 12_345);
        assert_ne!(Source::Virtual(time), Source::Virtual(VirtualTime::starting_at(1000)));
    }

    #[test]
    fn conversions_are_inverse() {
        let clock = Calibration::start().finish();
        for ns in [1_000u64, 1_000_000, 3_600_000_000_000] {
            assert!(clock.span_ns(clock.ticks_of_ns(ns)).abs_diff(ns) <= 1 + ns / 1_000_000);
        }
    }
}
