//! The machine's part of a result: devices, limits, and how jobs were run on it.

use crate::{lenient, written};
pub use fathom_stats::limits::ProcessorLimit;
pub use fathom_stats::mounts::MountReport;
pub use fathom_stats::report::ProcessorShares;
use serde::{Deserialize, Serialize};

/// A block device during the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DiskResult {
    /// Kernel name; in a result of several hosts followed by the host.
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
    /// Milliseconds that reads took, added up.
    #[serde(deserialize_with = "lenient::whole")]
    pub read_ticks: u64,
    /// Milliseconds that writes took.
    #[serde(deserialize_with = "lenient::whole")]
    pub write_ticks: u64,
    /// Milliseconds in queue, added up.
    #[serde(deserialize_with = "lenient::whole")]
    pub in_queue: u64,
    /// Share of the time that the device was busy.
    #[serde(deserialize_with = "lenient::number")]
    pub util: f64,
    /// Reads of its members, on average; this and the next nine only of a stacked device.
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
    /// Milliseconds that reads took.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub aggr_read_ticks: Option<u64>,
    /// Milliseconds that writes took.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub aggr_write_ticks: Option<u64>,
    /// Milliseconds in queue.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub aggr_in_queue: Option<u64>,
    /// Share of the time that they were busy.
    #[serde(deserialize_with = "lenient::some_number", skip_serializing_if = "Option::is_none")]
    pub aggr_util: Option<f64>,
    /// Server that has it, of a run that a client asked servers for; otherwise empty.
    #[serde(rename = "hostname", skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Port of that server.
    #[serde(deserialize_with = "lenient::some_whole", skip_serializing_if = "Option::is_none")]
    pub port: Option<u64>,
    /// No file of a job is on it: it is listed because a device above it is used, or a second time.
    #[serde(skip)]
    pub is_member: bool,
    /// Underlying devices that are listed, at any depth. They repeat its I/O.
    #[serde(skip)]
    pub below: Vec<String>,
}

/// The devices while one stage ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageResult {
    /// Reporting groups of its jobs.
    pub groups: Vec<u64>,
    /// What the kernel counted for the devices of its jobs.
    pub disk_util: Vec<DiskResult>,
    /// What went through file systems of servers and in user space.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<MountReport>,
}

/// How a job was run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choices {
    /// Name of the job.
    pub jobname: String,
    /// What gave the random offsets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub random_offsets: Option<String>,
    /// Kernel features that the engine used.
    pub engine_features: Vec<String>,
    /// Total ms in which the job's clones were runnable but had no CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_wait_ms: Option<u64>,
    /// Where the time of the machine's processors went while the job ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors: Option<ProcessorShares>,
    /// Limits that control groups set to the job.
    #[serde(skip_serializing_if = "GroupLimits::is_empty")]
    pub limits: GroupLimits,
    /// What its files had in the page cache at its end that the storage did not have yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unwritten_bytes: Option<u64>,
}

/// Limits of control groups, inner groups first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupLimits {
    /// Of processor time.
    pub processors: Vec<ProcessorLimit>,
    /// Of I/O.
    pub io: Vec<IoLimit>,
}

/// What a group may do with a device in a second, and what it did while the job ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct IoLimit {
    /// The group that has the limit.
    pub group: String,
    /// Kernel name of the device.
    pub device: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_bytes_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_bytes_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_ios_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_ios_per_second: Option<u64>,
    read_bytes: u64,
    write_bytes: u64,
    read_ios: u64,
    write_ios: u64,
}

impl GroupLimits {
    /// There are none.
    fn is_empty(&self) -> bool {
        self.processors.is_empty() && self.io.is_empty()
    }
}

impl From<&fathom_stats::limits::GroupLimits> for GroupLimits {
    fn from(limits: &fathom_stats::limits::GroupLimits) -> GroupLimits {
        GroupLimits {
            processors: limits.processors.clone(),
            io: limits.io.iter().map(IoLimit::from).collect(),
        }
    }
}

impl From<&fathom_stats::limits::IoLimit> for IoLimit {
    fn from(limit: &fathom_stats::limits::IoLimit) -> IoLimit {
        let [read_bytes_per_second, write_bytes_per_second, read_ios_per_second, write_ios_per_second] =
            limit.limits;
        let [read_bytes, write_bytes, read_ios, write_ios] = limit.used;
        IoLimit {
            group: limit.group.clone(),
            device: limit.device.clone(),
            read_bytes_per_second,
            write_bytes_per_second,
            read_ios_per_second,
            write_ios_per_second,
            read_bytes,
            write_bytes,
            read_ios,
            write_ios,
        }
    }
}

impl IoLimit {
    /// Limit per second and what was done, for bytes read, bytes written, reads, and writes.
    pub fn parts(&self) -> [(Option<u64>, u64); 4] {
        [
            (self.read_bytes_per_second, self.read_bytes),
            (self.write_bytes_per_second, self.write_bytes),
            (self.read_ios_per_second, self.read_ios),
            (self.write_ios_per_second, self.write_ios),
        ]
    }
}
