//! Reads all chunks with several threads and counts the unique ones.

use super::bloom::Bloom;
use super::compress::Compressor;
use super::table::{Hash, Table};
use fathom_command::{Failure, Streams};
use fathom_errors::plain;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// Bytes per batch of a thread, unless a chunk is larger.
const BATCH: u64 = 1 << 20;
/// Alignment of O_DIRECT buffers; no disk needs more.
const ALIGNMENT: usize = 4096;
/// The largest chunk; each thread holds one in memory.
const LARGEST_BLOCK: u64 = 256 << 20;
/// Interval between progress lines.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// Comparison method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// A table of all unique chunks.
    Exact,
    /// A Bloom filter.
    Bloom,
}

/// Where progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    None,
    StandardOutput,
    StandardError,
}

/// Settings of a scan.
#[derive(Debug)]
pub(super) struct Options {
    /// Size of a chunk in bytes.
    pub(super) block_size: u64,
    pub(super) threads: usize,
    /// Keep the offsets of all chunks, not only of the first of each kind.
    pub(super) keep_offsets: bool,
    pub(super) direct: bool,
    /// Compare chunks with equal hashes.
    pub(super) compare: bool,
    pub(super) compress: bool,
    pub(super) method: Method,
    pub(super) progress: Progress,
}

/// A file or device, opened for reading.
pub(super) struct Target {
    pub(super) path: PathBuf,
    file: File,
    /// Size in bytes, truncated to whole chunks.
    pub(super) size: u64,
    block_size: u64,
}

impl Target {
    /// Opens a file or block device with at least one chunk; anything else is an error.
    pub(super) fn open(path: &Path, options: &Options) -> Result<Target, Failure> {
        let block_size = options.block_size;
        if !(1..=LARGEST_BLOCK).contains(&block_size) {
            return Err(Failure::new(format!(
                "a chunk of {block_size} bytes is not possible; use 1 byte to 256 MiB"
            )));
        }
        let flags = if options.direct { libc::O_DIRECT } else { 0 };
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)
            .map_err(|error| Failure::file(path, &error))?;
        let kind = file.metadata().map_err(|error| Failure::file(path, &error))?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(Failure::new(format!("{}: neither a file nor a block device", path.display())));
        }
        let length = file.seek(SeekFrom::End(0)).map_err(|error| Failure::file(path, &error))?;
        let size = length - length % block_size;
        if size == 0 {
            let name = path.display();
            return Err(Failure::new(format!(
                "{name}: its {length} bytes are less than one chunk of {block_size}"
            )));
        }
        Ok(Target { path: path.to_owned(), file, size, block_size })
    }

    /// Number of chunks.
    pub(super) fn chunks(&self) -> u64 {
        self.size / self.block_size
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<(), Failure> {
        self.file.read_exact_at(buffer, offset).map_err(|error| {
            let hint = match error.raw_os_error() {
                Some(libc::EINVAL) => "; O_DIRECT reads only multiples of the device's block size",
                _ => "",
            };
            Failure::new(format!(
                "{}: reading at {offset}: {error}{hint}",
                self.path.display(),
                error = plain(&error)
            ))
        })
    }
}

/// Results of a scan.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Chunks read.
    pub(super) chunks: u64,
    /// Number of unique chunks.
    pub(super) unique: u64,
    /// Number of unique chunks that occur more than once; exact method only.
    pub(super) duplicated: Option<u64>,
    /// Total compressed size of the unique chunks, each compressed individually.
    pub(super) compressed_bytes: Option<u64>,
    /// Each unique chunk and its offsets, by hash, if they are kept.
    pub(super) extents: Vec<(Hash, Vec<u64>)>,
}

/// State shared by the threads.
struct Shared<'a> {
    target: &'a Target,
    options: &'a Options,
    next_offset: AtomicU64,
    bytes_done: AtomicU64,
    unique: AtomicU64,
    compressed_bytes: AtomicU64,
    seen: Seen,
}

enum Seen {
    Exact(Table),
    Bloom(Bloom),
}

/// Reads the whole target.
pub(super) fn run(target: &Target, options: &Options, streams: &mut Streams<'_>) -> Result<Found, Failure> {
    let shared = Shared {
        target,
        options,
        next_offset: AtomicU64::new(0),
        bytes_done: AtomicU64::new(0),
        unique: AtomicU64::new(0),
        compressed_bytes: AtomicU64::new(0),
        seen: match options.method {
            Method::Exact => Seen::Exact(Table::new(options.keep_offsets)),
            Method::Bloom => Seen::Bloom(Bloom::for_chunks(target.chunks())),
        },
    };
    read_in_threads(&shared, streams)?;
    let mut found = Found {
        chunks: target.chunks(),
        unique: shared.unique.into_inner(),
        compressed_bytes: options.compress.then_some(shared.compressed_bytes.into_inner()),
        ..Found::default()
    };
    if let Seen::Exact(table) = shared.seen {
        found.duplicated = Some(table.duplicated());
        if options.keep_offsets {
            found.extents = table.into_extents();
        }
    }
    Ok(found)
}

fn read_in_threads(shared: &Shared<'_>, streams: &mut Streams<'_>) -> Result<(), Failure> {
    let batches = shared.target.size.div_ceil(shared.batch_bytes());
    let threads = (shared.options.threads as u64).clamp(1, batches);
    std::thread::scope(|scope| {
        let (ended, ends) = mpsc::channel();
        for number in 0..threads {
            let for_thread = ended.clone();
            let work = move || {
                // The result is ignored: the receiver outlives the scope unless it has already returned with an
                // error.
                let _ = for_thread.send(shared.work());
            };
            std::thread::Builder::new().spawn_scoped(scope, work).map(drop).or_else(
                |error| match number {
                    0 => Err(Failure::new(format!("cannot start a thread: {error}", error = plain(&error)))),
                    // The scan also works with fewer threads.
                    _ => ended.send(Ok(())).map_err(|_| Failure::new("the threads are gone")),
                },
            )?;
        }
        let mut running = threads;
        while running > 0 {
            match ends.recv_timeout(PROGRESS_EVERY) {
                Ok(Ok(())) => running -= 1,
                Ok(Err(failure)) => {
                    shared.stop();
                    return Err(failure);
                }
                Err(RecvTimeoutError::Timeout) => {
                    shared.tell_progress(streams).inspect_err(|_| shared.stop())?;
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Failure::new("a thread ended early")),
            }
        }
        Ok(())
    })
}

impl Shared<'_> {
    fn batch_bytes(&self) -> u64 {
        let block = self.options.block_size;
        (BATCH / block).max(1) * block
    }

    /// Removes the remaining work, so that the other threads end.
    fn stop(&self) {
        self.next_offset.store(self.target.size, Relaxed);
    }

    fn tell_progress(&self, streams: &mut Streams<'_>) -> Result<(), Failure> {
        let percent = self.bytes_done.load(Relaxed) as f64 / self.target.size as f64 * 100.0;
        let stream = match self.options.progress {
            Progress::None => return Ok(()),
            Progress::StandardOutput => &mut *streams.out,
            Progress::StandardError => &mut *streams.err,
        };
        write!(stream, "{percent:3.2}% done")?;
        stream.line_start()?;
        Ok(stream.flush()?)
    }

    /// Main function of a thread: processes batches until none are left.
    fn work(&self) -> Result<(), Failure> {
        let Options { block_size, compare, compress, .. } = *self.options;
        let batch = self.batch_bytes();
        let mut memory = Aligned::new(batch);
        let mut scratch = Scratch {
            copy: compare.then(|| Aligned::new(block_size)),
            compressor: compress.then(|| Compressor::new(block_size)),
        };
        loop {
            // The order is relaxed, because only the number matters and no other memory is published.
            let offset = self.next_offset.fetch_add(batch, Relaxed);
            if offset >= self.target.size {
                return Ok(());
            }
            let length = batch.min(self.target.size - offset) as usize;
            let buffer = &mut memory.bytes()[..length];
            self.target.read(buffer, offset)?;
            for (number, chunk) in buffer.chunks_exact(block_size as usize).enumerate() {
                self.add(chunk, offset + number as u64 * block_size, &mut scratch)?;
            }
            self.bytes_done.fetch_add(length as u64, Relaxed);
        }
    }

    fn add(&self, chunk: &[u8], offset: u64, scratch: &mut Scratch) -> Result<(), Failure> {
        let hash = fast_md5::digest(chunk);
        let is_new = match &self.seen {
            Seen::Bloom(bloom) => bloom.insert(hash),
            Seen::Exact(table) => table.add(hash, offset, |first| {
                let Some(copy) = &mut scratch.copy else { return Ok(true) };
                self.target.read(copy.bytes(), first)?;
                Ok(copy.bytes() == chunk)
            })?,
        };
        if is_new {
            self.unique.fetch_add(1, Relaxed);
            if let Some(compressor) = &mut scratch.compressor {
                self.compressed_bytes.fetch_add(compressor.size_of(chunk)?, Relaxed);
            }
        }
        Ok(())
    }
}

/// Memory that a thread needs in addition to its buffer, if requested.
struct Scratch {
    /// A chunk read again for comparison.
    copy: Option<Aligned>,
    compressor: Option<Compressor>,
}

/// Memory aligned for O_DIRECT.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    fn new(length: u64) -> Aligned {
        let length = length as usize;
        let memory = vec![0; length + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Aligned { memory, start, length }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}
