//! Stages of a worker and orders to it, shared by supervisor and workers.

use serde::{Deserialize, Serialize};

/// Stages of a worker's life, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u32)]
pub enum Stage {
    /// Not started yet.
    #[default]
    NotStarted = 0,
    /// Created.
    Created = 1,
    /// Setting itself up.
    SettingUp = 2,
    /// Reading files into the cache.
    PreReading = 3,
    /// Ready, waiting for the start gate (or its start delay).
    Ready = 4,
    /// Running, not yet recording.
    Ramping = 5,
    /// Running.
    Running = 6,
    /// Reading back its writes for verification.
    Verifying = 7,
    /// Waiting for I/Os in flight after the last was issued.
    Draining = 8,
    /// In its final fsync.
    FinalSync = 9,
    /// Waiting for the job's `exec_postrun` command.
    PostRun = 10,
    /// Closing up.
    Finishing = 11,
    /// Done.
    Ended = 12,
}

impl Stage {
    /// Converts a number to its stage; larger numbers give the last stage.
    pub(crate) fn from_number(number: u32) -> Stage {
        use Stage::*;
        [
            NotStarted, Created, SettingUp, PreReading, Ready, Ramping, Running, Verifying, Draining,
            FinalSync, PostRun, Finishing, Ended,
        ][(number as usize).min(12)]
    }

    /// True for stages in which the worker does I/O.
    pub(crate) fn does_io(self) -> bool {
        matches!(self, Stage::Ramping | Stage::Running | Stage::Verifying | Stage::Draining)
    }
}

/// Orders from the supervisor to a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u32)]
pub enum Order {
    /// Wait at the start gate.
    Wait = 0,
    /// Run.
    Go = 1,
    /// Stop issuing and wait for the I/Os in flight.
    Stop = 2,
    /// Like `Stop`, and save the verification state for a later verification.
    StopAndSave = 3,
}
