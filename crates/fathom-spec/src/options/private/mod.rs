//! The values of private options: of engines, which declare theirs in `engines/`, and of the built-in profiles.

use serde::{Deserialize, Serialize};

use crate::definition::OptionDef;
use crate::engines;

pub mod act;
pub mod tiobench;

/// The private options of every engine; those of engines the job does not use keep their
/// defaults.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PrivateOptions {
    /// Of the `act` profile.
    pub act: act::ActOptions,
    /// Of the `cpuio` engine.
    pub cpuio: engines::cpuio::CpuioOptions,
    /// Of the `dfs` engine.
    pub dfs: engines::dfs::DfsOptions,
    /// Of the `e4defrag` engine.
    pub e4defrag: engines::e4defrag::E4defragOptions,
    /// Of the `exec` engine.
    pub exec: engines::exec::ExecOptions,
    /// Of the `filestat`, `dirstat` engine.
    pub filestat: engines::filestat::FilestatOptions,
    /// Of the `gfapi`, `gfapi_async` engine.
    pub gfapi: engines::gfapi::GfapiOptions,
    /// Of the `http` engine.
    pub http: engines::http::HttpOptions,
    /// Of the `io_uring`, `io_uring_cmd` engine.
    pub io_uring: engines::io_uring::IoUringOptions,
    /// Of the `libaio` engine.
    pub libaio: engines::libaio::LibaioOptions,
    /// Of the `libblkio` engine.
    pub libblkio: engines::libblkio::LibblkioOptions,
    /// Of the `libcufile` engine.
    pub libcufile: engines::libcufile::LibcufileOptions,
    /// Of the `libhdfs` engine.
    pub libhdfs: engines::libhdfs::LibhdfsOptions,
    /// Of the `libhipfile` engine.
    pub libhipfile: engines::libhipfile::LibhipfileOptions,
    /// Of the `libiscsi` engine.
    pub libiscsi: engines::libiscsi::LibiscsiOptions,
    /// Of the `mmap` engine.
    pub mmap: engines::mmap::MmapOptions,
    /// Of the `mtd` engine.
    pub mtd: engines::mtd::MtdOptions,
    /// Of the `nbd` engine.
    pub nbd: engines::nbd::NbdOptions,
    /// Of the `net`, `netsplice` and `net_uring` engines.
    pub net: engines::net::NetOptions,
    /// Of the `nfs` engine.
    pub nfs: engines::nfs::NfsOptions,
    /// Of engines from outside.
    pub outside: engines::outside::OutsideOptions,
    /// Of the `pvsync2` engine.
    pub pvsync2: engines::pvsync2::Pvsync2Options,
    /// Of the `rados` engine.
    pub rados: engines::rados::RadosOptions,
    /// Of the `rbd` engine.
    pub rbd: engines::rbd::RbdOptions,
    /// Of the `rdma` engine.
    pub rdma: engines::rdma::RdmaOptions,
    /// Of the `sg` engine.
    pub sg: engines::sg::SgOptions,
    /// Of the `tiobench` profile.
    pub tiobench: tiobench::TiobenchOptions,
    /// Of the `windowsaio` engine.
    pub windowsaio: engines::windowsaio::WindowsaioOptions,
    /// Of the `xnvme` engine.
    pub xnvme: engines::xnvme::XnvmeOptions,
}

/// The options of the built-in profiles.
pub fn of_profiles() -> [&'static [OptionDef]; 2] {
    [act::TABLE, tiobench::TABLE]
}
