//! The engines for persistent memory. They have no engine options: `direct=1` bypasses the cache, `sync=1`
//! drains after each write.

use crate::engines::EngineDef;

/// `ioengine=libpmem`
pub const LIBPMEM: EngineDef =
    EngineDef::new("libpmem", "persistent memory: files on a file system with DAX, mapped")
        .built()
        .synchronous()
        .on_media()
        .maps_files();

/// `ioengine=dev-dax`
pub const DEV_DAX: EngineDef =
    EngineDef::new("dev-dax", "persistent memory: device DAX (/dev/dax0.0), mapped")
        .built()
        .synchronous()
        .on_media()
        .maps_files();
