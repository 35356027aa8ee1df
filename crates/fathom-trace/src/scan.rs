//! Totals of a log's entries, which a run must know before the first entry.

use crate::complaints::Complaints;
use crate::dependencies::Completions;
use crate::error::TraceError;
use crate::names::FileName;
use crate::reader::Reader;
use fathom_stats::PerDirection;
use serde::{Deserialize, Serialize};
use std::io::BufRead;

/// A file of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScannedFile {
    /// Name of the file in the log.
    pub name: FileName,
    /// End of the highest range of an entry.
    pub end: u64,
    /// Size of the device in bytes, if the recorder noted it; 0 if not.
    pub size: u64,
}

/// Totals of the I/Os of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScannedDirection {
    /// Number of I/Os.
    pub ios: u64,
    /// Total bytes.
    pub bytes: u64,
    /// Size of the smallest I/O in bytes.
    pub smallest: u32,
    /// Size of the largest I/O in bytes.
    pub largest: u32,
}

/// Totals of a log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    /// The files of the log, by number.
    pub files: Vec<ScannedFile>,
    /// Totals by direction: reads, writes, trims.
    pub directions: PerDirection<ScannedDirection>,
    /// Number of syncs of all kinds.
    pub syncs: u64,
    /// Time at which the last entry is due, in ns; `None` if no entry has a time.
    pub last_due_ns: Option<u64>,
    /// True for a block trace, false for a log of I/Os.
    pub is_trace: bool,
    /// Requests with and without a completion; none are counted unless the rules keep dependencies.
    pub completions: Completions,
}

impl Scan {
    /// Returns the end of the highest I/O of each file, and its size or 0, as a [`Mapping`](crate::Mapping) needs them.
    pub fn extents(&self) -> impl Iterator<Item = (u64, u64)> {
        self.files.iter().map(|file| (file.end, file.size))
    }

    /// Returns the number of entries.
    pub fn entries(&self) -> u64 {
        self.directions.values().map(|direction| direction.ios).sum::<u64>() + self.syncs
    }

    /// Returns the number of bytes that all entries move.
    pub fn bytes(&self) -> u64 {
        self.directions.values().fold(0, |sum: u64, direction| sum.saturating_add(direction.bytes))
    }
}

/// Reads all entries of a log.
pub fn scan<R: BufRead>(mut reader: Reader<R>) -> Result<(Scan, Complaints), TraceError> {
    let mut sum = Scan { is_trace: reader.is_trace(), ..Scan::default() };
    let mut ends: Vec<u64> = Vec::new();
    while let Some(entry) = reader.next()? {
        let file = entry.file as usize;
        if ends.len() <= file {
            ends.resize(file + 1, 0);
        }
        ends[file] = ends[file].max(entry.offset.saturating_add(u64::from(entry.length)));
        if entry.due_ns.is_some() {
            sum.last_due_ns = entry.due_ns;
        }
        let Some(direction) = entry.action.direction() else {
            sum.syncs += 1;
            continue;
        };
        let direction = &mut sum.directions[direction];
        direction.smallest =
            if direction.ios == 0 { entry.length } else { direction.smallest.min(entry.length) };
        direction.largest = direction.largest.max(entry.length);
        direction.ios += 1;
        direction.bytes = direction.bytes.saturating_add(u64::from(entry.length));
    }
    sum.completions = reader.completions();
    ends.resize(reader.files().len(), 0);
    let names = reader.files().iter().cloned().zip(ends);
    sum.files = names.map(|(name, end)| ScannedFile { size: reader.size_of(&name), name, end }).collect();
    Ok((sum, reader.complaints))
}
