//! The machine and the storage that a run was made on, to check whether two results are comparable.

use serde::{Deserialize, Serialize};

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostReport {
    /// Its name in the network.
    pub name: String,
    /// Name and release of the kernel, for example `Linux 6.1.0-17-amd64`.
    pub kernel: String,
    /// Model of the first processor.
    pub processor: String,
    /// Processors that are online.
    pub processors: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Block devices that held the files of the run, in the order of the report's disks.
    pub devices: Vec<DeviceReport>,
    /// File systems that held them.
    pub file_systems: Vec<FileSystemReport>,
}

/// A block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceReport {
    /// Kernel name, for example `nvme0n1`.
    pub name: String,
    /// What the device calls itself; empty when it does not say.
    pub model: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// It has turning platters.
    pub rotational: bool,
    /// The I/O scheduler in use; empty when unknown.
    pub scheduler: String,
    /// `write back` or `write through`; empty when unknown.
    pub write_cache: String,
    /// Underlying devices, at any depth: members of md and dm devices, disks of partitions, and what holds the file of
    /// a loop device. Their counters count what it does once more.
    pub below: Vec<String>,
    /// The file of a loop device, and those of loop devices among the underlying ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loop_files: Vec<LoopFileReport>,
}

/// The file that a loop device keeps its blocks in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopFileReport {
    /// Kernel name of the device.
    pub device: String,
    /// The file, as the kernel tells it.
    pub file: String,
    /// Kind of the file system that holds it; empty when unknown.
    pub kind: String,
}

/// A mounted file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileSystemReport {
    /// Where it is mounted.
    pub directory: String,
    /// Kind, for example `ext4`.
    pub kind: String,
    /// What is mounted, for example `/dev/nvme0n1p2`.
    pub source: String,
    /// Mount options, those of the file system after those of the mount.
    pub options: String,
    /// What its client speaks to its server, for example `SSH` or `NFS 4.2 over tcp`; `None` for a file system that is not known to
    /// have a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// The process that serves it, of a file system in user space, where that can be seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daemon: Option<DaemonReport>,
}

/// A process that serves a file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DaemonReport {
    /// Its number.
    pub process: u32,
    /// Name of its program.
    pub name: String,
    /// What it was told about caches and sizes of requests, for example `vfs-cache-mode=full`. Other options may hold secrets.
    pub options: String,
}
