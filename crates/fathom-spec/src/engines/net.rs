//! The `net` and `netsplice` engines and their options.

use crate::definition::{Bounds, choices, options};
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "net";

/// `ioengine=net`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "sockets").synchronous().without_files().with_options(TABLE);

/// `ioengine=netsplice`
pub const SPLICED: EngineDef =
    EngineDef::new("netsplice", "sockets with splice(2)").synchronous().without_files().with_options(TABLE);

choices! {
    /// Transport of network I/O.
    pub enum NetProtocol {
        /// TCP over IPv4
        Tcp = "tcp",
        /// TCP over IPv6
        TcpV6 = "tcpv6",
        /// UDP over IPv4
        Udp = "udp",
        /// UDP over IPv6
        UdpV6 = "udpv6",
        /// Unix domain socket
        Unix = "unix",
        /// Socket to a virtual machine
        Vsock = "vsock",
    }
}

options! {
    /// Options of the `net` and `netsplice` engines.
    pub struct NetOptions at job.private.net, in Engine, table TABLE;

    /// Peer for the connecting side or multicast group; socket path for unix
    Later Text hostname: Option<String>, { engine: ENGINE };

    /// TCP/UDP/vsock port; clone number is added
    Later Int port: Option<u32>, { bounds: Bounds::between(1.0, 65535.0), engine: ENGINE };

    /// Transport
    Later Choice protocol: NetProtocol = "tcp", {
        aliases: &["proto"],
        choices: NetProtocol::CHOICES,
        engine: ENGINE,
    };

    /// TCP_NODELAY
    Later Bool nodelay: bool, { engine: ENGINE };

    /// Wait for a connection instead of making one
    Later Flag listen: bool, { engine: ENGINE };

    /// Answer each block
    Later Flag pingpong: bool, { engine: ENGINE };

    /// Multicast source address
    Later Text interface: Option<String>, { engine: ENGINE };

    /// Multicast ttl
    Later Int ttl: u32 = "1", { bounds: Bounds::at_least(0.0), engine: ENGINE };

    /// Socket buffer size
    Later Int window_size: Option<u32>, { bounds: Bounds::at_least(0.0), engine: ENGINE };

    /// TCP_MAXSEG
    Later Int mss: Option<u32>, { bounds: Bounds::at_least(0.0), engine: ENGINE };
}
