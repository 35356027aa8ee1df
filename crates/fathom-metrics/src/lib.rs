//! Metrics of a run, for external monitoring: a page for Prometheus to read ([`endpoint`]), a file for
//! node_exporter's textfile collector ([`textfile`]), OpenTelemetry ([`otlp`]), and InfluxDB ([`influx`]).
//!
//! ```text
//!  RunReport ──► figures: families of series ──► prometheus: text ──► endpoint, textfile
//!                                            ├─► otlp: metrics, and at the end one trace
//!                                            └─► influx: points in line protocol
//! ```
//!
//! [`exporter`] is a separate process. The supervisor of the run passes it a snapshot from time to time and
//! never waits for it, so a collector that hangs or a full disk does not affect the run.

#![forbid(unsafe_code)]

pub mod endpoint;
pub mod exporter;
pub mod figures;
pub mod influx;
pub mod otlp;
mod post;
pub mod prometheus;
pub mod settings;
mod shared;
pub mod textfile;

use fathom_stats::report::RunReport;
use serde::{Deserialize, Serialize};

/// A snapshot of the run for the exporter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot<Report = RunReport> {
    /// Counters so far, and state of the jobs. Borrowed by a caller that only serialises it.
    pub report: Report,
    /// The version of fathom.
    pub version: String,
    /// Wall clock when the run was started, ns since the epoch.
    pub started_ns: u64,
    /// Wall clock when the report was made, ns since the epoch.
    pub taken_ns: u64,
    /// True if the run is over; the report is then its result, with the verdict.
    pub is_last: bool,
}
