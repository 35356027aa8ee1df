//! The recorder: it drains the buffers of all processors and puts their events in order.

use crate::RecordError;
use crate::events::Events;
use crate::guard::Guard;
use crate::instance::Instance;
use crate::page::Layout;
use fathom_sys::clock;
use fathom_trace::blktrace::{Event, code};
use fathom_trace::side::{Lost, RecordedDevice};
use std::collections::HashSet;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::mem;

/// Names of programs that are remembered as written; more are written again.
const MOST_NAMES: usize = 1 << 16;
/// Largest page that a kernel gives at a time.
const LARGEST_PAGE: usize = 1 << 20;

/// What to record.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// The devices; see [`crate::devices::below`].
    pub devices: Vec<RecordedDevice>,
    /// Size of the kernel's buffer per processor, in KiB.
    pub buffer_kib: u64,
    /// Record the names of programs.
    pub names: bool,
}

/// What was lost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Events lost in full buffers, as far as the kernel says how many.
    pub events: u64,
    /// Gaps, with and without a number.
    pub gaps: u64,
}

/// Events in order of time, and what belongs to them.
#[derive(Debug, Default)]
pub struct Batch {
    /// The events.
    pub events: Vec<Event>,
    /// Processes whose name was seen for the first time: id and name.
    pub names: Vec<(u32, Vec<u8>)>,
    /// Gaps.
    pub lost: Vec<Lost>,
}

/// The buffer of one processor.
struct Buffer {
    cpu: u32,
    pages: File,
    /// Time of the last event.
    last_ns: u64,
}

/// A recording.
pub struct Recorder {
    layout: Layout,
    events: Events,
    buffers: Vec<Buffer>,
    page: Box<[u8]>,
    /// Events that wait for what other processors did before them.
    waiting: Vec<Event>,
    /// Everything up to this time was read by the round before.
    settled_ns: u64,
    /// Time of the last event handed out.
    handed_ns: u64,
    late: u64,
    seen_names: Option<HashSet<(u32, Vec<u8>)>>,
    losses: Losses,
    /// Declared after the buffers, whose files must be closed before it can be removed.
    instance: Instance,
    _guard: Option<Guard>,
}

impl Recorder {
    /// Begins to record. The calling process must have one thread.
    pub fn start(wishes: &Wishes) -> Result<Recorder, RecordError> {
        let mut instance = Instance::new()?;
        let guard = Guard::start(&mut instance);
        let descriptions = ["events/header_page", "events/header_event"];
        let [page, event] = descriptions.map(|name| instance.shared(name));
        let layout =
            Layout::of(&page?, &event?).ok_or_else(|| RecordError::Layout(descriptions.join(", ")))?;
        instance.write("tracing_on", "0")?;
        instance.write("trace_clock", "mono")?;
        instance.write("buffer_size_kb", &wishes.buffer_kib.to_string())?;
        // A full buffer loses its oldest events: pages then say where how many are missing.
        instance.write("options/overwrite", "1")?;
        let events = Events::enable(&instance, |has_sectors| filter(&wishes.devices, has_sectors))?;
        let mut buffers = Vec::new();
        for cpu in processors(&instance)? {
            let pages = instance.open(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"))?;
            buffers.push(Buffer { cpu, pages, last_ns: 0 });
        }
        instance.write("tracing_on", "1")?;
        Ok(Recorder {
            layout,
            events,
            buffers,
            page: vec![0; LARGEST_PAGE].into_boxed_slice(),
            waiting: Vec::new(),
            settled_ns: 0,
            handed_ns: 0,
            late: 0,
            seen_names: wishes.names.then(HashSet::new),
            losses: Losses::default(),
            instance,
            _guard: guard,
        })
    }

    /// What the kernel has lost so far.
    pub fn losses(&self) -> Losses {
        self.losses
    }

    /// Events handed out after later ones.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Stops the recording. What the buffers hold can still be drained.
    pub fn stop(&mut self) -> Result<(), RecordError> {
        self.instance.write("tracing_on", "0")?;
        self.settled_ns = u64::MAX;
        Ok(())
    }

    /// Reads all that the buffers hold, and puts into `batch` what is complete: the events up to the time of the call before. The
    /// events of a processor become readable when it has written them, which takes less than the time between two calls.
    ///
    /// Returns the largest number of bytes that one processor's buffer held.
    pub fn drain(&mut self, batch: &mut Batch) -> Result<u64, RecordError> {
        let now = clock::monotonic_ns();
        let mut buffers = mem::take(&mut self.buffers);
        let mut read = Ok(0);
        for buffer in &mut buffers {
            match self.read(buffer, batch) {
                Ok(bytes) => read = read.map(|most: u64| most.max(bytes)),
                error => read = error,
            }
        }
        self.buffers = buffers;
        let most = read?;
        // Stable, and fast for sequences that are in order already: the processors'.
        self.waiting.sort_by_key(|event| event.time_ns);
        let count = self.waiting.partition_point(|event| event.time_ns <= self.settled_ns);
        // In order among themselves: only the first of them can be older than what was handed out before.
        let late = self.waiting.iter().take(count).take_while(|event| event.time_ns < self.handed_ns);
        self.late += late.count() as u64;
        if let Some(last) = self.waiting[..count].last() {
            self.handed_ns = self.handed_ns.max(last.time_ns);
        }
        batch.events.extend_from_slice(&self.waiting[..count]);
        self.waiting.drain(..count);
        self.settled_ns = self.settled_ns.max(now);
        Ok(most)
    }

    /// Reads the pages of one processor, and returns their bytes.
    fn read(&mut self, buffer: &mut Buffer, batch: &mut Batch) -> Result<u64, RecordError> {
        let mut sum = 0;
        loop {
            let length = match buffer.pages.read(&mut self.page) {
                Ok(0) => return Ok(sum),
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(sum),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.unreadable(buffer.cpu, error)),
            };
            sum += length as u64;
            let damaged = || RecordError::Damaged { cpu: buffer.cpu };
            let mut page = self.layout.page(&self.page[..length]).ok_or_else(damaged)?;
            let mut gap = (page.lost != Some(0)).then_some(page.lost);
            for (time_ns, bytes) in page.events.by_ref() {
                if let Some(events) = gap.take() {
                    self.losses.gaps += 1;
                    self.losses.events += events.unwrap_or(0);
                    let lost = Lost { cpu: buffer.cpu, events, after_ns: buffer.last_ns, before_ns: time_ns };
                    batch.lost.push(lost);
                }
                buffer.last_ns = time_ns;
                let Some(decoded) = self.events.decode(bytes) else { continue };
                self.waiting.push(Event { time_ns, cpu: buffer.cpu, ..decoded.event });
                if let (Some(seen), Some(name)) = (&mut self.seen_names, decoded.program) {
                    note_name(seen, decoded.event, name.text(bytes), batch);
                }
            }
            if page.events.is_damaged() {
                return Err(damaged());
            }
        }
    }

    fn unreadable(&self, cpu: u32, error: std::io::Error) -> RecordError {
        let path = self.instance.path().join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        RecordError::Refused { path, error, advice: "the trace ends here" }
    }

    /// Events that the kernel has lost by its own count, in all buffers: more than the gaps say if nothing came after them.
    pub fn lost_in_all(&self) -> Result<u64, RecordError> {
        let mut sum = 0;
        for buffer in &self.buffers {
            let text = self.instance.read(&format!("per_cpu/cpu{}/stats", buffer.cpu))?;
            let of = |word: &str| -> u64 {
                let line = text.lines().find_map(|line| line.strip_prefix(word)?.strip_prefix(':'));
                line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
            };
            sum += of("overrun") + of("commit overrun") + of("dropped events");
        }
        Ok(sum)
    }
}

fn note_name(seen: &mut HashSet<(u32, Vec<u8>)>, event: Event, name: &[u8], batch: &mut Batch) {
    // The program of a completion is the one that it interrupted.
    if event.code & 0xff == code::COMPLETE & 0xff || name.is_empty() {
        return;
    }
    let entry = (event.pid, name.to_vec());
    if !seen.contains(&entry) {
        if seen.len() >= MOST_NAMES {
            seen.clear();
        }
        batch.names.push(entry.clone());
        seen.insert(entry);
    }
}

/// The processors that have a buffer.
fn processors(instance: &Instance) -> Result<Vec<u32>, RecordError> {
    let path = instance.path().join("per_cpu");
    let entries = std::fs::read_dir(&path).map_err(|error| RecordError::Refused {
        path: path.clone(),
        error,
        advice: "the kernel's log may say more (dmesg)",
    })?;
    let number = |name: &str| name.strip_prefix("cpu")?.parse().ok();
    let mut found: Vec<u32> =
        entries.flatten().filter_map(|entry| number(&entry.file_name().to_string_lossy())).collect();
    found.sort_unstable();
    Ok(found)
}

/// The kernel's filter of these devices; events without a number of sectors have no exception for flushes, which have no place.
fn filter(devices: &[RecordedDevice], has_sectors: bool) -> String {
    let one = |device: &RecordedDevice| {
        let number = device.device.major << 20 | device.device.minor;
        let (first, end) = device.recorded;
        if first == 0 && end >= device.sectors {
            return format!("dev == {number}");
        }
        let flushes = if has_sectors { " || nr_sector == 0" } else { "" };
        format!("(dev == {number} && ((sector >= {first} && sector < {end}){flushes}))")
    };
    devices.iter().map(one).collect::<Vec<_>>().join(" || ")
}
