//! Geometry of a file's zones.

/// The zones of a file: they have one size and are adjacent from the first byte on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Distance between the starts of two zones in bytes.
    pub zone_size: u64,
    /// Usable bytes of a zone, unless the device reports a capacity for each zone.
    pub capacity: u64,
    /// True if the zones belong to a device.
    pub is_device: bool,
    /// Maximum number of open zones that the device allows; 0 for no limit.
    pub limit: u32,
    /// Notes for the user about adjustments to zone boundaries.
    pub notes: Vec<String>,
}
