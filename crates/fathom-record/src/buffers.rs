//! The trace buffers of all processors: an instance of tracefs, and the pages that are drained from it.

use crate::RecordError;
use crate::instance::Instance;
use crate::page::Layout;
use fathom_trace::side::Lost;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, RawFd};

/// Largest page that a kernel gives at a time.
const LARGEST_PAGE: usize = 1 << 20;

/// What was lost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Events lost in full buffers, as far as the kernel says how many.
    pub events: u64,
    /// Gaps, with and without a number.
    pub gaps: u64,
}

/// The buffer of one processor.
struct Buffer {
    cpu: u32,
    pages: File,
    /// Time of the last event.
    last_ns: u64,
}

/// The buffers of an instance.
pub(crate) struct Buffers {
    layout: Layout,
    buffers: Vec<Buffer>,
    page: Box<[u8]>,
    losses: Losses,
    /// Declared after the buffers, whose files must be closed before it can be removed.
    instance: Instance,
}

/// What a page has.
pub(crate) enum Piece<'a> {
    /// An event: processor, time in ns, content.
    Event(u32, u64, &'a [u8]),
    /// Events are missing before the next one.
    Gap(Lost),
}

impl Buffers {
    /// Makes an instance that does not trace yet.
    pub(crate) fn new(buffer_kib: u64) -> Result<Buffers, RecordError> {
        let instance = Instance::new()?;
        let descriptions = ["events/header_page", "events/header_event"];
        let [page, event] = descriptions.map(|name| instance.shared(name));
        let layout =
            Layout::of(&page?, &event?).ok_or_else(|| RecordError::Layout(descriptions.join(", ")))?;
        instance.write("tracing_on", "0")?;
        instance.write("trace_clock", "mono")?;
        instance.write("buffer_size_kb", &buffer_kib.to_string())?;
        // A full buffer loses its oldest events: pages then say where how many are missing.
        instance.write("options/overwrite", "1")?;
        Ok(Buffers {
            layout,
            buffers: Vec::new(),
            page: vec![0; LARGEST_PAGE].into_boxed_slice(),
            losses: Losses::default(),
            instance,
        })
    }

    /// The instance.
    pub(crate) fn instance(&self) -> &Instance {
        &self.instance
    }

    /// The instance, for its guard.
    pub(crate) fn instance_mut(&mut self) -> &mut Instance {
        &mut self.instance
    }

    /// Starts to trace.
    pub(crate) fn start(&mut self) -> Result<(), RecordError> {
        for cpu in processors(&self.instance)? {
            let pages = self.instance.open(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"))?;
            self.buffers.push(Buffer { cpu, pages, last_ns: 0 });
        }
        self.instance.write("tracing_on", "1")
    }

    /// Stops to trace. What the buffers hold can still be drained.
    pub(crate) fn stop(&mut self) -> Result<(), RecordError> {
        self.instance.write("tracing_on", "0")
    }

    /// What the kernel has lost so far.
    pub(crate) fn losses(&self) -> Losses {
        self.losses
    }

    /// Descriptors that become readable when there is something to drain, if the instance wakes its readers.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.buffers.iter().map(|buffer| buffer.pages.as_raw_fd())
    }

    /// Reads all that the buffers hold, one processor after the other. Returns the largest number of bytes that one of them held.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(Piece<'_>)) -> Result<u64, RecordError> {
        let mut read = Ok(0);
        for buffer in &mut self.buffers {
            match read_buffer(buffer, self.layout, &mut self.page, &mut self.losses, &mut take) {
                Ok(bytes) => read = read.map(|most: u64| most.max(bytes)),
                Err(Unreadable::Damaged) => read = Err(RecordError::Damaged { cpu: buffer.cpu }),
                Err(Unreadable::Io(error)) => {
                    let path = self.instance.path().join(format!("per_cpu/cpu{}/trace_pipe_raw", buffer.cpu));
                    read = Err(RecordError::Refused { path, error, advice: "the trace ends here" });
                }
            }
        }
        read
    }

    /// Events that the kernel has lost by its own count, in all buffers: more than the gaps say if nothing came after them.
    pub(crate) fn lost_in_all(&self) -> Result<u64, RecordError> {
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

enum Unreadable {
    Damaged,
    Io(std::io::Error),
}

/// Reads the pages of one processor, and returns their bytes.
fn read_buffer(
    buffer: &mut Buffer,
    layout: Layout,
    page: &mut [u8],
    losses: &mut Losses,
    take: &mut impl FnMut(Piece<'_>),
) -> Result<u64, Unreadable> {
    let mut sum = 0;
    loop {
        let length = match buffer.pages.read(page) {
            Ok(0) => return Ok(sum),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(sum),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Unreadable::Io(error)),
        };
        sum += length as u64;
        let mut page = layout.page(&page[..length]).ok_or(Unreadable::Damaged)?;
        let mut gap = (page.lost != Some(0)).then_some(page.lost);
        for (time_ns, bytes) in page.events.by_ref() {
            if let Some(events) = gap.take() {
                losses.gaps += 1;
                losses.events += events.unwrap_or(0);
                let (cpu, after_ns) = (buffer.cpu, buffer.last_ns);
                take(Piece::Gap(Lost { cpu, events, after_ns, before_ns: time_ns }));
            }
            buffer.last_ns = time_ns;
            take(Piece::Event(buffer.cpu, time_ns, bytes));
        }
        if page.events.is_damaged() {
            return Err(Unreadable::Damaged);
        }
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
