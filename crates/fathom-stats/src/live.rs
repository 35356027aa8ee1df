//! What the live status line shows: a snapshot of all workers, taken without stopping them.

use serde::{Deserialize, Serialize};

/// What a worker is doing, as one letter of the status line (see [`RunState::letter`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunState {
    /// Its turn has not come.
    #[default]
    NotStarted,
    /// Created, waiting for the start gate.
    Created,
    /// Setting itself up or laying files out.
    Initialising,
    /// Reading its files into the cache before the run.
    PreReading,
    /// Running, but not yet recording.
    Ramping,
    /// Running reads; `sequential` decides the letter.
    Reading {
        /// Sequential rather than random.
        sequential: bool,
    },
    /// Running writes.
    Writing {
        /// Sequential rather than random.
        sequential: bool,
    },
    /// Running reads and writes.
    Mixed {
        /// Sequential rather than random.
        sequential: bool,
    },
    /// Running trims.
    Trimming {
        /// Sequential rather than random.
        sequential: bool,
    },
    /// Checking what it wrote.
    Verifying,
    /// In its last fsync.
    FinalSync,
    /// Closing files and handing in its result.
    Finishing,
    /// Done, not yet collected.
    Exited,
    /// Done and collected.
    Reaped,
    /// Done with an error.
    Failed,
    /// Killed by a signal.
    Killed,
}

impl RunState {
    /// The letter of the status line.
    pub fn letter(self) -> char {
        match self {
            RunState::NotStarted => 'P',
            RunState::Created => 'C',
            RunState::Initialising => 'I',
            RunState::PreReading => 'p',
            RunState::Ramping => '/',
            RunState::Reading { sequential: true } => 'R',
            RunState::Reading { sequential: false } => 'r',
            RunState::Writing { sequential: true } => 'W',
            RunState::Writing { sequential: false } => 'w',
            RunState::Mixed { sequential: true } => 'M',
            RunState::Mixed { sequential: false } => 'm',
            RunState::Trimming { sequential: true } => 'D',
            RunState::Trimming { sequential: false } => 'd',
            RunState::Verifying => 'V',
            RunState::FinalSync => 'F',
            RunState::Finishing => 'f',
            RunState::Exited => 'E',
            RunState::Reaped => '_',
            RunState::Failed => 'X',
            RunState::Killed => 'K',
        }
    }
}

/// One moment of a run, all workers added up. Directions are indexed read, write, trim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveTick {
    /// Workers that are running (created to finishing).
    pub running: u32,
    /// Files they have open.
    pub open_files: u32,
    /// Sum of the rate limits of the running workers, bytes/s; 0 when none is set.
    pub rate_limit_bytes: u64,
    /// Sum of their `rate_min`, bytes/s.
    pub rate_min_bytes: u64,
    /// Sum of the `rate_iops` limits; 0 when none is set.
    pub rate_limit_iops: u64,
    /// Sum of their `rate_iops_min`.
    pub rate_min_iops: u64,
    /// The state of every worker of the run, in definition order.
    pub states: Vec<RunState>,
    /// Bytes per second since the previous tick.
    pub bytes_per_second: [u64; 3],
    /// I/Os per second since the previous tick.
    pub iops: [u64; 3],
    /// Share done in percent; `None` while it cannot be told.
    pub percent_done: Option<f64>,
    /// Seconds to go; `None` while it cannot be told.
    pub eta_seconds: Option<u64>,
    /// True from the moment an estimate is known (the third second of a run).
    pub estimate_known: bool,
    /// kb_base of the run (1024 or 1000).
    pub kb_base: u32,
    /// 8 for bytes, 1 for bits.
    pub unit_base: u32,
}
