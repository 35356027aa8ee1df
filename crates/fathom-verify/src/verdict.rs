//! Classifies a bad block.

use crate::checksum::{checksum, is_mere_digest};
use crate::header::{Header, HeaderFormat, MAGIC};
use crate::method::Method;
use crate::rule::Rule;
use crate::stamp::{Write, exchange, stamp_interval};
use serde::{Deserialize, Serialize};

/// Atomic unit of storage: a torn write changes from new to old at such a boundary.
const SECTOR: usize = 512;
/// More flipped bits than this count as damage.
const MOST_FLIPS: usize = 32;

/// The cause, as far as the bytes show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "class", rename_all = "snake_case")]
pub enum Verdict {
    /// Only zeros: the write never reached the storage.
    NeverWritten,
    /// A complete earlier write of the same block, instead of the latest.
    Stale {
        /// Sequence number of the write found.
        found_number: u64,
        /// True if another run wrote it.
        #[serde(default)]
        of_another_run: bool,
    },
    /// Some sectors hold the latest write, the others do not.
    Torn {
        /// Sectors of 512 bytes with the latest data.
        new_sectors: u32,
        /// All sectors of the block.
        sectors: u32,
        /// Content of the remaining sectors.
        rest: TornRest,
    },
    /// A block from another offset in the same file.
    Misdirected {
        /// Its intended offset.
        belongs_at: u64,
        /// Its sequence number.
        found_number: u64,
    },
    /// A block of another file, or of another job.
    WrongFile {
        /// The file it belongs to, if this job wrote it.
        belongs_to: Option<String>,
        /// The clone that wrote it.
        found_thread: u16,
        /// Its offset in that file.
        belongs_at: u64,
    },
    /// An intact header of a block of another size: the data was written with another `bs` or
    /// `verify_interval`.
    OtherLength {
        /// Block size in the header.
        found: u64,
        /// Size of the blocks that are checked.
        wanted: u64,
    },
    /// An intact header of another `verify=`: the data was written by another job.
    OtherMethod {
        /// The kind in the header.
        found: Method,
        /// The kind that is checked.
        wanted: Method,
    },
    /// Single bits are wrong.
    BitFlips {
        /// Their positions, from the first bit of the block: byte times 8 plus bit, the lowest bit being 0.
        bits: Vec<u64>,
    },
    /// Other data in a part of the block.
    Damaged {
        /// First wrong byte of the block.
        first: u64,
        /// Last wrong byte of the block.
        last: u64,
        /// Wrong bytes.
        bytes: u64,
        /// All wrong bytes are zero.
        zeroed: bool,
    },
    /// Not a block of a verified job.
    Unrecognised,
}

/// Content of the old sectors of a torn write.
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
    /// Index of the class in lists of counters.
    pub fn index(&self) -> usize {
        CLASSES.iter().position(|class| *class == self.class()).unwrap_or(CLASSES.len() - 1)
    }

    /// The name of the class in reports.
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

    /// A sentence for reports.
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
    /// The last write before `number` that covered this place of the file, and its length.
    fn earlier(&self, offset: u64, number: u64) -> Option<(Write, usize)>;

    /// The file of the write with this number and seed if it is not the file being checked.
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
    /// First byte in the file.
    pub offset: u64,
    /// The write that should be there, and its length; `None` if the job has not written it.
    pub expected: Option<(&'a Write, usize)>,
    /// Number of the clone whose data is expected; 0 for any.
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
    // A header that was read may be wrong itself; only unknown values are taken from it.
    match expected_interval(rule, &Suspect { bytes: &bytes, ..*suspect }, header.as_ref()) {
        Some(mut wanted) => {
            exchange(rule, &mut wanted, rule.header_room(format));
            compare(rule, suspect, &wanted, history)
        }
        None => Verdict::Unrecognised,
    }
}

/// True if the data after a valid header matches the header: it was written that way.
fn is_whole(rule: &Rule, header: &Header, bytes: &[u8], suspect: &Suspect<'_>) -> bool {
    if header.kind != rule.method as u16 || header.length as usize != bytes.len() {
        return false;
    }
    let Some(write_offset) = write_start(header, suspect) else { return false };
    let write = header.write_at(write_offset);
    let length = suspect.expected.map_or(bytes.len(), |(_, length)| length);
    if rule.method == Method::Meta {
        // Only headers are checked.
        return true;
    }
    let made = made_interval(rule, &write, length, header.offset, bytes.len(), header.format, Some(bytes));
    made.is_some_and(|made| made == bytes)
}

/// A header of another kind.
fn other_method(rule: &Rule, header: &Header) -> Option<Verdict> {
    let found = u8::try_from(header.kind).ok().and_then(Method::of_code)?;
    (found != rule.method).then_some(Verdict::OtherMethod { found, wanted: rule.method })
}

/// A header of another size that does not come from an earlier write of this job.
fn other_length(header: &Header, suspect: &Suspect<'_>, history: &dyn History) -> Option<Verdict> {
    let (found, wanted) = (u64::from(header.length), suspect.bytes.len() as u64);
    let expected = suspect.expected.map_or(u64::MAX, |(write, _)| write.number);
    let earlier = history.earlier(suspect.offset, expected);
    let is_own = earlier.is_some_and(|(write, _)| header.format.number(write.number) == header.number);
    (found != wanted && !is_own).then_some(Verdict::OtherLength { found, wanted })
}

/// First byte of the write that a header's interval belongs to, as far as it can be determined: writes of one
/// job have the same length or, if not, the same alignment as the expected one.
fn write_start(header: &Header, suspect: &Suspect<'_>) -> Option<u64> {
    match suspect.expected {
        Some((write, length)) if length > header.length as usize => {
            let part = suspect.offset - write.offset;
            // The other write may be divided into intervals differently, but usually is not.
            let same_place = header.offset.checked_sub(part)?;
            Some(if header.offset == suspect.offset { write.offset } else { same_place })
        }
        _ => Some(header.offset),
    }
}

/// An intact block that does not belong here, or is outdated.
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

/// The expected interval, including its header; the layout and the time of the write come from `found`.
fn expected_interval(rule: &Rule, suspect: &Suspect<'_>, found: Option<&Header>) -> Option<Vec<u8>> {
    let length = suspect.bytes.len();
    // A header with one or two damaged fields is still the header of this write.
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
            // If any seed is allowed, the block's own is used if it matches more of its bytes.
            let Some(other) = other.and_then(|header| made(&header.write_at(write.offset))) else {
                return Some(wanted);
            };
            let differences = |made: &[u8]| suspect.bytes.iter().zip(made).filter(|(a, b)| a != b).count();
            Some(if differences(&other) < differences(&wanted) { other } else { wanted })
        }
        // Only the header itself, if it is valid, shows what was written.
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
            // The seed of a broken header is used only if the data matches it.
            let is_known = mended.is_some() || has_data_of(rule, suspect.bytes, &made, header.format);
            is_known.then_some(made)
        }
    }
}

/// A header with one byte corrected, if that makes it valid.
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

/// Compares bytes with those expected. Both are as stored on the device.
fn compare(rule: &Rule, suspect: &Suspect<'_>, wanted: &[u8], history: &dyn History) -> Verdict {
    let found = suspect.bytes;
    let differences: Vec<usize> = (0..found.len()).filter(|&at| found[at] != wanted[at]).collect();
    let (Some(&first), Some(&last)) = (differences.first(), differences.last()) else {
        // Only its time can be wrong, which nothing else records: one of its bits and its checksum disagree.
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

/// The flipped bits, if they are few.
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
    // A flip in the time of a header shows as a wrong checksum of the header made with that time.
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

/// The single bit of a header whose inversion makes its checksum right.
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

/// Some sectors as expected, others not.
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
            // The header of the earlier write has an unknown time, in its first sector.
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
        // Whole sectors that are all wrong: each differs over its whole length.
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

/// True if almost no byte of the sector is as expected.
fn is_replaced(sector: &[u8], wanted: &[u8]) -> bool {
    let same = sector.iter().zip(wanted).filter(|(a, b)| a == b).count();
    same * 8 < sector.len()
}
