//! What a job says about zones.

use crate::targets::TargetPlan;
use fathom_spec::JobSpec;
use fathom_spec::options::file::ZoneMode;
use fathom_spec::options::verification::VerifyMethod;
use fathom_spec::value::SizeSpec;
use serde::{Deserialize, Serialize};

/// The rules of a job with `zonemode=zbd`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZonePlan {
    /// Bytes from one zone to the next; 0: those of the device.
    pub zone_size: u64,
    /// Bytes of a zone that can be used where zones are emulated; 0: all.
    pub capacity: u64,
    /// Distance between two zones of a sequential job.
    pub skip: SizeSpec,
    /// Reads need no data below them.
    pub reads_beyond: bool,
    /// Open zones that all jobs on a file may have together; 0: as many as the device allows.
    pub max_open: u32,
    /// Open zones that a worker may have; 0: no limit of its own.
    pub job_max_open: u32,
    /// The limits that a device announces do not count.
    pub ignores_limits: bool,
    /// Share of the zones' bytes from which on zones are reset before they are full.
    pub reset_threshold: Option<f64>,
    /// How many of the writes beyond the threshold reset their zone.
    pub reset_frequency: Option<f64>,
    /// After a write that failed, the write pointer is taken from the device.
    pub recovers: bool,
    /// The tail of a zone is written with a shorter block.
    pub writes_remainder: bool,
    /// Targets are random.
    pub random: bool,
    /// Reads and writes are mixed.
    pub mixed: bool,
    /// The job writes.
    pub writes: bool,
    /// What was written is read back later, so that a random write resets no zone that was filled in the same pass.
    pub keeps_data: bool,
    /// Shortest block per direction, bytes.
    pub shortest: [u64; 3],
    /// Longest block per direction, bytes.
    pub longest: [u64; 3],
}

impl ZonePlan {
    /// The rules of a job, if it has any.
    pub fn of(job: &JobSpec, targets: &TargetPlan) -> Option<ZonePlan> {
        let options = &job.file;
        (options.zonemode == ZoneMode::Zbd).then(|| ZonePlan {
            zone_size: options.zonesize,
            capacity: options.zonecapacity,
            skip: options.zoneskip.unwrap_or(SizeSpec::Bytes(0)),
            reads_beyond: options.read_beyond_wp,
            max_open: options.max_open_zones,
            job_max_open: options.job_max_open_zones,
            ignores_limits: options.ignore_zone_limits,
            reset_threshold: options.zone_reset_threshold,
            reset_frequency: options.zone_reset_frequency.filter(|&frequency| frequency > 0.0),
            recovers: options.recover_zbd_write_error,
            writes_remainder: options.write_zone_remainder,
            random: targets.random,
            mixed: targets.used_directions() == [0, 1],
            writes: targets.used_directions().contains(&1),
            keeps_data: job.verification.verify != VerifyMethod::None,
            shortest: std::array::from_fn(|direction| targets.lengths[direction].min().max(1)),
            longest: std::array::from_fn(|direction| targets.lengths[direction].max().max(1)),
        })
    }

    /// `zoneskip` in bytes.
    pub fn skip_bytes(&self, zone_size: u64) -> u64 {
        match self.skip {
            SizeSpec::Bytes(bytes) => bytes,
            SizeSpec::Zones(zones) => zones.saturating_mul(zone_size),
            // Refused with the rules across options.
            SizeSpec::Percent(_) => 0,
        }
    }
}
