//! Geometry of a file's zones.

/// The zones of a file: all of one size, adjacent from its first byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes from one zone to the next.
    pub zone_size: u64,
    /// Usable bytes of a zone, if the device does not report a capacity for each zone.
    pub capacity: u64,
    /// The zones belong to a device.
    pub is_device: bool,
    /// Open zones that the device allows; 0: any number.
    pub limit: u32,
    /// Adjustments to zone boundaries, as notes for the user.
    pub notes: Vec<String>,
}
