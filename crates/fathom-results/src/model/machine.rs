//! The machine's part of a result: devices, and how jobs were run on them.

use crate::{lenient, written};
pub use fathom_stats::limits::{GroupLimits, IoLimit, ProcessorLimit};
pub use fathom_stats::mounts::MountReport;
pub use fathom_stats::report::{JobChoices, ProcessorShares};
use serde::{Deserialize, Serialize};

/// A block device during the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskResult {
    /// Kernel name; in a multi-host result followed by the host.
    pub name: String,
    /// Reads.
    #[serde(deserialize_with = "lenient::whole")]
    pub read_ios: u64,
    /// Writes.
    #[serde(deserialize_with = "lenient::whole")]
    pub write_ios: u64,
    /// Sectors of 512 bytes read; 0 if the program does not report them.
    #[serde(deserialize_with = "lenient::whole")]
    pub read_sectors: u64,
    /// Sectors written.
    #[serde(deserialize_with = "lenient::whole")]
    pub write_sectors: u64,
    /// Reads merged with others.
    #[serde(deserialize_with = "lenient::whole")]
    pub read_merges: u64,
    /// Writes merged with others.
    #[serde(deserialize_with = "lenient::whole")]
    pub write_merges: u64,
    /// Total time of reads in ms.
    #[serde(deserialize_with = "lenient::whole")]
    pub read_ticks: u64,
    /// Total time of writes in ms.
    #[serde(deserialize_with = "lenient::whole")]
    pub write_ticks: u64,
    /// Total queue time in ms.
    #[serde(deserialize_with = "lenient::whole")]
    pub in_queue: u64,
    /// Share of the time that the device was busy.
    #[serde(deserialize_with = "lenient::number")]
    pub util: f64,
    /// Reads of its members, on average; this and the next nine only for stacked devices.
    #[serde(serialize_with = "written::some_whole", skip_serializing_if = "Option::is_none")]
    pub aggr_read_ios: Option<f64>,
    /// Writes.
    #[serde(serialize_with = "written::some_whole", skip_serializing_if = "Option::is_none")]
    pub aggr_write_ios: Option<f64>,
    /// Sectors read.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub aggr_read_sectors: Option<u64>,
    /// Sectors written.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub aggr_write_sectors: Option<u64>,
    /// Reads merged with others.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub aggr_read_merges: Option<u64>,
    /// Writes merged with others. The singular is the key's published name.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub aggr_write_merge: Option<u64>,
    /// Total time of reads in ms.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub aggr_read_ticks: Option<u64>,
    /// Total time of writes in ms.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub aggr_write_ticks: Option<u64>,
    /// Total queue time in ms.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub aggr_in_queue: Option<u64>,
    /// Share of the time that they were busy.
    #[serde(deserialize_with = "lenient::some_number", skip_serializing_if = "Option::is_none")]
    pub aggr_util: Option<f64>,
    /// Server to which it belongs, if a client requested the run; otherwise empty.
    #[serde(rename = "hostname", skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Port of that server.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub port: Option<u64>,
    /// True if it holds no file of a job: it is listed because a device above it is used, or is a duplicate.
    #[serde(skip)]
    pub is_member: bool,
    /// Indices of the underlying devices in the list, at any depth. They repeat its I/O.
    #[serde(skip)]
    pub below: Vec<String>,
}

/// The devices during one stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageResult {
    /// Reporting groups of its jobs.
    pub groups: Vec<u64>,
    /// Kernel counters of its jobs' devices.
    pub disk_util: Vec<DiskResult>,
    /// Traffic of network and FUSE file systems.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<MountReport>,
}
