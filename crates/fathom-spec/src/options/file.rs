//! Which files, devices and zones the job works on.

use crate::definition::{Bounds, choices, options};
use crate::value::{FileNames, FileService, SizeSpec, check_directories};

choices! {
    /// What kind of file the names stand for.
    pub enum FileType {
        /// Ask the file system
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
    /// How files are given space before the run.
    pub enum Fallocate {
        /// No preallocation
        None = "none" | "0",
        /// The file system's own call, where there is one
        Native = "native",
        /// posix_fallocate
        Posix = "posix" | "1",
        /// Space without changing the file size
        Keep = "keep",
        /// Only set the file size
        Truncate = "truncate",
    }
}

choices! {
    /// How zones are treated.
    pub enum ZoneMode {
        /// Not at all
        None = "none",
        /// Work on stretches of the range
        Strided = "strided",
        /// Follow the rules of zoned devices
        Zbd = "zbd",
    }
}

options! {
    /// Which files, devices and zones the job works on.
    pub struct FileOptions at job.file, in File, table TABLE;

    /// Files and devices to work on, separated by colons
    ///
    /// A backslash before a colon makes it part of the name. Given again, the names add up. All clones share them. Without it,
    /// names are made from filename_format.
    Built Text filename: Option<FileNames>, { early: true };

    /// Kind of file that the names stand for, instead of asking the file system
    Built Choice filetype: FileType = "none", { choices: FileType::CHOICES };

    /// Directory for the files, which has to exist
    ///
    /// A list separated by colons is dealt to the clones in turn; with filename, they share the first one. All files lie below it,
    /// those of a log or with a slash in front too.
    Built Text directory: Option<String>, { check: Some(check_directories) };

    /// Template of file names
    ///
    /// $jobname, $jobnum (number of the clone) and $filenum are replaced.
    Built Text filename_format: String = "$jobname.$jobnum.$filenum", { early: true };

    /// In client/server mode prepend the client address to generated file names
    Built Bool unique_filename: bool = "1";

    /// Locking of the file around each I/O
    Built Choice lockfile: LockFile = "none", {
        choices: LockFile::CHOICES,
        parent: Some("filename"),
        early: true,
    };

    /// Add every regular file below this directory as target
    Built Text opendir: Option<String>;

    /// Number of files of each clone
    Built Int nrfiles: u32 = "1", { aliases: &["nr_files"] };

    /// Number of files open at the same time
    Built Int openfiles: Option<u32>;

    /// How the next file is chosen
    ///
    /// Behind a colon the number of I/Os on a file, or the parameter of the distribution.
    Built Choice file_service_type: FileService = "roundrobin", {
        choices: FileService::CHOICES,
        parent: Some("nrfiles"),
    };

    /// How new files get their space before the run
    Built Choice fallocate: Fallocate = "native", { choices: Fallocate::CHOICES };

    /// Switch the block device to this scheduler before the run
    Built Text ioscheduler: Option<String>;

    /// How zones are treated
    ///
    /// strided works on zonesize bytes in a zone of length zonerange, passes over zoneskip bytes, and goes on
    /// with the next zone. zbd follows the rules of zoned devices, and treats files and ordinary devices as if they had
    /// zones of zonesize; see docs/zones.md.
    Built Choice zonemode: ZoneMode = "none", { choices: ZoneMode::CHOICES };

    /// Bytes to move in a zone before the next has its turn, or bytes of a zone (zonemode=zbd)
    ///
    /// A zoned device has a size of its own, and 0 takes it.
    Built Size zonesize: u64 = "0";

    /// Bytes of a zone that can be used, where zones are emulated
    ///
    /// 0 means zonesize. A zoned device knows its own.
    Built Size zonecapacity: u64 = "0";

    /// Length of a zone of zonemode=strided
    ///
    /// 0 means zonesize.
    Built Size zonerange: u64 = "0";

    /// Bytes to pass over between two zones of a sequential job
    ///
    /// With zonemode=zbd a multiple of the zone size, and the job goes round until it has had its bytes.
    Built Size zoneskip: Option<SizeSpec> = "0";

    /// Allow reads above the write pointer
    ///
    /// A zoned device answers them without looking at its medium.
    Built Bool read_beyond_wp: bool = "0";

    /// Zones of a file that all jobs together may have open for writing
    ///
    /// 0 means as many as the device allows. When no more may be opened, writes go to those that are.
    Built Int max_open_zones: u32 = "0", { bounds: Bounds::at_most(4096.0) };

    /// Zones that each clone of the job may have open for writing, beside max_open_zones
    Built Int job_max_open_zones: u32 = "0", { bounds: Bounds::at_most(4096.0) };

    /// Ignore the limit of open zones that the device announces
    Built Bool ignore_zone_limits: bool = "0";

    /// Share of written bytes from which on zones are reset although they are not full
    ///
    /// Needs zone_reset_frequency.
    Built FloatList zone_reset_threshold: Option<f64>, { bounds: Bounds::between(0.0, 1.0) };

    /// Resets per write once zone_reset_threshold is reached: 0.1 is one in ten writes
    Built FloatList zone_reset_frequency: Option<f64>, { bounds: Bounds::between(0.0, 1.0) };

    /// Take the write pointer from the device after a write that failed, so that the next one fits
    ///
    /// Needs continue_on_error or ignore_error, or else the job ends with the failed write.
    Built Bool recover_zbd_write_error: bool;

    /// Write the tail of a zone with a shorter block instead of finishing the zone
    Built Bool write_zone_remainder: bool;

    /// Create the files of one job after those of the other
    Built Bool create_serialize: bool = "1";

    /// Sync files that were created for the job
    Built Bool create_fsync: bool = "1";

    /// Create a file only when the job first opens it
    Built Bool create_on_open: bool = "0";

    /// Create the files and do no I/O
    Built Bool create_only: bool = "0";

    /// Create files that do not exist
    ///
    /// With 0, a file that is too short for the job is refused as well.
    Built Bool allow_file_create: bool = "1";

    /// Permission to write to a device or file that is in use
    ///
    /// Mounted, active swap, a member of another device, below a loop device in use, or claimed by a program.
    Built Bool allow_mounted_write: bool = "0";

    /// Read the files once before the job starts
    ///
    /// Only for engines that work on files.
    Built Bool pre_read: bool = "0";

    /// Delete the files when the job ends
    Built Bool unlink: bool = "0";

    /// Remove files after every loop
    Built Bool unlink_each_loop: bool = "0";
}
