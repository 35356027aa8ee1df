//! Circumstances of a run, for the verdict on its result: clocks, heat, memory, devices. The supervisor reads
//! them before the first job, about once a second, and after the last one. The workers are not involved. When
//! facts of several hosts are merged, counts are added, and the worst of the extremes is kept.

use serde::{Deserialize, Serialize};

/// Facts about a run on one machine or on several machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFacts {
    /// Time from the first poll to the last in ms.
    pub span_ms: u64,
    /// Number of polls.
    pub looks: u64,
    /// Largest delay of a poll in ms, which shows that the machine or the program was stalled.
    pub latest_look_ms: u64,
    /// The clocks.
    pub clock: ClockFacts,
    /// Number of times that processors were throttled by heat; `None` if the kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowed_by_heat: Option<u64>,
    /// The memory.
    pub memory: MemoryFacts,
    /// The devices under the jobs' files, in the order of the report.
    pub devices: Vec<DeviceFacts>,
    /// Times at which a job's process was stopped, by a signal or a debugger; at most [`MOST_STOPS`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<StopFacts>,
    /// Holes in the backing files of loop devices that the jobs used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holes: Vec<HoleFacts>,
}

/// Maximum number of stops that are kept.
pub const MOST_STOPS: usize = 64;

/// A time in which a job's process was stopped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StopFacts {
    /// Name of the job.
    pub job: String,
    /// Start in ms since the run's jobs were started.
    pub begin_ms: u64,
    /// Length, ms.
    pub length_ms: u64,
}

/// Holes in the part of a loop device that a job uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HoleFacts {
    /// Name of the job.
    pub job: String,
    /// Kernel name of the device.
    pub device: String,
    /// Size of the part in bytes.
    pub part_bytes: u64,
    /// Number of these bytes that were holes in the backing file when the job began, because they had never
    /// been written.
    pub hole_bytes: u64,
}

/// The clocks of a machine during a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockFacts {
    /// The kernel's clock source at the start, such as `tsc`.
    pub source: String,
    /// The clock source at the end.
    pub source_after: String,
    /// True if the kernel no longer offers the initial source, because it found the source unstable.
    pub lost_source: bool,
    /// Amount by which the clock that times the I/Os ran ahead of the system's clock, in parts per million;
    /// negative if it ran behind.
    pub drift_ppm: f64,
    /// Largest step of the wall clock relative to the monotonic clock between two polls, in ms.
    pub wall_jump_ms: i64,
    /// Time for which the machine was suspended, in ms.
    pub suspended_ms: u64,
}

/// The memory of a machine during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryFacts {
    /// Dirty bytes of all programs in the page cache when the run began.
    pub dirty_before_bytes: u64,
    /// Dirty bytes of all programs in the page cache when the run ended.
    pub dirty_after_bytes: u64,
    /// Number of pages that were swapped in or out.
    pub swapped_pages: u64,
}

/// Facts about a block device during a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceFacts {
    /// Kernel name.
    pub name: String,
    /// True if the kernel counts the device's I/O: counting is enabled (`queue/iostats`), and the counters are
    /// not zero.
    pub counts_io: bool,
    /// Number of flushes of the device's cache; `None` if the kernel does not count them (before 5.5).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flushes: Option<u64>,
    /// Number of bytes that were trimmed; `None` if the kernel does not count them (before 4.18).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trimmed_bytes: Option<u64>,
    /// For a loop device: number of bytes that all programs read from the disk with its backing file during the
    /// run; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_below_bytes: Option<u64>,
}

impl RunFacts {
    /// Adds the facts of another machine, whose devices have distinct names.
    pub fn merge(&mut self, other: &RunFacts) {
        self.span_ms = self.span_ms.max(other.span_ms);
        self.looks += other.looks;
        self.latest_look_ms = self.latest_look_ms.max(other.latest_look_ms);
        self.clock.merge(&other.clock);
        self.slowed_by_heat = match (self.slowed_by_heat, other.slowed_by_heat) {
            (Some(own), Some(theirs)) => Some(own + theirs),
            (own, theirs) => own.or(theirs),
        };
        self.memory.dirty_before_bytes += other.memory.dirty_before_bytes;
        self.memory.dirty_after_bytes += other.memory.dirty_after_bytes;
        self.memory.swapped_pages += other.memory.swapped_pages;
        self.devices.extend_from_slice(&other.devices);
        self.stops.extend_from_slice(&other.stops);
        self.stops.truncate(MOST_STOPS);
        self.holes.extend_from_slice(&other.holes);
    }
}

impl ClockFacts {
    fn merge(&mut self, other: &ClockFacts) {
        // The source of a host that lost its clock source takes precedence, so that the report names such a
        // host.
        if self.source.is_empty() || (other.lost_source && !self.lost_source) {
            self.source.clone_from(&other.source);
            self.source_after.clone_from(&other.source_after);
        }
        self.lost_source |= other.lost_source;
        if other.drift_ppm.abs() > self.drift_ppm.abs() {
            self.drift_ppm = other.drift_ppm;
        }
        if other.wall_jump_ms.unsigned_abs() > self.wall_jump_ms.unsigned_abs() {
            self.wall_jump_ms = other.wall_jump_ms;
        }
        self.suspended_ms = self.suspended_ms.max(other.suspended_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_machines_the_worst_is_kept_and_counts_add_up() {
        let device =
            |name: &str| DeviceFacts { name: name.into(), counts_io: true, ..DeviceFacts::default() };
        let calm = RunFacts {
            span_ms: 5000,
            looks: 5,
            clock: ClockFacts { source: "tsc".into(), source_after: "tsc".into(), ..ClockFacts::default() },
            devices: vec![device("a:sda")],
            ..RunFacts::default()
        };
        let mut merged = calm.clone();
        merged.merge(&RunFacts {
            span_ms: 4000,
            looks: 4,
            latest_look_ms: 700,
            clock: ClockFacts {
                source: "tsc".into(),
                source_after: "hpet".into(),
                lost_source: true,
                drift_ppm: -900.0,
                wall_jump_ms: -40,
                suspended_ms: 3,
            },
            slowed_by_heat: Some(2),
            memory: MemoryFacts { dirty_after_bytes: 7, ..MemoryFacts::default() },
            devices: vec![device("b:sda")],
            stops: vec![StopFacts { job: "a".into(), begin_ms: 5, length_ms: 1200 }],
            holes: vec![HoleFacts { job: "a".into(), device: "loop0".into(), part_bytes: 9, hole_bytes: 4 }],
        });
        merged.merge(&calm);
        assert_eq!((merged.span_ms, merged.looks, merged.latest_look_ms), (5000, 14, 700));
        assert_eq!((merged.clock.source_after.as_str(), merged.clock.lost_source), ("hpet", true));
        assert_eq!((merged.clock.drift_ppm, merged.clock.wall_jump_ms), (-900.0, -40));
        assert_eq!((merged.slowed_by_heat, merged.memory.dirty_after_bytes), (Some(2), 7));
        assert_eq!((merged.devices.len(), merged.stops.len(), merged.holes.len()), (3, 1, 1));
    }
}
