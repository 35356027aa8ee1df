//! The `rdma` engine and its options.

use crate::definition::{Bounds, choices, options};
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "rdma";

/// `ioengine=rdma`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "RDMA between hosts").with_options(TABLE);

choices! {
    /// RDMA operation.
    pub enum RdmaVerb {
        /// RDMA write
        Write = "write",
        /// RDMA read
        Read = "read",
        /// Send
        Send = "send",
        /// Receive
        Receive = "recv",
    }
}

options! {
    /// Options of the `rdma` engine.
    pub struct RdmaOptions at job.private.rdma, in Engine, table TABLE;

    /// Peer
    Later Text hostname: Option<String>, { engine: ENGINE };

    /// Local address
    Later Text bindname: Option<String>, { engine: ENGINE };

    /// Port
    Later Int port: Option<u32>, { bounds: Bounds::between(1.0, 65535.0), engine: ENGINE };

    /// RDMA operation
    Later Choice verb: RdmaVerb = "write", {
        aliases: &["proto"],
        choices: RdmaVerb::CHOICES,
        engine: ENGINE,
    };
}
