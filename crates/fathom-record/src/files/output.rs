//! The recording on its way to a file, as compressed frames, in one part or several.

use crate::RecordError;
use crate::output::{Parts, failed};
use fathom_trace::files::{Begin, Encoder, End, FileEntry, Item, MAGIC, TaskEntry};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use zstd::bulk::Compressor;

/// Fast enough for any load.
const LEVEL: i32 = 1;
/// A frame ends at this size or age, whichever comes first.
const FRAME: usize = 256 << 10;
const FRAME_TIME: Duration = Duration::from_millis(500);
/// Files and threads that later parts repeat.
const MOST_ENTRIES: usize = 1 << 17;

/// The recording.
pub struct FileOutput {
    stream: Box<dyn Write>,
    path: PathBuf,
    compressor: Compressor<'static>,
    encoder: Encoder,
    /// Records that are not written yet.
    records: Vec<u8>,
    frame_begin: Instant,
    begin: Begin,
    files: HashMap<u32, FileEntry>,
    tasks: HashMap<u32, TaskEntry>,
    /// Files and threads that this part has.
    in_part: (HashSet<u32>, HashSet<u32>),
    bytes: u64,
}

impl FileOutput {
    /// Opens the first part and writes its head.
    pub fn open(parts: &mut dyn Parts, begin: Begin) -> Result<FileOutput, RecordError> {
        let (path, stream) = parts.open(begin.part).map_err(|error| failed(Path::new("the trace"), error))?;
        let compressor = compressor().map_err(|error| failed(&path, error))?;
        let mut output = FileOutput {
            stream,
            path,
            compressor,
            encoder: Encoder::default(),
            records: Vec::new(),
            frame_begin: Instant::now(),
            begin,
            files: HashMap::new(),
            tasks: HashMap::new(),
            in_part: (HashSet::new(), HashSet::new()),
            bytes: 0,
        };
        output.head()?;
        Ok(output)
    }

    /// Where the present part is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes of all parts so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of parts.
    pub fn parts(&self) -> u32 {
        self.begin.part
    }

    /// Writes items and removes them. What was written half a second before stays readable whatever happens.
    pub fn write(&mut self, items: &mut Vec<Item>) -> Result<(), RecordError> {
        for item in items.drain(..) {
            match item {
                Item::File(file) => {
                    if self.files.len() >= MOST_ENTRIES {
                        self.files.clear();
                    }
                    self.files.insert(file.id, file);
                }
                Item::Task(task) => {
                    if self.tasks.len() >= MOST_ENTRIES {
                        self.tasks.clear();
                    }
                    // A thread that runs another program has another name.
                    self.in_part.1.remove(&task.tid);
                    self.tasks.insert(task.tid, task);
                }
                item => {
                    if let Item::Call(call) = &item {
                        self.introduce(call.file, call.tid);
                    }
                    self.encoder.put(&item, &mut self.records);
                }
            }
            if self.records.len() >= FRAME {
                self.flush()?;
            }
        }
        match self.frame_begin.elapsed() >= FRAME_TIME {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Writes the file and the thread of a call unless this part has them.
    fn introduce(&mut self, file: u32, tid: u32) {
        if file != 0
            && self.in_part.0.insert(file)
            && let Some(entry) = self.files.get(&file)
        {
            self.encoder.put(&Item::File(entry.clone()), &mut self.records);
        }
        if self.in_part.1.insert(tid)
            && let Some(entry) = self.tasks.get(&tid)
        {
            self.encoder.put(&Item::Task(entry.clone()), &mut self.records);
        }
    }

    /// Ends this part with the sums so far, and begins the next.
    pub fn next_part(&mut self, parts: &mut dyn Parts, end: End) -> Result<(), RecordError> {
        self.finish(end)?;
        self.begin.part += 1;
        let opened = parts.open(self.begin.part).map_err(|error| failed(Path::new("the trace"), error))?;
        (self.path, self.stream) = opened;
        self.encoder = Encoder::default();
        self.in_part = (HashSet::new(), HashSet::new());
        self.head()
    }

    /// Writes the sums and ends the recording.
    pub fn finish(&mut self, end: End) -> Result<(), RecordError> {
        self.encoder.put(&Item::End(end), &mut self.records);
        self.flush()?;
        self.stream.flush().map_err(|error| failed(&self.path, error))
    }

    fn head(&mut self) -> Result<(), RecordError> {
        self.records.extend_from_slice(MAGIC);
        self.encoder.put(&Item::Begin(Box::new(self.begin.clone())), &mut self.records);
        self.flush()
    }

    /// Ends the present frame.
    fn flush(&mut self) -> Result<(), RecordError> {
        self.frame_begin = Instant::now();
        if self.records.is_empty() {
            return Ok(());
        }
        let frame = self.compressor.compress(&self.records);
        let written = frame.and_then(|frame| {
            self.bytes += frame.len() as u64;
            self.stream.write_all(&frame).and_then(|()| self.stream.flush())
        });
        self.records.clear();
        written.map_err(|error| failed(&self.path, error))
    }
}

fn compressor() -> std::io::Result<Compressor<'static>> {
    let mut compressor = Compressor::new(LEVEL)?;
    compressor.include_checksum(true)?;
    Ok(compressor)
}
