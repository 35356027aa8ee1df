//! Block traces as text: the formats of public collections and of tracing tools. The first lines determine the format.
//!
//! Lines are sorted by their times, because some formats list requests in the order of completion. A line in a
//! wrong format is skipped, counted and reported with its number.

mod alibaba;
mod biosnoop;
mod blkparse;
mod fields;
mod fiu;
mod msr;
mod request;
mod spc;
mod tencent;

use crate::blktrace::{Event, code};
use crate::complaints::{Complaints, quoted};
use crate::error::{CutOff, Damage, TraceError};
use crate::names::Device;
use request::{Request, Volume};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::io::{self, BufRead, Read};

/// Maximum length of a line in bytes.
const LONGEST_LINE: u64 = 1 << 14;
/// Maximum number of lines before the first line of a known format.
const SEARCHED: usize = 16;
/// Number of events that are held back so that they can be sorted.
const ORDERED: usize = 1 << 16;
/// Major number of volumes, which have names instead of numbers. The minor number is the index of the name.
const VOLUME: u32 = u32::MAX;
/// Maximum number of volumes.
const MOST_VOLUMES: usize = 1 << 16;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Msr,
    Alibaba,
    Spc,
    Tencent,
    Fiu,
    Blkparse,
    Biosnoop(biosnoop::Columns),
}

/// The content of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said<'a> {
    /// The line describes a request, with the times that the format contains.
    Request(Request<'a>),
    /// The line describes one event of a request, or a message with its text.
    Event(Event, &'a str),
    /// The line describes no request.
    Nothing,
    /// The trace ends before the line.
    End,
}

impl Format {
    /// Returns the format of a line.
    fn of(line: &str) -> Result<Option<Format>, Damage> {
        if let Some(columns) = biosnoop::heading(line) {
            return Ok(Some(Format::Biosnoop(columns)));
        }
        if line.trim_ascii_start().starts_with("TIME(") {
            return Err(Damage::NoPlaces);
        }
        let all = [Format::Msr, Format::Alibaba, Format::Spc, Format::Tencent, Format::Fiu, Format::Blkparse];
        let is_it = |format: &Format| matches!(format.parse(line), Ok(Said::Request(_) | Said::Event(..)));
        Ok(all.into_iter().find(is_it))
    }

    fn parse(self, line: &str) -> Result<Said<'_>, &'static str> {
        match self {
            Format::Msr => msr::parse(line),
            Format::Alibaba => alibaba::parse(line),
            Format::Spc => spc::parse(line),
            Format::Tencent => tencent::parse(line),
            Format::Fiu => fiu::parse(line),
            Format::Blkparse => blkparse::parse(line),
            Format::Biosnoop(columns) => biosnoop::parse(line, columns),
        }
    }
}

/// A reader of a text trace.
pub(crate) struct TextTrace<R> {
    lines: Lines<R>,
    format: Format,
    volumes: Volumes,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// Number of events so far, which keeps events of equal times in order.
    count: u64,
    /// Time of the last event that was returned.
    latest_ns: u64,
    complaints: Complaints,
    is_over: bool,
}

/// An event that is held back.
#[derive(Debug)]
struct Waiting {
    /// Position in the order: time, and number of the event.
    place: (u64, u64),
    event: Event,
    message: Box<[u8]>,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.place == other.place
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        self.place.cmp(&other.place)
    }
}

impl<R: BufRead> TextTrace<R> {
    /// Starts to read; `first` is a line that has already been read, or empty.
    pub(crate) fn open(reader: R, first: Vec<u8>) -> Result<TextTrace<R>, TraceError> {
        let mut lines = Lines { reader, read: VecDeque::new(), number: 0, is_cut: false };
        let mut read = VecDeque::new();
        let mut line = first;
        let format = loop {
            if line.is_empty() && !lines.next(&mut line)? || read.len() == SEARCHED {
                return Err(TraceError::OldVersion);
            }
            let found = Format::of(&String::from_utf8_lossy(&line))?;
            read.push_back(std::mem::take(&mut line));
            if let Some(format) = found {
                break format;
            }
        };
        if matches!(format, Format::Biosnoop(_)) {
            // The heading is removed, because it is not a request.
            read.pop_back();
            lines.number = 1;
        } else {
            lines.number = 0;
        }
        lines.read = read;
        Ok(TextTrace {
            lines,
            format,
            volumes: Volumes::default(),
            waiting: BinaryHeap::new(),
            count: 0,
            latest_ns: 0,
            complaints: Complaints::default(),
            is_over: false,
        })
    }

    /// Returns the next event in the order of time, and replaces the content of `message` with the text of a
    /// message; `None` at the end.
    pub(crate) fn next(&mut self, message: &mut Vec<u8>) -> Result<Option<Event>, CutOff> {
        let mut line = Vec::new();
        while !self.is_over && self.waiting.len() < ORDERED {
            self.is_over = !self.lines.next(&mut line)?;
            if !self.is_over {
                self.take_line(&line);
            }
        }
        message.clear();
        let Some(Reverse(next)) = self.waiting.pop() else { return Ok(None) };
        message.extend_from_slice(&next.message);
        self.latest_ns = self.latest_ns.max(next.event.time_ns);
        Ok(Some(Event { time_ns: self.latest_ns, ..next.event }))
    }

    fn take_line(&mut self, line: &[u8]) {
        let number = self.lines.number;
        if self.lines.is_cut {
            self.complaints
                .add(|| format!("fathom: line {number} is skipped: it has more than {LONGEST_LINE} bytes"));
            return;
        }
        let text = String::from_utf8_lossy(line.trim_ascii());
        if text.is_empty() {
            return;
        }
        let taken = match self.format.parse(&text) {
            Ok(Said::Request(request)) => self.take_request(&request),
            Ok(Said::Event(event, message)) => {
                self.hold(event, message.as_bytes());
                Ok(())
            }
            Ok(Said::Nothing) => Ok(()),
            Ok(Said::End) => {
                self.is_over = true;
                Ok(())
            }
            Err(reason) => Err(reason),
        };
        if let Err(reason) = taken {
            self.complaints.add(|| format!("fathom: line {number} is skipped: {reason}: {}", quoted(line)));
        }
    }

    fn take_request(&mut self, request: &Request<'_>) -> Result<(), &'static str> {
        let device = self.volumes.device(request.volume)?;
        self.hold(request.event(code::QUEUE, request.time_ns, device), b"");
        if let Some(response) = request.response_ns {
            let end = request.time_ns.saturating_add(response);
            if let Some(service) = request.service_ns {
                self.hold(request.event(code::ISSUE, end.saturating_sub(service), device), b"");
            }
            self.hold(request.event(code::COMPLETE, end, device), b"");
        }
        Ok(())
    }

    fn hold(&mut self, event: Event, message: &[u8]) {
        if event.time_ns < self.latest_ns {
            let (number, behind) = (self.lines.number, (self.latest_ns - event.time_ns) as f64 / 1e9);
            self.complaints.add(|| {
                format!(
                    "fathom: line {number} is {behind:.6} s earlier than lines long before it; its time is taken for theirs"
                )
            });
        }
        self.count += 1;
        let place = (event.time_ns, self.count);
        self.waiting.push(Reverse(Waiting { place, event, message: message.into() }));
    }

    /// Returns the number of lines read so far.
    pub(crate) fn lines(&self) -> u64 {
        self.lines.number
    }

    /// Returns the problems so far; the caller removes them.
    pub(crate) fn complaints(&mut self) -> &mut Complaints {
        &mut self.complaints
    }

    /// Returns the name of the volume for which this number stands; `None` if the number is that of a device.
    pub(crate) fn volume(&self, device: Device) -> Option<&str> {
        let name = self.volumes.names.get(device.minor as usize);
        name.filter(|_| device.major == VOLUME).map(String::as_str)
    }
}

/// Reads the lines of a text.
struct Lines<R> {
    reader: R,
    /// Lines that were read in advance and are returned again.
    read: VecDeque<Vec<u8>>,
    /// Number of the last line.
    number: u64,
    /// True if the last line was longer than the maximum, and its end was skipped.
    is_cut: bool,
}

impl<R: BufRead> Lines<R> {
    /// Replaces the content of `line` with the next line; returns false at the end.
    fn next(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        line.clear();
        self.is_cut = false;
        match self.read.pop_front() {
            Some(read) => *line = read,
            None if self.reader.by_ref().take(LONGEST_LINE).read_until(b'\n', line)? == 0 => {
                return Ok(false);
            }
            None => self.skip_rest(line)?,
        }
        self.number += 1;
        Ok(true)
    }

    /// Skips the part of a line beyond the maximum length.
    fn skip_rest(&mut self, line: &[u8]) -> io::Result<()> {
        self.is_cut = line.len() as u64 == LONGEST_LINE && line.last() != Some(&b'\n');
        if self.is_cut {
            self.reader.skip_until(b'\n')?;
        }
        Ok(())
    }
}

/// Assigns numbers to the names of volumes.
#[derive(Debug, Default)]
struct Volumes {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
    /// Buffer for the name of a disk.
    name: String,
}

impl Volumes {
    fn device(&mut self, volume: Volume<'_>) -> Result<Device, &'static str> {
        self.name.clear();
        match volume {
            Volume::Device(device) => return Ok(device),
            Volume::Name(name) => self.name.push_str(name),
            Volume::Disk(host, disk) => self.name.extend([host, ".", disk]),
        }
        if let Some(&minor) = self.numbers.get(&self.name) {
            return Ok(Device { major: VOLUME, minor });
        }
        if self.names.len() >= MOST_VOLUMES {
            return Err("it is of one volume too many");
        }
        let minor = self.names.len() as u32;
        self.names.push(self.name.clone());
        self.numbers.insert(self.name.clone(), minor);
        Ok(Device { major: VOLUME, minor })
    }
}

#[cfg(test)]
mod tests;
