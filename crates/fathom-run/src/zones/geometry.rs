//! The zones of a file in numbers.

/// The zones of a file: all of one size, side by side from its first byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes from one zone to the next.
    pub zone_size: u64,
    /// Bytes of a zone that can be used, where the device does not say so zone by zone.
    pub capacity: u64,
    /// The device knows the zones too.
    pub is_device: bool,
    /// Open zones that the device allows; 0: any number.
    pub limit: u32,
    /// What was changed to get whole zones, for the user.
    pub notes: Vec<String>,
}
