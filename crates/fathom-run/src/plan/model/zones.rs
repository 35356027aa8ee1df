//! What a job says about zones.

use fathom_spec::value::SizeSpec;
use fathom_stats::PerDirection;
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
    /// What the writes to a zone have in order.
    pub write_order: WriteOrder,
    /// Targets are random.
    pub random: bool,
    /// Reads and writes are mixed.
    pub mixed: bool,
    /// The job writes.
    pub writes: bool,
    /// What was written is read back later, so that a random write resets no zone that was filled in the same pass.
    pub keeps_data: bool,
    /// Shortest block per direction, bytes.
    pub shortest: PerDirection<u64>,
    /// Longest block per direction, bytes.
    pub longest: PerDirection<u64>,
}

/// What keeps writes to a zone in order until they reach the device. A zone takes them at its write pointer alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WriteOrder {
    /// They reach it in the order in which they are handed over: between its place and the handing over of a write, no other worker
    /// gets a place in the zone.
    HandingOver,
    /// Those of one worker do, but nobody knows when: other workers wait for their ends.
    OneWorker,
    /// Nothing does, so a zone has one write at a time.
    Nothing,
}

impl ZonePlan {
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
