//! Engines without options of their own.

use crate::engines::EngineDef;

/// `ioengine=sync`
pub const SYNC: EngineDef = EngineDef::new("sync", "lseek(2), then read(2) or write(2)")
    .built()
    .synchronous()
    .syncfs()
    .keeps_position();

/// `ioengine=psync`
pub const PSYNC: EngineDef =
    EngineDef::new("psync", "pread(2) and pwrite(2); the default").built().synchronous().syncfs();

/// `ioengine=vsync`
pub const VSYNC: EngineDef = EngineDef::new("vsync", "readv(2) and writev(2) over adjacent blocks")
    .built()
    .synchronous()
    .syncfs()
    .queues_from(1)
    .keeps_position();

/// `ioengine=pvsync`
pub const PVSYNC: EngineDef =
    EngineDef::new("pvsync", "preadv(2) and pwritev(2)").built().synchronous().syncfs();

/// `ioengine=posixaio`
pub const POSIXAIO: EngineDef = EngineDef::new("posixaio", "POSIX asynchronous I/O").built().syncfs();

/// `ioengine=null`
pub const NULL: EngineDef = EngineDef::new("null", "no I/O at all; completes at once")
    .built()
    .without_files()
    .queues_from(2)
    .discards_data();
