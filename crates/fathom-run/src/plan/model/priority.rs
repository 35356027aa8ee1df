//! I/O priorities: of a whole job, and of some of its I/Os.

use serde::{Deserialize, Serialize};

/// A priority in the kernel's encoding (`IOPRIO_PRIO_VALUE` of linux/ioprio.h): class in bits 13 to 15, hint
/// in 3 to 12, level in 0 to 2. 0 means none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Priority(pub u16);

impl Priority {
    /// Encodes class, level and hint.
    pub(crate) fn new(class: u32, level: u32, hint: u32) -> Priority {
        Priority((class << 13 | (hint & 0x3ff) << 3 | (level & 7)) as u16)
    }

    /// The class: 0 none, 1 real time, 2 best effort, 3 idle.
    pub fn class(self) -> u32 {
        u32::from(self.0 >> 13)
    }

    /// 0 is the highest.
    pub fn level(self) -> u32 {
        u32::from(self.0 & 7)
    }

    /// Hint for the device.
    pub fn hint(self) -> u32 {
        u32::from(self.0 >> 3 & 0x3ff)
    }
}

/// Number of directions that priorities apply to: reads and writes.
pub(crate) const DIRECTIONS_WITH_PRIORITY: usize = 2;

/// Priorities of single I/Os.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandPriorities {
    /// All priorities that occur; the first is the job's own.
    pub values: Vec<Priority>,
    /// Shares of reads, then of writes.
    pub shares: [Vec<PriorityShare>; DIRECTIONS_WITH_PRIORITY],
}

/// The share of I/Os of one size that gets this priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityShare {
    /// Size of the I/Os in bytes; `None` for all sizes.
    pub size: Option<u64>,
    /// Percent.
    pub percent: u32,
    /// Index in `values`.
    pub value: usize,
}

impl CommandPriorities {
    /// Chooses the priority of an I/O; returns its index in [`values`](CommandPriorities::values). `draw` is a
    /// random number from 1 to 100.
    pub(crate) fn choose(&self, direction: usize, length: u64, draw: u32) -> usize {
        let mut sum = 0;
        for share in self.shares.get(direction).into_iter().flatten() {
            if share.size.is_none_or(|size| size == length) {
                sum += share.percent;
                if draw <= sum {
                    return share.value;
                }
            }
        }
        0
    }
}
