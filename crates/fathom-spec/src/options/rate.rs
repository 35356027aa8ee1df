//! Rates and pauses.

use std::time::Duration;

use crate::declare::{choices, options};
use crate::definition::Bounds;
use crate::value::{ArrivalProcess, TimeUnit};
use fathom_stats::PerDirection;

choices! {
    /// Which I/Os thinktime_blocks counts.
    pub enum ThinktimeBlocksType {
        /// Completed I/Os
        Complete = "complete",
        /// Issued I/Os
        Issue = "issue",
    }
}

options! {
    /// Rates and pauses.
    pub struct RateOptions in Rate, table TABLE;

    /// Pause after thinktime_blocks I/Os
    ///
    /// Microseconds without a unit.
    Built Time thinktime: Duration = "0", { unit: TimeUnit::Microseconds };

    /// Part of the pause to spend spinning on the CPU
    ///
    /// Microseconds without a unit.
    Built Time thinktime_spin: Duration = "0", { parent: Some("thinktime"), unit: TimeUnit::Microseconds };

    /// CPU cycles to spin between I/Os, in addition to thinktime; counted as thinking
    Built Int thinkcycles: u32 = "0", { parent: Some("thinktime") };

    /// Number of I/Os between two pauses
    Built Int thinktime_blocks: u32 = "1", { parent: Some("thinktime") };

    /// Count issued or completed I/Os
    Built Choice thinktime_blocks_type: ThinktimeBlocksType = "complete", {
        choices: ThinktimeBlocksType::CHOICES,
        parent: Some("thinktime"),
    };

    /// Time to do I/O between two pauses
    Built Time thinktime_iotime: Duration = "0", { parent: Some("thinktime") };

    /// Bandwidth limit per clone, in bytes per second
    ///
    /// One value each for reads, writes and trims; 0 means no limit.
    Built Int rate: PerDirection<u64>;

    /// Fail the job if its bandwidth is below this, in bytes per second
    ///
    /// One value each for reads, writes and trims.
    Built Int rate_min: PerDirection<u64>, { aliases: &["ratemin"], parent: Some("rate") };

    /// IOPS limit per clone
    ///
    /// One value each for reads, writes and trims; cannot be combined with rate.
    Built Int rate_iops: PerDirection<u64>;

    /// Fail the job if its IOPS are below this
    ///
    /// One value each for reads, writes and trims.
    Built Int rate_iops_min: PerDirection<u64>, { parent: Some("rate_iops") };

    /// Spacing of I/Os under a rate limit
    Built Choice rate_process: ArrivalProcess = "linear", {
        choices: ArrivalProcess::CHOICES,
        parent: Some("rate"),
    };

    /// I/Os are due at the given rate, whether or not the device keeps up; the report has response times
    ///
    /// An I/O that is due while all iodepth slots are busy waits, and its response time counts from when it was due. With
    /// read_iolog the times are those of the log.
    Built Bool open_loop: bool = "0", { parent: Some("rate") };

    /// Busy-wait just before an I/O is due, so that it starts on time
    Built Bool open_loop_spin: bool = "1", { parent: Some("open_loop") };

    /// Averaging period for the minimum rates, in milliseconds
    Built Int rate_cycle: u32 = "1000", { aliases: &["ratecycle"], parent: Some("rate") };

    /// Do not make up for thinktime under a rate limit
    Built Bool rate_ignore_thinktime: bool, { parent: Some("rate") };

    /// Flow group of the job
    Built Int flow_id: u32 = "0";

    /// Weight of the job within the flow group
    Built Int flow: u32 = "0", { bounds: Bounds::at_most(1000.0), parent: Some("flow_id") };

    /// Pause when the job is ahead of its flow, in microseconds
    Built Int flow_sleep: u32 = "0", { parent: Some("flow_id") };
}
