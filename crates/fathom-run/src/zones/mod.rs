//! `zonemode=zbd`: I/O that follows the rules of zoned devices.
//!
//! A zone is written from its start up to its capacity, always at its write pointer, and must be reset before
//! it is written again. [`rules`] turns each drawn target into one that a zoned device accepts: it moves writes
//! to a write pointer, keeps reads below it, resets and finishes zones, and observes the limit of open zones.
//! The state of a file's zones is in memory that all workers of a run share ([`table`]). Commands go to a
//! [`device::ZonedDevice`]: the kernel's zones, or a no-op for a regular file or an ordinary device, whose
//! zones fathom emulates.

pub mod device;
pub mod error;
pub mod fit;
pub mod geometry;
pub mod rules;
mod settle;
pub mod table;
#[cfg(test)]
mod tests;
mod write;
