//! Reads and writes the lines of fio's I/O logs, versions 2 and 3.
//!
//! ```text
//! fio version 3 iolog
//! 48 /dev/sdx add
//! 209 /dev/sdx open
//! 216 /dev/sdx write 28672 4096
//! 81953 /dev/sdx close
//! ```
//!
//! Version 3 begins each line with the microseconds since the start of the job. Version 2 has no times, but
//! lines `FILE wait N 0`, which delay all following I/Os until N milliseconds after the start.

use crate::entry::Action;
use std::io::Write;

/// First line of logs that fathom writes.
pub const HEADER: &str = "fio version 3 iolog";
/// First line of logs of the previous version.
const HEADER_2: &[u8] = b"fio version 2 iolog";

/// The versions that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Version 2: lines have no times.
    Two,
    /// Version 3: lines begin with times.
    Three,
}

/// Returns the version that a first line declares.
pub fn version_of(line: &[u8]) -> Option<Version> {
    match line.trim_ascii() {
        HEADER_2 => Some(Version::Two),
        line if line == HEADER.as_bytes() => Some(Version::Three),
        _ => None,
    }
}

/// The content of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// The line only names a file that is added, opened or closed.
    Names,
    /// The line delays the following I/Os until this many milliseconds after the start.
    WaitUntilMs(u64),
    /// The line is an I/O: action, offset, length.
    Io(Action, u64, u64),
}

/// A parsed line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Time in microseconds since the start of the job; 0 in version 2.
    pub time_us: u64,
    /// The file.
    pub file: &'a str,
    /// The content of the line.
    pub said: Said,
}

/// The reason for which a line is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLine<'a> {
    /// The fields of the line are wrong.
    Form(&'static str),
    /// Unknown action.
    Action(&'a [u8]),
    /// A line with a wait occurs in a version with times.
    Wait,
}

/// Parses a line; `None` for a blank line.
pub fn parse<'a>(line: &'a [u8], version: Version) -> Option<Result<Line<'a>, BadLine<'a>>> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let first = words.next()?;
    Some(parse_words(first, words, version))
}

fn parse_words<'a>(
    first: &'a [u8],
    mut words: impl Iterator<Item = &'a [u8]>,
    version: Version,
) -> Result<Line<'a>, BadLine<'a>> {
    let (time_us, file) = match version {
        Version::Two => (0, Some(first)),
        Version::Three => {
            (number(first).ok_or(BadLine::Form("it must begin with a time in us"))?, words.next())
        }
    };
    let file = file.ok_or(BadLine::Form("it names no file"))?;
    let file = std::str::from_utf8(file).map_err(|_| BadLine::Form("the file name is not UTF-8"))?;
    let action = words.next().ok_or(BadLine::Form("it has no action"))?;
    let said = match action {
        b"add" | b"open" | b"close" => Said::Names,
        b"wait" if version == Version::Three => return Err(BadLine::Wait),
        b"wait" => {
            let until = words.next().and_then(number);
            Said::WaitUntilMs(until.ok_or(BadLine::Form("wait needs a time in ms"))?)
        }
        word => {
            let action = Action::of_word(word).ok_or(BadLine::Action(word))?;
            let offset = words.next().and_then(number).ok_or(BadLine::Form("it has no offset"))?;
            let length = words.next().and_then(number).ok_or(BadLine::Form("it has no length"))?;
            // A trim moves no data, so its length may exceed 32 bits.
            let most = if action == Action::Trim { u64::MAX } else { u64::from(i32::MAX as u32) };
            match (action.is_sync(), length) {
                (true, _) => Said::Io(action, offset, 0),
                (false, 0) => return Err(BadLine::Form("it moves no bytes")),
                (false, length) if length > most => return Err(BadLine::Form("it is longer than 2 GiB")),
                (false, length) if offset.checked_add(length).is_none_or(|end| end > i64::MAX as u64) => {
                    return Err(BadLine::Form("it ends beyond the largest possible offset"));
                }
                (false, length) => Said::Io(action, offset, length),
            }
        }
    };
    Ok(Line { time_us, file, said })
}

/// Parses a decimal number; `None` if it does not fit.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |sum, digit| {
        let value = digit.wrapping_sub(b'0');
        if value > 9 { None } else { sum.checked_mul(10)?.checked_add(u64::from(value)) }
    })
}

/// Appends a line without offset and length: `add`, `open`, `close`.
pub fn write_file_line(out: &mut Vec<u8>, time_us: u64, file: &str, word: &str) {
    // The result is ignored, because writing to memory cannot fail.
    let _ = writeln!(out, "{time_us} {file} {word}");
}

/// Appends the line of an I/O.
pub fn write_io_line(out: &mut Vec<u8>, time_us: u64, file: &str, word: &str, offset: u64, length: u32) {
    let _ = writeln!(out, "{time_us} {file} {word} {offset} {length}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(line: &str, version: Version) -> Said {
        parse(line.as_bytes(), version).expect("not blank").expect("a good line").said
    }

    #[test]
    fn lines_of_both_versions() {
        assert_eq!(version_of(b"fio version 2 iolog\n"), Some(Version::Two));
        assert_eq!(version_of(b"fio version 3 iolog\r\n"), Some(Version::Three));
        assert_eq!(version_of(b"fio version 1 iolog\n"), None);
        assert_eq!(said("/dev/a add\n", Version::Two), Said::Names);
        assert_eq!(said("/dev/a wait 300 0", Version::Two), Said::WaitUntilMs(300));
        assert_eq!(said("/dev/a read 4096 512", Version::Two), Said::Io(Action::Read, 4096, 512));
        assert_eq!(said("7 a sync 4096 0", Version::Three), Said::Io(Action::Sync, 4096, 0));
        let line = parse(b" 17\ta trim 0 65536 more", Version::Three).expect("not blank").expect("good");
        assert_eq!((line.time_us, line.file), (17, "a"));
        assert!(parse(b"  \n", Version::Two).is_none());
    }

    #[test]
    fn bad_lines_say_why() {
        let bad = |line: &'static str, version| {
            parse(line.as_bytes(), version).expect("not blank").expect_err("bad")
        };
        assert_eq!(bad("a frob 0 1", Version::Two), BadLine::Action(b"frob"));
        assert_eq!(bad("1 a wait 0 1", Version::Three), BadLine::Wait);
        for line in [
            "foo",
            "1",
            "1 a",
            "1 a read",
            "1 a read 0",
            "1 a read 0 0",
            "1 a read 0 9999999999",
            "1 a write -1 7",
        ] {
            assert!(matches!(bad(line, Version::Three), BadLine::Form(_)), "{line}");
        }
        assert!(matches!(bad("1 a write 9223372036854775807 512", Version::Three), BadLine::Form(_)));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(time in any::<u64>(), offset in 0..i64::MAX as u64 - (1 << 31), length in 1..1u32 << 31) {
            let mut text = Vec::new();
            write_io_line(&mut text, time, "/a:b", "write", offset, length);
            let line = parse(&text, Version::Three).expect("not blank").expect("good");
            prop_assert_eq!(line, Line { time_us: time, file: "/a:b", said: Said::Io(Action::Write, offset, u64::from(length)) });
        }

        #[test]
        fn any_bytes_are_a_line_or_not(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            for version in [Version::Two, Version::Three] {
                let _ = parse(&bytes, version);
            }
        }
    }
}
