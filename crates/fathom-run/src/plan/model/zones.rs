//! The zone rules of a job.

use fathom_spec::value::SizeSpec;
use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

/// The rules of a job with `zonemode=zbd`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZonePlan {
    /// Distance between the starts of two zones, bytes; 0 to use the device's zone size.
    pub zone_size: u64,
    /// Usable bytes of an emulated zone; 0 for all.
    pub capacity: u64,
    /// Distance between two zones that a sequential job uses.
    pub skip: SizeSpec,
    /// True if reads need no written data at their offset.
    pub reads_beyond: bool,
    /// Maximum number of open zones on a file, over all jobs; 0 for the device's limit.
    pub max_open: u32,
    /// Maximum number of open zones of a worker; 0 for no separate limit.
    pub job_max_open: u32,
    /// True to ignore the zone limits that the device reports.
    pub ignores_limits: bool,
    /// Written share of all zones' bytes above which zones are reset before they are full.
    pub reset_threshold: Option<f64>,
    /// Share of writes that reset their zone while the threshold is exceeded.
    pub reset_frequency: Option<f64>,
    /// True if the write pointer is read from the device after a failed write.
    pub recovers: bool,
    /// True if the end of a zone is written with a shorter block.
    pub writes_remainder: bool,
    /// How the writes to a zone are kept in order.
    pub write_order: WriteOrder,
    /// True if offsets are random.
    pub random: bool,
    /// True if reads and writes are mixed.
    pub mixed: bool,
    /// True if the job writes.
    pub writes: bool,
    /// True if data is read back later. A random write then does not reset a zone that was filled in the same
    /// pass.
    pub keeps_data: bool,
    /// Shortest block per direction, bytes.
    pub shortest: PerDirection<u64>,
    /// Longest block per direction, bytes.
    pub longest: PerDirection<u64>,
}

/// How writes to a zone are kept in order until they reach the device, which only accepts them at the zone's
/// write pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WriteOrder {
    /// Writes reach the device in the order of submission. The worker prevents others from getting a position
    /// in the zone between allocating its own position and submitting the write.
    HandingOver,
    /// The writes of one worker stay ordered, but may reach the device late, so other workers wait until they
    /// complete.
    OneWorker,
    /// Order is not guaranteed, so a zone has at most one write in flight.
    Nothing,
}

impl ZonePlan {
    /// `zoneskip` in bytes.
    pub fn skip_bytes(&self, zone_size: u64) -> u64 {
        match self.skip {
            SizeSpec::Bytes(bytes) => bytes,
            SizeSpec::Zones(zones) => zones.saturating_mul(zone_size),
            // The rules across options refuse a percentage.
            SizeSpec::Percent(_) => 0,
        }
    }
}
