//! Endurance of a drive, from its own figures. NVMe drives report the bytes written and the share of their life
//! used (NVM Express Base Specification, the SMART / health information log), from which the total is
//! extrapolated. Drives do not report their rated endurance.

use super::plan::TestTarget;
use fathom_sys::nvme;
use serde::Serialize;
use std::fs::File;
use std::os::fd::AsRawFd;

/// Size of a data unit in bytes.
const UNIT: f64 = 512_000.0;
/// Percentage used below which the extrapolated total is too imprecise.
const LEAST_PERCENT: u8 = 3;

/// Endurance figures that a drive reports.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Endurance {
    /// Percentage of the drive's life used, by its own estimate; it may exceed 100.
    pub(super) used_percent: u8,
    /// Bytes written so far.
    pub(super) written_bytes: f64,
}

impl Endurance {
    /// Queries the drive; `None` if it does not answer, or if this user has no permission.
    pub(super) fn of(target: &TestTarget) -> Option<Endurance> {
        let name = target.path.file_name()?.to_str()?;
        if !target.is_device() || !name.starts_with("nvme") {
            return None;
        }
        let device = File::open(&target.path).ok()?;
        let log = nvme::health_log(device.as_raw_fd()).ok()?;
        Some(Endurance::of_log(&log))
    }

    fn of_log(log: &[u8; nvme::HEALTH_LOG]) -> Endurance {
        let units = log[48..64].iter().rev().fold(0.0, |sum, byte| sum * 256.0 + f64::from(*byte));
        Endurance { used_percent: log[5], written_bytes: units * UNIT }
    }

    /// Total number of bytes that can be written over the drive's life, extrapolated from its own figures.
    pub(super) fn whole_bytes(&self) -> Option<f64> {
        let is_enough = self.used_percent >= LEAST_PERCENT && self.written_bytes > 0.0;
        is_enough.then(|| self.written_bytes / (f64::from(self.used_percent) / 100.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_tells_the_whole_life() {
        let mut log = [0; nvme::HEALTH_LOG];
        assert_eq!(Endurance::of_log(&log).whole_bytes(), None);
        log[5] = 4;
        // The counter is 0x0102030 thousand units of 512 bytes.
        log[48..51].copy_from_slice(&[0x30, 0x20, 0x10]);
        let found = Endurance::of_log(&log);
        assert_eq!(found.written_bytes, f64::from(0x0010_2030) * 512_000.0);
        assert!(found.whole_bytes().is_some_and(|bytes| (bytes - 25.0 * found.written_bytes).abs() < 1.0));
    }
}
