//! Compressed logs (`log_store_compressed`, suffix `.fz`): consecutive zlib streams, each of which contains
//! whole records.
//!
//! A record, in host byte order: u64 time in ms, u64 value, u64 second value, u32 direction with flags in its high bits, u16
//! priority, 2 bytes of padding, u64 block size, then a u64 each for the offset and the issue time where flags say so.

use crate::entry::{Columns, Entry};
use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use std::io::{self, BufRead, Read, Write};

const HAS_OFFSET: u32 = 1 << 31;
const WHOLE_PRIORITY: u32 = 1 << 30;
const HAS_MAXIMUM: u32 = 1 << 29;
const HAS_ISSUE_TIME: u32 = 1 << 28;
const FLAGS: u32 = HAS_OFFSET | WHOLE_PRIORITY | HAS_MAXIMUM | HAS_ISSUE_TIME;
/// Size of a record without optional words.
const FIXED: usize = 40;

/// Collects records and compresses them in chunks.
pub(crate) struct Packer {
    chunk: usize,
    raw: Vec<u8>,
}

impl Packer {
    /// Amount of record bytes that triggers compression.
    pub(crate) fn new(chunk: usize) -> Packer {
        Packer { chunk, raw: Vec::new() }
    }

    /// Adds a record; a full chunk is compressed and appended to `packed`.
    pub(crate) fn add(&mut self, entry: &Entry, columns: Columns, packed: &mut Vec<u8>) {
        append(entry, columns, &mut self.raw);
        if self.raw.len() >= self.chunk {
            self.flush(packed);
        }
    }

    /// Compresses the pending records.
    pub(crate) fn flush(&mut self, packed: &mut Vec<u8>) {
        if self.raw.is_empty() {
            return;
        }
        let mut encoder = ZlibEncoder::new(packed, Compression::default());
        // The result is ignored, because writing to memory cannot fail.
        let _ = encoder.write_all(&self.raw).and_then(|()| encoder.finish().map(|_| ()));
        self.raw.clear();
    }
}

fn append(entry: &Entry, columns: Columns, raw: &mut Vec<u8>) {
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    let direction = u32::from(entry.direction)
        | flag(entry.offset.is_some(), HAS_OFFSET)
        | flag(columns.whole_priority, WHOLE_PRIORITY)
        | flag(entry.maximum.is_some(), HAS_MAXIMUM)
        | flag(entry.issue_ns.is_some(), HAS_ISSUE_TIME);
    for word in [entry.time_ms, entry.value, entry.maximum.unwrap_or(0)] {
        raw.extend_from_slice(&word.to_ne_bytes());
    }
    raw.extend_from_slice(&direction.to_ne_bytes());
    raw.extend_from_slice(&entry.priority.to_ne_bytes());
    raw.extend_from_slice(&[0; 2]);
    raw.extend_from_slice(&entry.block_size.to_ne_bytes());
    for word in [entry.offset, entry.issue_ns].into_iter().flatten() {
        raw.extend_from_slice(&word.to_ne_bytes());
    }
}

/// Converts a compressed log to text, record by record, in constant memory.
///
/// # Errors
///
/// Errors of reading or writing; `InvalidData` if the input is not a compressed log or ends in the middle of
/// a record.
pub fn inflate(input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
    let mut line = Vec::new();
    while !input.fill_buf()?.is_empty() {
        let mut stream = ZlibDecoder::new(&mut *input);
        while let Some((entry, columns)) = read_record(&mut stream)? {
            line.clear();
            entry.write_line(columns, &mut line);
            output.write_all(&line)?;
        }
    }
    output.flush()
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// The next record of a stream; `None` at the end.
fn read_record(stream: &mut dyn Read) -> io::Result<Option<(Entry, Columns)>> {
    let mut fixed = [0u8; FIXED];
    let mut filled = 0;
    while filled < FIXED {
        match stream
            .read(&mut fixed[filled..])
            .map_err(|_| invalid("not a compressed log, or a damaged one"))?
        {
            0 if filled == 0 => return Ok(None),
            0 => return Err(invalid("the log ends in the middle of a record")),
            count => filled += count,
        }
    }
    let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| fixed[at + byte]));
    let direction = word(24) as u32;
    let priority = u16::from_ne_bytes([fixed[28], fixed[29]]);
    let mut extra = |wanted: u32| -> io::Result<Option<u64>> {
        if direction & wanted == 0 {
            return Ok(None);
        }
        let mut bytes = [0; 8];
        stream.read_exact(&mut bytes).map_err(|_| invalid("the log ends in the middle of a record"))?;
        Ok(Some(u64::from_ne_bytes(bytes)))
    };
    let (offset, issue_ns) = (extra(HAS_OFFSET)?, extra(HAS_ISSUE_TIME)?);
    let number = direction & !FLAGS;
    if number > 2 {
        return Err(invalid("a record has no known direction: not a log of this version"));
    }
    let maximum = (direction & HAS_MAXIMUM != 0).then(|| word(16));
    let columns = Columns {
        maximum: maximum.is_some(),
        offset: offset.is_some(),
        whole_priority: direction & WHOLE_PRIORITY != 0,
        issue_time: issue_ns.is_some(),
    };
    let entry = Entry {
        time_ms: word(0),
        value: word(8),
        maximum,
        direction: number as u8,
        block_size: word(32),
        offset,
        priority,
        issue_ns,
    };
    Ok(Some((entry, columns)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(packed: &[u8]) -> io::Result<String> {
        let mut text = Vec::new();
        inflate(&mut io::BufReader::new(packed), &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    #[test]
    fn rubbish_and_cut_logs_are_errors() {
        assert_eq!(text(b"").expect("an empty log"), "");
        assert!(text(b"this is no log at all").is_err());
        let (mut packer, mut packed) = (Packer::new(1 << 20), Vec::new());
        packer.raw = vec![0; FIXED + 7];
        packer.flush(&mut packed);
        assert!(text(&packed).is_err());
        packed.truncate(packed.len() - 3);
        assert!(text(&packed).is_err());
    }

    proptest! {
        #[test]
        fn inflated_text_is_the_text(
            entries in prop::collection::vec((any::<u64>(), any::<u64>(), 0u8..3, any::<u64>(), any::<u16>()), 0..200),
            both: bool, offset: bool, whole_priority: bool, issue_time: bool, chunk in 1usize..5000,
        ) {
            let columns = Columns { maximum: both, offset, whole_priority, issue_time };
            let (mut packer, mut packed, mut expected) = (Packer::new(chunk), Vec::new(), Vec::new());
            for (time_ms, value, direction, number, priority) in entries {
                let entry = Entry {
                    time_ms, value, direction, priority, block_size: number >> 3,
                    maximum: both.then_some(number),
                    offset: offset.then_some(number / 2),
                    issue_ns: issue_time.then_some(number / 3),
                };
                entry.write_line(columns, &mut expected);
                packer.add(&entry, columns, &mut packed);
            }
            packer.flush(&mut packed);
            prop_assert_eq!(text(&packed).expect("inflates"), String::from_utf8(expected).expect("ASCII"));
        }
    }
}
