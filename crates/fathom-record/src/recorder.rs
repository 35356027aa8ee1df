//! The recorder: it drains the buffers of all processors and puts their events in order.

use crate::RecordError;
use crate::buffers::{Buffers, Losses, Piece};
use crate::events::Events;
use crate::guard::Guard;
use fathom_sys::clock;
use fathom_trace::blktrace::{Event, code};
use fathom_trace::side::{Lost, RecordedDevice};
use std::collections::HashSet;
use std::ops::Range;

/// Names of programs that are remembered as written; more are written again.
const MOST_NAMES: usize = 1 << 16;

/// Size of a buffer that nothing is recorded in, in KiB.
const LEAST_KIB: u64 = 4;

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

/// The part of the devices whose events are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Binary logarithm of the size of a region in sectors.
    pub region: u32,
    /// Binary logarithm of the number of regions of which one is recorded; 0 for all.
    pub shift: u32,
}

impl Sample {
    /// Returns the bits of a sector's number that are zero in the sample.
    fn mask(self) -> u64 {
        ((1 << self.shift) - 1) << self.region
    }

    /// True if the sectors are in one region of the sample.
    pub fn holds(self, sectors: &Range<u64>) -> bool {
        let last = sectors.end.saturating_sub(1).max(sectors.start);
        self.shift == 0
            || sectors.start & self.mask() == 0 && sectors.start >> self.region == last >> self.region
    }
}

/// Events sorted by time, with the names of newly seen processes and the gaps left by lost events.
#[derive(Debug, Default)]
pub struct Batch {
    /// The events.
    pub events: Vec<Event>,
    /// Processes whose name was seen for the first time: id and name.
    pub names: Vec<(u32, Vec<u8>)>,
    /// Gaps.
    pub lost: Vec<Lost>,
}

/// A recording.
pub struct Recorder {
    buffers: Buffers,
    events: Events,
    /// Events already read that may still be preceded by unread events of other processors.
    waiting: Vec<Event>,
    /// Start of the previous drain, `u64::MAX` after the stop. The next drain reads the last events up to this time.
    settled_ns: u64,
    /// The value of `settled_ns` with which the last drain handed out events.
    complete_ns: u64,
    /// Time of the last event handed out.
    handed_ns: u64,
    late: u64,
    seen_names: Option<HashSet<(u32, Vec<u8>)>>,
    _guard: Option<Guard>,
}

impl Recorder {
    /// Returns why nothing can be recorded on this machine, if so, without recording anything.
    pub fn probe() -> Result<(), RecordError> {
        Buffers::new(LEAST_KIB).map(drop)
    }

    /// Begins to record. The calling process must have one thread.
    pub fn start(wishes: &Wishes) -> Result<Recorder, RecordError> {
        let mut buffers = Buffers::new(wishes.buffer_kib)?;
        let guard = Guard::start(&mut [buffers.instance_mut()]);
        let all = Sample::default();
        let events =
            Events::enable(buffers.instance(), |has_sectors| filter(&wishes.devices, all, has_sectors))?;
        buffers.start()?;
        Ok(Recorder {
            buffers,
            events,
            waiting: Vec::new(),
            settled_ns: 0,
            complete_ns: 0,
            handed_ns: 0,
            late: 0,
            seen_names: wishes.names.then(HashSet::new),
            _guard: guard,
        })
    }

    /// Records other devices, or another part of them, from now on.
    pub fn watch(&mut self, devices: &[RecordedDevice], sample: Sample) -> Result<(), RecordError> {
        self.events.refilter(self.buffers.instance(), |has_sectors| filter(devices, sample, has_sectors))
    }

    /// Time in monotonic ns up to which [`drain`](Recorder::drain) has handed out all events.
    pub fn handed_out_until(&self) -> u64 {
        self.complete_ns
    }

    /// What the kernel has lost so far.
    pub fn losses(&self) -> Losses {
        self.buffers.losses()
    }

    /// Events handed out after later ones.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Stops the recording. What the buffers hold can still be drained.
    pub fn stop(&mut self) -> Result<(), RecordError> {
        self.buffers.stop()?;
        self.settled_ns = u64::MAX;
        Ok(())
    }

    /// Reads all that the buffers hold, and puts into `batch` what is complete: the events up to the time of the call before. The
    /// events of a processor become readable when it has written them, which takes less than the time between two calls.
    ///
    /// Returns the largest number of bytes that one processor's buffer held.
    pub fn drain(&mut self, batch: &mut Batch) -> Result<u64, RecordError> {
        let now = clock::monotonic_ns();
        let (events, waiting, seen_names) = (&self.events, &mut self.waiting, &mut self.seen_names);
        let most = self.buffers.drain(|piece| match piece {
            Piece::Gap(lost) => batch.lost.push(lost),
            Piece::Event(cpu, time_ns, bytes) => {
                let Some(decoded) = events.decode(bytes) else { return };
                waiting.push(Event { time_ns, cpu, ..decoded.event });
                if let (Some(seen), Some(name)) = (seen_names.as_mut(), decoded.program) {
                    note_name(seen, decoded.event, name.text(bytes), &mut batch.names);
                }
            }
        })?;
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
        self.complete_ns = self.settled_ns;
        self.settled_ns = self.settled_ns.max(now);
        Ok(most)
    }

    /// Events that the kernel has lost by its own count, in all buffers: more than the gaps say if nothing came after them.
    pub fn lost_in_all(&self) -> Result<u64, RecordError> {
        self.buffers.lost_in_all()
    }
}

fn note_name(seen: &mut HashSet<(u32, Vec<u8>)>, event: Event, name: &[u8], names: &mut Vec<(u32, Vec<u8>)>) {
    // The program of a completion is the one that it interrupted.
    if event.code & 0xff == code::COMPLETE & 0xff || name.is_empty() {
        return;
    }
    let entry = (event.pid, name.to_vec());
    if !seen.contains(&entry) {
        if seen.len() >= MOST_NAMES {
            seen.clear();
        }
        names.push(entry.clone());
        seen.insert(entry);
    }
}

/// The kernel's filter of these devices; events without a number of sectors have no exception for flushes, which have no place.
fn filter(devices: &[RecordedDevice], sample: Sample, has_sectors: bool) -> String {
    if devices.is_empty() {
        // No device has this number; without a filter, all would be recorded.
        return "dev == 0".to_owned();
    }
    let one = |device: &RecordedDevice| {
        let number = device.device.major << 20 | device.device.minor;
        let (first, end) = device.recorded;
        if first == 0 && end >= device.sectors {
            return format!("dev == {number}");
        }
        let flushes = if has_sectors { " || nr_sector == 0" } else { "" };
        format!("(dev == {number} && ((sector >= {first} && sector < {end}){flushes}))")
    };
    let devices = devices.iter().map(one).collect::<Vec<_>>().join(" || ");
    match sample.mask() {
        0 => devices,
        mask => format!("({devices}) && !(sector & {mask})"),
    }
}
