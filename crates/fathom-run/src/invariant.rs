//! What holds on the way of data whatever a job asks for, and what becomes of a run in which it does not.
//!
//! A broken invariant is a defect of fathom, after which no figure of the job can be trusted, and its next write could go anywhere. So the job ends
//! then and there: with a panic that carries a [`Broken`], which the process or thread of the worker turns into the job's error, and exit status
//! 70. What must be cheap is asserted always; what is not is asserted where [`CHECKS_ALL`] says so: in debug builds, and so in tests.

use std::any::Any;
use std::fmt;
use std::panic::panic_any;

/// Invariants that cost a look at more than what is at hand are asserted as well.
pub const CHECKS_ALL: bool = cfg!(debug_assertions);

/// What holds at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// See its [sentence](Invariant::sentence), as all of them.
    FreeSlot,
    /// A slot in flight.
    SlotInFlight,
    /// Ends that are listed.
    Ends,
    /// I/Os handed over.
    HandedOver,
    /// I/Os of a synchronous engine.
    EndsAtOnce,
    /// Bytes that were moved.
    Moved,
    /// A part of a target.
    Within,
    /// A buffer.
    Buffer,
    /// A block of a map.
    Block,
    /// A zone.
    Zone,
    /// A read that is to be checked.
    Checked,
    /// A thread of an engine.
    Thread,
    /// A field of a header.
    Field,
    /// A histogram.
    Histogram,
    /// A handle.
    OwnHandle,
}

impl Invariant {
    /// The invariant in a sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Invariant::FreeSlot => "a slot is free or in flight, never both",
            Invariant::SlotInFlight => "what ends is in flight",
            Invariant::Ends => "no more I/Os end than were handed over",
            Invariant::HandedOver => "no more I/Os are handed over than were queued",
            Invariant::EndsAtOnce => "an engine that ends every I/O inside the call leaves none pending",
            Invariant::Moved => "an I/O moves no more bytes than it asks for",
            Invariant::Within => "an I/O stays inside its target",
            Invariant::Buffer => "an I/O fits its buffer",
            Invariant::Block => "a block is one of its map, and taken once",
            Invariant::Zone => "what ends in a zone is in flight there",
            Invariant::Checked => "every read that is to be checked is checked",
            Invariant::Thread => "a thread that I/Os are handed to lives as long as its job",
            Invariant::Field => "a field of a block's header holds its value",
            Invariant::Histogram => "a histogram holds as many latencies as were counted",
            Invariant::OwnHandle => "every target has a handle of its own",
        }
    }
}

/// An invariant that does not hold: the payload of the panic that ends the worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which one.
    pub invariant: Invariant,
    /// What was seen instead.
    pub seen: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.invariant.sentence(), self.seen)
    }
}

/// Ends the job: this does not hold.
#[cold]
#[inline(never)]
pub fn broken(invariant: Invariant, seen: fmt::Arguments<'_>) -> ! {
    panic_any(Broken { invariant, seen: seen.to_string() })
}

/// The same. A closure that takes what it says with it leaves the caller's variables in registers while all is well.
#[cold]
#[inline(never)]
pub fn broken_as_seen(invariant: Invariant, seen: impl FnOnce() -> String) -> ! {
    panic_any(Broken { invariant, seen: seen() })
}

/// What a panic says, as far as it says anything.
pub fn text_of(payload: &(dyn Any + Send)) -> String {
    let broken = payload.downcast_ref::<Broken>().map(Broken::to_string);
    broken
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "no details".to_owned())
}

/// Asserts an invariant of the way of data, and says what is seen where it does not hold.
macro_rules! holds {
    ($condition:expr, $invariant:ident, $($seen:tt)+) => {
        if !$condition {
            $crate::invariant::broken_as_seen($crate::invariant::Invariant::$invariant, move || format!($($seen)+));
        }
    };
}

/// The same where it is dear.
macro_rules! holds_dearly {
    ($($all:tt)+) => {
        if $crate::invariant::CHECKS_ALL {
            $crate::invariant::holds!($($all)+);
        }
    };
}

pub(crate) use {holds, holds_dearly};
