//! The default output of blkparse.
//!
//! ```text
//!   8,0    3        1     0.000000000   697  Q   W 223490 + 8 [kjournald]
//!   8,0    3        5     0.000251000   697  D   W 223490 + 8 [kjournald]
//!   8,0    1        9     0.004023000     0  C   W 223490 + 8 [0]
//! ```
//!
//! Each line has the device, processor, sequence number, time in s since the start, process ID, action, letters
//! of the operation, and a range of 512-byte sectors. Tables of totals follow the last event.

use super::Said;
use super::fields::{decimal, number};
use crate::blktrace::{Event, SECTOR, code};
use crate::names::Device;

pub(super) fn parse(line: &str) -> Result<Said<'_>, &'static str> {
    if line.starts_with("CPU") || line.starts_with("Total (") {
        return Ok(Said::End);
    }
    let mut words = line.split_ascii_whitespace();
    let mut word = || words.next().unwrap_or_default();
    let device = word()
        .split_once(',')
        .and_then(|(major, minor)| Some(Device { major: small(major)?, minor: small(minor)? }));
    let device = device.ok_or("it does not begin with a device such as 8,0")?;
    let cpu = small(word()).ok_or("its processor is not a number")?;
    let _number = word();
    let time_ns = decimal(word(), 1_000_000_000).ok_or("its time is not a number of seconds")?;
    let pid = small(word()).ok_or("its process id is not a number")?;
    let (action, letters) = (word(), word());
    let code = match action {
        "Q" => code::QUEUE,
        "M" => code::BACK_MERGE,
        "F" => code::FRONT_MERGE,
        "I" => code::INSERT,
        "D" => code::ISSUE,
        "C" => code::COMPLETE,
        "R" => code::REQUEUE,
        "X" => code::SPLIT,
        "m" => {
            let event = Event { time_ns, pid, device, cpu, ..Event::of_code(code::MESSAGE) };
            return Ok(Said::Event(event, after_words(line, 7)));
        }
        // Actions such as allocation, remapping and plugging do not move a request.
        "A" | "B" | "G" | "P" | "S" | "T" | "U" | "UT" | "W" => return Ok(Said::Nothing),
        _ => return Err("its action is unknown"),
    };
    let event =
        Event { time_ns, pid, device, cpu, ..Event::of_code(code | code::categories(letters.as_bytes())) };
    let (sector, bytes, error) = place(&mut words)?;
    Ok(Said::Event(Event { sector, bytes, error, ..event }, ""))
}

/// Parses sector, bytes and error number: `223490 + 8 [0]`, `0 [0]` or `[0]`. Other events have a name in the
/// brackets.
fn place<'a>(words: &mut impl Iterator<Item = &'a str>) -> Result<(u64, u32, u16), &'static str> {
    let (mut sector, mut sectors) = (0, 0);
    let mut next = words.next();
    if let Some(word) = next.filter(|word| !word.starts_with('[')) {
        sector = number(word).ok_or("its sector is not a number")?;
        next = words.next();
        if let Some("+" | "/") = next {
            sectors = words.next().and_then(number).ok_or("its number of sectors is not a number")?;
            next = words.next();
        }
    }
    let bytes = u32::try_from(sectors.saturating_mul(SECTOR)).map_err(|_| "it is longer than 4 GiB")?;
    let bracket = next.and_then(|word| word.strip_prefix('[')?.strip_suffix(']'));
    let error = bracket.and_then(|word| word.parse::<i64>().ok()).unwrap_or(0);
    let error = u16::try_from(error.unsigned_abs()).unwrap_or(u16::MAX);
    // blkparse prints the error without its sign.
    Ok((sector, bytes, if error > i16::MAX as u16 { error.wrapping_neg() } else { error }))
}

fn small(text: &str) -> Option<u32> {
    number(text).and_then(|number| u32::try_from(number).ok())
}

/// Returns the rest of a line after this many words.
fn after_words(line: &str, words: usize) -> &str {
    (0..words).fold(line.trim_ascii_start(), |rest, _| {
        let end = rest.find(|letter: char| letter.is_ascii_whitespace()).unwrap_or(rest.len());
        rest[end..].trim_ascii_start()
    })
}
