//! What is kept of a run.

use serde::Serialize;
use std::collections::BTreeMap;

pub use crate::figures::{Figure, Latency};

/// One run, as stored.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Record {
    /// Digest of the result; a result is stored once.
    pub digest: String,
    /// Start of the run in ms since the epoch; 0 if unknown.
    pub begun_ms: u64,
    /// End of the run in ms since the epoch; 0 if unknown.
    pub ended_ms: u64,
    /// `fathom`, or the version of fio.
    pub program: String,
    /// Runs with the same fingerprint are comparable.
    pub fingerprint: String,
    /// `wrong`, `doubtful` or `no doubts`.
    pub verdict: String,
    /// The file from which the result was read.
    pub source: String,
    /// The machines.
    pub hosts: Vec<Host>,
    /// Block devices under the files of the jobs.
    pub devices: Vec<Device>,
    /// File systems of the files of the jobs.
    pub file_systems: Vec<FileSystem>,
    /// The jobs, in the order of the result. In a run over several hosts, each job is there for all hosts together, and
    /// then once for each host.
    pub jobs: Vec<Job>,
    /// Findings of the verdict.
    pub findings: Vec<Finding>,
    /// Tags of the user.
    pub tags: BTreeMap<String, String>,
}

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Host {
    /// The name on the command line, in a run over several hosts; otherwise empty.
    pub label: String,
    /// Host name.
    pub name: String,
    /// Kernel and its release.
    pub kernel: String,
    /// Model of the processor.
    pub processor: String,
    /// Number of processors.
    pub processors: u64,
    /// Size of the memory.
    pub memory_bytes: u64,
}

/// A block device, and its counters during the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Device {
    /// Kernel name.
    pub name: String,
    /// The host that has it, in a run over several hosts; otherwise empty.
    pub host: String,
    /// Model; empty if unknown, as the next four.
    pub model: String,
    /// Firmware revision.
    pub firmware: String,
    /// Serial number.
    pub serial: String,
    /// I/O scheduler.
    pub scheduler: String,
    /// `write back` or `write through`.
    pub write_cache: String,
    /// Size; 0 if unknown.
    pub size_bytes: u64,
    /// True for a spinning disk.
    pub rotational: bool,
    /// Reads that the kernel counted.
    pub read_ios: u64,
    /// Writes.
    pub write_ios: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Share of the time in which it was busy.
    pub busy_percent: f64,
}

/// A file system.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FileSystem {
    /// Mount point.
    pub directory: String,
    /// Type.
    pub kind: String,
    /// Source of the mount.
    pub source: String,
    /// Mount options.
    pub options: String,
    /// Protocol to its server, if it has one.
    pub transport: String,
}

/// A job.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Job {
    /// Its name.
    pub name: String,
    /// Reporting group.
    pub reporting_group: u64,
    /// Label of the host that ran it, in a run over several hosts; empty for all hosts together, and in other runs.
    pub host: String,
    /// Its host, as an index into the hosts of the run; `None` for several.
    pub on_host: Option<usize>,
    /// The device under its files, as an index into the devices of the run; `None` for several, and if it is unknown.
    pub on_device: Option<usize>,
    /// Kernel names of the devices under its files; empty if unknown.
    pub devices: Vec<String>,
    /// The verdict: that of the run, or of the run as its host alone saw it.
    pub verdict: String,
    /// Options in effect, without secrets.
    pub options: Vec<(String, String)>,
    /// Jobs with the same fingerprint are comparable.
    pub fingerprint: String,
    /// errno of the error that ended it; 0 if none did.
    pub error: i64,
    /// What failed and why.
    pub error_message: String,
    /// Limits of its control groups, as JSON; empty without any.
    pub limits: String,
    /// Figures of each direction, and of the job as a whole.
    pub figures: Vec<Figure>,
    /// Percentiles and histograms.
    pub latencies: Vec<Latency>,
}

/// A finding of the verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Finding {
    /// Code of the check.
    pub code: String,
    /// `wrong`, `doubtful` or `note`.
    pub severity: String,
    /// The job; empty for all.
    pub job: String,
    /// The direction; empty for all.
    pub direction: String,
    /// The finding as a sentence.
    pub text: String,
}
