//! Classifies a bad block.

use crate::checksum::{checksum, is_mere_digest};
use crate::header::{Header, HeaderFormat, MAGIC};
use crate::method::Method;
use crate::rule::Rule;
use crate::stamp::{Write, exchange, stamp_interval};
use serde::{Deserialize, Serialize};

/// Atomic unit of storage in bytes: a torn write changes from new to old at such a boundary.
const SECTOR: usize = 512;
/// Maximum number of wrong bits that count as bit flips; more are damage.
const MOST_FLIPS: usize = 32;

/// The cause of a bad block, as far as the bytes show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "class", rename_all = "snake_case")]
pub enum Verdict {
    /// The block holds only zeros: the write never reached the storage.
    NeverWritten,
    /// The block holds a complete earlier write of the same block instead of the latest.
    Stale {
        /// Sequence number of the write found.
        found_number: u64,
        /// True if another run wrote it.
        #[serde(default)]
        of_another_run: bool,
    },
    /// Some sectors hold the latest write, and the others do not.
    Torn {
        /// Number of 512-byte sectors with the latest data.
        new_sectors: u32,
        /// Number of sectors of the block.
        sectors: u32,
        /// Content of the remaining sectors.
        rest: TornRest,
    },
    /// The block belongs to another offset in the same file.
    Misdirected {
        /// The offset to which it belongs.
        belongs_at: u64,
        /// Sequence number of the write found.
        found_number: u64,
    },
    /// The block belongs to another file or another job.
    WrongFile {
        /// The file to which it belongs, if this job wrote it.
        belongs_to: Option<String>,
        /// The clone that wrote it.
        found_thread: u16,
        /// Offset in that file.
        belongs_at: u64,
    },
    /// The header is intact, but of a block of another size: the data was written with another `bs` or
    /// `verify_interval`.
    OtherLength {
        /// Block size in the header.
        found: u64,
        /// Size of the blocks that are expected.
        wanted: u64,
    },
    /// The header is intact, but of another `verify=`: the data was written by another job.
    OtherMethod {
        /// The method in the header.
        found: Method,
        /// The method that is expected.
        wanted: Method,
    },
    /// Single bits are wrong.
    BitFlips {
        /// Positions of the bits from the start of the block: byte times 8 plus bit, where bit 0 is the lowest.
        bits: Vec<u64>,
    },
    /// A part of the block holds other data.
    Damaged {
        /// First wrong byte of the block.
        first: u64,
        /// Last wrong byte of the block.
        last: u64,
        /// Wrong bytes.
        bytes: u64,
        /// True if all wrong bytes are zero.
        zeroed: bool,
    },
    /// The block is not from a verified job.
    Unrecognised,
}

/// The content of the old sectors of a torn write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TornRest {
    /// An earlier write of the block.
    EarlierWrite,
    /// Zeros.
    Zeros,
    /// Something else.
    Other,
}

/// Names of the classes, in the order of [`Verdict::index`].
pub const CLASSES: [&str; 10] = [
    "never_written",
    "stale",
    "torn",
    "misdirected",
    "wrong_file",
    "other_length",
    "other_method",
    "bit_flips",
    "damaged",
    "unrecognised",
];

impl Verdict {
    /// Returns the index of the class in lists of counters.
    pub fn index(&self) -> usize {
        CLASSES.iter().position(|class| *class == self.class()).unwrap_or(CLASSES.len() - 1)
    }

    /// Returns the name of the class in reports.
    pub fn class(&self) -> &'static str {
        match self {
            Verdict::NeverWritten => "never_written",
            Verdict::Stale { .. } => "stale",
            Verdict::Torn { .. } => "torn",
            Verdict::Misdirected { .. } => "misdirected",
            Verdict::WrongFile { .. } => "wrong_file",
            Verdict::OtherLength { .. } => "other_length",
            Verdict::OtherMethod { .. } => "other_method",
            Verdict::BitFlips { .. } => "bit_flips",
            Verdict::Damaged { .. } => "damaged",
            Verdict::Unrecognised => "unrecognised",
        }
    }

    /// Returns a sentence for reports.
    pub fn sentence(&self) -> String {
        match self {
            Verdict::NeverWritten => "never written: the block holds only zeros".to_owned(),
            Verdict::Stale { found_number, of_another_run: false } => {
                format!("stale generation: the block holds the earlier write number {found_number}")
            }
            Verdict::Stale { found_number, of_another_run: true } => format!(
                "stale generation: the block holds write number {found_number} of another run, and the write of this one is lost"
            ),
            Verdict::Torn { new_sectors, sectors, rest } => {
                let rest = match rest {
                    TornRest::EarlierWrite => "an earlier write",
                    TornRest::Zeros => "zeros",
                    TornRest::Other => "something else",
                };
                format!(
                    "torn write: the write is in {new_sectors} of {sectors} sectors, and in the others {rest}"
                )
            }
            Verdict::Misdirected { belongs_at, found_number } => {
                format!("misdirected write: write number {found_number} for offset {belongs_at} is here")
            }
            Verdict::WrongFile { belongs_to, found_thread, belongs_at } => match belongs_to {
                Some(file) => format!("wrong file: the block belongs to {file} at offset {belongs_at}"),
                None => format!(
                    "wrong file: clone {found_thread} wrote this block for offset {belongs_at} of its own file, or of this one if it \
                     shares it"
                ),
            },
            Verdict::OtherLength { found, wanted } => format!(
                "another block size: the header is for blocks of {found} bytes, this job has {wanted}; set bs \
                and verify_interval as for the write"
            ),
            Verdict::OtherMethod { found, wanted } => format!(
                "another kind of verification: the block was written with verify={}, this job has verify={}; set it as for the write",
                found.word(),
                wanted.word()
            ),
            Verdict::BitFlips { bits } => {
                let places: Vec<String> =
                    bits.iter().take(8).map(|bit| format!("byte {} bit {}", bit / 8, bit % 8)).collect();
                let more = if bits.len() > 8 { ", ..." } else { "" };
                format!("flipped bits: {}: {}{more}", bits.len(), places.join(", "))
            }
            Verdict::Damaged { first, last, bytes, zeroed } => {
                let how = if *zeroed { "zeroed" } else { "overwritten" };
                format!("damaged: {how} bytes: {bytes}, between byte {first} and byte {last} of the block")
            }
            Verdict::Unrecognised => "unrecognised: not a block of a verified job".to_owned(),
        }
    }
}

/// Information on a job's writes other than the expected one.
pub trait History {
    /// Returns the last write before `number` that covered this offset of the file, and its length.
    fn earlier(&self, offset: u64, number: u64) -> Option<(Write, usize)>;

    /// Returns the file of the write with this number and seed, if it is not the file being checked.
    fn other_file(&self, number: u64, seed: u64) -> Option<String>;
}

/// No information.
pub struct NoHistory;

impl History for NoHistory {
    fn earlier(&self, _offset: u64, _number: u64) -> Option<(Write, usize)> {
        None
    }

    fn other_file(&self, _number: u64, _seed: u64) -> Option<String> {
        None
    }
}

/// A mismatching interval.
#[derive(Clone, Copy, Debug)]
pub struct Suspect<'a> {
    /// The data read.
    pub bytes: &'a [u8],
    /// Offset of the data in the file.
    pub offset: u64,
    /// The write whose data should be there, and its length; `None` if the job has not written the data.
    pub expected: Option<(&'a Write, usize)>,
    /// Number of the clone whose data is expected; 0 allows any.
    pub thread: u16,
}

/// Classifies an interval that [`check`](crate::check::check) found wrong.
pub fn classify(rule: &Rule, suspect: &Suspect<'_>, history: &dyn History) -> Verdict {
    if suspect.bytes.iter().all(|&byte| byte == 0) {
        return Verdict::NeverWritten;
    }
    if !rule.method.has_header() {
        return match expected_interval(rule, suspect, None) {
            Some(wanted) => compare(rule, suspect, &wanted, history),
            None => Verdict::Unrecognised,
        };
    }
    let mut bytes = suspect.bytes.to_vec();
    let format = rule.format_of(&bytes);
    exchange(rule, &mut bytes, rule.header_room(format));
    let header = Header::decode(&bytes, rule.format);
    if let Some(header) = header
        && header.is_sound(&bytes)
        && is_whole(rule, &header, &bytes, suspect)
        && let Some(verdict) = displaced(&header, suspect, history)
    {
        return verdict;
    }
    if let Some(header) = header
        && header.is_sound(&bytes)
        && let Some(verdict) = other_method(rule, &header)
    {
        return verdict;
    }
    if let Some(header) = header
        && header.is_sound(&bytes)
        && let Some(verdict) = other_length(&header, suspect, history)
    {
        return verdict;
    }
    // The header that was read may be wrong itself, so only unknown values are taken from it.
    match expected_interval(rule, &Suspect { bytes: &bytes, ..*suspect }, header.as_ref()) {
        Some(mut wanted) => {
            exchange(rule, &mut wanted, rule.header_room(format));
            compare(rule, suspect, &wanted, history)
        }
        None => Verdict::Unrecognised,
    }
}

/// True if the data after a valid header matches the header, so it was written with it.
fn is_whole(rule: &Rule, header: &Header, bytes: &[u8], suspect: &Suspect<'_>) -> bool {
    if header.kind != rule.method as u16 || header.length as usize != bytes.len() {
        return false;
    }
    let Some(write_offset) = write_start(header, suspect) else { return false };
    let write = header.write_at(write_offset);
    let length = suspect.expected.map_or(bytes.len(), |(_, length)| length);
    if rule.method == Method::Meta {
        // The method checks only headers, so the data is not compared.
        return true;
    }
    let made = made_interval(rule, &write, length, header.offset, bytes.len(), header.format, Some(bytes));
    made.is_some_and(|made| made == bytes)
}

/// Recognises a header of another method.
fn other_method(rule: &Rule, header: &Header) -> Option<Verdict> {
    let found = u8::try_from(header.kind).ok().and_then(Method::of_code)?;
    (found != rule.method).then_some(Verdict::OtherMethod { found, wanted: rule.method })
}

/// Recognises a header of another size that does not come from an earlier write of this job.
fn other_length(header: &Header, suspect: &Suspect<'_>, history: &dyn History) -> Option<Verdict> {
    let (found, wanted) = (u64::from(header.length), suspect.bytes.len() as u64);
    let expected = suspect.expected.map_or(u64::MAX, |(write, _)| write.number);
    let earlier = history.earlier(suspect.offset, expected);
    let is_own = earlier.is_some_and(|(write, _)| header.format.number(write.number) == header.number);
    (found != wanted && !is_own).then_some(Verdict::OtherLength { found, wanted })
}

/// Returns the start of the write to which a header's interval belongs, as far as it can be determined: writes
/// of one job have the same length or, if not, the same alignment as the expected one.
fn write_start(header: &Header, suspect: &Suspect<'_>) -> Option<u64> {
    match suspect.expected {
        Some((write, length)) if length > header.length as usize => {
            let part = suspect.offset - write.offset;
            // The other write may be divided into intervals differently, but this is rare.
            let same_place = header.offset.checked_sub(part)?;
            Some(if header.offset == suspect.offset { write.offset } else { same_place })
        }
        _ => Some(header.offset),
    }
}

/// Recognises an intact block that belongs elsewhere or is outdated.
fn displaced(header: &Header, suspect: &Suspect<'_>, history: &dyn History) -> Option<Verdict> {
    let foreign = suspect.thread != 0 && header.thread != suspect.thread;
    let elsewhere = history.other_file(header.number, header.seed);
    if foreign || elsewhere.is_some() {
        return Some(Verdict::WrongFile {
            belongs_to: elsewhere,
            found_thread: header.thread,
            belongs_at: header.offset,
        });
    }
    if header.offset != suspect.offset {
        return Some(Verdict::Misdirected { belongs_at: header.offset, found_number: header.number });
    }
    let (write, _) = suspect.expected?;
    let is_other = header.number != header.format.number(write.number) || header.seed != write.seed;
    is_other.then_some(Verdict::Stale { found_number: header.number, of_another_run: false })
}

/// Returns the expected interval, including its header; the layout and the time of the write come from `found`.
fn expected_interval(rule: &Rule, suspect: &Suspect<'_>, found: Option<&Header>) -> Option<Vec<u8>> {
    let length = suspect.bytes.len();
    // A header with one or two damaged fields is still regarded as the header of this write.
    let resembles = |header: &&Header| {
        let (seed, number) = suspect.expected.map_or((0, 0), |(write, _)| (write.seed, write.number));
        let alike =
            [header.seed == seed && seed != 0, header.offset == suspect.offset, header.number == number];
        header.magic == MAGIC || alike.iter().filter(|is_alike| **is_alike).count() >= 2
    };
    let sound = found.filter(resembles);
    match suspect.expected {
        Some((write, write_length)) => {
            let time = sound.map_or(write.time, |header| (header.seconds, header.nanoseconds));
            let format = sound.map_or(rule.format, |header| header.format);
            let made = |write: &Write| {
                made_interval(rule, write, write_length, suspect.offset, length, format, Some(suspect.bytes))
            };
            let wanted = made(&Write { time, ..*write })?;
            let other = sound.filter(|header| {
                !rule.checks_seed && header.seed != write.seed && header.is_sound(suspect.bytes)
            });
            // If any seed is allowed, the block's own seed is used if it matches more of its bytes.
            let Some(other) = other.and_then(|header| made(&header.write_at(write.offset))) else {
                return Some(wanted);
            };
            let differences = |made: &[u8]| suspect.bytes.iter().zip(made).filter(|(a, b)| a != b).count();
            Some(if differences(&other) < differences(&wanted) { other } else { wanted })
        }
        // The write is unknown, so only a valid header can show what was written.
        None => {
            let (found, mended) = (sound?, mended_header(suspect.bytes, sound?));
            let header = mended.as_ref().unwrap_or(found);
            let write = header.write_at(suspect.offset);
            let made = made_interval(
                rule,
                &write,
                length,
                suspect.offset,
                length,
                header.format,
                Some(suspect.bytes),
            )?;
            // The seed of a damaged header is used only if the data matches it.
            let is_known = mended.is_some() || has_data_of(rule, suspect.bytes, &made, header.format);
            is_known.then_some(made)
        }
    }
}

/// Corrects one byte of a header, if the header is valid afterwards.
fn mended_header(bytes: &[u8], header: &Header) -> Option<Header> {
    if header.is_sound(bytes) {
        return Some(*header);
    }
    let mut fields = bytes.get(..header.format.length())?.to_vec();
    let stored = header.checksum;
    for at in 0..header.format.covered() {
        let byte = fields[at];
        for other in 0..=u8::MAX {
            fields[at] = other;
            if Header::checksum_of(&fields, header.format) == stored {
                return Header::decode(&fields, header.format);
            }
        }
        fields[at] = byte;
    }
    None
}

/// True if all bytes after the header are as expected.
fn has_data_of(rule: &Rule, bytes: &[u8], wanted: &[u8], format: HeaderFormat) -> bool {
    let room = rule.header_room(format);
    bytes.get(room..).is_some_and(|data| Some(data) == wanted.get(room..))
}

/// Generates one interval of a write, including its header. Unused bytes are those of `like`.
fn made_interval(
    rule: &Rule,
    write: &Write,
    write_length: usize,
    offset: u64,
    length: usize,
    format: HeaderFormat,
    like: Option<&[u8]>,
) -> Option<Vec<u8>> {
    let start = usize::try_from(offset.checked_sub(write.offset)?).ok()?;
    let mut part = vec![0; length];
    rule.fill_part(
        &mut part,
        write.seed,
        write.offset,
        (start, write_length.max(start.checked_add(length)?)),
    );
    if rule.method.has_header() {
        let rule = Rule { format, ..rule.clone() };
        const MEANINGLESS: std::ops::Range<usize> = 42..44;
        if format == HeaderFormat::Current
            && let Some(bytes) = like.and_then(|bytes| bytes.get(MEANINGLESS))
            && part.len() >= format.length()
        {
            part[MEANINGLESS].copy_from_slice(bytes);
        }
        stamp_interval(&rule, &mut part, write, offset, None);
        let place = format.length()..rule.header_room(format);
        let is_old = |bytes: &[u8]| {
            bytes.get(place.clone()).is_some_and(|place| is_mere_digest(rule.method, format, place))
        };
        if part.len() >= place.end && like.is_some_and(is_old) {
            let (front, data) = part.split_at_mut(place.end);
            let sum = checksum(rule.method, data);
            front[place.clone()].fill(0);
            front[place.start..place.start + sum.bytes().len()].copy_from_slice(sum.bytes());
        }
    }
    Some(part)
}

/// Compares bytes with the expected ones. Both have the form in which they are stored on the device.
fn compare(rule: &Rule, suspect: &Suspect<'_>, wanted: &[u8], history: &dyn History) -> Verdict {
    let found = suspect.bytes;
    let differences: Vec<usize> = (0..found.len()).filter(|&at| found[at] != wanted[at]).collect();
    let (Some(&first), Some(&last)) = (differences.first(), differences.last()) else {
        // Only the time of the header can be wrong, and it is not recorded elsewhere: one of its bits and the
        // checksum disagree.
        return Verdict::Unrecognised;
    };
    if let Some(bits) = flips(rule, found, wanted, &differences) {
        return Verdict::BitFlips { bits };
    }
    if let Some(torn) = torn(rule, suspect, wanted, history) {
        return torn;
    }
    if differences.len() * 2 > found.len()
        && Header::decode(found, rule.format).is_none_or(|header| header.magic != MAGIC)
    {
        return Verdict::Unrecognised;
    }
    Verdict::Damaged {
        first: first as u64,
        last: last as u64,
        bytes: differences.len() as u64,
        zeroed: differences.iter().all(|&at| found[at] == 0),
    }
}

/// Returns the flipped bits, if there are only a few.
fn flips(rule: &Rule, found: &[u8], wanted: &[u8], differences: &[usize]) -> Option<Vec<u64>> {
    let bits: Vec<u64> = differences
        .iter()
        .flat_map(|&at| {
            (0..8)
                .filter(move |bit| (found[at] ^ wanted[at]) >> bit & 1 == 1)
                .map(move |bit| (at * 8 + bit) as u64)
        })
        .take(MOST_FLIPS + 1)
        .collect();
    // A flipped bit in the time of a header shows as a wrong checksum, because the expected header has the same
    // time.
    let format = rule.format_of(found);
    let base = rule.header_offset as usize;
    let checksum = base + format.length() - 4..base + format.length();
    if rule.method.has_header()
        && differences.iter().all(|at| checksum.contains(at))
        && bits.len() > 1
        && let Some(bit) =
            single_flip_in_header(&found[base.min(found.len())..], format).map(|bit| bit + base as u64 * 8)
    {
        return Some(vec![bit]);
    }
    (bits.len() <= MOST_FLIPS).then_some(bits)
}

/// Returns the single bit of a header whose inversion makes its checksum right.
fn single_flip_in_header(found: &[u8], format: HeaderFormat) -> Option<u64> {
    let mut header = found.get(..format.length())?.to_vec();
    let stored = Header::decode(&header, format)?.checksum;
    (0..(format.length() - 4) * 8).map(|bit| bit as u64).find(|&bit| {
        let (at, mask) = ((bit / 8) as usize, 1 << (bit % 8));
        header[at] ^= mask;
        let fits = Header::checksum_of(&header, format) == stored;
        header[at] ^= mask;
        fits
    })
}

/// Recognises a torn block, of which some sectors are as expected and others are not.
fn torn(rule: &Rule, suspect: &Suspect<'_>, wanted: &[u8], history: &dyn History) -> Option<Verdict> {
    let found = suspect.bytes;
    let sectors = found.len().div_ceil(SECTOR);
    let is_new: Vec<bool> = found.chunks(SECTOR).zip(wanted.chunks(SECTOR)).map(|(a, b)| a == b).collect();
    let new_sectors = is_new.iter().filter(|&&new| new).count();
    if new_sectors == 0 || new_sectors == sectors {
        return None;
    }
    let old: Vec<(usize, &[u8])> =
        found.chunks(SECTOR).enumerate().filter(|(index, _)| !is_new[*index]).collect();
    let zeros = old.iter().all(|(_, sector)| sector.iter().all(|&byte| byte == 0));
    let earlier = suspect
        .expected
        .and_then(|(write, _)| history.earlier(suspect.offset, write.number))
        .and_then(|(write, length)| earlier_bytes(rule, suspect, &write, length));
    let matches_earlier = earlier.is_some_and(|earlier| {
        old.iter().all(|(index, sector)| {
            let from = index * SECTOR;
            // The first sector of the earlier write contains its header, whose time is unknown.
            let holds_header = from == rule.header_offset as usize / SECTOR * SECTOR;
            let skipped = if holds_header {
                rule.header_offset as usize - from + HeaderFormat::Current.length()
            } else {
                0
            };
            earlier.get(from + skipped..from + sector.len()) == sector.get(skipped..)
        })
    });
    let rest = match (zeros, matches_earlier) {
        (true, _) => TornRest::Zeros,
        (_, true) => TornRest::EarlierWrite,
        // Sectors are regarded as replaced if each differs over its whole length.
        _ if old.iter().all(|(index, sector)| is_replaced(sector, &wanted[index * SECTOR..])) => {
            TornRest::Other
        }
        _ => return None,
    };
    Some(Verdict::Torn { new_sectors: new_sectors as u32, sectors: sectors as u32, rest })
}

fn earlier_bytes(rule: &Rule, suspect: &Suspect<'_>, write: &Write, length: usize) -> Option<Vec<u8>> {
    let format = rule.format_of(suspect.bytes);
    let mut bytes = made_interval(rule, write, length, suspect.offset, suspect.bytes.len(), format, None)?;
    exchange(rule, &mut bytes, rule.header_room(format));
    Some(bytes)
}

/// True if hardly any byte of the sector is as expected.
fn is_replaced(sector: &[u8], wanted: &[u8]) -> bool {
    let same = sector.iter().zip(wanted).filter(|(a, b)| a == b).count();
    same * 8 < sector.len()
}
