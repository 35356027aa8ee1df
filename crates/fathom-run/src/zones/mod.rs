//! `zonemode=zbd`: I/O that follows the rules of zoned devices.
//!
//! A zone is written from its start to its capacity, at its write pointer only, and is reset before it is written again.
//! [`rules`] turns each drawn target into one that a zoned device takes: it moves writes to a write pointer, keeps reads
//! below it, resets and finishes zones, and keeps to the limit of open zones. What is known of the zones of a file is in
//! memory that all workers of a run share ([`table`]). Behind it stands a [`device::ZonedDevice`]: the kernel's zones, or
//! none at all, since a regular file or an ordinary device only looks zoned to fathom.

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
