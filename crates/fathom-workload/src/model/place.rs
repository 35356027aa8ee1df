//! Where the requests of a job go: streams, or an area with a distribution of offsets.

use crate::skew::Model as Distribution;
use crate::space::BLOCK;

/// The place of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// Streams, each of which goes through its own part of the area again and again.
    Streams {
        /// Number of streams.
        streams: u32,
        /// Bytes of each.
        size: u64,
    },
    /// Runs of sequential requests, with a gap after each: as streams, but what is sequential ends and begins anew.
    Runs {
        /// Number of concurrent runs.
        streams: u32,
        /// Bytes of a run.
        run: u64,
        /// Bytes between two runs.
        gap: u64,
        /// Bytes of the part of the area that each has.
        size: u64,
    },
    /// Each block once before any comes again.
    Once {
        /// Bytes of the area.
        size: u64,
        /// Requests begin at multiples of this many bytes.
        granule: u64,
    },
    /// Blocks drawn from a distribution.
    Drawn {
        /// Bytes of the area.
        size: u64,
        /// Requests begin at multiples of this many bytes.
        granule: u64,
        /// The distribution.
        distribution: Distribution,
    },
    /// Blocks drawn from zones.
    Zones {
        /// Percent of the accesses, and bytes; the most popular first.
        zones: Vec<(u32, u64)>,
        /// Requests begin at multiples of this many bytes.
        granule: u64,
    },
}

impl Place {
    /// Bytes of the area.
    pub fn size(&self) -> u64 {
        match self {
            Place::Streams { streams, size } | Place::Runs { streams, size, .. } => {
                u64::from(*streams) * size
            }
            Place::Once { size, .. } | Place::Drawn { size, .. } => *size,
            Place::Zones { zones, .. } => zones.iter().map(|zone| zone.1).sum(),
        }
    }

    /// Requests begin at multiples of this many bytes.
    pub fn granule(&self) -> u64 {
        match self {
            Place::Streams { .. } | Place::Runs { .. } => BLOCK,
            Place::Once { granule, .. } | Place::Drawn { granule, .. } | Place::Zones { granule, .. } => {
                *granule
            }
        }
    }

    /// Number of concurrent streams, each a clone of the job.
    pub fn streams(&self) -> u32 {
        match self {
            Place::Streams { streams, .. } | Place::Runs { streams, .. } => *streams,
            _ => 1,
        }
    }

    /// True for streams and runs.
    pub fn is_sequential(&self) -> bool {
        matches!(self, Place::Streams { .. } | Place::Runs { .. })
    }

    /// The zones of a job whose distribution has some: percent of the accesses, bytes.
    pub fn zones(&self) -> Vec<(u32, u64)> {
        match self {
            Place::Zones { zones, .. } => zones.clone(),
            Place::Drawn { size, granule, distribution: Distribution::Zones { blocks, accesses } } => {
                let hot = (accesses * 100.0).round().clamp(1.0, 99.0) as u32;
                let bytes = ((*size as f64 * blocks) as u64).next_multiple_of(*granule);
                vec![(hot, bytes), (100 - hot, size.saturating_sub(bytes).max(*granule))]
            }
            _ => Vec::new(),
        }
    }

    /// Multiplies the size; every stream, zone or area keeps room for the largest request.
    pub(super) fn scale(&mut self, factor: f64, largest: u64) {
        let granule = self.granule();
        let least = largest.next_multiple_of(granule);
        let scaled = |size: u64| ((size as f64 * factor) as u64).next_multiple_of(granule).max(least);
        match self {
            Place::Streams { size, .. }
            | Place::Runs { size, .. }
            | Place::Once { size, .. }
            | Place::Drawn { size, .. } => *size = scaled(*size),
            Place::Zones { zones, .. } => zones.iter_mut().for_each(|zone| zone.1 = scaled(zone.1)),
        }
    }
}
