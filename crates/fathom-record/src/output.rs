//! The trace on its way to a file or a pipe, compressed or not, in one part or several.

use crate::RecordError;
use crate::recorder::Batch;
use fathom_trace::Device;
use fathom_trace::blktrace::{Event, RECORD, code};
use fathom_trace::side::{Begin, End, Note};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use zstd::stream::write::Encoder;

/// Fast enough for any device.
const LEVEL: i32 = 1;
/// A block of compressed records ends at this size or age, whichever comes first.
const BLOCK: usize = 128 << 10;
const BLOCK_TIME: Duration = Duration::from_secs(1);

/// Opens the parts of a trace, by number from 1.
pub trait Parts {
    /// Opens a part: where it is, and what writes to it.
    fn open(&mut self, part: u32) -> io::Result<(PathBuf, Box<dyn Write>)>;
}

enum Stream {
    Plain(Box<dyn Write>),
    Compressed(Box<Encoder<'static, Box<dyn Write>>>),
}

/// Names that each part repeats.
const MOST_NAMES: usize = 1 << 16;

/// The trace.
pub struct Output {
    stream: Stream,
    path: PathBuf,
    /// Records that are not written yet.
    records: Vec<u8>,
    /// Next sequence number by device and processor, as blkparse expects them.
    sequences: Vec<(Device, Vec<u32>)>,
    begin: Begin,
    /// Names of processes, which each part repeats.
    names: Vec<(u32, Vec<u8>)>,
    bytes: u64,
    /// Bytes in the present block of a compressed trace, and its age.
    in_block: usize,
    block_begin: Instant,
}

impl Output {
    /// Opens the first part and writes its head.
    pub fn open(parts: &mut dyn Parts, begin: Begin) -> Result<Output, RecordError> {
        let (path, stream) = open(parts, begin.part)?;
        let mut output = Output {
            stream,
            path,
            records: Vec::new(),
            sequences: Vec::new(),
            begin,
            names: Vec::new(),
            bytes: 0,
            in_block: 0,
            block_begin: Instant::now(),
        };
        output.head();
        output.flush()?;
        Ok(output)
    }

    /// Where the present part is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of all parts so far, before compression.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of parts.
    pub fn parts(&self) -> u32 {
        self.begin.part
    }

    /// Writes events and what belongs to them, and removes them from the batch. What was written is readable whatever happens next;
    /// of a compressed trace, all but the last second.
    pub fn write(&mut self, batch: &mut Batch) -> Result<(), RecordError> {
        if self.names.len() > MOST_NAMES {
            self.names.clear();
        }
        for (pid, name) in batch.names.drain(..) {
            self.name(pid, &name);
            self.names.push((pid, name));
        }
        batch.lost.sort_by_key(|lost| lost.before_ns);
        let mut gaps = 0;
        self.records.reserve(batch.events.len() * RECORD);
        for event in &batch.events {
            while let Some(lost) = batch.lost.get(gaps).filter(|lost| lost.before_ns <= event.time_ns) {
                self.note(&Note::Lost(*lost), lost.before_ns);
                gaps += 1;
            }
            let sequence = self.sequence(event.device, event.cpu);
            event.encode(sequence, &[], &mut self.records);
        }
        batch.events.clear();
        // The event after a later gap is not complete yet.
        batch.lost.drain(..gaps);
        self.flush()
    }

    /// Ends this part with the sums so far, and begins the next.
    pub fn next_part(&mut self, parts: &mut dyn Parts, end: End) -> Result<(), RecordError> {
        self.finish(end)?;
        self.begin.part += 1;
        (self.path, self.stream) = open(parts, self.begin.part)?;
        self.sequences.clear();
        self.head();
        for (pid, name) in std::mem::take(&mut self.names) {
            self.name(pid, &name);
            self.names.push((pid, name));
        }
        self.flush()
    }

    /// Writes the sums and ends the trace.
    pub fn finish(&mut self, end: End) -> Result<(), RecordError> {
        self.note(&Note::End(end), self.begin.clock_ns.saturating_add(end.time_ns));
        self.flush()?;
        let closed = match &mut self.stream {
            Stream::Plain(stream) => stream.flush(),
            Stream::Compressed(stream) => stream.do_finish().and_then(|()| stream.get_mut().flush()),
        };
        closed.map_err(|error| failed(&self.path, error))
    }

    /// The conditions of the recording, and the time of day.
    fn head(&mut self) {
        let begin = self.begin.clone();
        let (wall_ns, clock_ns) = (begin.wall_ns, begin.clock_ns);
        let part = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes();
        let time = [part(wall_ns / 1_000_000_000), part(wall_ns % 1_000_000_000)].concat();
        self.message(code::TIME_OF_DAY, 0, clock_ns, &time);
        self.note(&Note::Begin(Box::new(begin)), clock_ns);
    }

    fn name(&mut self, pid: u32, name: &[u8]) {
        // Readers expect the 16 bytes of the kernel's structure.
        let mut field = [0; 16];
        let length = name.len().min(field.len() - 1);
        field[..length].copy_from_slice(&name[..length]);
        self.message(code::PROCESS, pid, self.begin.clock_ns, &field);
    }

    fn note(&mut self, note: &Note, time_ns: u64) {
        self.message(code::MESSAGE, 0, time_ns, &note.to_payload());
    }

    fn message(&mut self, code: u32, pid: u32, time_ns: u64, payload: &[u8]) {
        let device = self.begin.devices.first().map_or(Device { major: 0, minor: 0 }, |first| first.device);
        let sequence = self.sequence(device, 0);
        Event { time_ns, pid, device, ..Event::of_code(code) }.encode(sequence, payload, &mut self.records);
    }

    fn sequence(&mut self, device: Device, cpu: u32) -> u32 {
        let place = match self.sequences.iter().position(|(own, _)| *own == device) {
            Some(place) => place,
            None => {
                self.sequences.push((device, Vec::new()));
                self.sequences.len() - 1
            }
        };
        let of_device = &mut self.sequences[place].1;
        let cpu = cpu as usize;
        if of_device.len() <= cpu {
            of_device.resize(cpu + 1, 0);
        }
        of_device[cpu] = of_device[cpu].wrapping_add(1);
        of_device[cpu]
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        self.bytes += self.records.len() as u64;
        let written = match &mut self.stream {
            Stream::Plain(stream) => stream.write_all(&self.records).and_then(|()| stream.flush()),
            Stream::Compressed(stream) => stream.write_all(&self.records).and_then(|()| {
                // The end of a block: a reader gets everything before it. Short blocks compress badly.
                self.in_block += self.records.len();
                if self.in_block < BLOCK && self.block_begin.elapsed() < BLOCK_TIME {
                    return Ok(());
                }
                (self.in_block, self.block_begin) = (0, Instant::now());
                stream.flush()
            }),
        };
        self.records.clear();
        written.map_err(|error| failed(&self.path, error))
    }
}

fn open(parts: &mut dyn Parts, part: u32) -> Result<(PathBuf, Stream), RecordError> {
    let (path, stream) = parts.open(part).map_err(|error| failed(Path::new("the trace"), error))?;
    let stream = match path.extension().is_some_and(|extension| extension == "zst") {
        true => {
            Stream::Compressed(Box::new(Encoder::new(stream, LEVEL).map_err(|error| failed(&path, error))?))
        }
        false => Stream::Plain(stream),
    };
    Ok((path, stream))
}

pub(crate) fn failed(path: &Path, error: io::Error) -> RecordError {
    RecordError::Output { path: path.to_owned(), error }
}
