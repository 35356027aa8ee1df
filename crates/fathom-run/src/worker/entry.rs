//! An engine in a list of engines: its declaration, and functions to run it without knowing its type.

use super::WorkerContext;
use crate::engine::{EngineType, Open};
use crate::storage::StorageOf;
use fathom_spec::engines::EngineDef;

/// One engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineEntry {
    /// Its declaration.
    pub definition: &'static EngineDef,
    /// Runs a worker with this engine. This is the only indirect call of a job.
    pub run: fn(&WorkerContext<'_>),
    /// Creates the storage of a job with this engine.
    pub storage: StorageOf,
    /// Sets up the engine alone, for engines that wrap others.
    pub open: Open,
}

impl EngineEntry {
    /// The entry of an engine whose I/Os can take less than a microsecond: its run loop is compiled separately, without indirect calls.
    pub const fn direct<E: EngineType + 'static>() -> Self {
        EngineEntry { run: super::run::<E>, ..Self::indirect::<E>() }
    }

    /// The entry of any other engine: all such engines share one run loop, which calls them through a pointer.
    pub const fn indirect<E: EngineType + 'static>() -> Self {
        EngineEntry {
            definition: E::DEFINITION,
            run: super::run_indirectly::<E>,
            storage: E::storage,
            open: |setup| Ok(Box::new(E::new(setup)?)),
        }
    }
}
