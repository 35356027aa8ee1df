//! The machine and the storage of a run, to check whether two results are comparable.

use serde::{Deserialize, Serialize};

/// The machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostReport {
    /// Host name.
    pub name: String,
    /// Name and release of the kernel, for example `Linux 6.1.0-17-amd64`.
    pub kernel: String,
    /// Model of the first processor.
    pub processor: String,
    /// Number of processors that are online.
    pub processors: u32,
    /// Size of the memory in bytes.
    pub memory_bytes: u64,
    /// Block devices that held the files of the run, in the order of the report's disks.
    pub devices: Vec<DeviceReport>,
    /// File systems that held the files of the run.
    pub file_systems: Vec<FileSystemReport>,
}

/// A block device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceReport {
    /// The kernel's name, for example `nvme0n1`.
    pub name: String,
    /// Model name; empty if the device does not report one.
    pub model: String,
    /// Firmware revision; empty if unknown.
    pub firmware: String,
    /// Serial number; empty if unknown.
    pub serial: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// True for a spinning disk.
    pub rotational: bool,
    /// The I/O scheduler in use; empty if unknown.
    pub scheduler: String,
    /// `write back` or `write through`; empty if unknown.
    pub write_cache: String,
    /// Underlying devices at any depth: members of md and dm devices, disks of partitions, and the device with
    /// a loop device's backing file. Their counters include the I/O of this device.
    pub below: Vec<String>,
    /// The backing file of a loop device, and the backing files of loop devices among the underlying ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loop_files: Vec<LoopFileReport>,
}

/// The backing file of a loop device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoopFileReport {
    /// Kernel name of the device.
    pub device: String,
    /// Path of the file as reported by the kernel.
    pub file: String,
    /// Type of the file system that contains the file; empty if unknown.
    pub kind: String,
}

/// A mounted file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileSystemReport {
    /// Mount point.
    pub directory: String,
    /// Type of the file system, for example `ext4`.
    pub kind: String,
    /// Source of the mount, for example `/dev/nvme0n1p2`.
    pub source: String,
    /// Mount options, followed by the options of the file system.
    pub options: String,
    /// Protocol between client and server, for example `SSH` or `NFS 4.2 over tcp`; `None` for a file system
    /// that is not known to have a server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// The process that serves a FUSE file system, if visible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daemon: Option<DaemonReport>,
}

/// A process that serves a file system.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DaemonReport {
    /// Process ID.
    pub process: u32,
    /// Name of the program.
    pub name: String,
    /// Options for caches and request sizes, for example `vfs-cache-mode=full`. Others are left out, because
    /// they may contain secrets.
    pub options: String,
}
