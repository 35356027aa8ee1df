//! The engine of the run loop: a device with a given [`Behaviour`], in virtual time.

use crate::behaviour::{Behaviour, Service};
use crate::store::Store;
use fathom_run::engine::{Completion, Completions, Engine, EngineType, Io, Queued, Setup, SetupError};
use fathom_run::random::Taus88;
use fathom_run::unit::Operation;
use fathom_spec::engines::EngineDef;
use fathom_sys::Errno;
use fathom_sys::clock::VirtualTime;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::panic::resume_unwind;
use std::rc::Rc;
use std::time::Duration;

/// Time that a poll without an end takes, ns.
const POLL_NS: u64 = 1_000;

thread_local! {
    /// The next device of this thread: an engine is set up from the job, which does not know about simulations.
    static NEXT: RefCell<Option<Start>> = const { RefCell::new(None) };
}

/// Initial state of a device.
pub(crate) struct Start {
    pub(crate) behaviour: Behaviour,
    pub(crate) time: VirtualTime,
    pub(crate) record: Rc<RefCell<Record>>,
}

impl Start {
    /// Passes this state to the next device that the thread sets up.
    pub(crate) fn lay_ready(self) {
        NEXT.set(Some(self));
    }
}

/// Record of the I/Os that a device received.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Completed I/Os, in order of completion.
    pub served: Vec<Served>,
    /// Maximum number of I/Os in flight.
    pub most_in_flight: usize,
    /// Number of I/Os that were submitted and have not completed.
    pub unended: usize,
}

/// One completed I/O. The parts of a continued short I/O count separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// Index in order of submission, from 0.
    pub number: u64,
    /// Its slot.
    pub slot: u32,
    /// Its operation.
    pub operation: Operation,
    /// Index of its file.
    pub file: u32,
    /// First byte in the file.
    pub offset: u64,
    /// Requested bytes.
    pub length: u32,
    /// Virtual ns at which the loop queued it.
    pub queued_ns: u64,
    /// Virtual ns at which the device accepted it.
    pub taken_ns: u64,
    /// Virtual ns at which it ended.
    pub ended_ns: u64,
    /// Number of bytes moved, or `-errno`.
    pub result: i64,
}

impl Record {
    /// The job's I/Os, in order of submission: a short I/O and its continuations are one, from the start of the
    /// first part to the end of the last.
    pub fn ios(&self) -> Vec<Served> {
        let mut parts = self.served.clone();
        parts.sort_unstable_by_key(|part| part.number);
        let mut ios: Vec<Served> = Vec::new();
        let mut last_of_slot: HashMap<u32, usize> = HashMap::new();
        for part in parts {
            if let Some(&index) = last_of_slot.get(&part.slot)
                && ios[index].is_continued_by(&part)
            {
                ios[index].ended_ns = part.ended_ns;
                ios[index].result =
                    if part.result < 0 { part.result } else { ios[index].result + part.result };
            } else {
                last_of_slot.insert(part.slot, ios.len());
                ios.push(part);
            }
        }
        ios
    }
}

impl Served {
    fn is_continued_by(&self, next: &Served) -> bool {
        self.operation == next.operation
            && (1..i64::from(self.length)).contains(&self.result)
            && self.offset + self.result as u64 == next.offset
    }
}

/// Panic value if the loop waits for I/Os that never complete; it ends the run like a signal.
pub(crate) struct Hung;

/// An I/O between queueing and completion.
struct Flight {
    slot: u32,
    io: Io,
    queued_ns: u64,
    taken_ns: u64,
    number: u64,
    /// Time of completion; `None` for an I/O that never completes.
    ends_ns: Option<u64>,
}

/// A simulated device.
pub struct Device {
    behaviour: Behaviour,
    time: VirtualTime,
    random: Taus88,
    store: Store,
    /// Queued but not submitted.
    queued: Vec<Flight>,
    flights: Vec<Flight>,
    /// Completions that the loop has awaited and not yet consumed, if it consumes them in place.
    ready: VecDeque<Completion>,
    /// The time at which each channel becomes free, in ns.
    channels: Vec<u64>,
    /// Number of I/Os submitted so far.
    taken: u64,
    /// Number of completed writes.
    written: u64,
    /// Number of further submissions to reject.
    refusals: u32,
    record: Rc<RefCell<Record>>,
}

impl Device {
    /// The engine definition against which a job's plan on this device is checked.
    pub(crate) fn definition(behaviour: &Behaviour) -> &'static EngineDef {
        if behaviour.ends_at_once { &AT_ONCE } else { &QUEUED }
    }

    fn is_chosen(&mut self, permille: u32) -> bool {
        permille > 0 && self.random.below(1000) < u64::from(permille)
    }

    fn service_ns(&mut self) -> u64 {
        match self.behaviour.service.clone() {
            Service::Fixed(ns) => ns,
            Service::Uniform(range) => range.start + self.random.below((range.end - range.start).max(1)),
            Service::Exponential(mean) => {
                let uniform = f64::from(self.random.next_u32()) / 4_294_967_296.0;
                (-(1.0 - uniform).ln() * mean as f64) as u64
            }
        }
    }

    /// Starts an I/O as soon as a channel is free.
    fn take(&mut self, mut flight: Flight) -> Flight {
        let now = self.time.ns();
        let service = self.service_ns();
        let free = self.channels.iter_mut().min();
        let begins = free.as_deref().map_or(now, |&free| free.max(now));
        let mut ends = begins + service;
        for stall in &self.behaviour.stalls {
            if stall.contains(&ends) {
                ends = stall.end;
            }
        }
        if let Some(free) = free {
            *free = ends;
        }
        flight.number = self.taken;
        flight.taken_ns = now;
        flight.ends_ns = Some(ends).filter(|_| !self.behaviour.lost.contains(&flight.number));
        self.taken += 1;
        flight
    }

    /// Completes an I/O: moves its data and returns the result.
    fn end(&mut self, flight: &Flight) -> i64 {
        let result = self.result(flight);
        let is_write = flight.io.operation() == Operation::Write;
        if let Ok(moved) = u32::try_from(result)
            && flight.io.length() > 0
        {
            let damaged = self.behaviour.damaged.iter().find(|(number, _)| *number == self.written);
            let damage = damaged.map(|(_, damage)| *damage).filter(|_| is_write);
            self.store.perform(&flight.io, moved, damage);
        } else if is_write && self.random.below(2) == 0 {
            // A failed write may nevertheless have reached the device, completely or in part.
            let arrived = self.random.below(u64::from(self.store.room(&flight.io)) + 1) as u32;
            self.store.perform(&flight.io, arrived, None);
        }
        self.written += u64::from(is_write);
        let &Flight { slot, ref io, queued_ns, taken_ns, number, .. } = flight;
        let (operation, file, offset, length) = (io.operation(), io.file(), io.offset(), io.length());
        let ended_ns = flight.ends_ns.unwrap_or(taken_ns);
        self.record.borrow_mut().served.push(Served {
            number,
            slot,
            operation,
            file,
            offset,
            length,
            queued_ns,
            taken_ns,
            ended_ns,
            result,
        });
        result
    }

    fn result(&mut self, flight: &Flight) -> i64 {
        let failing = self.behaviour.failing.iter().find(|(number, _)| *number == flight.number);
        if let Some((_, errno)) = failing {
            return -i64::from(*errno);
        }
        if self.is_chosen(self.behaviour.failing_permille) {
            return -i64::from(libc::EIO);
        }
        if flight.io.operation().is_sync() {
            return 0;
        }
        let whole = self.store.room(&flight.io);
        let can_be_short = flight.io.operation() != Operation::Trim && whole > 1;
        if can_be_short && self.is_chosen(self.behaviour.short_permille) {
            return 1 + self.random.below(u64::from(whole) - 1) as i64;
        }
        i64::from(whole)
    }

    /// Completion time of the `count`th I/O to complete, counted from 1.
    fn end_of(&self, count: usize) -> Option<u64> {
        let mut ends: Vec<u64> = self.flights.iter().filter_map(|flight| flight.ends_ns).collect();
        ends.sort_unstable();
        ends.get(count - 1).copied()
    }

    /// Lists the I/Os that have completed by now, in order.
    fn list(&mut self, out: &mut Completions) {
        let now = self.time.ns();
        let mut ended: Vec<(u64, u64)> = self
            .flights
            .iter()
            .filter_map(|flight| Some((flight.ends_ns.filter(|&ends| ends <= now)?, flight.number)))
            .collect();
        ended.sort_unstable();
        ended.truncate(out.room());
        for (_, number) in &ended {
            let Some(index) = self.flights.iter().position(|flight| flight.number == *number) else {
                continue;
            };
            let flight = self.flights.swap_remove(index);
            let result = self.end(&flight);
            out.push(flight.slot, result);
        }
        self.record.borrow_mut().unended = self.flights.len();
    }

    fn count_in_flight(&self, also: usize) {
        let mut record = self.record.borrow_mut();
        let count = self.flights.len() + also;
        record.most_in_flight = record.most_in_flight.max(count);
        record.unended = count;
    }

    fn is_at_once(&self, io: &Io) -> bool {
        let is_rare = !matches!(io.operation(), Operation::Read | Operation::Write);
        self.behaviour.ends_at_once || is_rare && self.behaviour.ends_rare_ones_at_once
    }
}

static QUEUED: EngineDef =
    EngineDef::new("simulated", "a device in virtual time").built().without_files().queues_from(2);
static AT_ONCE: EngineDef = QUEUED.synchronous();

impl EngineType for Device {
    const DEFINITION: &'static EngineDef = &QUEUED;

    fn new(setup: &Setup<'_>) -> Result<Device, SetupError> {
        let start = NEXT.take().ok_or_else(|| SetupError::new(Errno(libc::ENODEV), "a device laid ready"))?;
        let mut random = Taus88::new(start.behaviour.seed);
        Ok(Device {
            store: Store::new(setup.files, &mut random),
            random,
            queued: Vec::new(),
            flights: Vec::new(),
            channels: vec![0; start.behaviour.channels as usize],
            ready: VecDeque::new(),
            taken: 0,
            written: 0,
            refusals: 0,
            behaviour: start.behaviour,
            time: start.time,
            record: start.record,
        })
    }
}

impl Engine for Device {
    fn queue(&mut self, slot: u32, io: &Io) -> Queued {
        let queued_ns = self.time.ns();
        // SAFETY: a flight is used until it is listed as completed.
        let io = unsafe { io.keep() };
        let flight = Flight { slot, io, queued_ns, taken_ns: 0, number: 0, ends_ns: None };
        if !self.is_at_once(&flight.io) {
            self.queued.push(flight);
            return Queued::Pending;
        }
        let flight = self.take(flight);
        self.count_in_flight(1);
        let Some(ends) = flight.ends_ns else { resume_unwind(Box::new(Hung)) };
        self.time.advance_to(ends);
        let result = self.end(&flight);
        self.count_in_flight(0);
        Queued::Done(result)
    }

    fn commit(&mut self) -> Result<u32, Errno> {
        self.time.advance_to(self.time.ns() + self.behaviour.submission_ns);
        if self.refusals > 0 {
            self.refusals -= 1;
            return Err(Errno(libc::EAGAIN));
        }
        let mut count = self.queued.len();
        if self.is_chosen(self.behaviour.refused_permille) {
            self.refusals = self.random.below(u64::from(self.behaviour.longest_refusal) + 1) as u32;
            count = self.random.below(count as u64 + 1) as usize;
        }
        for flight in self.queued.drain(..count).collect::<Vec<Flight>>() {
            let taken = self.take(flight);
            self.flights.push(taken);
        }
        self.count_in_flight(0);
        Ok(count as u32)
    }

    fn reap(&mut self, min: u32, out: &mut Completions) -> Result<(), Errno> {
        let min = (min as usize).min(out.room());
        if min > 0 {
            match self.end_of(min) {
                Some(ends) => self.time.advance_to(ends),
                None => resume_unwind(Box::new(Hung)),
            }
        }
        self.list(out);
        // A poll is a system call: without its time, a loop that polls through a long stall would run for minutes.
        if min == 0 && out.is_empty() {
            self.time.advance_to(self.time.ns() + POLL_NS);
        }
        Ok(())
    }

    // Half of all devices have completions that are consumed in place.
    fn has_ends_in_place(&self) -> bool {
        self.behaviour.seed % 2 == 1
    }

    fn await_ends(&mut self, min: u32, most: u32) -> Result<(), Errno> {
        assert!(self.ready.is_empty(), "completions are awaited before those that are ready have been taken");
        let mut listed = Completions::default();
        listed.begin(most);
        self.reap(min, &mut listed)?;
        self.ready.extend(listed.list());
        Ok(())
    }

    fn ends(&self) -> u32 {
        self.ready.len() as u32
    }

    fn take_end(&mut self) -> Completion {
        self.ready.pop_front().expect("an end that is ready")
    }

    fn reap_within(&mut self, span: Duration, out: &mut Completions) -> Result<(), Errno> {
        let latest = self.time.ns() + span.as_nanos() as u64;
        self.time.advance_to(self.end_of(1).map_or(latest, |ends| ends.min(latest)));
        self.list(out);
        Ok(())
    }

    fn ends_at_once(&self, _definition: &EngineDef) -> bool {
        self.behaviour.ends_at_once
    }
}
