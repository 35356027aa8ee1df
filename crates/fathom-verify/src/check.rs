//! Checks data that was read against the data that was written.

use crate::checksum::{checksum, is_weak, may_be_stored_otherwise, store};
use crate::header::{Header, HeaderFormat, MAGIC};
use crate::method::Method;
use crate::rule::Rule;
use crate::stamp::{Write, exchange};
use crate::sums::{Sums, gain_together};
use std::borrow::Cow;

/// A read to be checked.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// Offset of the data in the file.
    pub offset: u64,
    /// The write whose data should be found; `None` if the job has not written the data.
    pub expected: Option<&'a Write>,
    /// Length of that write, which may exceed the length of the read.
    pub write_length: usize,
    /// The seed that the header must contain, if it is known although the write is not.
    pub seed: Option<u64>,
    /// The earliest and the latest time at which the write can have been issued, ns on the monotonic clock. A
    /// block from another time belongs to another run, even if it looks like this one's. `None` allows any
    /// time.
    pub issued: Option<(u64, u64)>,
}

impl<'a> Reading<'a> {
    /// Creates a read of a write of `write_length` bytes that was issued at any time.
    pub fn new(offset: u64, expected: Option<&'a Write>, write_length: usize) -> Reading<'a> {
        Reading { offset, expected, write_length, seed: None, issued: None }
    }
}

/// A mismatching interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Offset of the interval in the file.
    pub offset: u64,
    /// Position of the interval in the data read.
    pub at: usize,
    /// Length of the interval in bytes.
    pub length: usize,
    /// The kind of mismatch, with its values.
    pub problem: Problem,
}

/// The kind of a mismatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Missing header.
    Magic(u16),
    /// The header is for an interval of another length, which it contains.
    Length(u32),
    /// The header has another seed.
    Seed {
        /// Seed in the header.
        found: u64,
        /// Seed of the write.
        wanted: u64,
    },
    /// The header contains another offset.
    Offset(u64),
    /// The header contains another sequence number.
    Number {
        /// Number in the header.
        found: u64,
        /// Number of the write.
        wanted: u64,
    },
    /// The time in the header does not match the write.
    Time {
        /// Time in the header in ns.
        found: u64,
        /// The allowed range.
        wanted: (u64, u64),
        /// Sequence number in the header.
        number: u64,
    },
    /// The header is damaged.
    HeaderChecksum {
        /// The stored checksum.
        found: u32,
        /// The calculated checksum.
        calculated: u32,
    },
    /// The data does not match its checksum.
    Checksum {
        /// Number of the method in the header.
        kind: u16,
        /// The stored checksum.
        stored: Vec<u8>,
        /// The calculated checksum.
        calculated: Vec<u8>,
    },
    /// A trimmed range does not read as zeros.
    NotZero {
        /// Position of the first nonzero byte.
        at: usize,
        /// That byte.
        found: u8,
    },
    /// A byte does not match the pattern.
    Pattern {
        /// Position of the byte in the interval.
        at: usize,
        /// The byte.
        found: u8,
        /// Value of the byte in the pattern.
        wanted: u8,
    },
}

/// Size of the largest checksum field in bytes.
const LONGEST_PLACE: usize = 128;

/// Checks a read. The data is unchanged afterwards. With `stops_at_first`, the check ends at the first
/// mismatch.
pub fn check(rule: &Rule, data: &mut [u8], reading: &Reading<'_>, stops_at_first: bool) -> Vec<Mismatch> {
    let sums = match rule.interval_of(reading.write_length) < data.len() && gain_together(rule, 0) {
        true => Sums::of_reads(rule, &[(&*data, reading.write_length)]).pop(),
        false => None,
    };
    check_with(rule, data, reading, stops_at_first, &sums.unwrap_or_default())
}

/// Checks a read with precomputed checksums.
pub fn check_with(
    rule: &Rule,
    data: &mut [u8],
    reading: &Reading<'_>,
    stops_at_first: bool,
    sums: &Sums,
) -> Vec<Mismatch> {
    let mut mismatches = Vec::new();
    if rule.method == Method::Null || data.is_empty() {
        return mismatches;
    }
    // Without headers, the whole write is one interval.
    let interval = match rule.method.has_header() {
        true => rule.interval_of(reading.write_length),
        false => data.len(),
    };
    for (index, part) in data.chunks_mut(interval.max(1)).enumerate() {
        let at = index * interval;
        let offset = reading.offset + at as u64;
        if let Err(problem) = check_interval(rule, part, offset, reading, (sums, index)) {
            mismatches.push(Mismatch { offset, at, length: part.len(), problem });
            if stops_at_first {
                break;
            }
        }
    }
    mismatches
}

/// Checks that a trimmed range reads as zeros.
pub fn check_zeros(data: &[u8], offset: u64) -> Vec<Mismatch> {
    match data.iter().position(|&byte| byte != 0) {
        None => Vec::new(),
        Some(at) => {
            vec![Mismatch {
                offset,
                at: 0,
                length: data.len(),
                problem: Problem::NotZero { at, found: data[at] },
            }]
        }
    }
}

/// Checks a part of a write whose remainder was overwritten: except for headers and checksums, the seed
/// determines each byte. The error contains the positions of the first and last wrong byte in the part, and the
/// number of wrong bytes.
pub fn check_fragment(
    rule: &Rule,
    data: &[u8],
    offset: u64,
    (write, write_length): (&Write, usize),
) -> Result<(), Fragment> {
    let knows_content = rule.pattern.is_some() || rule.checks_seed;
    let into_write = offset.saturating_sub(write.offset) as usize;
    if rule.method == Method::Null || !knows_content || into_write + data.len() > write_length {
        return Ok(());
    }
    let mut wanted = vec![0; data.len()];
    rule.fill_part(&mut wanted, write.seed, write.offset, (into_write, write_length));
    let interval = rule.interval_of(write_length).max(1);
    let room = rule.header_room(HeaderFormat::Current).max(rule.header_room(HeaderFormat::First));
    let header = rule.header_offset as usize;
    let is_stamped = |at: usize| {
        let at = (into_write + at) % interval;
        at < room || (header..header + room).contains(&at)
    };
    let mut wrong = (0..data.len()).filter(|&at| data[at] != wanted[at] && !is_stamped(at));
    let Some(first) = wrong.next() else { return Ok(()) };
    let (mut last, mut bytes) = (first, 1);
    for at in wrong {
        (last, bytes) = (at, bytes + 1);
    }
    Err(Fragment { first, last, bytes, found: data[first], wanted: wanted[first] })
}

/// A mismatch in a part of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Position of the first wrong byte.
    pub first: usize,
    /// Position of the last wrong byte.
    pub last: usize,
    /// Number of wrong bytes.
    pub bytes: usize,
    /// Value of the first wrong byte.
    pub found: u8,
    /// Expected value of the first wrong byte.
    pub wanted: u8,
}

/// Checks an interval; `sums` holds the precomputed checksums and the index of this interval.
fn check_interval(
    rule: &Rule,
    part: &mut [u8],
    offset: u64,
    reading: &Reading<'_>,
    sums: (&Sums, usize),
) -> Result<(), Problem> {
    if !rule.method.has_header() {
        return check_pattern(rule, part, 0, offset, reading);
    }
    let format = rule.format_of(part);
    let room = rule.header_room(format);
    // The content of a short interval without a header may also begin with the magic number.
    let is_content = || reading.expected.is_some() && check_rest(rule, part, offset, reading).is_ok();
    if part.len() < room || rule.has_no_room(part) && is_content() {
        return check_rest(rule, part, offset, reading);
    }
    exchange(rule, part, room);
    let result = check_headed(rule, part, offset, reading, sums);
    exchange(rule, part, room);
    result
}

/// Compares the end of a write, which has no room for a header, with its generated content.
fn check_rest(rule: &Rule, part: &[u8], offset: u64, reading: &Reading<'_>) -> Result<(), Problem> {
    let Some(write) = reading.expected else { return Ok(()) };
    compare_with_content(rule, part, 0, offset, (write.seed, write.offset, reading.write_length))
}

/// Compares a part from byte `from` on with the generated content of a write of this seed, offset and length.
fn compare_with_content(
    rule: &Rule,
    part: &[u8],
    from: usize,
    offset: u64,
    (seed, start, length): (u64, u64, usize),
) -> Result<(), Problem> {
    let at = (offset - start) as usize + from;
    // Bytes beyond the write are not checked, because its content does not determine them.
    let mut wanted = vec![0; part.len().saturating_sub(from).min(length.saturating_sub(at))];
    rule.fill_part(&mut wanted, seed, start, (at, length));
    match part[from..].iter().zip(&wanted).position(|(found, wanted)| found != wanted) {
        None => Ok(()),
        Some(place) => {
            Err(Problem::Pattern { at: from + place, found: part[from + place], wanted: wanted[place] })
        }
    }
}

fn check_headed(
    rule: &Rule,
    part: &[u8],
    offset: u64,
    reading: &Reading<'_>,
    (sums, index): (&Sums, usize),
) -> Result<(), Problem> {
    let Some(header) = Header::decode(part, rule.format) else { return Err(Problem::Magic(0)) };
    check_header(rule, &header, part, offset, reading)?;
    let room = rule.header_room(header.format);
    let Some(data) = part.get(room..) else { return Err(Problem::Length(header.length)) };
    if rule.method == Method::PatternHeader {
        return check_pattern(rule, part, room, offset, reading);
    }
    let place = &part[header.format.length()..room];
    let wrong = |calculated: &[u8]| Problem::Checksum {
        kind: header.kind,
        stored: place[..calculated.len().min(place.len())].to_vec(),
        calculated: calculated.to_vec(),
    };
    if header.kind != rule.method as u16 {
        return Err(wrong(checksum(rule.method, data).bytes()));
    }
    let mut wanted = [0; LONGEST_PLACE];
    let wanted = &mut wanted[..place.len()];
    store(rule.method, header.format, data, sums.after(index, room), wanted);
    if wanted == place {
        // If the stored checksum depends little on the data, the data is compared with the data from the seed.
        return match is_weak(rule.method, header.format) {
            true => check_content(rule, &header, part, offset, reading),
            false => Ok(()),
        };
    }
    let is_stored_otherwise = !is_weak(rule.method, header.format)
        && may_be_stored_otherwise(rule.method)
        && checksum(rule.method, data).is_stored_as(rule.method, place, wanted);
    if is_stored_otherwise { Ok(()) } else { Err(wrong(wanted)) }
}

/// Compares the data after a header with the bytes from its seed or pattern.
fn check_content(
    rule: &Rule,
    header: &Header,
    part: &[u8],
    offset: u64,
    reading: &Reading<'_>,
) -> Result<(), Problem> {
    let room = rule.header_room(header.format);
    if rule.pattern.is_some() {
        return check_pattern(rule, part, room, offset, reading);
    }
    let (start, length) = match reading.expected {
        Some(write) if write.seed == header.seed => (write.offset, reading.write_length),
        _ if rule.interval.is_none() => (offset, part.len()),
        // The content cannot be generated, because the start of the write is unknown.
        _ => return Ok(()),
    };
    compare_with_content(rule, part, room, offset, (header.seed, start, length))
}

/// Checks the fields of a header, in fio's order.
fn check_header(
    rule: &Rule,
    header: &Header,
    part: &[u8],
    offset: u64,
    reading: &Reading<'_>,
) -> Result<(), Problem> {
    let expected = reading.expected;
    if header.magic != MAGIC {
        return Err(Problem::Magic(header.magic));
    }
    if header.length as usize != part.len() {
        return Err(Problem::Length(header.length));
    }
    if let Some(seed) = expected.map(|write| write.seed).or(reading.seed).filter(|_| rule.checks_seed) {
        let wanted = if rule.pattern.is_some() { 0 } else { seed };
        if header.seed != wanted {
            return Err(Problem::Seed { found: header.seed, wanted });
        }
    }
    if header.offset != offset {
        return Err(Problem::Offset(header.offset));
    }
    if let Some(write) = expected.filter(|_| rule.checks_number) {
        let wanted = header.format.number(write.number);
        if header.number != wanted {
            return Err(Problem::Number { found: header.number, wanted });
        }
    }
    let calculated = Header::checksum_of(part, header.format);
    if header.checksum != calculated {
        return Err(Problem::HeaderChecksum { found: header.checksum, calculated });
    }
    // The time is checked last, because it is valid only if the header is undamaged.
    let found = header.time_ns();
    match reading.issued {
        Some(wanted) if !(wanted.0..=wanted.1).contains(&found) => {
            Err(Problem::Time { found, wanted, number: header.number })
        }
        _ => Ok(()),
    }
}

/// Compares the data after the header with the pattern.
fn check_pattern(
    rule: &Rule,
    part: &[u8],
    from: usize,
    offset: u64,
    reading: &Reading<'_>,
) -> Result<(), Problem> {
    let Some(pattern) = &rule.pattern else { return Ok(()) };
    // The pattern covers the whole write, and this is only a part of the write.
    let write_offset = reading.expected.map_or(reading.offset, |write| write.offset);
    let start = (offset - write_offset) as usize;
    let restart = match rule.pattern_interval {
        0 => usize::MAX,
        bytes => bytes as usize,
    };
    let mut expected = Cow::Borrowed(pattern.bytes.as_slice());
    let mut at = from;
    while at < part.len() {
        // Each step compares the remainder of the repetition that contains the byte.
        let place = start + at;
        let section = place / restart * restart;
        let in_pattern = (place - section) % pattern.bytes.len();
        let count = (pattern.bytes.len() - in_pattern)
            .min(part.len() - at)
            .min(section.saturating_add(restart) - place);
        if !pattern.offset_places.is_empty() {
            pattern.place_offsets(expected.to_mut(), |_| write_offset + section as u64);
        }
        let (found, wanted) = (&part[at..at + count], &expected[in_pattern..in_pattern + count]);
        if found != wanted {
            let first = found.iter().zip(wanted).position(|(a, b)| a != b).unwrap_or(0);
            return Err(Problem::Pattern { at: at + first, found: found[first], wanted: wanted[first] });
        }
        at += count;
    }
    Ok(())
}

/// Formats a monotonic time in seconds.
fn seconds(time_ns: u64) -> String {
    format!("{}.{:09}", time_ns / 1_000_000_000, time_ns % 1_000_000_000)
}

impl Mismatch {
    /// Formats the mismatch in fio's words, as lines for standard error. `read` is the read that found it:
    /// offset and length.
    pub fn lines(&self, rule: &Rule, file: &str, read: (u64, usize)) -> Vec<String> {
        let place = format!(
            "at file {file} offset {}, length {} (requested block: offset={}, length={}",
            self.offset, self.length, read.0, read.1
        );
        let header = |text: String| vec![format!("verify: bad {text} {place})")];
        match &self.problem {
            Problem::Magic(found) => header(format!("magic header {found:x}, wanted {MAGIC:x}")),
            Problem::Length(found) => header(format!("header length {found}, wanted {}", self.length)),
            Problem::Seed { found, wanted } => header(format!("header rand_seed {found}, wanted {wanted}")),
            Problem::Offset(found) => header(format!("header offset {found}, wanted {}", self.offset)),
            Problem::Number { found, wanted } => header(format!("header numberio {found}, wanted {wanted}")),
            Problem::Time { found, wanted: (first, last), .. } if first == last => {
                header(format!("header time {}, wanted {}", seconds(*found), seconds(*first)))
            }
            Problem::Time { found, wanted: (first, last), .. } => header(format!(
                "header time {}, wanted {} to {}",
                seconds(*found),
                seconds(*first),
                seconds(*last)
            )),
            Problem::HeaderChecksum { found, calculated } => {
                header(format!("header crc {found:x}, calculated {calculated:x}"))
            }
            Problem::Checksum { kind, stored, calculated } => {
                let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                let word = rule.method.word();
                let mut lines = vec![
                    format!("{word}: verify failed {place}, flags=8)"),
                    format!("       Expected CRC: {}", hex(stored)),
                    format!("       Received CRC: {}", hex(calculated)),
                ];
                if *kind != rule.method as u16 {
                    lines.push(format!(
                        "fio: verify type mismatch ({kind} media, {} given)",
                        rule.method as u16
                    ));
                }
                lines
            }
            Problem::NotZero { at, found } => vec![
                format!("fio: trimmed block holds '{found:02x}' at byte {at}, wanted '00'"),
                format!("trim: verify failed {place}, flags=8)"),
            ],
            Problem::Pattern { at, found, wanted } => vec![
                format!(
                    "fio: got pattern '{found:02x}', wanted '{wanted:02x}'. Bad bits {}",
                    (found ^ wanted).count_ones()
                ),
                format!("fio: bad pattern block offset {at}"),
                format!("{}: verify failed {place}, flags=8)", rule.method.word()),
            ],
        }
    }

    /// True if the header is wrong.
    pub fn is_in_header(&self) -> bool {
        !matches!(self.problem, Problem::Checksum { .. } | Problem::Pattern { .. } | Problem::NotZero { .. })
    }
}
