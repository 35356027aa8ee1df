//! The engines: one file each, and one line in [`ENGINES`].
//!
//! Each issues the very calls that its name promises; what several share (syncs, trims) is in `shared.rs`.

mod cpuio;
mod io_uring;
mod libaio;
mod mmap;
mod null;
mod offload;
mod posixaio;
mod psync;
mod pvsync;
mod pvsync2;
mod shared;
mod sync;
mod vsync;

use fathom_run::crew::Runner;
use fathom_run::engine::{AnyEngine, Engine, Setup, SetupError, open_any};
use fathom_run::worker;
use fathom_spec::JobSpec;
use fathom_spec::engines::EngineDef;
use fathom_spec::options::depth::IoSubmitMode;

/// What the rest of the program knows of an engine.
pub struct EngineEntry {
    /// Its name, and what it can do.
    pub definition: &'static EngineDef,
    runner: Runner,
    open: fn(&Setup<'_>) -> Result<Box<dyn AnyEngine>, SetupError>,
}

impl EngineEntry {
    /// How the workers of a job with it are run: the one indirect call of a job.
    pub fn runner(&self, job: &JobSpec) -> Runner {
        match job.depth.io_submit_mode {
            IoSubmitMode::Inline => self.runner,
            IoSubmitMode::Offload => Runner { run: worker::run::<offload::Offload>, ..self.runner },
        }
    }

    /// The engine by itself, set up as a worker of the job would set it up.
    pub fn open(&self, setup: &Setup<'_>) -> Result<Box<dyn AnyEngine>, SetupError> {
        match setup.job.depth.io_submit_mode {
            IoSubmitMode::Inline => (self.open)(setup),
            IoSubmitMode::Offload => open_any::<offload::Offload>(setup),
        }
    }
}

const fn entry<E: Engine + 'static>() -> EngineEntry {
    let runner = Runner { run: worker::run::<E>, storage: E::storage };
    EngineEntry { definition: E::DEFINITION, runner, open: open_any::<E> }
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
    entry::<cpuio::Cpuio>(),
];

/// The engine of a name.
pub fn find(name: &str) -> Option<&'static EngineEntry> {
    ENGINES.iter().find(|engine| engine.definition.name == name)
}
