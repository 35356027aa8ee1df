//! The engines: one file each, and one line in [`ENGINES`].
//!
//! Each issues the very calls that its name promises; what several share (syncs, trims) is in `shared.rs`.

mod io_uring;
mod libaio;
mod mmap;
mod null;
mod posixaio;
mod psync;
mod pvsync;
mod pvsync2;
mod shared;
mod sync;
mod vsync;

use fathom_run::engine::{Engine, Traits};
use fathom_run::worker::{self, WorkerContext};

/// What the rest of the program knows of an engine.
pub struct EngineEntry {
    /// Name in `ioengine=`.
    pub name: &'static str,
    /// What it can do.
    pub traits: Traits,
    /// Runs a worker with it: the one indirect call of a job.
    pub run: fn(&WorkerContext<'_>),
}

const fn entry<E: Engine>() -> EngineEntry {
    EngineEntry { name: E::NAME, traits: E::TRAITS, run: worker::run::<E> }
}

/// All engines, in the order of the documentation.
pub static ENGINES: &[EngineEntry] = &[
    entry::<sync::Sync>(),
    entry::<psync::Psync>(),
    entry::<vsync::Vsync>(),
    entry::<pvsync::Pvsync>(),
    entry::<pvsync2::Pvsync2>(),
    entry::<mmap::Mmap>(),
    entry::<libaio::Libaio>(),
    entry::<io_uring::IoUring>(),
    entry::<posixaio::Posixaio>(),
    entry::<null::Null>(),
];

/// The engine of a name.
pub fn find(name: &str) -> Option<&'static EngineEntry> {
    ENGINES.iter().find(|engine| engine.name == name)
}
