//! `write_iolog`: records the I/Os of a worker in the order of issue.

use crate::files::open::OpenFiles;
use crate::logs::{FileEvent, Ring};
use crate::worker::WorkerContext;
use crate::worker::feature::{Feature, Needs};
use crate::worker::followers::logging::RecordQueue;
use fathom_logs::IoRecord;
use fathom_sys::clock::{Clock, Moment};

/// The recording of a worker.
pub(in crate::worker) struct IssueLog<'a> {
    queue: RecordQueue<'a>,
    clock: Clock,
    /// A tick, and the time in ns between the start of the job and this tick; updated whenever the system clock
    /// is read.
    anchor: Moment,
    start_ns: u64,
    /// Offset of the last I/O; a sync is recorded with this offset.
    last_offset: u64,
}

impl Feature for IssueLog<'_> {
    /// Must see every issued I/O.
    fn needs(&self) -> Needs {
        Needs { preparation: true, ..Needs::default() }
    }
}

impl<'a> IssueLog<'a> {
    /// The recording of a worker, if its job requests one.
    pub(in crate::worker) fn of(context: &WorkerContext<'a>, clock: Clock) -> Option<IssueLog<'a>> {
        let logs = context.region.logs()?;
        let queue = RecordQueue::of(context, logs, Ring::Recording)?;
        Some(IssueLog { queue, clock, anchor: Moment { ticks: 0, ns: 0 }, start_ns: 0, last_offset: 0 })
    }

    /// Records the start of the job.
    pub(in crate::worker) fn begin(&mut self, now: Moment, files: &OpenFiles) {
        self.start_ns = now.ns;
        self.anchor(now);
        (0..files.list.len()).for_each(|file| self.note(FileEvent::Add, file as u32));
        self.note_open_files(FileEvent::Open, files);
    }

    /// Synchronises the recorder with the system clock.
    pub(in crate::worker) fn anchor(&mut self, now: Moment) {
        self.anchor = now;
    }

    /// Records that an operation, given by its number in units, is issued now. Offset and length of syncs are
    /// ignored.
    pub(in crate::worker) fn issue(&mut self, operation: u8, file: u32, offset: u64, length: u32) {
        if length > 0 {
            self.last_offset = offset;
        }
        let now_ns = self.clock.ns_at(self.clock.ticks(), self.anchor);
        self.queue.push(&IoRecord {
            end_ns: now_ns.saturating_sub(self.start_ns),
            slat_ns: None,
            clat_ns: u64::from(file),
            offset: self.last_offset,
            length,
            direction: operation,
            priority: 0,
            is_response: false,
        });
    }

    /// Records that a file was opened or closed.
    pub(in crate::worker) fn note(&mut self, event: FileEvent, file: u32) {
        self.issue(event as u8, file, 0, 0);
    }

    /// Records the same event for every open file.
    fn note_open_files(&mut self, event: FileEvent, files: &OpenFiles) {
        let open = (0..files.list.len()).filter(|file| files.is_open(*file));
        open.for_each(|file| self.note(event, file as u32));
    }

    /// Records that another pass over the files begins: fio closes and reopens the files before it.
    pub(in crate::worker) fn end_pass(&mut self, files: &OpenFiles) {
        self.note_open_files(FileEvent::Close, files);
        self.note_open_files(FileEvent::Open, files);
    }

    /// Records the end of the job.
    pub(in crate::worker) fn end(&mut self, files: &OpenFiles) {
        self.anchor(self.clock.moment());
        self.note_open_files(FileEvent::Close, files);
        self.queue.close(0);
    }
}
