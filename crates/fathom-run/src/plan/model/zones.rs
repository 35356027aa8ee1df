//! The zone rules of a job.

use fathom_spec::value::SizeSpec;
use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};

/// The rules of a job with `zonemode=zbd`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ZonePlan {
    /// Distance between the starts of two zones, bytes; 0 to use the device's.
    pub zone_size: u64,
    /// Usable bytes of an emulated zone; 0: all.
    pub capacity: u64,
    /// Distance between two zones of a sequential job.
    pub skip: SizeSpec,
    /// Reads need no data at their offset.
    pub reads_beyond: bool,
    /// Maximum number of open zones on a file, over all jobs; 0 for the device's limit.
    pub max_open: u32,
    /// Maximum number of open zones of a worker; 0 for no separate limit.
    pub job_max_open: u32,
    /// Ignore the limits that the device reports.
    pub ignores_limits: bool,
    /// Share of the zones' bytes above which zones are reset before they are full.
    pub reset_threshold: Option<f64>,
    /// Share of the writes above the threshold that reset their zone.
    pub reset_frequency: Option<f64>,
    /// After a failed write, the write pointer is read from the device.
    pub recovers: bool,
    /// The end of a zone is written with a shorter block.
    pub writes_remainder: bool,
    /// How the writes to a zone are kept in order.
    pub write_order: WriteOrder,
    /// Targets are random.
    pub random: bool,
    /// Reads and writes are mixed.
    pub mixed: bool,
    /// The job writes.
    pub writes: bool,
    /// Data is read back later, so a random write does not reset a zone that was filled in the same pass.
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
    /// Writes reach the device in the order of submission: between the allocation of a position and the
    /// submission of the write, no other worker gets a position in the zone.
    HandingOver,
    /// Writes of one worker are ordered, but their time of arrival is unknown: other workers wait for their
    /// completion.
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
            // Refused by the rules across options.
            SizeSpec::Percent(_) => 0,
        }
    }
}
