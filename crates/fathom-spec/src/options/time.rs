//! When the job starts and stops.

use std::time::Duration;

use crate::definition::{Bounds, choices, options};
use crate::value::check_cpu_number;

choices! {
    /// Clock that times are taken from.
    pub enum ClockSource {
        /// gettimeofday(2)
        GetTimeOfDay = "gettimeofday",
        /// Monotonic clock of the kernel
        ClockGetTime = "clock_gettime",
        /// Cycle counter of the CPU
        Cpu = "cpu",
    }
}

options! {
    /// When the job starts and stops.
    pub struct TimeOptions at job.time, in Time, table TABLE;

    /// Time to wait before the job starts
    ///
    /// Two values give a time drawn from between them.
    Built Time startdelay: (Duration, Duration) = "0";

    /// Time after which the job ends
    ///
    /// 0 sets no limit.
    Built Time runtime: Duration = "0", { aliases: &["timeout"] };

    /// Go on until runtime is over, even when all data has been handled
    Built Flag time_based: bool;

    /// Time at the start that is left out of the statistics
    Built Time ramp_time: Option<Duration>;

    /// Warm-up amount excluded from statistics
    Built Size ramp_size: Option<u64>, { bounds: Bounds::at_least(1.0) };

    /// Clock that times are taken from
    ///
    /// Without it, the best one the machine has.
    Built Choice clocksource: Option<ClockSource>, { choices: ClockSource::CHOICES };

    /// CPU that no job may use
    ///
    /// In fio a thread keeps the clock there. Here every clone reads the processor's own counter, which costs less than
    /// looking at what such a thread wrote, so the CPU is merely left free.
    Built Int gtod_cpu: Option<u32>, { check: Some(check_cpu_number) };

    /// Number of the clock that tells when the job started in JSON
    Built Int job_start_clock_id: Option<u32>;
}
