//! The worker's part in verification: it stamps writes, records them, reads them back and has the read data
//! checked. The run loop calls it at three points: before an I/O is drawn ([`Verifier::next`]), when a slot is
//! filled ([`Verifier::begin`]), and when an I/O has completed ([`Worker::settle_verified`]). Everything else
//! happens here.

mod backlog;
mod checking;
mod findings;
mod held;
mod ledger;
mod read_back;
mod rehearsal;
mod saved;
mod threads;

use self::backlog::Backlog;
use crate::files::open::OpenFiles;
use crate::invariant::{Invariant, broken};
use crate::message::Message;
use crate::plan::model::verify::{CountedReads, VerifyPlan};
use crate::random::{SeedUse, Seeds, Taus88};
use crate::region::Stage;
use crate::targets::{Target, Targets};
use crate::unit::{Operation, Unit};
use crate::verify::history::{History, Record, State};
use crate::worker::feature::{Choice, Feature, Needs};
use crate::worker::next::Next;
use crate::worker::{GivenUp, Loop, Worker, WorkerContext};
use fathom_stats::Direction;
use fathom_sys::clock::Clock;
use fathom_verify::draft::Drafts;
use fathom_verify::stamp::stamp;
use findings::Findings;
use held::Held;
use ledger::Ledger;
use read_back::Reach;
use saved::Limit;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use threads::Checkers;

/// Number of records reserved at the start; the list may grow beyond this.
const MOST_RESERVED: u64 = 1 << 22;

/// Minimum number of records for which compaction sorts the list.
const FEWEST_CONDENSED: usize = 1 << 20;

/// What a slot's I/O means for verification.
#[derive(Clone, Copy, Debug, Default)]
enum Load {
    /// An I/O that verification ignores.
    #[default]
    Other,
    /// A write to remember.
    Write(Record),
    /// A read of written data.
    Check(Record),
    /// A read of data of unknown origin, which must be consistent in itself. The seed is the one that an
    /// earlier run with the same options used for this I/O.
    CheckItself(u64),
    /// A trim of written data.
    Trim(Record),
    /// A trim by the job itself.
    OwnTrim(Record),
}

impl Load {
    /// The range that this operation changes: file, offset and length.
    fn changes(&self) -> Option<(u32, u64, u32)> {
        match self {
            Load::Write(record) | Load::Trim(record) | Load::OwnTrim(record) => {
                Some((record.file, record.offset, record.length))
            }
            Load::Other | Load::Check(_) | Load::CheckItself(_) => None,
        }
    }
}

/// The expectations of a block before it is read.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The write that the block is expected to hold.
    record: Option<Record>,
    /// The expected seed, if no record of a write exists.
    seed: Option<u64>,
    /// The time span in which the write can have been issued, ns.
    issued: Option<(u64, u64)>,
}

/// Phase of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The job does its own I/O, and backlogs are processed in between.
    Working,
    /// Blocks are trimmed at the end of a pass.
    Trimming,
    /// All written data is being read back.
    ReadingBack,
}

/// What was done to a slot's buffer before its I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::worker) enum Begun {
    /// The buffer was not filled.
    Unfilled,
    /// The data to be written.
    Filled,
    /// The expected data, which the device compares.
    Expecting,
}

/// The verifier of one worker.
pub(in crate::worker) struct Verifier<'a> {
    plan: &'a VerifyPlan,
    clock: Clock,
    thread: u16,
    generator: Taus88,
    first_generator: Taus88,
    /// Number of writes issued; in a job that only reads, number of reads.
    number: u64,
    /// Writes with numbers below the first value are durable; those below the second value will be once the
    /// current sync completes.
    synced: (u64, u64),
    history: History,
    loads: Box<[Load]>,
    /// Kind of the last drawn I/O, if the verifier drew it.
    drawn: Option<Load>,
    /// The schedule by which this run, or the run that it repeats, reads back while it still writes.
    backlog: Backlog,
    /// The batch that is being trimmed.
    to_trim: VecDeque<Record>,
    trim_generator: Taus88,
    phase: Phase,
    /// True if the loop ended because a pass was over.
    pass_is_over: bool,
    /// True if passes never end, so that no writes have to be recorded.
    is_endless: bool,
    /// Number of passes after the first.
    passes: u64,
    /// True if writes have completed since cached data was last dropped.
    has_new_writes: bool,
    /// Number of failed reads that should have been checked.
    failed_checks: u64,
    /// True once the saved state of an earlier run has been processed to its end.
    ends_with_state: bool,
    /// Upper bound of the blocks in rehearsal windows that were not processed.
    blocks_of_later_windows: u64,
    /// Bytes written since the pass began that will be read back, by this run or another.
    bytes_to_read_back: u64,
    limit: Option<Limit>,
    findings: Findings<'a>,
    /// With `verify_ledger`.
    ledger: Option<Ledger>,
    checkers: Option<Checkers>,
    /// Completed reads whose checks are done in batches.
    held: Option<Held>,
    /// Writes prepared ahead.
    drafts: Drafts,
    /// State at the start of the pass, with `experimental_verify`.
    start_of_pass: Option<Box<StartOfPass>>,
    /// State at the start of the pass for jobs with several files, in which a block may turn out to belong to
    /// another file.
    origin: Option<Box<StartOfPass>>,
}

/// State at the start of a pass, for regenerating the pass.
#[derive(Clone)]
struct StartOfPass {
    targets: Targets,
    generator: Taus88,
    number: u64,
    /// Ranges whose content is unknown.
    unknown: Vec<(u32, u64, u32)>,
}

impl Feature for Verifier<'_> {
    /// Decides which blocks are checked, fills writes, and checks reads.
    fn needs(&self) -> Needs {
        Needs { choice: Choice::EachIo, preparation: true, ends_from_ns: Some(0), ..Needs::default() }
    }
}

impl<'a> Verifier<'a> {
    /// The verifier of a worker, if its job verifies; an error is reported and stored as the job's error.
    pub(in crate::worker) fn of(
        context: &WorkerContext<'a>,
        seeds: &Seeds,
        targets: &Targets,
        files: &OpenFiles,
    ) -> Result<Option<Verifier<'a>>, GivenUp> {
        let worker_plan = context.worker_plan();
        let Some(plan) = &worker_plan.verify else { return Ok(None) };
        let limit = match &plan.state_to_load {
            Some(path) => Some(Limit::load(context, path)?),
            None => None,
        };
        let ledger = Ledger::of(context, plan, files)?;
        let knows_run = limit.as_ref().is_some_and(|own| own.issued.is_some()) && !plan.checks_in_place;
        let takes_any_run = (plan.only_checks || !plan.writes) && !knows_run;
        context.block().verification.takes_any_run.store(u64::from(takes_any_run), Relaxed);
        let available = files.list.iter().fold(0, |sum, file| u64::saturating_add(sum, file.size));
        let interval = plan.rule.interval.unwrap_or(0);
        let smallest = worker_plan.target_plan.smallest_length();
        let keeps = plan.reads_back && !plan.regenerates && !plan.only_checks;
        let room = if keeps { (available / smallest).min(MOST_RESERVED) as usize } else { 0 };
        let generator = seeds.generator(SeedUse::Verify);
        let start = |is_wanted: bool| is_wanted.then(|| Box::new(StartOfPass::new(targets, &generator, 0)));
        let start_of_pass = start(plan.regenerates);
        let checkers = match plan.threads {
            0 => None,
            count => match Checkers::start(count, plan) {
                Ok(checkers) => Some(checkers),
                Err(error) => return Err(context.fail_for_thread("for verify_async", &error)),
            },
        };
        let origin = start(plan.writes && targets.file_count() > 1);
        Ok(Some(Verifier {
            plan,
            clock: context.clock,
            thread: thread_in_header(worker_plan.thread_number),
            first_generator: generator.clone(),
            generator,
            number: 0,
            synced: (0, 0),
            history: match plan.rehearses {
                true => History::new(true, interval, 0).keeping_fragments(),
                false => History::new(plan.may_overlap, interval, room),
            },
            loads: vec![Load::Other; worker_plan.depth as usize].into_boxed_slice(),
            drawn: None,
            backlog: Backlog::new(plan),
            to_trim: VecDeque::new(),
            trim_generator: seeds.generator(SeedUse::Trim),
            phase: Phase::Working,
            pass_is_over: false,
            is_endless: plan.backlog == 0 && is_endless(context, files),
            passes: 0,
            has_new_writes: false,
            failed_checks: 0,
            ends_with_state: false,
            blocks_of_later_windows: 0,
            bytes_to_read_back: 0,
            limit,
            findings: Findings::new(context, plan),
            ledger,
            checkers,
            held: Held::of(plan),
            drafts: Drafts::default(),
            start_of_pass,
            origin,
        }))
    }

    /// True if writes are skipped and only checks are done.
    pub(in crate::worker) fn only_checks(&self) -> bool {
        self.plan.only_checks
    }

    /// An I/O of the verifier, if one is due. `Some(Next::End)` ends the loop.
    fn next(&mut self) -> Option<Next> {
        match self.phase {
            Phase::Working => self.next_of_backlog(),
            Phase::Trimming => {
                if self.to_trim.is_empty() && self.history.to_trim() > 0 {
                    self.take_trims(usize::MAX);
                }
                Some(self.next_trim().map_or(Next::End, Next::Io))
            }
            Phase::ReadingBack => match self.next_check() {
                Some(target) => Some(Next::Io(target)),
                // Trims and writes in flight will add records when they complete.
                None if self.is_waiting() => Some(Next::WaitForEnd),
                None => Some(Next::End),
            },
        }
    }

    fn next_of_backlog(&mut self) -> Option<Next> {
        if let Some(trims) = &self.plan.trims {
            if trims.backlog > 0 && self.history.to_trim() as u64 >= trims.backlog {
                self.take_trims(trims.batch as usize);
            }
            if let Some(target) = self.next_trim() {
                return Some(Next::Io(target));
            }
        }
        if !self.backlog.is_due() {
            return None;
        }
        let target = self.next_check();
        self.backlog.has_read(target.is_some());
        target.map(Next::Io)
    }

    /// Takes a batch of records that are to be trimmed.
    fn take_trims(&mut self, most: usize) {
        if self.to_trim.is_empty() {
            let in_flight = self.loads.iter().filter_map(Load::changes);
            self.to_trim = self.history.take_to_trim(most, in_flight).into();
        }
    }

    fn next_trim(&mut self) -> Option<Target> {
        let record = self.to_trim.pop_front()?;
        self.drawn = Some(Load::Trim(record));
        Some(target_of(&record, Direction::Trim))
    }

    fn next_check(&mut self) -> Option<Target> {
        let record = match &mut self.start_of_pass {
            Some(pass) if self.plan.state_up_to_sync => pass.next(self.synced.0)?,
            Some(pass) => pass.next(self.number)?,
            None => {
                let in_flight = self.loads.iter().filter_map(Load::changes);
                self.history.next(in_flight)?
            }
        };
        self.drawn = Some(Load::Check(record));
        Some(target_of(&record, Direction::Read))
    }

    /// The time span in which a checked write can have been issued. Writes of this run carry their time; the
    /// saved state of an earlier run may contain the time of that run.
    fn issued(&self, record: &Record) -> Option<(u64, u64)> {
        match record.time_ns {
            0 => self.limit.as_ref()?.issued,
            _ if self.plan.shares_blocks => None,
            time_ns => Some((time_ns, time_ns)),
        }
    }

    fn is_waiting(&self) -> bool {
        self.loads.iter().any(|load| load.changes().is_some())
    }

    /// Fills a slot for this target: a write, or a check by the device.
    pub(in crate::worker) fn begin(&mut self, slot: u32, target: Target, buffer: &mut [u8]) -> Begun {
        let load = &mut self.loads[slot as usize];
        *load = match self.drawn.take() {
            Some(Load::Check(record)) if self.plan.device_compares && record.is_whole() => {
                stamp(&self.plan.rule, buffer, &record.write(self.thread));
                *load = Load::Check(record);
                return Begun::Expecting;
            }
            Some(drawn) => drawn,
            None if target.direction == Direction::Write => {
                let mut record = new_record(&mut self.generator, &mut self.number, target);
                record.time_ns = self.clock.monotonic_ns();
                // This is drawn at issue instead of at completion, so that the draws follow the order of the
                // writes and can be regenerated with them.
                record.to_trim = is_to_trim(self.plan, &mut self.trim_generator);
                let (write, mut later) = (record.write(self.thread), self.generator.clone());
                self.drafts.stamp(&self.plan.rule, buffer, &write, || later.buffer_seed());
                *load = Load::Write(record);
                self.will_be_read_back(&record);
                if let Some(ledger) = &mut self.ledger {
                    ledger.write_begins(slot, &record);
                }
                return Begun::Filled;
            }
            None if target.direction == Direction::Read && !self.plan.writes => {
                Load::CheckItself(new_record(&mut self.generator, &mut self.number, target).seed)
            }
            None if target.direction == Direction::Trim && self.plan.writes => {
                let time_ns = self.clock.monotonic_ns();
                Load::OwnTrim(Record { time_ns, ..gone(target, self.number) })
            }
            None => Load::Other,
        };
        if let Some(ledger) = &mut self.ledger
            && target.direction == Direction::Trim
        {
            ledger.trim_begins(slot, target);
        }
        Begun::Unfilled
    }

    /// The message when a job that checks an earlier run's data has reached the end of that run.
    fn line_at_end_of_state(&self) -> Option<String> {
        self.limit.as_ref().filter(|_| !self.plan.writes)?.stop_line(self.number)
    }

    /// The I/O that replaces an I/O of the job with `verify_only`; `None` skips the I/O.
    pub(in crate::worker) fn instead(
        &mut self,
        next: Next,
        messages: &crate::message::MessageSender,
    ) -> Option<Next> {
        let Next::Io(target) = next else { return Some(next) };
        if target.direction != Direction::Write {
            return None;
        }
        if let Some(limit) = &mut self.limit {
            if let Some(line) = limit.stop_line(self.number) {
                messages.send(&Message::Output(line));
                self.ends_with_state = true;
                return Some(Next::End);
            }
            if limit.was_in_flight(self.number) {
                let record = new_record(&mut self.generator, &mut self.number, target);
                self.will_be_read_back(&record);
                return None;
            }
        }
        let record = new_record(&mut self.generator, &mut self.number, target);
        self.will_be_read_back(&record);
        self.drawn = Some(match self.plan.checks_in_place {
            true => Load::CheckItself(record.seed),
            false => Load::Check(record),
        });
        Some(Next::Io(Target { direction: Direction::Read, ..target }))
    }

    /// Ends a pass. Returns true if the run loop must stop so that the data of the pass can be read back.
    pub(in crate::worker) fn ends_pass(&mut self) -> bool {
        let has_work = self.plan.reads_back || self.plan.trims.is_some();
        self.pass_is_over =
            self.phase == Phase::Working && has_work && !self.plan.only_checks && !self.plan.reads_back_last;
        self.pass_is_over
    }

    /// Numbers of the writes in flight.
    fn writes_in_flight(&self) -> impl Iterator<Item = u64> {
        self.loads.iter().filter_map(|load| match load {
            Load::Write(record) => Some(record.number),
            _ => None,
        })
    }

    /// Records the start of a sync: writes that have completed by then are durable once the sync is done.
    pub(in crate::worker) fn sync_begins(&mut self, slot: u32, operation: Operation, file: u32) {
        if let Some(ledger) = &mut self.ledger {
            ledger.sync_begins(slot, operation, file);
        }
        self.synced.1 = self.writes_in_flight().min().unwrap_or(self.number);
    }

    /// Records the end of a sync.
    pub(in crate::worker) fn sync_ended(&mut self) {
        self.synced.0 = self.synced.1;
    }

    /// True if the read of this slot is to be checked.
    pub(in crate::worker) fn checks(&self, slot: u32) -> bool {
        matches!(self.loads[slot as usize], Load::Check(_) | Load::CheckItself(_))
    }

    /// Records a failed I/O: the content of its range is unknown.
    pub(in crate::worker) fn failed(&mut self, slot: u32) {
        if let Some(ledger) = &mut self.ledger {
            ledger.ended(slot, false);
        }
        let is_check = self.checks(slot);
        let load = std::mem::take(&mut self.loads[slot as usize]);
        self.failed_checks += u64::from(is_check);
        if let Load::Write(record) = &load {
            self.backlog.failed(record.file, record.offset, record.length);
        }
        if let Some((file, offset, length)) = load.changes() {
            self.history.forget(file, offset, length, self.number);
            self.history.condense_when_doubled(FEWEST_CONDENSED);
            if let Some(pass) = &mut self.start_of_pass {
                pass.unknown.push((file, offset, length));
            }
        }
    }

    /// Records that a range was emptied independently of the recorded writes.
    pub(in crate::worker) fn emptied(&mut self, file: u32, offset: u64, length: u64) {
        const PART: u64 = 1 << 30;
        if let Some(ledger) = &mut self.ledger {
            ledger.emptied(file, offset, length);
        }
        for start in (offset..offset + length).step_by(PART as usize) {
            let part = PART.min(offset + length - start) as u32;
            self.history.forget(file, start, part, self.number);
        }
    }

    /// Records a successful write.
    fn written(&mut self, record: Record) {
        self.has_new_writes = true;
        let is_looked_at_again = self.start_of_pass.is_none() && self.plan.reads_back && !self.is_endless;
        if self.plan.trims.is_some() || is_looked_at_again {
            self.history.add(record);
            // Compaction limits the memory of writes that keep overwriting each other.
            self.history.condense_when_doubled(FEWEST_CONDENSED);
        }
    }

    /// Records the start of a write of this run, or of the run that it repeats.
    fn will_be_read_back(&mut self, record: &Record) {
        let plan = self.plan;
        if plan.backlog > 0 || plan.counted_reads == CountedReads::Places {
            self.backlog.written(record);
        }
        let reads_zero = plan.trims.as_ref().is_some_and(|trims| trims.reads_zero);
        if !record.to_trim || reads_zero {
            self.bytes_to_read_back += u64::from(record.length);
        }
    }

    /// Bytes of the ending pass that count against `io_size` because they are read back.
    pub(in crate::worker) fn take_bytes_read_back(&mut self) -> u64 {
        if !self.plan.reads_back_last {
            self.backlog.end_pass();
        }
        let (bytes, places) = (std::mem::take(&mut self.bytes_to_read_back), self.backlog.take_bytes());
        // If the saved state has more writes than these, its run did not read back in between.
        let has_more =
            self.limit.as_ref().is_some_and(|limit| self.plan.only_checks && limit.has(self.number));
        match self.plan.counted_reads {
            CountedReads::None => 0,
            _ if has_more => 0,
            CountedReads::Writes => bytes,
            CountedReads::Places => places,
        }
    }

    /// Ignores writes after the last sync, with `verify_policy=fsynced`.
    fn forget_unsynced(&mut self) {
        if self.plan.state_up_to_sync {
            let synced = self.synced.0;
            self.history.retain_in_order(|record| record.number < synced);
        }
    }

    fn trimmed(&mut self, record: Record) {
        let reads_zero = self.plan.trims.as_ref().is_some_and(|trims| trims.reads_zero);
        // If zeros were not requested, the content after the trim is unknown.
        let state = if reads_zero { State::Trimmed } else { State::Gone };
        if reads_zero || self.plan.may_overlap {
            self.history.add(Record { state, to_trim: false, ..record });
        }
    }

    /// Starts the next pass; `again` repeats the last one.
    pub(in crate::worker) fn begin_pass(&mut self, again: bool, targets: &Targets) {
        self.passes += 1;
        if again {
            self.generator = self.first_generator.clone();
        }
        for pass in self.start_of_pass.iter_mut().chain(&mut self.origin) {
            **pass = StartOfPass::new(targets, &self.generator, self.number);
        }
    }

    /// Number of backlog reads that became due since the last call. They count towards `number_ios`, in this
    /// run or in the run that it repeats.
    pub(in crate::worker) fn take_reads_of_backlog(&mut self) -> u64 {
        self.backlog.take_ios()
    }
}

/// True for a job that repeats its passes until its time is up: in files that consist of whole blocks, no
/// remainder ends a pass.
fn is_endless(context: &WorkerContext<'_>, files: &OpenFiles) -> bool {
    let plan = context.worker_plan();
    let targets = &plan.target_plan;
    let length = targets.longest_length();
    plan.time.time_based
        && !plan.budget.passes_end_by_size
        && targets.wraps
        && targets.postfix.is_none()
        && targets.has_one_length()
        && files.list.iter().all(|file| file.size % length.max(1) == 0)
}

impl StartOfPass {
    fn new(targets: &Targets, generator: &Taus88, number: u64) -> StartOfPass {
        StartOfPass { targets: targets.clone(), generator: generator.clone(), number, unknown: Vec::new() }
    }

    /// The file of the write with this number, if the write has this seed.
    fn file_of_write(&self, number: u64, seed: u64) -> Option<u32> {
        let mut pass = self.clone();
        while pass.number <= number {
            let at = pass.number;
            let record = pass.next(number + 1)?;
            if at == number {
                return (record.seed == seed).then_some(record.file);
            }
        }
        None
    }

    /// Regenerates the next write of the pass; `None` after number `end`.
    fn next(&mut self, end: u64) -> Option<Record> {
        while self.number < end {
            let Some(target) = self.targets.next() else {
                // Passes that wrap always begin at the same position.
                self.targets.restart(true);
                continue;
            };
            if target.direction != Direction::Write {
                continue;
            }
            let record = new_record(&mut self.generator, &mut self.number, target);
            let is_unknown = |&(file, offset, length): &(u32, u64, u32)| {
                file == record.file
                    && offset < record.offset + u64::from(record.length)
                    && record.offset < offset + u64::from(length)
            };
            if !self.unknown.iter().any(is_unknown) {
                return Some(record);
            }
        }
        None
    }
}

/// The record of the next write, without its time of issue.
fn new_record(generator: &mut Taus88, number: &mut u64, target: Target) -> Record {
    let record = Record { seed: generator.buffer_seed(), state: State::Written, ..gone(target, *number) };
    *number += 1;
    record
}

/// A record that marks a range as unknown, up to the write with this number.
fn gone(target: Target, number: u64) -> Record {
    Record::gone(target.file, target.offset, target.length, number)
}

/// True if a write is to be trimmed by `trim_percentage`.
fn is_to_trim(plan: &VerifyPlan, generator: &mut Taus88) -> bool {
    plan.trims.as_ref().is_some_and(|trims| generator.percent() <= trims.percent)
}

fn target_of(record: &Record, direction: Direction) -> Target {
    Target { offset: record.offset, length: record.length, file: record.file, direction }
}

impl<E: Loop + ?Sized> Worker<'_, E> {
    /// Runs the job and the verification after each pass. Returns true if all written data has been synced as
    /// the job requests.
    pub(in crate::worker) fn run_passes(&mut self) -> bool {
        let mut is_synced;
        if self.any().only_reads_back() {
            self.any().turn_to_medium(Reach::Durable);
        }
        if self.features.verifier.as_ref().is_some_and(|verifier| verifier.plan.rehearses) {
            self.check_by_rehearsal();
            self.any().account_for_checks();
            return false;
        }
        loop {
            self.run_engine();
            self.any().check_held();
            is_synced = self.any().has_work_after_pass();
            if !is_synced {
                break;
            }
            // Syncs first, so that data is read back from the device instead of from memory.
            self.any().final_sync();
            self.any().turn_to_medium(Reach::Durable);
            if let Some(log) = &mut self.features.issue_log {
                log.end_pass(&self.files);
            }
            self.context.set_stage(Stage::Verifying);
            self.block.verification.set_reading_back(true, self.clock.monotonic_ns());
            for phase in [Phase::Trimming, Phase::ReadingBack] {
                let Some(verifier) = &mut self.features.verifier else { continue };
                verifier.phase = phase;
                if phase == Phase::ReadingBack && !verifier.plan.reads_back {
                    verifier.history.clear();
                    continue;
                }
                if phase == Phase::ReadingBack {
                    verifier.forget_unsynced();
                }
                if !self.any().is_over() {
                    self.run_engine();
                    self.any().check_held();
                }
            }
            self.any().finish_checks();
            self.any().turn_to_cache();
            self.block.verification.set_reading_back(false, self.clock.monotonic_ns());
            if self.any().is_over() || !self.any().begin_another_pass() {
                break;
            }
            self.context.set_stage(Stage::Running);
        }
        self.any().finish_checks();
        self.any().account_for_checks();
        self.any().save_verify_state();
        is_synced
    }
}

impl Worker<'_> {
    /// The next read for verification, if one is due.
    #[inline(never)]
    pub(in crate::worker) fn next_to_verify(&mut self) -> Option<Next> {
        let verifier = self.features.verifier.as_mut()?;
        if let Some(line) = verifier.line_at_end_of_state() {
            // The line is printed twice, as fio does: once for the block that was not written, once for the end of
            // the job.
            for _ in 0..2 {
                self.context.messages.send(&Message::Output(line.clone()));
            }
            verifier.ends_with_state = true;
            self.stopping = true;
            return Some(Next::End);
        }
        // Backlog reads count as I/Os of the job.
        self.budget.count_ios(verifier.take_reads_of_backlog());
        let next = verifier.next();
        let reads_new = verifier.has_new_writes && matches!(verifier.drawn, Some(Load::Check(_)));
        if reads_new && verifier.phase == Phase::Working {
            self.turn_to_medium(Reach::WrittenBack);
        }
        next
    }

    /// True for a job that writes nothing and checks what it reads against an earlier run.
    fn only_reads_back(&self) -> bool {
        self.features
            .verifier
            .as_ref()
            .is_some_and(|verifier| verifier.plan.only_checks || !verifier.plan.writes)
    }

    /// Starts another pass of a job that only reads back.
    pub(in crate::worker) fn read_from_medium_again(&mut self) {
        let rehearses = self.features.verifier.as_ref().is_some_and(|verifier| verifier.plan.rehearses);
        if self.only_reads_back() && !rehearses {
            self.turn_to_medium(Reach::Durable);
        }
    }

    pub(in crate::worker) fn is_over(&self) -> bool {
        self.stopping || self.block.should_stop()
    }

    fn has_work_after_pass(&self) -> bool {
        let Some(verifier) = &self.features.verifier else { return false };
        let plan = verifier.plan;
        !self.is_over() && plan.writes && !plan.only_checks && (plan.reads_back || plan.trims.is_some())
    }

    /// True if the job continues after reading back.
    fn begin_another_pass(&mut self) -> bool {
        let Some(verifier) = &mut self.features.verifier else { return false };
        verifier.phase = Phase::Working;
        std::mem::take(&mut verifier.pass_is_over) && self.begin_next_pass()
    }

    /// Handles a successful I/O: records it, or has it checked.
    #[cold]
    #[inline(never)]
    pub(in crate::worker) fn settle_verified(&mut self, slot: u32, unit: &Unit) {
        let Some(mut verifier) = self.features.verifier.take() else { return };
        if let Some(ledger) = &mut verifier.ledger {
            ledger.ended(slot, true);
        }
        let load = std::mem::take(&mut verifier.loads[slot as usize]);
        match load {
            Load::Write(record) if self.engine.wrote_zeroes(slot) => {
                verifier.written(Record { state: State::Trimmed, to_trim: false, ..record });
            }
            Load::Write(record) => verifier.written(record),
            Load::Trim(record) => verifier.trimmed(record),
            Load::OwnTrim(record) if verifier.plan.may_overlap => verifier.history.add(record),
            Load::Check(record) => {
                let issued = verifier.issued(&record);
                self.check_read(
                    &mut verifier,
                    slot,
                    unit,
                    Known { record: Some(record), seed: None, issued },
                );
            }
            Load::CheckItself(seed) => {
                // In zones, a block may hold data from a run before the one that saved the state, so the limit
                // does not apply.
                let limit = verifier.limit.as_ref().filter(|_| !verifier.plan.checks_in_place);
                let issued = limit.and_then(|limit| limit.issued);
                self.check_read(&mut verifier, slot, unit, Known { record: None, seed: Some(seed), issued });
            }
            Load::Other if unit.operation() == Operation::Sync => verifier.sync_ended(),
            Load::Other | Load::OwnTrim(_) => {}
        }
        self.features.verifier = Some(verifier);
        self.follow_ledger();
    }
}

/// The number of a clone in headers and ledgers.
fn thread_in_header(number: u32) -> u16 {
    u16::try_from(number)
        .unwrap_or_else(|_| broken(Invariant::Field, format_args!("clone {number} in 16 bits")))
}
