//! Verify state files, which record the writes that a job had issued when it stopped, and the writes in flight
//! or completed last. All numbers are little-endian. A header (version, size of the rest, CRC-32C of the rest)
//! is followed by the threads. Version 7 lists the numbers of the writes in flight, version 3 the places of the
//! last completions. Version 7 is written; both can be read.

use thiserror::Error;

/// The version that is written.
pub const VERSION: u64 = 7;
/// Marks a free entry in the list of writes in flight.
pub const FREE: u64 = u64::MAX;
/// Size of the header in bytes.
pub const HEADER: usize = 24;
const NAME: usize = 64;
const GENERATOR: usize = 48;
const BODY: usize = 4 + 4 + 8 + 8 + 8 + GENERATOR + NAME;

/// Start of a trailer after the part that fio reads: this mark, start and end of the run, and a checksum.
const RUN_MARK: [u8; 8] = *b"fathom\x00\x01";
/// Size of the trailer in bytes.
const RUN: usize = 8 + 8 + 8 + 8;

/// Times of a run's writes in ns, on the monotonic clock of its boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunTime {
    /// Time before its first write.
    pub begin_ns: u64,
    /// Time after its last write.
    pub end_ns: u64,
}

impl RunTime {
    fn encode(self) -> Vec<u8> {
        let mut bytes = RUN_MARK.to_vec();
        bytes.extend_from_slice(&self.begin_ns.to_le_bytes());
        bytes.extend_from_slice(&self.end_ns.to_le_bytes());
        bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<RunTime> {
        let mut fields = Fields { bytes: bytes.strip_prefix(&RUN_MARK)? };
        let time = RunTime { begin_ns: fields.u64()?, end_ns: fields.u64()? };
        let is_whole = fields.u64()? == checksum(&bytes[..RUN - 8]) && fields.bytes.is_empty();
        (is_whole && time.begin_ns <= time.end_ns).then_some(time)
    }
}

/// The saved state of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedState {
    /// Maximum number of I/Os in flight.
    pub depth: u32,
    /// Number of writes issued.
    pub writes: u64,
    /// Number of the clone among the clones of its job.
    pub index: u64,
    /// True if the generator of offsets has 64 bits.
    pub is_64_bit: bool,
    /// State words of the offset generator.
    pub generator: Vec<u64>,
    /// Name of the job.
    pub name: String,
    /// Numbers of the writes that were in flight.
    pub in_flight: Vec<u64>,
    /// Time range in which the run wrote; `None` if it only verified the writes of another run.
    pub run: Option<RunTime>,
}

impl SavedState {
    /// Returns the bytes of the file.
    pub fn encode(&self) -> Vec<u8> {
        let mut rest = Vec::with_capacity(BODY + self.depth as usize * 8);
        rest.extend_from_slice(&self.depth.to_le_bytes());
        rest.extend_from_slice(&0u32.to_le_bytes());
        rest.extend_from_slice(&self.writes.to_le_bytes());
        rest.extend_from_slice(&self.index.to_le_bytes());
        rest.extend_from_slice(&u64::from(self.is_64_bit).to_le_bytes());
        let mut generator = [0; GENERATOR];
        let words: Vec<u8> = match self.is_64_bit {
            true => self.generator.iter().flat_map(|word| word.to_le_bytes()).collect(),
            false => self.generator.iter().flat_map(|word| (*word as u32).to_le_bytes()).collect(),
        };
        let kept = words.len().min(GENERATOR);
        generator[..kept].copy_from_slice(&words[..kept]);
        rest.extend_from_slice(&generator);
        let mut name = [0; NAME];
        // The last byte stays 0, so that readers in C find the end of the name.
        let kept = self.name.len().min(NAME - 1);
        name[..kept].copy_from_slice(&self.name.as_bytes()[..kept]);
        rest.extend_from_slice(&name);
        let places = self.in_flight.iter().copied().chain(std::iter::repeat(FREE));
        rest.extend(places.take(self.depth as usize).flat_map(u64::to_le_bytes));
        let mut bytes = Vec::with_capacity(HEADER + rest.len());
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(rest.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&checksum(&rest).to_le_bytes());
        bytes.append(&mut rest);
        bytes.extend(self.run.into_iter().flat_map(RunTime::encode));
        bytes
    }
}

/// Computes a CRC-32C without the final inversion, as fio stores it.
pub fn checksum(bytes: &[u8]) -> u64 {
    u64::from(!crc_fast::crc32_iscsi(bytes))
}

/// The reason for which the threads of a state file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StateError {
    /// The file has the wrong size.
    #[error("Size mismatch: {found} bytes after the header, which says {promised}")]
    Size {
        /// Number of bytes after the header.
        found: u64,
        /// Size in the header.
        promised: u64,
    },
    /// The checksum does not match.
    #[error("crc mismatch {found:x} != {promised:x}: the file is damaged")]
    Checksum {
        /// Checksum of the bytes after the header.
        found: u64,
        /// Checksum in the header.
        promised: u64,
    },
    /// The version of the layout is unknown.
    #[error("Unsupported version {0}; versions 3 and 7 are known")]
    Version(u64),
    /// The data of a thread is incomplete.
    #[error("the state of a thread is truncated")]
    Truncated,
}

/// A state file whose threads are still encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFile {
    /// Version of the layout.
    pub version: u64,
    /// Number of bytes after the header, according to the header.
    pub size: u64,
    /// Checksum of these bytes, according to the header.
    pub crc: u64,
    /// Time range in which the run wrote; `None` in a file of fio or of an earlier version of fathom.
    pub run: Option<RunTime>,
    rest: Vec<u8>,
}

/// The saved state of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedThread {
    /// Name of the job of the thread.
    pub name: String,
    /// Maximum number of I/Os in flight.
    pub depth: u32,
    /// Number of writes issued.
    pub ios: u64,
    /// Number of the clone.
    pub index: u64,
    /// The writes that the file lists.
    pub writes: SavedWrites,
}

/// The writes that a version of the layout lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SavedWrites {
    /// Numbers of the writes in flight; `None` is a free entry.
    InFlight(Vec<Option<u64>>),
    /// File number and offset of the last completed writes, oldest first.
    Completed(Vec<(u64, u64)>),
}

impl StateFile {
    /// Creates a state file from its bytes; `None` if they are too few for a header. The bytes after the header
    /// are not parsed yet.
    pub fn new(mut bytes: Vec<u8>) -> Option<StateFile> {
        if bytes.len() < HEADER {
            return None;
        }
        let mut rest = bytes.split_off(HEADER);
        let mut fields = Fields { bytes: &bytes };
        let (version, size, crc) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let known = usize::try_from(size).ok().filter(|size| size.checked_add(RUN) == Some(rest.len()));
        let run = known.and_then(|size| RunTime::decode(rest.get(size..)?));
        if let (Some(size), Some(_)) = (known, run) {
            rest.truncate(size);
        }
        Some(StateFile { version, size, crc, run, rest })
    }

    /// Returns the threads, after checks of size, checksum and version.
    pub fn threads(&self) -> Result<Vec<SavedThread>, StateError> {
        let found = self.rest.len() as u64;
        if found != self.size {
            return Err(StateError::Size { found, promised: self.size });
        }
        let crc = checksum(&self.rest);
        if crc != self.crc {
            return Err(StateError::Checksum { found: crc, promised: self.crc });
        }
        let read_thread = match self.version {
            7 => read_version_7,
            3 => read_version_3,
            other => return Err(StateError::Version(other)),
        };
        let mut fields = Fields { bytes: &self.rest };
        let mut threads = Vec::new();
        while !fields.bytes.is_empty() {
            threads.push(read_thread(&mut fields).ok_or(StateError::Truncated)?);
        }
        Ok(threads)
    }
}

fn read_version_7(fields: &mut Fields<'_>) -> Option<SavedThread> {
    let depth = fields.u32()?;
    fields.u32()?;
    let ios = fields.u64()?;
    let index = fields.u64()?;
    let name = fields.generator_and_name()?;
    let numbers = (0..depth)
        .map(|_| fields.u64().map(|number| (number != FREE).then_some(number)))
        .collect::<Option<_>>()?;
    Some(SavedThread { name, depth, ios, index, writes: SavedWrites::InFlight(numbers) })
}

fn read_version_3(fields: &mut Fields<'_>) -> Option<SavedThread> {
    let completions = fields.u64()?;
    let depth = fields.u32()?;
    fields.u32()?; // number of files
    let ios = fields.u64()?;
    let index = fields.u64()?;
    let name = fields.generator_and_name()?;
    let mut places =
        (0..completions).map(|_| Some((fields.u64()?, fields.u64()?))).collect::<Option<Vec<_>>>()?;
    // The file lists the latest write first.
    places.reverse();
    Some(SavedThread { name, depth, ios, index, writes: SavedWrites::Completed(places) })
}

/// Reads consecutive little-endian numbers.
struct Fields<'a> {
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    /// Skips the state of the random generator (type, 48 bytes) and reads the 64 bytes of the job's name.
    fn generator_and_name(&mut self) -> Option<String> {
        self.take(8 + 48)?;
        let name = self.take(64)?;
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        Some(String::from_utf8_lossy(&name[..end]).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_the_run_follows_what_fio_reads() {
        let run = RunTime { begin_ns: 5, end_ns: 1 << 40 };
        let state = SavedState {
            depth: 2,
            writes: 9,
            index: 0,
            is_64_bit: false,
            generator: vec![1, 2, 3],
            name: "a".to_owned(),
            in_flight: vec![8],
            run: Some(run),
        };
        let bytes = state.encode();
        let read = StateFile::new(bytes.clone()).expect("a header");
        assert_eq!((read.run, read.threads().map(|threads| threads.len())), (Some(run), Ok(1)));
        // A file of fio ends before the trailer.
        let of_fio = StateFile::new(bytes[..bytes.len() - RUN].to_vec()).expect("a header");
        assert_eq!((of_fio.run, of_fio.threads().map(|threads| threads.len())), (None, Ok(1)));
        // A damaged trailer is neither a time nor part of the threads.
        for at in bytes.len() - RUN..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            let read = StateFile::new(damaged).expect("a header");
            assert!(read.run.is_none() && read.threads().is_err(), "byte {at}");
        }
    }
}
