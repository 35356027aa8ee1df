//! One line of a bandwidth, IOPS or latency log.
//!
//! `msec, value[, second value], direction, block size, [offset,] priority[, issue time]`, separated by a comma and a space.
//! Older versions of fio omit the priority; such lines are also accepted.

use serde::{Deserialize, Serialize};

/// A value with its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Milliseconds since the job started recording, or by another clock (`log_alternate_epoch`).
    pub time_ms: u64,
    /// KiB/s, IOPS or ns.
    pub value: u64,
    /// The maximum in addition to the mean (`log_window_value=both`); 0 for an individual I/O.
    pub maximum: Option<u64>,
    /// 0 read, 1 write, 2 trim.
    pub direction: u8,
    /// Bytes; 0 in averages.
    pub block_size: u64,
    /// First byte in the file (`log_offset`).
    pub offset: Option<u64>,
    /// The kernel's `ioprio` value.
    pub priority: u16,
    /// Time of issue, ns since the job started recording (`log_issue_time`).
    pub issue_ns: Option<u64>,
}

/// Optional columns of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Columns {
    /// Second value.
    pub maximum: bool,
    /// Offset of the I/O.
    pub offset: bool,
    /// The whole priority in hexadecimal instead of a flag for the real-time class.
    pub whole_priority: bool,
    /// Issue time.
    pub issue_time: bool,
}

/// The real-time class, marked by the priority flag of a log.
const REAL_TIME: u16 = 1;
/// Position of the class in an `ioprio` value.
const CLASS_SHIFT: u32 = 13;

/// Appends a number in decimal.
pub(crate) fn push_number(line: &mut Vec<u8>, number: u64) {
    line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn push_next(line: &mut Vec<u8>, number: u64) {
    line.extend_from_slice(b", ");
    push_number(line, number);
}

impl Entry {
    /// Appends the line to `text`.
    pub fn write_line(&self, columns: Columns, text: &mut Vec<u8>) {
        self.write_before_value(text);
        push_number(text, self.value);
        self.write_after_value(columns, text);
    }

    pub(crate) fn write_before_value(&self, text: &mut Vec<u8>) {
        push_number(text, self.time_ms);
        text.extend_from_slice(b", ");
    }

    pub(crate) fn write_after_value(&self, columns: Columns, text: &mut Vec<u8>) {
        if let Some(maximum) = self.maximum {
            push_next(text, maximum);
        }
        push_next(text, u64::from(self.direction));
        push_next(text, self.block_size);
        if let Some(offset) = self.offset {
            push_next(text, offset);
        }
        if columns.whole_priority {
            text.extend_from_slice(format!(", 0x{:04x}", self.priority).as_bytes());
        } else {
            let flag: &[u8] = if self.priority >> CLASS_SHIFT == REAL_TIME { b", 1" } else { b", 0" };
            text.extend_from_slice(flag);
        }
        if let Some(issue_ns) = self.issue_ns {
            push_next(text, issue_ns);
        }
        text.push(b'\n');
    }

    /// Parses a line with these columns; `None` if it is invalid. A flag becomes the highest priority of the
    /// real-time class.
    pub fn parse(line: &str, columns: Columns) -> Option<Entry> {
        let mut fields = line.trim_end().split(", ");
        let mut number = || fields.next()?.trim().parse::<u64>().ok();
        let time_ms = number()?;
        let value = number()?;
        let maximum = if columns.maximum { Some(number()?) } else { None };
        let direction = u8::try_from(number()?).ok().filter(|direction| *direction < 3)?;
        let block_size = number()?;
        let offset = if columns.offset { Some(number()?) } else { None };
        let priority = match fields.next() {
            None => 0,
            Some(text) => parse_priority(text.trim())?,
        };
        let issue_ns = if columns.issue_time { Some(fields.next()?.trim().parse().ok()?) } else { None };
        if fields.next().is_some() {
            return None;
        }
        Some(Entry { time_ms, value, maximum, direction, block_size, offset, priority, issue_ns })
    }
}

fn parse_priority(text: &str) -> Option<u16> {
    match (text, text.strip_prefix("0x")) {
        (_, Some(digits)) => u16::from_str_radix(digits, 16).ok(),
        ("1", None) => Some(REAL_TIME << CLASS_SHIFT),
        ("0", None) => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(entry: Entry, columns: Columns) -> String {
        let mut text = Vec::new();
        entry.write_line(columns, &mut text);
        String::from_utf8(text).expect("ASCII")
    }

    #[test]
    fn lines_have_fios_columns() {
        let all = Columns { maximum: false, offset: true, whole_priority: true, issue_time: true };
        let mut entry = Entry { value: 153_105, block_size: 4096, ..Entry::default() };
        assert_eq!(line(entry, Columns::default()), "0, 153105, 0, 4096, 0\n");
        entry.offset = Some(28_672);
        entry.issue_ns = Some(213_044);
        assert_eq!(line(entry, all), "0, 153105, 0, 4096, 28672, 0x0000, 213044\n");
        let averaged = Entry {
            time_ms: 500,
            value: 65_393,
            maximum: Some(213_129),
            direction: 1,
            priority: REAL_TIME << CLASS_SHIFT | 2,
            ..Entry::default()
        };
        assert_eq!(line(averaged, Columns::default()), "500, 65393, 213129, 1, 0, 1\n");
    }

    #[test]
    fn old_and_broken_lines() {
        let read = |text: &str| Entry::parse(text, Columns::default());
        assert_eq!(
            read("10, 5, 1, 4096"),
            Some(Entry { time_ms: 10, value: 5, direction: 1, block_size: 4096, ..Entry::default() })
        );
        for broken in
            ["", "1, 2", "1, 2, 3, 4096, 0", "x, 2, 1, 4096, 0", "1, 2, 1, 4096, 0, 9", "1, 2, 1, 4096, 7"]
        {
            assert_eq!(read(broken), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_can_be_read(
            time_ms: u64, value: u64, maximum in any::<Option<u64>>(), direction in 0u8..3, block_size: u64,
            offset in any::<Option<u64>>(), priority: u16, issue_ns in any::<Option<u64>>(),
        ) {
            let entry = Entry { time_ms, value, maximum, direction, block_size, offset, priority, issue_ns };
            let columns = Columns {
                maximum: maximum.is_some(), offset: offset.is_some(), whole_priority: true, issue_time: issue_ns.is_some(),
            };
            prop_assert_eq!(Entry::parse(&line(entry, columns), columns), Some(entry));
        }
    }
}
