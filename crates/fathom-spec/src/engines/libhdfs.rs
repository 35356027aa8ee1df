//! The `libhdfs` engine and its options.

use crate::declare::options;
use crate::definition::{Bounds, Names};
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "libhdfs";

/// `ioengine=libhdfs`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "Hadoop file system").built().optional().on_server().with_options(TABLE);

options! {
    /// Options of the `libhdfs` engine.
    pub struct LibhdfsOptions in Engine, table TABLE;

    /// Name node: a host, or hdfs://NAME for a name service in Hadoop's configuration; if unset, localhost
    Built Text namenode: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Same as namenode
    Built Text hostname: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Port of the name node
    Built Int port: u32 = "9000", { bounds: Bounds::between(1.0, 65535.0), engine: ENGINE };

    /// Folder of the job's files
    Built Text hdfsdirectory: String = "/", { names: Names::Remote, engine: ENGINE };

    /// Size of the HDFS files of which a file of the job consists, in bytes
    Built Int chunk_size: u32 = "1048576", { aliases: &["chunck_size"], bounds: Bounds::at_least(1.0), engine: ENGINE };

    /// One connection to the name node for all files of a clone; 0 gives each file its own
    Built Bool single_instance: bool = "1", { engine: ENGINE };

    /// Read directly into the job's buffers, without a copy
    Built Bool hdfs_use_direct: bool = "0", { engine: ENGINE };
}
