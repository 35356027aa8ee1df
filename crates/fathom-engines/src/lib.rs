//! The engines. Each engine has a file and an entry in [`ENGINES`], and makes exactly the calls that its name
//! promises. Shared code, for syncs and trims, is in `shared.rs`.

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
#[cfg(feature = "libhdfs")]
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
pub use external::{LoadError, load};

use fathom_run::EngineEntry;
use fathom_run::engine::{Engine, EngineType, Setup, SetupError};
use fathom_run::worker;
use fathom_spec::JobSpec;
use fathom_spec::engines::EngineDef;
use fathom_spec::options::depth::IoSubmitMode;

/// All engines, in the order of the documentation.
pub static ENGINES: &[EngineEntry] = &[
    EngineEntry::direct::<sync::Sync>(),
    EngineEntry::direct::<psync::Psync>(),
    EngineEntry::direct::<vsync::Vsync>(),
    EngineEntry::direct::<pvsync::Pvsync>(),
    EngineEntry::direct::<pvsync2::Pvsync2>(),
    EngineEntry::direct::<mmap::Mmap>(),
    EngineEntry::direct::<libaio::Libaio>(),
    EngineEntry::direct::<io_uring::IoUring>(),
    EngineEntry::direct::<posixaio::Posixaio>(),
    EngineEntry::direct::<null::Null>(),
    EngineEntry::direct::<io_uring_cmd::IoUringCmd>(),
    EngineEntry::indirect::<splice::Splice>(),
    EngineEntry::indirect::<sg::Sg>(),
    EngineEntry::indirect::<sg::Libzbc>(),
    EngineEntry::indirect::<persistent::libpmem::Libpmem>(),
    EngineEntry::indirect::<persistent::dev_dax::DevDax>(),
    EngineEntry::indirect::<sockets::Net>(),
    EngineEntry::indirect::<sockets::NetSplice>(),
    EngineEntry::indirect::<sockets::NetUring>(),
    EngineEntry::indirect::<rdma::Rdma>(),
    EngineEntry::indirect::<cpuio::Cpuio>(),
    EngineEntry::indirect::<exec::Exec>(),
    EngineEntry::indirect::<e4defrag::E4defrag>(),
    EngineEntry::indirect::<mtd::Mtd>(),
    EngineEntry::indirect::<page_fault::PageFault>(),
    EngineEntry::indirect::<falloc::Falloc>(),
    EngineEntry::indirect::<ftruncate::Ftruncate>(),
    EngineEntry::indirect::<metadata::Filecreate>(),
    EngineEntry::indirect::<metadata::Filestat>(),
    EngineEntry::indirect::<metadata::Filedelete>(),
    EngineEntry::indirect::<metadata::Dircreate>(),
    EngineEntry::indirect::<metadata::Dirstat>(),
    EngineEntry::indirect::<metadata::Dirdelete>(),
    EngineEntry::indirect::<ceph::rbd::Rbd>(),
    EngineEntry::indirect::<ceph::rados::Rados>(),
    EngineEntry::indirect::<gluster::gfapi::Gfapi>(),
    EngineEntry::indirect::<gluster::gfapi_async::GfapiAsync>(),
    #[cfg(feature = "libhdfs")]
    EngineEntry::indirect::<libhdfs::Libhdfs>(),
    EngineEntry::indirect::<http::Http>(),
    EngineEntry::indirect::<nbd::Nbd>(),
    EngineEntry::indirect::<nfs::Nfs>(),
    EngineEntry::indirect::<libiscsi::Libiscsi>(),
    EngineEntry::direct::<external::External>(),
];

/// The engine of this name.
pub fn find(name: &str) -> Option<&'static EngineEntry> {
    match name.starts_with(external::PREFIX) {
        true => external::entry(name),
        false => ENGINES.iter().find(|engine| engine.definition.name == name),
    }
}

/// The declaration of the engine with this name.
pub fn definition_of(name: &str) -> Option<EngineDef> {
    find(name).map(|engine| *engine.definition)
}

/// The engine as the job runs it, which is either the engine itself or submission threads around it.
pub fn for_job(engine: &EngineEntry, job: &JobSpec) -> EngineEntry {
    match job.depth.io_submit_mode {
        IoSubmitMode::Inline => *engine,
        IoSubmitMode::Offload => EngineEntry { run: worker::run_indirectly::<offload::Offload>, ..*engine },
    }
}

/// Sets up the engine of a job as its worker would.
pub fn open(setup: &Setup<'_>) -> Result<Box<dyn Engine>, SetupError> {
    match setup.job.depth.io_submit_mode {
        IoSubmitMode::Inline => (setup.open)(setup),
        IoSubmitMode::Offload => Ok(Box::new(offload::Offload::new(setup)?)),
    }
}
