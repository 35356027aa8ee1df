//! How fast the job goes.

use std::time::Duration;

use crate::definition::{Bounds, choices, options};
use crate::value::{PerDir, TimeUnit};

choices! {
    /// What thinktime_blocks counts.
    pub enum ThinktimeBlocksType {
        /// Completed I/Os
        Complete = "complete",
        /// Issued I/Os
        Issue = "issue",
    }
}

choices! {
    /// Spacing of I/Os under a rate.
    pub enum RateProcess {
        /// Even
        Linear = "linear",
        /// As from many independent users
        Poisson = "poisson",
    }
}

options! {
    /// How fast the job goes.
    pub struct RateOptions at job.rate, in Rate, table TABLE;

    /// Pause after thinktime_blocks I/Os
    ///
    /// In microseconds, unless it has a unit.
    Built Time thinktime: Duration = "0", { unit: TimeUnit::Microseconds };

    /// Part of the pause that keeps the CPU busy
    ///
    /// In microseconds, unless it has a unit.
    Built Time thinktime_spin: Duration = "0", { parent: Some("thinktime"), unit: TimeUnit::Microseconds };

    /// CPU cycles (spun) between I/Os, accounted as thinking, in addition to thinktime
    Built Int thinkcycles: u32 = "0", { parent: Some("thinktime") };

    /// I/Os between two pauses
    Built Int thinktime_blocks: u32 = "1", { parent: Some("thinktime") };

    /// Count issued or completed I/Os
    Built Choice thinktime_blocks_type: ThinktimeBlocksType = "complete", {
        choices: ThinktimeBlocksType::CHOICES,
        parent: Some("thinktime"),
    };

    /// Time of I/O between two pauses
    Built Time thinktime_iotime: Duration = "0", { parent: Some("thinktime") };

    /// Bandwidth that a clone does not exceed, in bytes per second
    ///
    /// One value each for reads, writes and trims; 0 sets no limit.
    Built Int rate: PerDir<u64>;

    /// Bandwidth below which the job fails, in bytes per second
    ///
    /// One value each for reads, writes and trims.
    Built Int rate_min: PerDir<u64>, { aliases: &["ratemin"], parent: Some("rate") };

    /// I/Os per second that a clone does not exceed
    ///
    /// One value each for reads, writes and trims; not together with rate.
    Built Int rate_iops: PerDir<u64>;

    /// I/Os per second below which the job fails
    ///
    /// One value each for reads, writes and trims.
    Built Int rate_iops_min: PerDir<u64>, { parent: Some("rate_iops") };

    /// How I/Os are spaced under a rate
    Built Choice rate_process: RateProcess = "linear", {
        choices: RateProcess::CHOICES,
        parent: Some("rate"),
    };

    /// Time over which the minimum rates are averaged, in milliseconds
    Built Int rate_cycle: u32 = "1000", { aliases: &["ratecycle"], parent: Some("rate") };

    /// Do not make up for pauses under a rate
    Built Bool rate_ignore_thinktime: bool, { parent: Some("rate") };

    /// Flow group of the job
    Built Int flow_id: u32 = "0";

    /// Weight inside the flow group
    Built Int flow: u32 = "0", { bounds: Bounds::at_most(1000.0), parent: Some("flow_id") };

    /// Pause in microseconds when ahead of the flow
    Built Int flow_sleep: u32 = "0", { parent: Some("flow_id") };
}
