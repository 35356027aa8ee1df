//! All logs of one job: converts records to the bytes of each log file.

use crate::compressed::Packer;
use crate::entry::{Columns, Entry};
use crate::histogram_line::{HistogramLine, HistogramWindows};
use crate::record::IoRecord;
use crate::rules::{LogKind, LogRules};
use crate::window::Windows;

/// Log size at which windows without I/O are passed on immediately.
const SPILL_BYTES: usize = 128 << 10;

/// Receives a log's bytes before all windows have been written: the number of the output, and its bytes, which
/// the receiver drains. A job that was idle for hours has millions of windows, which should not be in memory
/// together.
pub type Spill<'a> = dyn FnMut(usize, &mut Vec<u8>) + 'a;

/// The logs of one worker.
pub struct LogSet {
    columns: Columns,
    epoch_ms: u64,
    windows: Option<Windows>,
    histogram: Option<HistogramWindows>,
    outputs: Vec<LogOutput>,
    ends: LineEnds,
}

/// One log.
pub struct LogOutput {
    /// Its kind.
    pub kind: LogKind,
    /// Pending bytes for its file; the writer drains them.
    pub bytes: Vec<u8>,
    packer: Option<Packer>,
}

impl LogOutput {
    fn put(&mut self, entry: &Entry, columns: Columns) {
        match &mut self.packer {
            Some(packer) => packer.add(entry, columns, &mut self.bytes),
            None => entry.write_line(columns, &mut self.bytes),
        }
    }
}

impl LogSet {
    /// Creates the logs for these settings.
    pub fn new(rules: &LogRules) -> LogSet {
        let outputs = rules
            .kinds
            .iter()
            .map(|&kind| LogOutput {
                kind,
                bytes: Vec::new(),
                packer: rules.compressed_chunk.filter(|_| kind != LogKind::Histogram).map(Packer::new),
            })
            .collect();
        LogSet {
            columns: rules.columns,
            epoch_ms: 0,
            windows: (rules.window_ns > 0).then(|| Windows::new(rules)),
            histogram: rules.kinds.contains(&LogKind::Histogram).then(|| HistogramWindows::new(rules)),
            outputs,
            ends: LineEnds::default(),
        }
    }

    /// Shifts the times of all later lines by this many milliseconds.
    pub fn set_epoch_ms(&mut self, milliseconds: u64) {
        self.epoch_ms = milliseconds;
    }

    /// Adds an I/O; records must be in order of completion.
    pub fn add(&mut self, record: &IoRecord, spill: &mut Spill<'_>) {
        let (outputs, columns, epoch_ms) = (&mut self.outputs, self.columns, self.epoch_ms);
        if record.is_response {
            self.add_response(record, spill);
            return;
        }
        if let Some(histogram) = &mut self.histogram {
            histogram.add(record, |line| put_histogram(outputs, epoch_ms, line, spill));
        }
        match &mut self.windows {
            Some(windows) => {
                windows
                    .add(record, |kind, entry| put_average(outputs, columns, epoch_ms, kind, entry, spill));
            }
            None => put_single(outputs, columns, epoch_ms, record, &mut self.ends),
        }
    }

    /// Adds the response time of an I/O.
    #[cold]
    fn add_response(&mut self, record: &IoRecord, spill: &mut Spill<'_>) {
        let (outputs, columns, epoch_ms) = (&mut self.outputs, self.columns, self.epoch_ms);
        if let Some(windows) = &mut self.windows {
            windows.add_response(record, |kind, entry| {
                put_average(outputs, columns, epoch_ms, kind, entry, spill);
            });
            return;
        }
        let Some((_, output)) = output_of(outputs, LogKind::Response) else { return };
        let time_ms = record.end_ns / 1_000_000 + epoch_ms;
        let due_ns = record.end_ns.saturating_sub(record.clat_ns);
        output.put(&entry_of(record, columns, time_ms, (record.clat_ns, due_ns)), columns);
    }

    /// Ends all logs; the job ended after this many ns of recording.
    pub fn finish(&mut self, end_ns: u64, spill: &mut Spill<'_>) {
        let (outputs, columns, epoch_ms) = (&mut self.outputs, self.columns, self.epoch_ms);
        if let Some(histogram) = &mut self.histogram {
            histogram.finish(end_ns, |line| put_histogram(outputs, epoch_ms, line, spill));
        }
        if let Some(windows) = &mut self.windows {
            windows.finish(end_ns, |kind, entry| put_average(outputs, columns, epoch_ms, kind, entry, spill));
        }
        for output in &mut self.outputs {
            if let Some(packer) = &mut output.packer {
                packer.flush(&mut output.bytes);
            }
        }
    }

    /// The logs, in the order of the settings.
    pub fn outputs(&mut self) -> &mut [LogOutput] {
        &mut self.outputs
    }
}

/// Space for the text before the value of a line, and for the text after it: a time and a comma; a maximum, a
/// direction, a size, a priority and the commas between them.
const END: usize = 32;
/// Space for a value.
const VALUE: usize = 20;

/// The text before and after the value, shared by the lines of one I/O and of subsequent I/Os. It is cached
/// because number formatting limits the speed of a log.
#[derive(Default)]
struct LineEnds {
    time_ms: Option<u64>,
    before: LineEnd,
    rest: Option<(u8, u32, u16)>,
    after: LineEnd,
}

/// A part of a line. It is copied including the unused space because a copy of constant length takes a few
/// instructions instead of a call.
#[derive(Default)]
struct LineEnd {
    text: [u8; END],
    length: usize,
}

impl LineEnd {
    fn of(text: &[u8]) -> LineEnd {
        let mut end = LineEnd { text: [0; END], length: text.len() };
        end.text[..text.len()].copy_from_slice(text);
        end
    }

    /// Writes the part at this position of a line; returns the position after it.
    #[inline(always)]
    fn write_at(&self, place: usize, line: &mut [u8; 2 * END + VALUE]) -> usize {
        line[place..place + END].copy_from_slice(&self.text);
        place + self.length
    }
}

impl LineEnds {
    fn fit(&mut self, time_ms: u64, record: &IoRecord, columns: Columns) {
        let rest = (record.direction, record.length, record.priority);
        if self.time_ms == Some(time_ms) && self.rest == Some(rest) {
            return;
        }
        let entry = Entry {
            time_ms,
            maximum: columns.maximum.then_some(0),
            direction: record.direction,
            block_size: u64::from(record.length),
            priority: record.priority,
            ..Entry::default()
        };
        (self.time_ms, self.rest) = (Some(time_ms), Some(rest));
        let mut text = Vec::with_capacity(END);
        entry.write_before_value(&mut text);
        self.before = LineEnd::of(&text);
        text.clear();
        entry.write_after_value(columns, &mut text);
        self.after = LineEnd::of(&text);
    }

    #[inline(always)]
    fn write_line(&self, value: u64, text: &mut Vec<u8>) {
        let mut line = [0; 2 * END + VALUE];
        let place = self.before.write_at(0, &mut line);
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(value).as_bytes();
        line[place..place + digits.len()].copy_from_slice(digits);
        let length = self.after.write_at(place + digits.len(), &mut line);
        text.extend_from_slice(&line[..length]);
    }
}

/// The log of this kind, and its index.
fn output_of(outputs: &mut [LogOutput], kind: LogKind) -> Option<(usize, &mut LogOutput)> {
    outputs.iter_mut().enumerate().find(|(_, output)| output.kind == kind)
}

fn put_histogram(outputs: &mut [LogOutput], epoch_ms: u64, line: &HistogramLine, spill: &mut Spill<'_>) {
    let Some((number, output)) = output_of(outputs, LogKind::Histogram) else { return };
    let line = HistogramLine { time_ms: line.time_ms + epoch_ms, ..line.clone() };
    line.write_line(&mut output.bytes);
    if output.bytes.len() >= SPILL_BYTES {
        spill(number, &mut output.bytes);
    }
}

fn put_average(
    outputs: &mut [LogOutput],
    columns: Columns,
    epoch_ms: u64,
    kind: LogKind,
    entry: &Entry,
    spill: &mut Spill<'_>,
) {
    let Some((number, output)) = output_of(outputs, kind) else { return };
    let entry = Entry {
        time_ms: entry.time_ms + epoch_ms,
        offset: columns.offset.then_some(0),
        issue_ns: columns.issue_time.then_some(0),
        ..*entry
    };
    output.put(&entry, columns);
    if output.bytes.len() >= SPILL_BYTES {
        spill(number, &mut output.bytes);
    }
}

/// One line per I/O for each log.
fn put_single(
    outputs: &mut [LogOutput],
    columns: Columns,
    epoch_ms: u64,
    record: &IoRecord,
    ends: &mut LineEnds,
) {
    let time_ms = record.end_ns / 1_000_000 + epoch_ms;
    let has_plain_lines = !columns.offset && !columns.issue_time;
    if has_plain_lines {
        ends.fit(time_ms, record, columns);
    }
    let issue_ns = record.end_ns.saturating_sub(record.clat_ns);
    for output in outputs {
        let (value, issue_ns) = match output.kind {
            LogKind::Bandwidth => (u64::from(record.length) * 1_000_000 / record.clat_ns.max(1), 0),
            LogKind::Iops => (1, 0),
            LogKind::SubmissionLatency => match record.slat_ns {
                Some(slat_ns) => (slat_ns, issue_ns),
                None => continue,
            },
            LogKind::CompletionLatency => (record.clat_ns, issue_ns),
            LogKind::Latency => (record.lat_ns(), 0),
            LogKind::Response | LogKind::Histogram => continue,
        };
        if has_plain_lines && output.packer.is_none() {
            ends.write_line(value, &mut output.bytes);
            continue;
        }
        output.put(&entry_of(record, columns, time_ms, (value, issue_ns)), columns);
    }
}

/// The line of one I/O, with this value and time of issue.
#[inline(always)]
fn entry_of(record: &IoRecord, columns: Columns, time_ms: u64, (value, issue_ns): (u64, u64)) -> Entry {
    Entry {
        time_ms,
        value,
        maximum: columns.maximum.then_some(0),
        direction: record.direction,
        block_size: u64::from(record.length),
        offset: columns.offset.then_some(record.offset),
        priority: record.priority,
        issue_ns: columns.issue_time.then_some(issue_ns),
    }
}

#[cfg(test)]
mod tests;
