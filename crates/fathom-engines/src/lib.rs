//! The engines: one file each, and one line in [`ENGINES`].
//!
//! Each issues the very calls that its name promises; what several share (syncs, trims) is in `shared.rs`.

mod ceph;
mod client_files;
mod cpuio;
mod e4defrag;
mod exec;
mod external;
mod falloc;
mod ftruncate;
mod gluster;
mod http;
mod integrity;
mod io_uring;
mod io_uring_cmd;
mod libaio;
mod libhdfs;
mod libiscsi;
mod media;
mod metadata;
mod mmap;
mod mtd;
mod nbd;
mod net;
mod nfs;
mod null;
mod offload;
mod page_fault;
mod persistent;
mod posixaio;
mod protection;
mod psync;
mod pvsync;
mod pvsync2;
mod rdma;
mod ring;
mod sg;
mod shared;
mod sockets;
mod splice;
mod sync;
mod vsync;

pub use client_files::client_files;
pub use external::load;

use fathom_run::EngineEntry;
use fathom_run::engine::{AnyEngine, Engine, Setup, SetupError};
use fathom_run::worker;
use fathom_spec::JobSpec;
use fathom_spec::engines::EngineDef;
use fathom_spec::options::depth::IoSubmitMode;

/// All engines, in the order of the documentation.
pub static ENGINES: &[EngineEntry] = &[
    EngineEntry::of::<sync::Sync>(),
    EngineEntry::of::<psync::Psync>(),
    EngineEntry::of::<vsync::Vsync>(),
    EngineEntry::of::<pvsync::Pvsync>(),
    EngineEntry::of::<pvsync2::Pvsync2>(),
    EngineEntry::of::<mmap::Mmap>(),
    EngineEntry::of::<libaio::Libaio>(),
    EngineEntry::of::<io_uring::IoUring>(),
    EngineEntry::of::<posixaio::Posixaio>(),
    EngineEntry::of::<null::Null>(),
    EngineEntry::of::<io_uring_cmd::IoUringCmd>(),
    EngineEntry::of::<splice::Splice>(),
    EngineEntry::of::<sg::Sg>(),
    EngineEntry::of::<sg::Libzbc>(),
    EngineEntry::of::<persistent::libpmem::Libpmem>(),
    EngineEntry::of::<persistent::dev_dax::DevDax>(),
    EngineEntry::of::<sockets::Net>(),
    EngineEntry::of::<sockets::NetSplice>(),
    EngineEntry::of::<sockets::NetUring>(),
    EngineEntry::of::<rdma::Rdma>(),
    EngineEntry::of::<cpuio::Cpuio>(),
    EngineEntry::of::<exec::Exec>(),
    EngineEntry::of::<e4defrag::E4defrag>(),
    EngineEntry::of::<mtd::Mtd>(),
    EngineEntry::of::<page_fault::PageFault>(),
    EngineEntry::of::<falloc::Falloc>(),
    EngineEntry::of::<ftruncate::Ftruncate>(),
    EngineEntry::of::<metadata::Filecreate>(),
    EngineEntry::of::<metadata::Filestat>(),
    EngineEntry::of::<metadata::Filedelete>(),
    EngineEntry::of::<metadata::Dircreate>(),
    EngineEntry::of::<metadata::Dirstat>(),
    EngineEntry::of::<metadata::Dirdelete>(),
    EngineEntry::of::<ceph::rbd::Rbd>(),
    EngineEntry::of::<ceph::rados::Rados>(),
    EngineEntry::of::<gluster::gfapi::Gfapi>(),
    EngineEntry::of::<gluster::gfapi_async::GfapiAsync>(),
    EngineEntry::of::<libhdfs::Libhdfs>(),
    EngineEntry::of::<http::Http>(),
    EngineEntry::of::<nbd::Nbd>(),
    EngineEntry::of::<nfs::Nfs>(),
    EngineEntry::of::<libiscsi::Libiscsi>(),
    EngineEntry::of::<external::External>(),
];

/// The engine that goes by this name.
pub fn find(name: &str) -> Option<&'static EngineEntry> {
    match name.starts_with(external::PREFIX) {
        true => external::entry(name),
        false => ENGINES.iter().find(|engine| engine.definition.name == name),
    }
}

/// What the engine of a name can do.
pub fn definition_of(name: &str) -> Option<EngineDef> {
    find(name).map(|engine| *engine.definition)
}

/// The engine as this job runs it: by itself, or behind threads that submit for it.
pub fn for_job(engine: &EngineEntry, job: &JobSpec) -> EngineEntry {
    match job.depth.io_submit_mode {
        IoSubmitMode::Inline => *engine,
        IoSubmitMode::Offload => EngineEntry { run: worker::run::<offload::Offload>, ..*engine },
    }
}

/// The engine of a set-up, as a worker of its job would set it up.
pub fn open(setup: &Setup<'_>) -> Result<Box<dyn AnyEngine>, SetupError> {
    match setup.job.depth.io_submit_mode {
        IoSubmitMode::Inline => (setup.engine.open)(setup),
        IoSubmitMode::Offload => Ok(Box::new(offload::Offload::new(setup)?)),
    }
}
