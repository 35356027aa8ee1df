//! Changes that a replay makes to the recorded I/Os.

use crate::entry::Action;
use crate::mapping::Mapping;
use serde::{Deserialize, Serialize};

/// The kinds of I/O to skip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// Reads.
    pub read: bool,
    /// Writes.
    pub write: bool,
    /// Trims.
    pub trim: bool,
    /// Skip all kinds of sync.
    pub sync: bool,
}

impl Skip {
    /// True if this action is skipped.
    pub fn drops(&self, action: Action) -> bool {
        match action {
            Action::Read => self.read,
            Action::Write => self.write,
            Action::Trim => self.trim,
            Action::Sync | Action::DataSync | Action::RangeSync => self.sync,
        }
    }
}

/// The rules of a replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Keep the recorded times between I/Os.
    pub keeps_time: bool,
    /// Speed in percent: at 200 the replay takes half the time.
    pub speed_percent: u32,
    /// Number by which offsets are divided.
    pub offset_divisor: u64,
    /// Alignment to which offsets are rounded down afterwards. Lengths in block traces are rounded up to it, as
    /// in fio.
    pub alignment: u64,
    /// The kinds of I/O that are skipped.
    pub skip: Skip,
    /// File to which all I/Os go instead.
    pub redirect: Option<String>,
    /// How offsets are fitted into that file, at last.
    pub mapping: Option<Mapping>,
    /// Follow the completions of a block trace, for the dependencies of its I/Os.
    pub keeps_dependencies: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            keeps_time: true,
            speed_percent: 100,
            offset_divisor: 1,
            alignment: 1,
            skip: Skip::default(),
            redirect: None,
            mapping: None,
            keeps_dependencies: false,
        }
    }
}

impl Rules {
    /// Maps an offset.
    pub(crate) fn place(&self, offset: u64) -> u64 {
        let alignment = self.alignment.max(1);
        let scaled = offset / self.offset_divisor.max(1);
        scaled - scaled % alignment
    }

    /// Maps the length of an I/O in a block trace.
    pub(crate) fn length_in_trace(&self, length: u32) -> u32 {
        let alignment = u32::try_from(self.alignment).unwrap_or(u32::MAX).max(1);
        // If rounding up does not fit into 32 bits, the length is rounded down.
        length.checked_next_multiple_of(alignment).unwrap_or(length - length % alignment)
    }

    /// Shortens a trim to the target that a log is fitted into: discards of whole devices are common.
    pub(crate) fn length_in_target(&self, action: Action, length: u64) -> u64 {
        match &self.mapping {
            Some(mapping) if action == Action::Trim => length.min(mapping.capacity),
            _ => length,
        }
    }

    /// Maps a time; `None` if times are ignored.
    pub(crate) fn time(&self, ns: u64) -> Option<u64> {
        if !self.keeps_time {
            return None;
        }
        if self.speed_percent == 100 {
            return Some(ns);
        }
        let scaled = u128::from(ns) * 100 / u128::from(self.speed_percent.max(1));
        Some(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}
