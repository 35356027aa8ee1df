//! Handles the results of I/Os: counts them, continues, tolerates errors, or ends the job.

use super::tally::Tally;
use super::{Loop, Worker};
use crate::cause::{self, Cause};
use crate::invariant::holds;
use crate::message::Message;
use crate::unit::{Operation, Unit};
use crate::zones::fit;
use fathom_spec::engines::metadata::Metadata;
use fathom_stats::Direction;
use fathom_stats::counted;
use fathom_stats::samples::{DirectionSamples, SHORT_NS, bump};
use fathom_sys::Errno;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

/// Maximum size of a logical block: devices with larger blocks report the size to their file system.
const LARGEST_SECTOR: u64 = 4096;

/// What the loop does after a unit has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The slot is free again.
    Free,
    /// Only part of the data was moved, so the rest must be queued.
    GoOn,
}

/// Latencies of an I/O: submission, completion, and total; ns. If the clock went backwards, the values are
/// huge.
#[derive(Clone, Copy)]
struct Spans {
    slat: u64,
    clat: u64,
    lat: u64,
}

impl Spans {
    /// Latencies that have not been computed yet.
    const UNKNOWN: Spans = Spans { slat: u64::MAX, clat: u64::MAX, lat: u64::MAX };
}

impl<E: Loop + ?Sized> Worker<'_, E> {
    /// Handles a result. `now` is the tick of the reap.
    #[inline(always)]
    pub(super) fn complete(&mut self, slot: u32, result: i64, now: u64) -> After {
        self.complete_unit(slot, self.slots.end(slot), result, now, None)
    }

    /// Like [`complete`](Worker::complete), for the unit of a completed slot. Ordinary completions go to the
    /// tally of the reap.
    #[inline(always)]
    pub(super) fn complete_unit(
        &mut self,
        slot: u32,
        unit: &Unit,
        result: i64,
        now: u64,
        tally: Option<&mut Tally>,
    ) -> After {
        let length = unit.length();
        let whole = result == i64::from(length) && unit.done() == 0;
        match unit.direction() {
            Some(direction) if whole => {
                if !tally.is_some_and(|tally| tally.take_end(direction, unit, length, now)) {
                    self.record(slot, unit, direction, now);
                }
                After::Free
            }
            _ => self.any().complete_unusual(slot, result, now),
        }
    }

    /// Counts an I/O that has moved all its bytes.
    #[inline(always)]
    fn record(&mut self, slot: u32, unit: &Unit, direction: Direction, now: u64) {
        let samples = &self.samples.directions[direction];
        bump(&samples.bytes, u64::from(unit.length()));
        bump(&samples.completed, 1);
        // If the clock went backwards, this number is huge; the slow path handles that case.
        let clat = self.clock.span_ns(now.wrapping_sub(unit.issue()));
        if self.recording.submission {
            let slat = self.clock.span_ns(unit.issue().wrapping_sub(unit.start()));
            let spans = Spans { slat, clat, lat: slat.wrapping_add(clat) };
            if spans.lat < self.usual_latency_ns[direction] {
                samples.slat.record_short(slat);
                samples.lat.record_short(spans.lat);
                self.record_clat(samples, clat);
            } else {
                self.record_other(slot, unit, direction, now, spans);
            }
        } else if clat < self.usual_latency_ns[direction] {
            self.record_clat(samples, clat);
        } else {
            self.record_other(slot, unit, direction, now, Spans { slat: 0, clat, lat: clat });
        }
    }

    #[inline(always)]
    fn record_clat(&self, samples: &DirectionSamples, clat: u64) {
        let bin = samples.clat.record_short_in_bins(clat);
        self.samples.record_distribution_of_bin(clat, bin);
    }

    /// Records the figures that the fast path omits.
    #[inline(always)]
    fn record_other(&mut self, slot: u32, unit: &Unit, direction: Direction, now: u64, spans: Spans) {
        if spans.lat < self.short_latency_ns[direction] {
            self.record_chosen(&self.samples.directions[direction], spans.slat, spans.clat, spans.lat);
        } else {
            self.any().record_unusual(slot, unit, direction, now, spans);
        }
    }

    /// Records a short latency in a job with an unusual selection of latencies.
    #[inline(always)]
    fn record_chosen(&self, samples: &DirectionSamples, slat: u64, clat: u64, lat: u64) {
        let recording = &self.recording;
        if recording.slat && recording.submission {
            samples.slat.record_short_with(slat, recording.slat_bins);
        }
        if recording.lat {
            samples.lat.record_short_with(lat, recording.lat_bins);
        }
        if recording.clat && recording.clat_bins {
            self.record_clat(samples, clat);
        } else if recording.clat {
            samples.clat.record_short(clat);
            self.samples.record_distribution(clat);
        }
    }
}

impl Worker<'_> {
    /// Records a long latency, or any latency in a job whose features follow completions. The times are from a
    /// monotonic clock.
    #[inline(never)]
    fn record_unusual(&mut self, slot: u32, unit: &Unit, direction: Direction, now: u64, spans: Spans) {
        let Spans { slat, clat, lat } = match spans.lat < SHORT_NS {
            true => {
                self.record_chosen(&self.samples.directions[direction], spans.slat, spans.clat, spans.lat);
                spans
            }
            false => self.record_long(unit, direction, now),
        };
        let submission = self.recording.submission.then_some(slat);
        if let Some(priority) = &self.features.command_priority {
            priority.record(unit, direction, clat, lat);
        }
        if let Some(blocks) = &mut self.features.block_errors {
            blocks.completed(unit, direction);
        }
        if let Some(log) = &mut self.features.log {
            let own = self.features.command_priority.as_ref().map(|priority| priority.value_of(unit));
            log.record(unit, direction, submission, clat, own, now);
        }
        if let Some(layers) = &mut self.features.layers {
            layers.record(unit, direction, submission, clat, now);
        }
        if self.features.timed.is_some() {
            self.settle_arrival(slot, unit, direction, now);
        }
        let file = unit.file();
        let limit = self.latency_limit_ns[direction];
        if lat > limit {
            let word = unit.operation().word();
            self.latency_exceeded(lat, limit, file, word, unit.offset(), unit.length());
        }
        if let Some(search) = &mut self.features.latency_search
            && search.completed(unit, lat)
        {
            self.next_event = 0;
        }
        if let Some(pace) = &mut self.features.pace {
            pace.completed();
        }
        if self.features.admission.is_some() || self.features.zones.is_some() {
            self.settle_admission(unit, true);
        }
        if self.features.verifier.is_some() {
            self.settle_verified(slot, unit);
        }
        self.tell_of_end(unit);
    }

    #[cold]
    #[inline(never)]
    fn record_long(&self, unit: &Unit, direction: Direction, now: u64) -> Spans {
        let (samples, recording) = (&self.samples.directions[direction], &self.recording);
        let clat = self.clock.span_ns(now.saturating_sub(unit.issue()));
        let slat = match recording.submission {
            true => self.clock.span_ns(unit.issue().saturating_sub(unit.start())),
            false => 0,
        };
        let lat = slat + clat;
        if recording.slat && recording.submission {
            samples.slat.record(slat, recording.slat_bins);
        }
        if recording.clat {
            self.samples.record_long_clat(&samples.clat, clat, recording.clat_bins);
        }
        if recording.lat {
            samples.lat.record(lat, recording.lat_bins);
        }
        Spans { slat, clat, lat }
    }

    /// Records an arrival of an open loop: how late it was issued, and its response time.
    #[inline(never)]
    fn settle_arrival(&mut self, slot: u32, unit: &Unit, direction: Direction, now: u64) {
        let Some(response) = self.settle_timed(slot, Some(direction), now) else { return };
        if let Some(log) = &mut self.features.log {
            log.record_response(unit, direction, response, now);
        }
    }

    /// Handles syncs, short transfers and errors.
    #[cold]
    #[inline(never)]
    fn complete_unusual(&mut self, slot: u32, result: i64, now: u64) -> After {
        let unit = self.slots.unit(slot);
        if result == -i64::from(libc::ECANCELED) && self.engine.waits_for_peers() {
            self.give_up_waiting(slot, now);
            return After::Free;
        }
        if result < 0 {
            self.tell_of_end(unit);
            self.forget_verified(slot);
            self.failed(slot, Errno(-result as i32));
            self.settle_timed(slot, None, now);
            self.settle_admission(self.slots.unit(slot), false);
            return After::Free;
        }
        let Some(direction) = unit.direction() else {
            let lat = self.clock.span_ns(now.saturating_sub(unit.start()));
            self.samples.sync.record(lat, true);
            if self.features.timed.is_some() {
                self.settle_timed(slot, None, now);
            }
            if self.features.verifier.is_some() {
                self.settle_verified(slot, unit);
            }
            self.tell_of_end(unit);
            return After::Free;
        };
        let wanted = unit.length() - unit.done();
        let moved = match (direction, result) {
            // fallocate returns 0 for a freed range, so the whole length counts as trimmed.
            (Direction::Trim, 0) => wanted,
            _ => {
                holds!(result <= i64::from(wanted), Moved, "{direction:?} of {wanted} bytes moves {result}");
                result as u32
            }
        };
        if moved == wanted {
            self.record(slot, unit, direction, now);
            return After::Free;
        }
        if moved == 0 && direction == Direction::Read && self.takes_empty_reads(slot) {
            self.count_empty_read(slot, now);
            return After::Free;
        }
        if moved == 0 {
            self.forget_verified(slot);
            match self.engine.is_at_end() {
                true => self.leave_unfinished(slot),
                false => self.nothing_moved(slot),
            }
            self.settle_timed(slot, None, now);
            self.settle_admission(self.slots.unit(slot), false);
            return After::Free;
        }
        bump(&self.samples.directions[direction].short, 1);
        unit.add_done(moved);
        After::GoOn
    }

    /// Handles an I/O that waits for a peer. Returns true if it continues to wait; otherwise the job is over
    /// and the I/O is abandoned.
    #[cold]
    #[inline(never)]
    pub(super) fn waits_on(&mut self, slot: u32, now: u64) -> bool {
        let is_over = self.waits_for_nobody(now);
        if is_over {
            self.give_up_waiting(slot, now);
        }
        !is_over
    }

    /// True once the job no longer waits for peers.
    pub(super) fn waits_for_nobody(&mut self, now: u64) -> bool {
        if now >= self.next_event {
            self.handle_event(now);
        }
        self.is_over()
    }

    /// Abandons an I/O that still waits for a peer when the job is over: the I/O is reported but not counted.
    pub(super) fn give_up_waiting(&mut self, slot: u32, now: u64) {
        let unit = self.slots.unit(slot);
        unit.set_in_flight(false);
        let seconds = self.clock.span_ns(now.saturating_sub(unit.start())) as f64 / 1e9;
        let (job, word) = (&self.plan.name, unit.operation().word());
        let name = &self.files.list[unit.file() as usize].name;
        let (offset, length, done) = (unit.offset(), unit.length(), unit.done());
        let others = match self.slots.units().iter().filter(|unit| unit.is_in_flight()).count() {
            0 => String::new(),
            count => format!(" ({} abandoned)", counted(count, "more I/O")),
        };
        let line = format!(
            "fathom: job {job}: the peer did not respond: abandoned {word} {name} offset={offset} \
            length={length} after {seconds:.1} s with {done} bytes moved, because the job ended{others}"
        );
        if !std::mem::replace(&mut self.has_given_up_waiting, true) {
            self.context.messages.send(&Message::Error(line));
        }
        self.forget_verified(slot);
        self.leave_unfinished(slot);
        self.settle_timed(slot, None, now);
        self.settle_admission(self.slots.unit(slot), false);
    }

    /// Ends an I/O that will not move any more bytes, and the job, without an error. Bytes already moved count.
    fn leave_unfinished(&mut self, slot: u32) {
        self.stopping = true;
        let unit = self.slots.unit(slot);
        if let Some(direction) = unit.direction() {
            let samples = &self.samples.directions[direction];
            bump(&samples.bytes, u64::from(unit.done()));
            // Adding `u64::MAX` subtracts 1, so the I/O counts as never issued.
            bump(&samples.issued, u64::MAX);
        }
        self.tell_of_end(unit);
    }

    /// Whether a read at the end of the file counts as an I/O. As in fio, it counts with engines that queue,
    /// and ends the job with synchronous engines. A device that ends before its size has gone away, so the read
    /// has failed. A read whose data is to be verified has always failed.
    fn takes_empty_reads(&self, slot: u32) -> bool {
        let is_checked = self.features.verifier.as_ref().is_some_and(|verifier| verifier.checks(slot));
        let engine = self.context.engine.definition;
        let is_device = self.files.kind(self.slots.unit(slot).file() as usize).has_fixed_size();
        !is_device
            && !engine.synchronous
            && !engine.sends_commands
            && !is_checked
            && !self.engine.waits_for_peers()
    }

    /// Counts a read at the end of its file: it took time, but moved only the bytes of its earlier attempts.
    fn count_empty_read(&mut self, slot: u32, now: u64) {
        let unit = self.slots.unit(slot);
        let samples = &self.samples.directions[Direction::Read];
        bump(&samples.bytes, u64::from(unit.done()));
        bump(&samples.completed, 1);
        self.record_unusual(slot, unit, Direction::Read, now, Spans::UNKNOWN);
        if !std::mem::replace(&mut self.has_read_nothing, true) {
            let (job, name) = (&self.plan.name, &self.files.list[unit.file() as usize].name);
            let offset = unit.offset() + u64::from(unit.done());
            let line = format!(
                "fathom: job {job}: {name} ends before offset {offset}: reads beyond its end count as I/Os and move nothing"
            );
            self.context.messages.send(&Message::Error(line));
        }
    }

    /// Ends the job after a transfer that moved no bytes (end of file), because retrying it would never end.
    fn nothing_moved(&mut self, slot: u32) {
        self.note_failed_blocks(slot);
        let errno = Errno(libc::EIO);
        if self.tolerates(self.slots.unit(slot).operation(), errno) {
            self.count_tolerated(slot, errno);
            return;
        }
        self.stopping = true;
        self.count_ended(slot);
        self.context.fail(errno, Cause::EMPTY_TRANSFER);
    }

    fn failed(&mut self, slot: u32, errno: Errno) {
        let operation = self.slots.unit(slot).operation();
        if errno.is_out_of_space() && self.plan.files.layout.fills_device && operation == Operation::Write {
            // `fill_device` is set, so a full device is the intended end of the job.
            self.stopping = true;
            return;
        }
        self.note_failed_blocks(slot);
        if self.tolerates(operation, errno) {
            self.count_tolerated(slot, errno);
            return;
        }
        self.count_ended(slot);
        if self.stopping && self.block.error().is_some() {
            return;
        }
        self.stopping = true;
        self.count_error(errno);
        if let Some(metadata) = self.plan.metadata {
            return self.name_failed(slot, metadata, errno);
        }
        self.report_io_error(slot, errno);
        self.report_alignment(slot, errno);
        self.report_full(self.slots.unit(slot).file(), errno);
        if operation == Operation::Write && self.plan.zones.is_none() {
            self.tell_of_zones(slot);
        }
        self.context.fail(errno, Cause::TRANSFER);
    }

    fn note_failed_blocks(&mut self, slot: u32) {
        let unit = self.slots.unit(slot);
        if let (Some(blocks), Some(direction)) = (&mut self.features.block_errors, unit.direction()) {
            blocks.failed(unit, direction);
        }
    }

    /// Explains the most common reason why direct I/O is refused.
    fn report_alignment(&self, slot: u32, errno: Errno) {
        let unit = self.slots.unit(slot);
        let (offset, length) = (unit.offset(), unit.length());
        let is_aligned = (offset | u64::from(length)) % LARGEST_SECTOR == 0;
        if errno != Errno(libc::EINVAL) || !self.plan.files.opening.direct || is_aligned || length == 0 {
            return;
        }
        let line = format!(
            "fathom: job {}: direct I/O takes offsets and lengths that are multiples of the device's logical block size, \
             mostly 512 or 4096 bytes, and this one has {length} bytes at {offset}: change bs= or offset=, or leave out direct=1",
            self.plan.name
        );
        self.context.messages.send(&Message::Error(line));
    }

    /// Explains a failed write on a zoned device: without zone rules, writes on such a device fail sooner or
    /// later.
    fn tell_of_zones(&self, slot: u32) {
        let name = &self.files.list[self.slots.unit(slot).file() as usize].name;
        if fit::is_zoned(Path::new(name)) {
            let line = format!(
                "fathom: {name} is a zoned block device: zonemode=zbd writes where its zones allow it"
            );
            self.context.messages.send(&Message::Error(line));
        }
    }

    /// Reports a failed metadata operation: further messages, then fio's line, which names the call.
    fn name_failed(&mut self, slot: u32, metadata: Metadata, errno: Errno) {
        let why = self.engine.protocol_status(slot);
        let file = &self.files.list[self.slots.unit(slot).file() as usize];
        if let Some(why) = why {
            let line = format!("fathom: job {}: {}: {why}", self.plan.name, file.name);
            self.context.messages.send(&Message::Error(line));
        }
        self.report_full(self.slots.unit(slot).file(), errno);
        let line = cause::line_of_name(metadata.call(), &file.name, errno);
        self.context.fail_in_words(errno, &line);
    }

    /// Reports a failed sync outside of the loop's I/O.
    pub(super) fn sync_failed(&self, file: u32, errno: Errno) {
        self.report_error(file, Operation::Sync, (0, 0), &errno.to_string());
        self.report_full(file, errno);
        self.context.fail(errno, Cause::TRANSFER);
    }

    fn report_io_error(&mut self, slot: u32, errno: Errno) {
        let number = if errno.is_known() { errno.to_string() } else { "Device-specific error".to_owned() };
        let why = match self.engine.protocol_status(slot) {
            Some(status) => format!("{number} ({status})"),
            None => number,
        };
        let unit = self.slots.unit(slot);
        self.report_error(unit.file(), unit.operation(), (unit.offset(), unit.length()), &why);
    }

    fn report_error(&self, file: u32, operation: Operation, (offset, length): (u64, u32), why: &str) {
        let name = &self.files.list[file as usize].name;
        let word = operation.word();
        let line = format!("fio: io_u error on file {name}: {why}: {word} offset={offset}, buflen={length}");
        self.context.messages.send(&Message::Error(line));
    }

    /// `continue_on_error` and `ignore_error`.
    pub(super) fn tolerates(&self, operation: Operation, errno: Errno) -> bool {
        let errors = &self.plan.errors;
        let tolerance = if operation == Operation::Read { &errors.reads } else { &errors.writes };
        let is_of_device = errno == Errno(libc::EIO) || errno == Errno(libc::EILSEQ);
        tolerance.errors.contains(&errno.0) || tolerance.goes_on && is_of_device
    }

    /// Marks the content of a failed write as unknown.
    fn forget_verified(&mut self, slot: u32) {
        if let Some(verifier) = &mut self.features.verifier {
            verifier.failed(slot);
        }
    }

    pub(super) fn count_error(&self, errno: Errno) {
        bump(&self.samples.tolerated_errors, 1);
        if self.samples.first_error.load(Relaxed) == 0 {
            self.samples.first_error.store(errno.0 as u64, Relaxed);
        }
    }

    /// Counts a tolerated error. An I/O that moved no bytes has no latency.
    fn count_tolerated(&mut self, slot: u32, errno: Errno) {
        self.count_error(errno);
        if self.plan.errors.tells {
            self.report_io_error(slot, errno);
        }
        self.count_ended(slot);
        if let Some(pace) = &mut self.features.pace {
            pace.completed();
        }
    }

    /// Counts a failed I/O as completed.
    fn count_ended(&mut self, slot: u32) {
        if let Some(search) = &mut self.features.latency_search {
            search.failed();
        }
        if let Some(direction) = self.slots.unit(slot).direction() {
            bump(&self.samples.directions[direction].completed, 1);
        }
    }

    /// Ends the job because an I/O exceeded its latency limit.
    #[cold]
    pub(super) fn latency_exceeded(
        &mut self,
        latency_ns: u64,
        limit_ns: u64,
        file: u32,
        word: &str,
        offset: u64,
        length: u32,
    ) {
        if self.stopping {
            return;
        }
        self.stopping = true;
        let name = &self.files.list[file as usize].name;
        self.context.messages.send(&Message::Error(format!(
            "fio: latency of {latency_ns} nsec exceeds specified max ({limit_ns} nsec): {name} {word} {offset} {length}"
        )));
        let errno = Errno(libc::ETIMEDOUT);
        self.context.fail(errno, Cause::MAX_LATENCY);
    }

    /// Ends the job because a system call of the engine failed that belongs to no single I/O.
    #[cold]
    pub(super) fn engine_failed(&mut self, call: &str, errno: Errno) {
        self.stopping = true;
        self.context
            .fail_in_words(errno, &cause::line_of_engine(self.context.engine.definition.name, call, errno));
    }
}
