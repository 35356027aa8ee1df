//! Private options: each engine (and each built-in profile) has a file with the options
//! that only it understands.

use serde::{Deserialize, Serialize};

use crate::definition::OptionDef;

pub mod act;
pub mod cpuio;
pub mod dfs;
pub mod e4defrag;
pub mod exec;
pub mod filestat;
pub mod gfapi;
pub mod http;
pub mod io_uring;
pub mod libaio;
pub mod libblkio;
pub mod libcufile;
pub mod libhdfs;
pub mod libhipfile;
pub mod libiscsi;
pub mod mmap;
pub mod mtd;
pub mod nbd;
pub mod net;
pub mod nfs;
pub mod pvsync2;
pub mod rados;
pub mod rbd;
pub mod rdma;
pub mod sg;
pub mod tiobench;
pub mod windowsaio;
pub mod xnvme;

/// The private options of every engine; those of engines the job does not use keep their
/// defaults.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PrivateOptions {
    /// Of the `act` profile.
    pub act: act::ActOptions,
    /// Of the `cpuio` engine.
    pub cpuio: cpuio::CpuioOptions,
    /// Of the `dfs` engine.
    pub dfs: dfs::DfsOptions,
    /// Of the `e4defrag` engine.
    pub e4defrag: e4defrag::E4defragOptions,
    /// Of the `exec` engine.
    pub exec: exec::ExecOptions,
    /// Of the `filestat`, `dirstat` engine.
    pub filestat: filestat::FilestatOptions,
    /// Of the `gfapi`, `gfapi_async` engine.
    pub gfapi: gfapi::GfapiOptions,
    /// Of the `http` engine.
    pub http: http::HttpOptions,
    /// Of the `io_uring`, `io_uring_cmd` engine.
    pub io_uring: io_uring::IoUringOptions,
    /// Of the `libaio` engine.
    pub libaio: libaio::LibaioOptions,
    /// Of the `libblkio` engine.
    pub libblkio: libblkio::LibblkioOptions,
    /// Of the `libcufile` engine.
    pub libcufile: libcufile::LibcufileOptions,
    /// Of the `libhdfs` engine.
    pub libhdfs: libhdfs::LibhdfsOptions,
    /// Of the `libhipfile` engine.
    pub libhipfile: libhipfile::LibhipfileOptions,
    /// Of the `libiscsi` engine.
    pub libiscsi: libiscsi::LibiscsiOptions,
    /// Of the `mmap` engine.
    pub mmap: mmap::MmapOptions,
    /// Of the `mtd` engine.
    pub mtd: mtd::MtdOptions,
    /// Of the `nbd` engine.
    pub nbd: nbd::NbdOptions,
    /// Of the `net`, `netsplice` engine.
    pub net: net::NetOptions,
    /// Of the `nfs` engine.
    pub nfs: nfs::NfsOptions,
    /// Of the `pvsync2` engine.
    pub pvsync2: pvsync2::Pvsync2Options,
    /// Of the `rados` engine.
    pub rados: rados::RadosOptions,
    /// Of the `rbd` engine.
    pub rbd: rbd::RbdOptions,
    /// Of the `rdma` engine.
    pub rdma: rdma::RdmaOptions,
    /// Of the `sg` engine.
    pub sg: sg::SgOptions,
    /// Of the `tiobench` profile.
    pub tiobench: tiobench::TiobenchOptions,
    /// Of the `windowsaio` engine.
    pub windowsaio: windowsaio::WindowsaioOptions,
    /// Of the `xnvme` engine.
    pub xnvme: xnvme::XnvmeOptions,
}

/// The private options of an engine, empty when it has none.
pub fn of_engine(engine: &str) -> &'static [OptionDef] {
    match engine {
        "cpuio" => cpuio::TABLE,
        "dfs" => dfs::TABLE,
        "e4defrag" => e4defrag::TABLE,
        "exec" => exec::TABLE,
        "filestat" | "dirstat" => filestat::TABLE,
        "gfapi" | "gfapi_async" => gfapi::TABLE,
        "http" => http::TABLE,
        "io_uring" | "io_uring_cmd" => io_uring::TABLE,
        "libaio" => libaio::TABLE,
        "libblkio" => libblkio::TABLE,
        "libcufile" => libcufile::TABLE,
        "libhdfs" => libhdfs::TABLE,
        "libhipfile" => libhipfile::TABLE,
        "libiscsi" => libiscsi::TABLE,
        "mmap" => mmap::TABLE,
        "mtd" => mtd::TABLE,
        "nbd" => nbd::TABLE,
        "net" | "netsplice" => net::TABLE,
        "nfs" => nfs::TABLE,
        "pvsync2" => pvsync2::TABLE,
        "rados" => rados::TABLE,
        "rbd" => rbd::TABLE,
        "rdma" => rdma::TABLE,
        "sg" => sg::TABLE,
        "windowsaio" => windowsaio::TABLE,
        "xnvme" => xnvme::TABLE,
        _ => &[],
    }
}

/// The options of the built-in profiles.
pub fn of_profiles() -> [&'static [OptionDef]; 2] {
    [act::TABLE, tiobench::TABLE]
}
