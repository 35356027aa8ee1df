//! Measurements, logs and reports.

use crate::declare::{choices, options};
use crate::definition::{Bounds, Names};
use crate::value::CpuList;

choices! {
    /// Value of an averaged log entry.
    pub enum LogWindowValue {
        /// Mean of the window
        Average = "avg" | "0",
        /// Maximum of the window
        Maximum = "max" | "1",
        /// Mean and maximum
        Both = "both",
    }
}

choices! {
    /// How to report directions.
    pub enum UnifiedReporting {
        /// Each direction separately
        None = "none" | "0",
        /// All directions as one
        Mixed = "mixed" | "1",
        /// Both ways
        Both = "both" | "2",
    }
}

options! {
    /// Measurements, logs and reports.
    pub struct MeasurementOptions in Measurement, table TABLE;

    /// Start a new reporting group
    Built Flag new_group: bool;

    /// Write a separate log file for each clone
    Built Bool per_job_logs: bool = "1";

    /// Write a bandwidth log; optional file prefix
    Built OptionalText write_bw_log: Option<String>, { names: Names::Planned };

    /// Write submission, completion and total latency logs; optional file prefix
    Built OptionalText write_lat_log: Option<String>, { names: Names::Planned };

    /// Write an IOPS log; optional file prefix
    Built OptionalText write_iops_log: Option<String>, { names: Names::Planned };

    /// Maximum number of I/Os by which a job may be ahead of its logs
    ///
    /// Without this option, the jobs share a fixed amount of memory.
    Built Int log_entries: u32 = "1024", { bounds: Bounds::between(1024.0, 1048576.0) };

    /// Average log entries over windows of this length, in milliseconds
    Built Int log_avg_msec: u32 = "0";

    /// Interval between histograms in the log of write_hist_log, in milliseconds
    ///
    /// 0 writes one histogram for the whole run.
    Built Int log_hist_msec: u32 = "0";

    /// Halve the number of histogram bins this many times
    Built Int log_hist_coarseness: u32 = "0", { bounds: Bounds::between(0.0, 6.0) };

    /// Write a log of completion latency histograms; optional file prefix
    Built OptionalText write_hist_log: Option<String>, { names: Names::Planned };

    /// Which value of a window to log
    Built Choice log_window_value: LogWindowValue = "avg", {
        aliases: &["log_max_value"],
        choices: LogWindowValue::CHOICES,
    };

    /// Add an offset column to logs
    Built Bool log_offset: bool = "0";

    /// Log the priority value instead of a high-priority flag
    Built Bool log_prio: bool = "0";

    /// Add an issue time column to logs
    Built Bool log_issue_time: bool = "0";

    /// Chunk size for log_store_compressed
    ///
    /// Logs are written during the run and never held in memory, so nothing else needs compressing.
    Built Int log_compression: Option<u32>, { bounds: Bounds::between(1024.0, 536870912.0) };

    /// CPUs for the thread that writes and compresses the logs
    Built Text log_compression_cpus: Option<CpuList>, { names: Names::Nothing, parent: Some("log_compression") };

    /// Write compressed logs, with the suffix .fz
    Built Bool log_store_compressed: bool;

    /// Use another clock's epoch for log times
    Built Bool log_alternate_epoch: bool, { aliases: &["log_unix_epoch"] };

    /// Clock id for log_alternate_epoch
    Built Int log_alternate_epoch_clock_id: Option<u32>;

    /// Histogram of errors over the lifetime of blocks
    ///
    /// Reports how many trims each block had taken when its first trim or write failed, and the state of all blocks. A block is as long as
    /// a trim.
    Built Bool block_error_percentiles: bool = "0";

    /// Length of a bandwidth sample, in milliseconds
    Built Int bwavgtime: u32 = "500", { parent: Some("write_bw_log") };

    /// Length of an IOPS sample, in milliseconds
    Built Int iopsavgtime: u32 = "500", { parent: Some("write_iops_log") };

    /// Report all jobs of a group together
    Built Flag group_reporting: bool;

    /// Collect statistics for this job
    Built Bool stats: bool = "1";

    /// Report completion latency percentiles
    Built Bool clat_percentiles: bool = "1";

    /// Report total latency percentiles
    ///
    /// All jobs of a group need the same setting.
    Built Bool lat_percentiles: bool = "0";

    /// Report submission latency percentiles
    Built Bool slat_percentiles: bool = "0";

    /// Percentiles to report, separated by colons, at most 20
    Built FloatList percentile_list: Vec<f64> =
        "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99", {
        bounds: Bounds::between(0.0, 100.0),
    };

    /// Significant digits in the normal report
    Built Int significant_figures: u32 = "4", { bounds: Bounds::between(1.0, 10.0) };

    /// Report disk utilisation
    Built Bool disk_util: bool = "1";

    /// Skip latency measurements
    ///
    /// Sets disable_lat, disable_clat and disable_slat and turns all percentiles off; options after it override that.
    Built Bool gtod_reduce: bool = "0";

    /// Do not measure total latency
    Built Bool disable_lat: bool = "0", { parent: Some("gtod_reduce") };

    /// Do not measure completion latency
    Built Bool disable_clat: bool = "0", { parent: Some("gtod_reduce") };

    /// Do not measure submission latency
    Built Bool disable_slat: bool = "0", { parent: Some("gtod_reduce") };

    /// Do not sample bandwidth
    Built Bool disable_bw_measurement: bool = "0", {
        aliases: &["disable_bw"],
        parent: Some("gtod_reduce"),
    };

    /// Whether to report directions together
    Built Choice unified_rw_reporting: UnifiedReporting = "none", { choices: UnifiedReporting::CHOICES };
}
