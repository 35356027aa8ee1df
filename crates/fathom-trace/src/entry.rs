//! One recorded I/O.

use fathom_stats::Direction;

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read data.
    Read,
    /// Write data.
    Write,
    /// Discard a range.
    Trim,
    /// An fsync, or a flush of a device.
    Sync,
    /// fdatasync.
    DataSync,
    /// A sync_file_range over the whole file.
    RangeSync,
}

impl Action {
    /// Returns the action for a word of an I/O log.
    pub fn of_word(word: &[u8]) -> Option<Action> {
        Some(match word {
            b"read" => Action::Read,
            b"write" => Action::Write,
            b"trim" => Action::Trim,
            b"sync" => Action::Sync,
            b"datasync" => Action::DataSync,
            b"sync_file_range" => Action::RangeSync,
            _ => return None,
        })
    }

    /// Returns the direction of the data; `None` for syncs.
    pub fn direction(self) -> Option<Direction> {
        match self {
            Action::Read => Some(Direction::Read),
            Action::Write => Some(Direction::Write),
            Action::Trim => Some(Direction::Trim),
            Action::Sync | Action::DataSync | Action::RangeSync => None,
        }
    }

    /// True for the three kinds of sync, which have no length.
    pub fn is_sync(self) -> bool {
        self.direction().is_none()
    }
}

/// An I/O to replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Time at which the I/O is due, in ns since the start of the replay; `None` to issue it as soon as
    /// possible.
    pub due_ns: Option<u64>,
    /// The kind of operation.
    pub action: Action,
    /// Index of the file, in order of first mention in the log.
    pub file: u32,
    /// First byte.
    pub offset: u64,
    /// Length in bytes; 0 for syncs and only for syncs.
    pub length: u32,
}
