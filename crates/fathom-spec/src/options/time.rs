//! When the job starts and stops.

use std::time::Duration;

use crate::definition::{Bounds, choices, options};

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

    /// Delay before start; a low-high pair picks at random
    Built Time startdelay: (Duration, Duration) = "0";

    /// Stop after this time
    Built Time runtime: Duration = "0", { aliases: &["timeout"] };

    /// Keep repeating until runtime is over
    Built Flag time_based: bool;

    /// Warm-up time excluded from statistics
    Built Time ramp_time: Option<Duration>;

    /// Warm-up amount excluded from statistics
    Later Size ramp_size: Option<u64>, { bounds: Bounds::at_least(1.0) };

    /// Clock used for timing
    Built Choice clocksource: Option<ClockSource>, { choices: ClockSource::CHOICES };

    /// CPU that only keeps the clock
    Later Int gtod_cpu: Option<u32>;

    /// Clock number for job_start in JSON
    Built Int job_start_clock_id: Option<u32>;
}
