//! Runs a job on a simulated device: the plan, the worker and its loop are real, and only the engine and the
//! clock are simulated.

use crate::behaviour::Behaviour;
use crate::device::{Device, Hung, Record, Start};
use crate::words::spec;
use fathom_run::EngineEntry;
use fathom_run::engine::EngineType;
use fathom_run::message::{self, Message};
use fathom_run::plan::Plan;
use fathom_run::region::{Order, Region, Stage, WorkerBlock};
use fathom_run::unit::Unit;
use fathom_run::worker::{self, WorkerContext};
use fathom_spec::engines::EngineDef;
use fathom_stats::PerDirection;
use fathom_stats::arrivals::ArrivalSamples;
use fathom_stats::block_errors::BlockErrorSamples;
use fathom_stats::samples::WorkerSamples;
use fathom_sys::clock::{Clock, VirtualTime};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

/// Virtual time in ns at which every run starts.
pub const BEGIN_NS: u64 = 1_000_000_000;

/// A job that has run on a simulated device.
pub struct Simulated {
    /// Its plan; the job's worker is the first.
    pub plan: Plan,
    /// The I/Os recorded by the device.
    pub record: Record,
    /// The worker's messages.
    pub messages: Vec<Message>,
    /// True if the loop waited for I/Os that never complete.
    pub hung: bool,
    region: Region,
}

impl Simulated {
    /// The worker's shared state, as a supervisor sees it.
    pub fn block(&self) -> &WorkerBlock {
        self.region.worker(0)
    }

    /// The worker's statistics.
    pub fn samples(&self) -> &WorkerSamples {
        &self.block().samples
    }

    /// The arrivals of its open loop, if any.
    pub fn arrivals(&self) -> Option<&PerDirection<ArrivalSamples>> {
        self.region.arrivals(0)
    }

    /// Its block statistics, with `block_error_percentiles`.
    pub fn block_errors(&self) -> Option<&BlockErrorSamples> {
        self.region.block_errors(0)
    }

    /// I/Os that the supervisor would report as stuck.
    pub fn stuck(&self) -> Vec<&Unit> {
        self.region.units(0).iter().filter(|unit| unit.is_in_flight()).collect()
    }

    /// The worker's standard error output.
    pub fn errors(&self) -> Vec<&str> {
        let messages = self.messages.iter();
        messages
            .filter_map(|message| match message {
                Message::Error(text) | Message::Failure(text) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// Virtual time in ns from the start of the job to its end.
    pub fn span_ns(&self) -> u64 {
        self.block().end_ns.load(Relaxed).saturating_sub(self.block().start_ns.load(Relaxed))
    }
}

/// Runs the single job of a command line.
///
/// # Panics
///
/// If the arguments are not a job, or the worker panics.
pub fn run(words: &str, behaviour: Behaviour) -> Simulated {
    let definition = Device::definition(&behaviour);
    let time = VirtualTime::starting_at(BEGIN_NS);
    let record = Rc::new(RefCell::new(Record::default()));
    Start { behaviour, time, record: Rc::clone(&record) }.lay_ready();
    let run = run_on::<Device>(words, definition, Clock::of_virtual_time(time));
    let record = record.borrow().clone();
    Simulated { record, ..run }
}

/// Runs the single job of a command line on an engine that is not built in.
///
/// # Panics
///
/// If the arguments are not a job, or the worker panics.
pub fn run_on<E: EngineType + 'static>(
    words: &str,
    definition: &'static EngineDef,
    clock: Clock,
) -> Simulated {
    // Directory for the worker's files, such as its list of miscompares.
    let beside = tempfile::tempdir().unwrap_or_else(|error| panic!("a directory: {error}"));
    let frame = format!("--aux-path={} --name=simulated", beside.path().display());
    let words = format!("{frame} --ioengine={} --verify_state_save=0 {words}", definition.name);
    let spec = spec(&words, &[definition]);
    let plan = Plan::new(&spec, |name| (name == definition.name).then_some(*definition))
        .unwrap_or_else(|problem| panic!("{words}: {problem}"));
    let region = Region::for_plan(&plan).unwrap_or_else(|errno| panic!("{words}: {errno}"));
    let (sender, mut receiver) = message::channel().unwrap_or_else(|errno| panic!("{words}: {errno}"));
    region.worker(0).send(Order::Go);
    let context = WorkerContext {
        plan: &plan,
        index: 0,
        region: &region,
        clock,
        engine: EngineEntry::direct::<E>(),
        messages: &sender,
    };
    let over = AtomicBool::new(false);
    // The worker blocks on its messages until they are read.
    let (ended, messages) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut messages = Vec::new();
            loop {
                let is_over = over.load(Acquire);
                messages.extend(receiver.drain().into_iter().map(|envelope| envelope.message));
                if is_over {
                    return messages;
                }
                std::thread::park_timeout(Duration::from_millis(1));
            }
        });
        let ended = catch_unwind(AssertUnwindSafe(|| worker::run::<E>(&context)));
        over.store(true, Release);
        reader.thread().unpark();
        (ended, reader.join().unwrap_or_default())
    });
    let hung = match ended {
        Ok(()) => false,
        Err(reason) if reason.is::<Hung>() => true,
        Err(reason) => resume_unwind(reason),
    };
    assert!(hung || region.worker(0).stage() == Stage::Ended, "{words}");
    Simulated { plan, record: Record::default(), messages, hung, region }
}
