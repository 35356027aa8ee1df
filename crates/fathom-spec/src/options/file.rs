//! Files, devices and zones.

use crate::declare::{choices, options};
use crate::definition::{Bounds, Names};
use crate::value::{FileNames, FileService, SizeSpec, check_directories};

choices! {
    /// Type of the files.
    pub enum FileType {
        /// Detect from the file system
        Any = "none",
        /// Regular files
        File = "file",
        /// Block devices
        Block = "block",
        /// Character devices
        Char = "char",
    }
}

choices! {
    /// Locking of files around each I/O.
    pub enum LockFile {
        /// No locking
        None = "none",
        /// One user at a time
        Exclusive = "exclusive",
        /// Many readers or one writer
        ReadWrite = "readwrite",
    }
}

choices! {
    /// How to preallocate files.
    pub enum Fallocate {
        /// No preallocation
        None = "none" | "0",
        /// The file system's native call, if it has one
        Native = "native",
        /// posix_fallocate
        Posix = "posix" | "1",
        /// Preallocate without changing the file size
        Keep = "keep",
        /// Only set the file size
        Truncate = "truncate",
    }
}

choices! {
    /// Zone mode.
    pub enum ZoneMode {
        /// No zones
        None = "none",
        /// Use one part of the range after the other
        Strided = "strided",
        /// Zoned block device rules
        Zbd = "zbd",
    }
}

options! {
    /// Files, devices and zones.
    pub struct FileOptions in File, table TABLE;

    /// Files and devices to work on, separated by colons
    ///
    /// Escape a colon in a name with a backslash. A repeated option adds names. All clones share the files. Without this
    /// option, filename_format generates the names.
    Built Text filename: Option<FileNames>, { names: Names::Planned, early: true };

    /// Type of the files, instead of detecting it
    Built Choice filetype: FileType = "none", { choices: FileType::CHOICES };

    /// Directory for the files; must exist
    ///
    /// A colon-separated list is distributed to the clones in turn; with filename, they share the first one. All files are
    /// placed under it, including those of a log and those with a leading slash.
    Built Text directory: Option<String>, { names: Names::Planned, check: Some(check_directories) };

    /// Template for file names
    ///
    /// $jobname, $jobnum (number of the clone) and $filenum are expanded.
    Built Text filename_format: String = "$jobname.$jobnum.$filenum", { names: Names::Planned, early: true };

    /// Keep the files of clients and hosts apart in a shared directory
    ///
    /// With --client, all names below directory begin with the client's address, as with fio; with --hosts, names that
    /// filename_format generates begin with the host's name. Names given by filename are shared by all hosts.
    Built Bool unique_filename: bool = "1";

    /// Lock the file around each I/O
    Built Choice lockfile: LockFile = "none", {
        choices: LockFile::CHOICES,
        parent: Some("filename"),
        early: true,
    };

    /// Use every regular file under this directory
    Built Text opendir: Option<String>, { names: Names::File };

    /// Number of files per clone
    Built Int nrfiles: u32 = "1", { aliases: &["nr_files"] };

    /// Create a tree of directories with this many files in each; determines nrfiles
    ///
    /// Each clone has its own tree, whose directories are made before the run. An option of fathom's own, as are tree_width
    /// and tree_depth. See docs/metadata.md.
    Built Int tree_files: u32 = "0", { parent: Some("nrfiles") };

    /// Directories in each directory of the tree
    Built Int tree_width: u32 = "1", { bounds: Bounds::at_least(1.0), parent: Some("tree_files") };

    /// Levels of directories below the first directory of the tree
    Built Int tree_depth: u32 = "0", { bounds: Bounds::at_most(64.0), parent: Some("tree_files") };

    /// Limit on the number of open files
    Built Int openfiles: Option<u32>;

    /// How to choose the next file
    ///
    /// After a colon: the number of I/Os per file, or the parameter of the distribution.
    Built Choice file_service_type: FileService = "roundrobin", {
        choices: FileService::CHOICES,
        parent: Some("nrfiles"),
    };

    /// How to preallocate new files
    Built Choice fallocate: Fallocate = "native", { choices: Fallocate::CHOICES };

    /// I/O scheduler to set on the block device before the run
    Built Text ioscheduler: Option<String>, { names: Names::Setting };

    /// Zone mode
    ///
    /// strided transfers zonesize bytes in a zone of zonerange bytes, skips zoneskip bytes, and continues with the
    /// next zone. zbd follows the rules of zoned block devices; on files and ordinary devices it emulates
    /// zones of zonesize. See docs/zones.md.
    Built Choice zonemode: ZoneMode = "none", { choices: ZoneMode::CHOICES };

    /// Bytes to transfer in a zone before the next one, or the zone size (zonemode=zbd)
    ///
    /// 0 uses the zone size of a zoned device.
    Built Size zonesize: u64 = "0";

    /// Capacity of an emulated zone, in bytes
    ///
    /// 0 means zonesize. A zoned device reports its own.
    Built Size zonecapacity: u64 = "0";

    /// Length of a zone with zonemode=strided
    ///
    /// 0 means zonesize.
    Built Size zonerange: u64 = "0";

    /// Bytes to skip between two zones of a sequential job
    ///
    /// With zonemode=zbd, a multiple of the zone size; the job wraps around until it has transferred all its bytes.
    Built Size zoneskip: Option<SizeSpec> = "0";

    /// Allow reads beyond the write pointer
    ///
    /// A zoned device answers them without accessing its medium.
    Built Bool read_beyond_wp: bool = "0";

    /// Maximum number of open zones per file, for all jobs together
    ///
    /// 0 means the device's limit. At the limit, writes go to zones that are already open.
    Built Int max_open_zones: u32 = "0", { bounds: Bounds::at_most(4096.0) };

    /// Maximum number of open zones per clone, in addition to max_open_zones
    Built Int job_max_open_zones: u32 = "0", { bounds: Bounds::at_most(4096.0) };

    /// Ignore the device's limit on open zones
    Built Bool ignore_zone_limits: bool = "0";

    /// Share of written bytes above which zones are reset before they are full
    ///
    /// Needs zone_reset_frequency.
    Built FloatList zone_reset_threshold: Option<f64>, { bounds: Bounds::between(0.0, 1.0) };

    /// Resets per write above zone_reset_threshold: 0.1 is one per ten writes
    Built FloatList zone_reset_frequency: Option<f64>, { bounds: Bounds::between(0.0, 1.0) };

    /// Re-read the write pointer from the device after a failed write
    ///
    /// Needs continue_on_error or ignore_error; otherwise the job ends at the failed write.
    Built Bool recover_zbd_write_error: bool;

    /// Write the remainder of a zone with a shorter block instead of finishing the zone
    Built Bool write_zone_remainder: bool;

    /// Create files for one job after another, not concurrently
    Built Bool create_serialize: bool = "1";

    /// Sync files after creating them
    Built Bool create_fsync: bool = "1";

    /// Create a file when the job first opens it
    Built Bool create_on_open: bool = "0";

    /// Create the files and do no I/O
    Built Bool create_only: bool = "0";

    /// Create missing files
    ///
    /// 0 also refuses a file that is too short for the job.
    Built Bool allow_file_create: bool = "1";

    /// Allow writing to a device or file that is in use
    ///
    /// In use: mounted, active swap, a member of another device, backing a loop device in use, attached flash
    /// memory, a device of an inactive volume group, or claimed by a program.
    Built Bool allow_mounted_write: bool = "0";

    /// Read the files once before the job starts
    ///
    /// Only for engines that access files.
    Built Bool pre_read: bool = "0";

    /// Delete the files when the job ends
    Built Bool unlink: bool = "0";

    /// Delete the files after every loop
    Built Bool unlink_each_loop: bool = "0";
}
