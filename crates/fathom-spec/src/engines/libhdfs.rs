//! The `libhdfs` engine and its options.

use crate::definition::{Bounds, options};
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "libhdfs";

/// `ioengine=libhdfs`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "Hadoop file system").synchronous().on_server().with_options(TABLE);

options! {
    /// Options of the `libhdfs` engine.
    pub struct LibhdfsOptions at job.private.libhdfs, in Engine, table TABLE;

    /// HDFS name node
    Later Text namenode: String = "localhost", { engine: ENGINE };

    /// Same as namenode
    Later Text hostname: String = "localhost", { engine: ENGINE };

    /// Port of name node
    Later Int port: u32 = "9000", { bounds: Bounds::between(1.0, 65535.0), engine: ENGINE };

    /// Directory
    Later Text hdfsdirectory: String = "/", { engine: ENGINE };

    /// Bytes per chunk file
    Later Int chunk_size: u32 = "1048576", { aliases: &["chunck_size"], engine: ENGINE };

    /// One connection
    Later Bool single_instance: bool = "1", { engine: ENGINE };

    /// Direct reads
    Later Bool hdfs_use_direct: bool = "0", { engine: ENGINE };
}
