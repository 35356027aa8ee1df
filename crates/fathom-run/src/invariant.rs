//! The invariants of the data path, and the handling of a broken one. A broken invariant is a defect in fathom:
//! no figure of the job can be trusted, and its next write could go to the wrong place. The worker therefore
//! panics immediately with a [`Broken`]; its process or thread turns the panic into the job's error, and fathom
//! exits with status 70. Cheap assertions are always on, expensive ones if [`CHECKS_ALL`] is set: in debug
//! builds, and so in the tests.

use std::any::Any;
use std::fmt;
use std::panic::panic_any;

/// Enables expensive assertions, which check more data than the current I/O.
pub const CHECKS_ALL: bool = cfg!(debug_assertions);

/// An invariant; [`sentence`](Invariant::sentence) describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Invariant {
    FreeSlot,
    SlotInFlight,
    Ends,
    HandedOver,
    EndsAtOnce,
    Moved,
    Within,
    Buffer,
    Block,
    Zone,
    Checked,
    Thread,
    Field,
    Histogram,
    OwnHandle,
    Granted,
    Direction,
    Dependency,
}

impl Invariant {
    /// A sentence that describes the invariant.
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
            Invariant::OwnHandle => "every target has a different handle",
            Invariant::Granted => "an I/O that was granted ahead has the length that the rules know",
            Invariant::Direction => "only the last direction that was drawn is taken back",
            Invariant::Dependency => "an entry of a log is issued once, and after all that it depends on",
        }
    }
}

/// A broken invariant: the payload of the panic that ends the worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The broken invariant.
    pub invariant: Invariant,
    /// The values that violated the invariant.
    pub seen: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.invariant.sentence(), self.seen)
    }
}

/// Panics with a [`Broken`], which ends the job.
#[cold]
#[inline(never)]
pub fn broken(invariant: Invariant, seen: fmt::Arguments<'_>) -> ! {
    panic_any(Broken { invariant, seen: seen.to_string() })
}

/// Like `broken`, for the run loop: a closure that owns the values lets the caller keep its variables in
/// registers as long as the invariant holds.
#[cold]
#[inline(never)]
pub fn broken_as_seen(invariant: Invariant, seen: impl FnOnce() -> String) -> ! {
    panic_any(Broken { invariant, seen: seen() })
}

/// The message of a panic, if it has one.
pub fn text_of(payload: &(dyn Any + Send)) -> String {
    let broken = payload.downcast_ref::<Broken>().map(Broken::to_string);
    broken
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "no details".to_owned())
}

/// Asserts an invariant of the data path; the text describes the values that broke it.
macro_rules! holds {
    ($condition:expr, $invariant:ident, $($seen:tt)+) => {
        if !$condition {
            $crate::invariant::broken_as_seen($crate::invariant::Invariant::$invariant, move || format!($($seen)+));
        }
    };
}

/// The same for an expensive assertion.
macro_rules! debug_holds {
    ($($all:tt)+) => {
        if $crate::invariant::CHECKS_ALL {
            $crate::invariant::holds!($($all)+);
        }
    };
}

pub(crate) use {debug_holds, holds};
