//! Start and stop times.

use std::time::Duration;

use crate::declare::{choices, options};
use crate::definition::Bounds;
use crate::value::check_cpu_number;

choices! {
    /// Clock for time measurements.
    pub enum ClockSource {
        /// gettimeofday(2)
        GetTimeOfDay = "gettimeofday",
        /// The kernel's monotonic clock
        ClockGetTime = "clock_gettime",
        /// The CPU's cycle counter
        Cpu = "cpu",
    }
}

options! {
    /// Start and stop times.
    pub struct TimeOptions in Time, table TABLE;

    /// Delay before the job starts
    ///
    /// Two values give a random delay between them.
    Built Time startdelay: (Duration, Duration) = "0";

    /// Maximum run time of the job
    ///
    /// 0 means no limit.
    Built Time runtime: Duration = "0", { aliases: &["timeout"] };

    /// Run for the full runtime, even if all data has been covered
    Built Flag time_based: bool;

    /// Warm-up time, excluded from the statistics
    Built Time ramp_time: Option<Duration>;

    /// Warm-up amount of I/O, excluded from the statistics
    Built Size ramp_size: Option<u64>, { bounds: Bounds::at_least(1.0) };

    /// Clock for time measurements
    ///
    /// The default is the machine's best clock.
    Built Choice clocksource: Option<ClockSource>, { choices: ClockSource::CHOICES };

    /// CPU that no job may use
    ///
    /// In fio, a clock thread runs there. fathom reads the CPU's cycle counter instead, which is cheaper, so the CPU stays idle.
    Built Int gtod_cpu: Option<u32>, { check: Some(check_cpu_number) };

    /// Clock id for the job start time in JSON
    Built Int job_start_clock_id: Option<u32>;
}
