//! Why the zones of a file cannot be used.

use fathom_sys::Errno;
use thiserror::Error;

/// What is wrong with the zones of a file, or with what a job wants of them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ZoneError {
    /// More files than there is memory for.
    #[error("{name}: zones are kept for {most} files at most")]
    TooManyFiles {
        /// The file.
        name: String,
        /// Files that there is memory for.
        most: usize,
    },
    /// More zones than there is memory for.
    #[error("{name}: {zones} zones are more than the {most} kept per file; use larger zones, or fewer files")]
    TooManyZones {
        /// The file.
        name: String,
        /// Its zones.
        zones: u64,
        /// Zones that there is memory for.
        most: usize,
    },
    /// The device does not list its zones.
    #[error("{name}: report zones failed: {errno}")]
    NoReport {
        /// The file.
        name: String,
        /// What the system says.
        errno: Errno,
    },
    /// The device lists zones that it has listed already.
    #[error("{name}: report zones failed: the device lists the zones from byte {offset} on again and again")]
    EndlessReport {
        /// The file.
        name: String,
        /// Where the report was to go on.
        offset: u64,
    },
    /// A zone that is not where a zone begins, or larger than all others.
    #[error("{name}: report zones failed: the zone at byte {start} is not one of zones of {zone_size} bytes")]
    Misplaced {
        /// The file.
        name: String,
        /// Where the zone begins.
        start: u64,
        /// Bytes from one zone to the next.
        zone_size: u64,
    },
    /// More open zones than are allowed.
    #[error(
        "{name}: more zones are partly written than the {limit} that may be open; finish or reset some \
         (blkzone finish, blkzone reset), or allow more with max_open_zones="
    )]
    TooManyOpen {
        /// The file.
        name: String,
        /// Zones that may be open.
        limit: u32,
    },
    /// Two jobs with zones of different sizes.
    #[error("{name}: zonesize {size} does not match the device zone size {own}.")]
    OtherSize {
        /// The file.
        name: String,
        /// What this job says.
        size: u64,
        /// What is known.
        own: u64,
    },
    /// Two jobs with zones of different capacities.
    #[error("{name}: zonecapacity {capacity} is not the {own} of another job on the same file")]
    OtherCapacity {
        /// The file.
        name: String,
        /// What this job says.
        capacity: u64,
        /// What is known.
        own: u64,
    },
    /// Two jobs with different limits.
    #[error("Different 'max_open_zones' values\nfathom: {name}: all jobs on a file share its limit")]
    OtherLimit {
        /// The file.
        name: String,
    },
    /// Two jobs that write to different zones, and share a threshold.
    #[error("multi-jobs with different write ranges are not supported with zone_reset_threshold")]
    OtherRange,
    /// A limit beyond that of the device.
    #[error(
        "{name}: max_open_zones={asked} is more than the {allowed} that the device allows; ignore_zone_limits=1 tries it anyway"
    )]
    AboveDevice {
        /// The file.
        name: String,
        /// What the job says.
        asked: u32,
        /// What the device says.
        allowed: u32,
    },
    /// A share of a limit that there is not.
    #[error("'job_max_open_zones' cannot be used without a global open zones limit")]
    NoLimit,
}
