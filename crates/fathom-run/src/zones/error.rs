//! Why the zones of a file cannot be used.

use fathom_sys::Errno;
use thiserror::Error;

/// A problem with the zones of a file, or with a job's request for them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ZoneError {
    /// The run has more files than the zone table holds.
    #[error("{name}: zones are kept for {most} files at most")]
    TooManyFiles {
        /// The file.
        name: String,
        /// The limit.
        most: usize,
    },
    /// The files have more zones than the zone table holds.
    #[error("{name}: {zones} zones are more than the {most} kept per file; use larger zones, or fewer files")]
    TooManyZones {
        /// The file.
        name: String,
        /// Its zones.
        zones: u64,
        /// The limit.
        most: usize,
    },
    /// The device does not report its zones.
    #[error("{name}: report zones failed: {errno}")]
    NoReport {
        /// The file.
        name: String,
        /// The error.
        errno: Errno,
    },
    /// The device reports the same zones repeatedly.
    #[error("{name}: report zones failed: the device repeats the zones from byte {offset} on")]
    EndlessReport {
        /// The file.
        name: String,
        /// Offset at which the report would have to continue.
        offset: u64,
    },
    /// A zone starts at an impossible offset, or is larger than all others.
    #[error("{name}: report zones failed: the zone at byte {start} is not one of zones of {zone_size} bytes")]
    Misplaced {
        /// The file.
        name: String,
        /// Offset at which the zone begins.
        start: u64,
        /// Distance between the starts of two zones in bytes.
        zone_size: u64,
    },
    /// More zones are open than the limit allows.
    #[error(
        "{name}: more zones are partly written than the {limit} that may be open; finish or reset some \
         (blkzone finish, blkzone reset), or allow more with max_open_zones="
    )]
    TooManyOpen {
        /// The file.
        name: String,
        /// The limit.
        limit: u32,
    },
    /// Two jobs use zones of different sizes.
    #[error("{name}: zonesize {size} does not match the device zone size {own}.")]
    OtherSize {
        /// The file.
        name: String,
        /// The zone size that this job requests.
        size: u64,
        /// The zone size that another job has set.
        own: u64,
    },
    /// Two jobs use zones of different capacities.
    #[error("{name}: zonecapacity {capacity} is not the {own} of another job on the same file")]
    OtherCapacity {
        /// The file.
        name: String,
        /// The capacity that this job requests.
        capacity: u64,
        /// The capacity that another job has set.
        own: u64,
    },
    /// Two jobs set different limits.
    #[error("Different 'max_open_zones' values\nfathom: {name}: all jobs on a file share its limit")]
    OtherLimit {
        /// The file.
        name: String,
    },
    /// Two jobs with a reset threshold write to different zones.
    #[error("multi-jobs with different write ranges are not supported with zone_reset_threshold")]
    OtherRange,
    /// `max_open_zones` exceeds the device's limit.
    #[error(
        "{name}: max_open_zones={asked} is more than the {allowed} that the device allows; ignore_zone_limits=1 tries it anyway"
    )]
    AboveDevice {
        /// The file.
        name: String,
        /// The limit that the job requests.
        asked: u32,
        /// The device's limit.
        allowed: u32,
    },
    /// `max_open_zones` is a share of a limit that is not set.
    #[error("'job_max_open_zones' cannot be used without a global open zones limit")]
    NoLimit,
}
