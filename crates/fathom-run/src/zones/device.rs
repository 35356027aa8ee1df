//! The device that provides the zones of a file.

use fathom_sys::zoned::{self, ZoneReport};
use fathom_sys::{Errno, file};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// Commands to a zoned device. Offsets and lengths are in bytes of the file.
pub trait ZonedDevice {
    /// Reports zones in order, starting with the one that contains this byte, as many as fit into one answer;
    /// none after the last zone. `None` if the device has no zones and fathom emulates them.
    fn report(&mut self, offset: u64) -> Result<Option<Vec<ZoneReport>>, Errno>;
    /// Empties a zone.
    fn reset(&mut self, start: u64, length: u64) -> Result<(), Errno>;
    /// Makes a zone full.
    fn finish(&mut self, start: u64, length: u64) -> Result<(), Errno>;
}

/// Zones of a target that its storage reports without the kernel's block layer.
pub struct OwnZones {
    /// Distance between the starts of two zones in bytes.
    pub zone_size: u64,
    /// Maximum number of open zones of the device; 0 for no limit.
    pub limit: u32,
    /// The device.
    pub device: Box<dyn ZonedDevice>,
}

/// Zones of a zoned block device.
pub struct KernelZones {
    /// A separate descriptor, because the job's own may be closed or read-only.
    descriptor: OwnedFd,
}

impl KernelZones {
    /// Opens a device; with `writes`, zones can be changed.
    pub fn open(path: &Path, writes: bool) -> Result<KernelZones, Errno> {
        let flags = if writes { libc::O_RDWR } else { libc::O_RDONLY };
        file::open(path, flags, 0).map(|descriptor| KernelZones { descriptor })
    }
}

impl ZonedDevice for KernelZones {
    fn report(&mut self, offset: u64) -> Result<Option<Vec<ZoneReport>>, Errno> {
        zoned::report(self.descriptor.as_raw_fd(), offset).map(Some)
    }

    fn reset(&mut self, start: u64, length: u64) -> Result<(), Errno> {
        zoned::reset(self.descriptor.as_raw_fd(), start, length)
    }

    fn finish(&mut self, start: u64, length: u64) -> Result<(), Errno> {
        zoned::finish(self.descriptor.as_raw_fd(), start, length)
    }
}

/// A regular file or an ordinary device, which accepts any write and ignores resets.
pub struct EmulatedZones;

impl ZonedDevice for EmulatedZones {
    fn report(&mut self, _offset: u64) -> Result<Option<Vec<ZoneReport>>, Errno> {
        Ok(None)
    }

    fn reset(&mut self, _start: u64, _length: u64) -> Result<(), Errno> {
        Ok(())
    }

    fn finish(&mut self, _start: u64, _length: u64) -> Result<(), Errno> {
        Ok(())
    }
}
