//! A single stream of entries for all kinds of logs.

use crate::blktrace::{self, Event};
use crate::complaints::{Complaints, quoted};
use crate::dependencies::{Completions, Dependencies, Dependent};
use crate::entry::{Action, Entry};
use crate::error::{Damage, TraceError};
use crate::events::Events;
use crate::files;
use crate::iolog::{self, BadLine, Line, Said, Version};
use crate::names::{FileName, Names};
use crate::rules::Rules;
use fathom_stats::Direction;
use std::io::{BufRead, Read};

/// Maximum length of a line in bytes; a path has at most 4096.
const LONGEST_LINE: u64 = 1 << 14;
/// Longer trims are replayed in parts, because the length of an I/O has 32 bits.
const PART_OF_TRIM: u32 = 1 << 31;

enum Kind<R> {
    Text { reader: R, version: Version, line: Vec<u8>, number: u64 },
    Events { events: Box<Events<R>>, is_over: bool },
}

/// Reads the entries of a log or trace.
pub struct Reader<R> {
    kind: Kind<R>,
    rules: Rules,
    names: Names,
    /// The files of the log itself, where a mapping needs them.
    origins: Names,
    pub(crate) complaints: Complaints,
    timeline: Timeline,
    /// Present if the rules keep dependencies.
    dependencies: Option<Box<Dependencies>>,
    /// The write that follows its flush, which was returned first.
    held: Option<Entry>,
    /// The remainder of a long trim: the next part, and the number of remaining bytes.
    rest_of_trim: Option<(Entry, u64)>,
}

impl<R: BufRead> Reader<R> {
    /// Starts to read. The first bytes determine the format.
    pub fn new(mut reader: R, rules: Rules) -> Result<Reader<R>, TraceError> {
        let begin = reader.fill_buf()?;
        if begin.is_empty() {
            return Err(TraceError::Empty);
        }
        if files::begins_recording(begin) {
            return Err(Damage::Files.into());
        }
        let kind = if blktrace::begins_trace(begin) {
            Kind::Events { events: Box::new(Events::open(reader)?), is_over: false }
        } else {
            let mut line = Vec::new();
            (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line)?;
            match iolog::version_of(&line) {
                Some(version) => Kind::Text { reader, version, line, number: 1 },
                None => Kind::Events { events: Box::new(Events::open_text(reader, line)?), is_over: false },
            }
        };
        let dependencies = rules.keeps_dependencies.then(Box::<Dependencies>::default);
        if dependencies.is_some() && matches!(kind, Kind::Text { .. }) {
            return Err(Damage::NoCompletions.into());
        }
        let (complaints, timeline) = (Complaints::default(), Timeline::default());
        let (names, origins) = (Names::default(), Names::default());
        let (held, rest_of_trim) = (None, None);
        Ok(Reader { kind, rules, names, origins, complaints, timeline, dependencies, held, rest_of_trim })
    }

    /// Returns true for a block trace, false for a log of I/Os.
    pub fn is_trace(&self) -> bool {
        matches!(self.kind, Kind::Events { .. })
    }

    /// Returns the files named so far, by number.
    pub fn files(&self) -> &[FileName] {
        self.names.list()
    }

    /// Returns the size of a device in bytes, as far as the log has it; 0 if not.
    pub fn size_of(&self, name: &FileName) -> u64 {
        match (&self.kind, name) {
            (Kind::Events { events, .. }, FileName::Device(device)) => events.size_of(*device),
            _ => 0,
        }
    }

    /// Returns the non-fatal problems so far.
    pub fn complaints(&self) -> &Complaints {
        &self.complaints
    }

    /// Returns the next entry to replay; `None` at the end.
    // The reader is not an iterator, because an error ends it.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Entry>, TraceError> {
        if let Some(entry) = self.held.take() {
            return Ok(Some(entry));
        }
        if let Some((entry, left)) = self.rest_of_trim.take() {
            return Ok(Some(self.next_part(entry, left)));
        }
        loop {
            let found = match &self.kind {
                Kind::Text { .. } => self.next_of_text()?,
                Kind::Events { .. } => self.next_of_trace()?,
            };
            match found {
                Found::Entry(entry) => return Ok(Some(entry)),
                Found::Nothing => {}
                Found::End => return Ok(None),
            }
        }
    }

    /// Returns the next entry with its dependencies; `None` at the end, and if the rules do not keep dependencies.
    pub fn next_dependent(&mut self) -> Result<Option<Dependent>, TraceError> {
        let Some(entry) = self.next()? else { return Ok(None) };
        let is_first_half = self.held.is_some();
        Ok(self.dependencies.as_mut().and_then(|dependencies| dependencies.of(entry, is_first_half)))
    }

    /// Counts the requests with and without a completion so far, if the rules keep dependencies.
    pub fn completions(&self) -> Completions {
        self.dependencies.as_ref().map(|dependencies| dependencies.completions()).unwrap_or_default()
    }

    /// Returns the next part of a trim of `left` bytes that begins with this entry.
    fn next_part(&mut self, entry: Entry, left: u64) -> Entry {
        let length = u32::try_from(left).unwrap_or(PART_OF_TRIM);
        let left = left - u64::from(length);
        let offset = entry.offset.saturating_add(u64::from(length));
        self.rest_of_trim = (left > 0).then_some((Entry { offset, ..entry }, left));
        Entry { length, ..entry }
    }

    fn next_of_text(&mut self) -> Result<Found, TraceError> {
        let Kind::Text { reader, version, line, number } = &mut self.kind else { return Ok(Found::End) };
        line.clear();
        if reader.by_ref().take(LONGEST_LINE).read_until(b'\n', line)? == 0 {
            return Ok(Found::End);
        }
        *number += 1;
        if line.len() as u64 == LONGEST_LINE && line.last() != Some(&b'\n') {
            return Err(Damage::LongLine { number: *number, most: LONGEST_LINE }.into());
        }
        match iolog::parse(line, *version) {
            None => Ok(Found::Nothing),
            Some(Ok(Line { time_us, file, said })) => {
                let origin = match self.rules.mapping {
                    Some(_) => self.origins.number_of_path(file)?,
                    None => 0,
                };
                let file = match &self.rules.redirect {
                    Some(path) => self.names.number_of_path(path)?,
                    None => self.names.number_of_path(file)?,
                };
                match said {
                    Said::Names => Ok(Found::Nothing),
                    Said::WaitUntilMs(until) => {
                        self.timeline.wait_until(until.saturating_mul(1_000_000));
                        Ok(Found::Nothing)
                    }
                    Said::Io(action, offset, length) => {
                        let length = self.rules.length_in_target(action, length);
                        let time = match version {
                            Version::Two => self.timeline.after_wait(),
                            Version::Three => Some(self.timeline.moment(time_us.saturating_mul(1000))),
                        };
                        let Some(entry) = entry(&self.rules, time, action, (file, origin), (offset, length))?
                        else {
                            return Ok(Found::Nothing);
                        };
                        let number = *number;
                        if length > u64::from(u32::MAX) {
                            self.complaints.add(|| {
                                format!("fathom: line {number}: a trim of {length} bytes is replayed in parts of 2 GiB")
                            });
                        }
                        Ok(Found::Entry(self.next_part(entry, length)))
                    }
                }
            }
            Some(Err(problem)) => {
                match iolog::version_of(line) {
                    // If recordings were appended to one another, they are replayed one after another.
                    Some(next) => {
                        *version = next;
                        self.timeline.begin_next();
                    }
                    None => complain(&mut self.complaints, *version, *number, line, problem),
                }
                Ok(Found::Nothing)
            }
        }
    }

    fn next_of_trace(&mut self) -> Result<Found, TraceError> {
        let Kind::Events { events, is_over } = &mut self.kind else { return Ok(Found::End) };
        if *is_over {
            return Ok(Found::End);
        }
        let found = events.next();
        self.complaints.take(&mut events.take_complaints());
        let event = match found {
            Ok(Some(event)) => event,
            Ok(None) => return Ok(Found::End),
            Err(broken) => {
                let records = events.records();
                self.complaints
                    .add(|| format!("fio: short read on blktrace file: after {records} records: {broken}; the rest is left out"));
                *is_over = true;
                return Ok(Found::End);
            }
        };
        let is_request = event.action == blktrace::TraceAction::Queue && (event.bytes > 0 || event.flushes);
        let found = if is_request { self.of_request(&event)? } else { Found::Nothing };
        if let Some(dependencies) = &mut self.dependencies {
            match found {
                Found::Entry(_) => dependencies.arrived(&event, &self.rules),
                // The completion of a request that is left out matches none of the others.
                _ if is_request => {}
                _ => dependencies.other(&event),
            }
        }
        Ok(found)
    }

    /// Returns the first entry of a request, and holds the second.
    fn of_request(&mut self, event: &Event) -> Result<Found, TraceError> {
        let Kind::Events { events, .. } = &mut self.kind else { return Ok(Found::End) };
        let file = match (&self.rules.redirect, events.volume(event.device)) {
            (Some(path), _) => self.names.number_of_path(path)?,
            (None, Some(volume)) => self.names.number_of_volume(volume)?,
            (None, None) => self.names.number_of_device(event.device)?,
        };
        let origin = match (&self.rules.mapping, events.volume(event.device)) {
            (None, _) => 0,
            (Some(_), Some(volume)) => self.origins.number_of_volume(volume)?,
            (Some(_), None) => self.origins.number_of_device(event.device)?,
        };
        let files = (file, origin);
        let time = Some(self.timeline.moment(event.time_ns));
        let flush = match event.flushes {
            true => entry(&self.rules, time, Action::Sync, files, (0, 0))?,
            false => None,
        };
        if event.bytes == 0 {
            return Ok(Found::of(flush));
        }
        let action = match event.direction {
            Direction::Read => Action::Read,
            Direction::Write => Action::Write,
            Direction::Trim => Action::Trim,
        };
        let records = events.records();
        let offset =
            event.sector.checked_mul(blktrace::SECTOR).filter(|offset| *offset <= i64::MAX as u64 >> 1);
        let is_possible = action == Action::Trim || event.bytes <= i32::MAX as u32;
        let Some(offset) = offset.filter(|_| is_possible) else {
            self.complaints.add(|| {
                format!(
                    "fio: record {records} of the trace is not a possible I/O: sector {}, {} bytes",
                    event.sector, event.bytes
                )
            });
            return Ok(Found::of(flush));
        };
        let length = self.rules.length_in_trace(event.bytes);
        let shortened = self.rules.length_in_target(action, u64::from(length));
        let length = u32::try_from(shortened).unwrap_or(length);
        let data = entry(&self.rules, time, action, files, (offset, u64::from(length)))?;
        let data = data.map(|entry| Entry { length, ..entry });
        match flush {
            None => Ok(Found::of(data)),
            Some(flush) => {
                self.held = data;
                Ok(Found::Entry(flush))
            }
        }
    }
}

enum Found {
    Entry(Entry),
    Nothing,
    End,
}

impl Found {
    fn of(entry: Option<Entry>) -> Found {
        entry.map_or(Found::Nothing, Found::Entry)
    }
}

/// The entry of an I/O, without its length; `None` if the I/O is skipped. `files` are the numbers of the file of
/// the replay and of the file in the log.
fn entry(
    rules: &Rules,
    time: Option<u64>,
    action: Action,
    files: (u32, u32),
    (offset, length): (u64, u64),
) -> Result<Option<Entry>, TraceError> {
    if rules.skip.drops(action) {
        return Ok(None);
    }
    let due_ns = time.and_then(|time| rules.time(time));
    let offset = match &rules.mapping {
        Some(mapping) if !action.is_sync() => mapping.place(files.1, rules.place(offset), length)?,
        _ => rules.place(offset),
    };
    Ok(Some(Entry { due_ns, action, file: files.0, offset, length: 0 }))
}

/// Adds fio's message with the line number.
fn complain(complaints: &mut Complaints, version: Version, number: u64, line: &[u8], problem: BadLine<'_>) {
    complaints.add(|| {
        let text = quoted(line);
        match problem {
            BadLine::Form(reason) => {
                let version = if version == Version::Two { 2 } else { 3 };
                format!("bad iolog{version}: {text}\nfathom: line {number} is skipped: {reason}")
            }
            BadLine::Action(word) => {
                let word = String::from_utf8_lossy(word).chars().take(50).collect::<String>();
                format!("fio: bad iolog file action: {word}\nfathom: line {number} is skipped: {text}")
            }
            BadLine::Wait => {
                format!(
                    "iolog: ignoring wait command with version 3\nfathom: line {number} is skipped: {text}"
                )
            }
        }
    });
}

/// Converts the times of a log to the times of the replay.
#[derive(Debug, Default)]
struct Timeline {
    /// Time of the first I/O of the recording, which is issued immediately.
    origin_ns: Option<u64>,
    /// Start of the current recording.
    begin_ns: u64,
    /// The latest time so far, because time in a log never decreases.
    latest_ns: u64,
    /// A wait of version 2 that no I/O has followed yet.
    waits_until_ns: Option<u64>,
}

impl Timeline {
    fn moment(&mut self, recorded_ns: u64) -> u64 {
        let origin = *self.origin_ns.get_or_insert(recorded_ns);
        let moment = self.begin_ns.saturating_add(recorded_ns.saturating_sub(origin));
        self.latest_ns = self.latest_ns.max(moment);
        self.latest_ns
    }

    fn wait_until(&mut self, ns: u64) {
        let moment = self.begin_ns.saturating_add(ns);
        self.latest_ns = self.latest_ns.max(moment);
        self.waits_until_ns = Some(self.latest_ns);
    }

    fn after_wait(&mut self) -> Option<u64> {
        self.waits_until_ns.take()
    }

    /// Starts another recording at the end of the previous one.
    fn begin_next(&mut self) {
        self.begin_ns = self.latest_ns;
        self.origin_ns = None;
        self.waits_until_ns = None;
    }
}

#[cfg(test)]
mod tests;
