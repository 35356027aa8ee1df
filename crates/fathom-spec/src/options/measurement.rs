//! What is measured, logged and reported.

use crate::definition::{Bounds, choices, options};
use crate::value::CpuList;

choices! {
    /// What an averaged log entry holds.
    pub enum LogWindowValue {
        /// Mean of the window
        Average = "avg" | "0",
        /// Largest of the window
        Maximum = "max" | "1",
        /// Mean and largest
        Both = "both",
    }
}

choices! {
    /// Whether directions are reported together.
    pub enum UnifiedReporting {
        /// Each direction on its own
        None = "none" | "0",
        /// All directions as one
        Mixed = "mixed" | "1",
        /// Both ways
        Both = "both" | "2",
    }
}

options! {
    /// What is measured, logged and reported.
    pub struct MeasurementOptions at job.measurement, in Measurement, table TABLE;

    /// Open a new reporting group
    Built Flag new_group: bool;

    /// Separate log file per clone
    Built Bool per_job_logs: bool = "1";

    /// Write a bandwidth log, optional prefix
    Built OptionalText write_bw_log: Option<String>;

    /// Write slat, clat and lat logs, optional prefix
    Built OptionalText write_lat_log: Option<String>;

    /// Write an IOPS log, optional prefix
    Built OptionalText write_iops_log: Option<String>;

    /// I/Os that a job may be ahead of its logs being written
    ///
    /// Unless given, the jobs share a fixed amount of memory.
    Built Int log_entries: u32 = "1024", { bounds: Bounds::between(1024.0, 1048576.0) };

    /// Average log entries over this window
    Built Int log_avg_msec: u32 = "0";

    /// Write completion latency histograms this often, with write_hist_log
    ///
    /// 0 writes one histogram of the whole run.
    Built Int log_hist_msec: u32 = "0";

    /// Halve the number of histogram bins this many times
    Built Int log_hist_coarseness: u32 = "0", { bounds: Bounds::between(0.0, 6.0) };

    /// Write a histogram log, optional prefix
    Built OptionalText write_hist_log: Option<String>;

    /// Which window value is logged
    Built Choice log_window_value: LogWindowValue = "avg", {
        aliases: &["log_max_value"],
        choices: LogWindowValue::CHOICES,
    };

    /// Add the offset column
    Built Bool log_offset: bool = "0";

    /// Log the priority value instead of a high flag
    Built Bool log_prio: bool = "0";

    /// Add the issue time column
    Built Bool log_issue_time: bool = "0";

    /// Size of the chunks in which log_store_compressed compresses
    ///
    /// Logs are written while the job runs and never held in memory, so nothing else needs compressing.
    Built Int log_compression: Option<u32>, { bounds: Bounds::between(1024.0, 536870912.0) };

    /// CPUs for the thread that writes and compresses the logs
    Built Text log_compression_cpus: Option<CpuList>, { parent: Some("log_compression") };

    /// Store logs compressed with suffix .fz
    Built Bool log_store_compressed: bool;

    /// Use the epoch of another clock in logs
    Built Bool log_alternate_epoch: bool, { aliases: &["log_unix_epoch"] };

    /// Clock number for log_alternate_epoch
    Built Int log_alternate_epoch_clock_id: Option<u32>;

    /// Histogram of errors per block life
    Later Bool block_error_percentiles: bool = "0";

    /// Time of one bandwidth sample in milliseconds
    Built Int bwavgtime: u32 = "500", { parent: Some("write_bw_log") };

    /// Time of one IOPS sample in milliseconds
    Built Int iopsavgtime: u32 = "500", { parent: Some("write_iops_log") };

    /// One report for all jobs of the group
    Built Flag group_reporting: bool;

    /// Collect statistics for this job
    Built Bool stats: bool = "1";

    /// Report percentiles of completion latency
    Built Bool clat_percentiles: bool = "1";

    /// Report percentiles of total latency
    ///
    /// The jobs of a group have to agree.
    Built Bool lat_percentiles: bool = "0";

    /// Report percentiles of submission latency
    Built Bool slat_percentiles: bool = "0";

    /// Percentiles to report, separated by colons, at most 20
    Built FloatList percentile_list: Vec<f64> =
        "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99", {
        bounds: Bounds::between(0.0, 100.0),
    };

    /// Digits of scaled numbers in the normal report
    Built Int significant_figures: u32 = "4", { bounds: Bounds::between(1.0, 10.0) };

    /// Report how busy the disks were
    Built Bool disk_util: bool = "1";

    /// Measure no latencies and sample no bandwidth
    ///
    /// Turns the four disable options on and all percentiles off.
    Built Bool gtod_reduce: bool = "0";

    /// Measure no total latency
    Built Bool disable_lat: bool = "0", { parent: Some("gtod_reduce") };

    /// Measure no completion latency
    Built Bool disable_clat: bool = "0", { parent: Some("gtod_reduce") };

    /// Measure no submission latency
    Built Bool disable_slat: bool = "0", { parent: Some("gtod_reduce") };

    /// Sample no bandwidth
    Built Bool disable_bw_measurement: bool = "0", {
        aliases: &["disable_bw"],
        parent: Some("gtod_reduce"),
    };

    /// Report directions together
    Built Choice unified_rw_reporting: UnifiedReporting = "none", { choices: UnifiedReporting::CHOICES };
}
