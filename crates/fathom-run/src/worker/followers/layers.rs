//! The worker's part in `--layers`: a record per I/O, pushed into a ring that the recorder empties. A worker never
//! waits for room there, because that would change what is measured.

use crate::unit::Unit;
use crate::worker::WorkerContext;
use crate::worker::feature::{Feature, Needs};
use fathom_logs::IoRecord;
use fathom_logs::ring::Producer;
use fathom_stats::samples::bump;
use fathom_stats::{Direction, PerDirection};
use fathom_sys::clock::{Clock, Moment};
use std::sync::atomic::AtomicU64;

/// The ring of a worker's I/Os for the recorder of layers.
pub(in crate::worker) struct LayerMarks<'a> {
    producer: Producer<'a>,
    /// Records for which the ring had no room.
    dropped: &'a PerDirection<AtomicU64>,
    clock: Clock,
    /// A tick and its system time, which is the kernel's, updated whenever the system clock is read; `None` before
    /// recording begins, as during a ramp.
    anchor: Option<Moment>,
}

impl Feature for LayerMarks<'_> {
    /// Must see each completion.
    fn needs(&self) -> Needs {
        Needs { ends_from_ns: Some(0), ..Needs::default() }
    }
}

impl<'a> LayerMarks<'a> {
    /// The ring of a worker; `None` if its layers are not recorded.
    pub(in crate::worker) fn of(context: &WorkerContext<'a>, clock: Clock) -> Option<LayerMarks<'a>> {
        let (producer, dropped) = context.region.layers()?.producer(context.index)?;
        Some(LayerMarks { producer, dropped, clock, anchor: None })
    }

    /// Starts recording I/Os, or synchronises with the system clock.
    pub(in crate::worker) fn anchor(&mut self, now: Moment) {
        self.anchor = Some(now);
    }

    /// True once recording has begun.
    pub(in crate::worker) fn has_begun(&self) -> bool {
        self.anchor.is_some()
    }

    /// Records an I/O that completed at this tick.
    #[inline]
    pub(in crate::worker) fn record(
        &mut self,
        unit: &Unit,
        direction: Direction,
        slat_ns: Option<u64>,
        clat_ns: u64,
        tick: u64,
    ) {
        let Some(anchor) = self.anchor else { return };
        let record = IoRecord {
            end_ns: self.clock.ns_at(tick, anchor),
            slat_ns,
            clat_ns,
            offset: unit.offset(),
            length: unit.length(),
            direction: direction as u8,
            // The number of the file. Those beyond the last that fits are unknown to the recorder.
            priority: u16::try_from(unit.file()).unwrap_or(u16::MAX),
            is_response: false,
        };
        if !self.producer.push(&record) {
            bump(&self.dropped[direction], 1);
        }
    }
}
