//! One stream of events for block traces of all formats: binary traces, the formats of [`text`](crate::text), and
//! recordings of files.

use crate::blktrace::{self, Event, Trace};
use crate::complaints::Complaints;
use crate::error::{CutOff, TraceError};
use crate::file_load::FileLoad;
pub use crate::file_load::{FileSums, Keep, LeftOut};
use crate::files::{self, FileEntry};
use crate::names::Device;
use crate::refused::Refusals;
use crate::side::{Lost, Note, RecordedDevice};
use crate::text::TextTrace;
use std::io::BufRead;

/// Reads the events of a block trace.
pub struct Events<R> {
    source: Source<R>,
    /// The message of the last event.
    payload: Vec<u8>,
    complaints: Complaints,
    lost: Losses,
    refusals: Refusals,
    devices: Vec<RecordedDevice>,
}

enum Source<R> {
    Binary(Trace<R>),
    Text(Box<TextTrace<R>>),
    Files(Box<FileLoad<R>>),
}

/// Number of missing events, as recorded in the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Number of places at which events are missing.
    pub gaps: u64,
    /// Number of missing events, as far as it is known.
    pub events: u64,
}

impl<R: BufRead> Events<R> {
    /// Starts to read. The first bytes determine the format; other formats than block traces are an error.
    pub fn open(mut reader: R) -> Result<Events<R>, TraceError> {
        let begin = reader.fill_buf()?;
        if begin.is_empty() {
            return Err(TraceError::Empty);
        }
        let source = match (blktrace::begins_trace(begin), files::begins_recording(begin)) {
            (true, _) => Source::Binary(Trace::open(reader)?),
            (_, true) => Source::Files(Box::new(FileLoad::open(reader)?)),
            _ => Source::Text(Box::new(TextTrace::open(reader, Vec::new())?)),
        };
        Ok(Events::of(source))
    }

    /// Starts to read text of which the first line has been read already.
    pub(crate) fn open_text(reader: R, first: Vec<u8>) -> Result<Events<R>, TraceError> {
        Ok(Events::of(Source::Text(Box::new(TextTrace::open(reader, first)?))))
    }

    fn of(source: Source<R>) -> Events<R> {
        Events {
            source,
            payload: Vec::new(),
            complaints: Complaints::default(),
            lost: Losses::default(),
            refusals: Refusals::default(),
            devices: Vec::new(),
        }
    }

    /// Returns the next event; `None` at the end. Events before an error are valid; no event can be read after
    /// it.
    // The reader is not an iterator, because an error ends it.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Event>, CutOff> {
        loop {
            let found = self.next_recorded()?;
            if !found.is_some_and(|event| self.refusals.drops(&event)) {
                return Ok(found);
            }
        }
    }

    fn next_recorded(&mut self) -> Result<Option<Event>, CutOff> {
        let found = match &mut self.source {
            Source::Binary(trace) => trace.next_with_payload(&mut self.payload)?,
            Source::Text(text) => {
                let found = text.next(&mut self.payload)?;
                self.complaints.take(text.complaints());
                found
            }
            Source::Files(load) => {
                let found = load.next(&mut self.payload);
                let lost = load.take_lost();
                lost.into_iter().for_each(|lost| self.note_loss(lost));
                return found;
            }
        };
        if !self.payload.is_empty() && found.is_some_and(|event| event.code == blktrace::code::MESSAGE) {
            match Note::of_payload(&self.payload) {
                Some(Note::Lost(lost)) => self.note_loss(lost),
                Some(Note::Begin(begin)) => self.devices.extend(begin.devices),
                Some(Note::End(_)) | None => {}
            }
        }
        Ok(found)
    }

    /// Returns the text or data of the last event, if it is a message.
    pub fn message(&self) -> &[u8] {
        &self.payload
    }

    fn note_loss(&mut self, lost: Lost) {
        self.lost.gaps += 1;
        self.lost.events += lost.events.unwrap_or(0);
        self.complaints.add(|| {
            let count = lost.events.map_or_else(|| "an unknown number of".to_owned(), |count| count.to_string());
            let span = lost.before_ns.saturating_sub(lost.after_ns) as f64 / 1e6;
            format!(
                "fathom: {count} events of processor {} were lost while this was recorded, within {span:.3} ms; they are missing \
                 here too",
                lost.cpu
            )
        });
    }

    /// Returns the number of events that the recorder lost, in the part of the trace that was read.
    pub fn lost(&self) -> Losses {
        self.lost
    }

    /// Returns the size of a device in bytes, if the recorder noted it before the events that were read; 0 if not.
    pub fn size_of(&self, device: Device) -> u64 {
        let noted = self.devices.iter().find(|noted| noted.device == device);
        noted.map_or(0, |noted| noted.sectors.saturating_mul(blktrace::SECTOR))
    }

    /// Returns the number of records or lines read so far.
    pub fn records(&self) -> u64 {
        match &self.source {
            Source::Binary(trace) => trace.records(),
            Source::Text(text) => text.lines(),
            Source::Files(load) => load.records(),
        }
    }

    /// Returns the name of the volume for which an event's device number stands; `None` if the number is that
    /// of a device.
    pub fn volume(&self, device: Device) -> Option<&str> {
        match &self.source {
            Source::Text(text) => text.volume(device),
            Source::Binary(_) | Source::Files(_) => None,
        }
    }

    /// What a recording of files has in addition to requests; `None` for other traces.
    pub fn files(&self) -> Option<&FileSums> {
        match &self.source {
            Source::Files(load) => Some(load.sums()),
            _ => None,
        }
    }

    /// Leaves out the files that are not to be kept, with all calls on them; to be called before the first event is read. Other traces
    /// have no files, and stay as they are.
    pub fn keep_files(&mut self, keep: Keep) {
        if let Source::Files(load) = &mut self.source {
            load.keep_files(keep);
        }
    }

    /// The file that the number of an event's device stands for; `None` in other traces.
    pub fn file(&self, device: Device) -> Option<&FileEntry> {
        match &self.source {
            Source::Files(load) => load.file(device),
            _ => None,
        }
    }

    /// Returns the non-fatal problems since the last call.
    pub fn take_complaints(&mut self) -> Complaints {
        std::mem::take(&mut self.complaints)
    }
}
