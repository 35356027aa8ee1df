//! The `net` and `netsplice` engines and their options.

use crate::declare::{choices, options};
use crate::definition::{Bounds, Names};
use crate::diagnostic::Rejected;
use crate::engines::{EngineDef, Review};
use crate::options::depth::IoSubmitMode;
use crate::spec::JobSpec;
use crate::value::{FileNames, Rw};
use std::path::PathBuf;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "net";

/// `ioengine=net`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "sockets")
    .built()
    .synchronous()
    .with_peers()
    .shows_bits()
    .with_options(TABLE)
    .with_rules(&[check]);

/// `ioengine=netsplice`
pub const SPLICED: EngineDef = EngineDef::new("netsplice", "sockets with splice(2)")
    .built()
    .synchronous()
    .with_peers()
    .with_options(TABLE)
    .with_rules(&[check]);

/// `ioengine=net_uring`, which fio does not have: `net` with a queue.
pub const QUEUED: EngineDef =
    EngineDef::new("net_uring", "sockets with up to iodepth blocks in flight on each, through io_uring")
        .built()
        .with_peers()
        .one_thread()
        .shows_bits()
        .with_options(TABLE)
        .with_rules(&[check, check_queue]);

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
    pub struct NetOptions in Engine, table TABLE;

    /// Peer to connect to, or multicast group; socket path for unix
    ///
    /// A name or an address; the machine number (CID) for vsock. The path of a Unix socket may be given by filename instead.
    Built Text hostname: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// TCP, UDP or vsock port; the clone's number is added
    Built Int port: Option<u32>, { bounds: Bounds::between(1.0, 65535.0), engine: ENGINE };

    /// Transport
    Built Choice protocol: NetProtocol = "tcp", {
        aliases: &["proto"],
        choices: NetProtocol::CHOICES,
        engine: ENGINE,
    };

    /// TCP_NODELAY
    ///
    /// Sends small blocks individually; without it, blocks that follow each other immediately share packets.
    Built Bool nodelay: bool, { engine: ENGINE };

    /// Wait for a connection instead of opening one
    Built Flag listen: bool, { engine: ENGINE };

    /// Answer each block
    ///
    /// The reader sends each block back, and the writer waits for it: the latency is that of the round trip. Both sides must
    /// set it.
    Built Flag pingpong: bool, { engine: ENGINE };

    /// Multicast source address
    Built Text interface: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Multicast ttl
    Built Int ttl: u32 = "1", { bounds: Bounds::at_least(0.0), engine: ENGINE };

    /// Socket buffer size
    ///
    /// Applies to the buffers that the job uses: receive, send, or both.
    Built Int window_size: Option<u32>, { bounds: Bounds::at_least(0.0), engine: ENGINE };

    /// TCP_MAXSEG
    Built Int mss: Option<u32>, { bounds: Bounds::at_least(0.0), engine: ENGINE };
}

/// The path of a local socket that a job names: hostname, or else filename as written.
pub fn socket_path(job: &JobSpec) -> Option<PathBuf> {
    if job.private.net.protocol != NetProtocol::Unix {
        return None;
    }
    let named = job.file.filename.as_ref().map(|FileNames(names)| names.join(":"));
    job.private.net.hostname.clone().or(named).map(PathBuf::from)
}

/// Refuses datagrams and ping-pong, which refer to single blocks; `net` handles one block at a time.
fn check_queue(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let options = &job.private.net;
    let what = match options.protocol {
        NetProtocol::Udp | NetProtocol::UdpV6 => "protocol=udp",
        _ if options.pingpong => "pingpong",
        _ => return Ok(()),
    };
    let line = format!(
        "job {}: ioengine=net_uring is for streams: {what} needs \
        ioengine=net",
        job.name
    );
    Err(review.refuse_in_our_words(&job.origin, line))
}

/// Applies the properties of a connection: its blocks arrive in order, once, and are not stored.
fn check(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let name = job.engine.ioengine.name.clone();
    if matches!(job.io_type.rw.rw, Rw::Trim | Rw::RandTrim | Rw::TrimWrite | Rw::RandTrimWrite) {
        return Err(review.refuse_in_our_words(
            &job.origin,
            format!(
                "job {}: ioengine={name} has nothing to trim; rw=read, rw=write and rw=rw are possible",
                job.name
            ),
        ));
    }
    if job.depth.io_submit_mode == IoSubmitMode::Offload {
        return Err(review.refuse_in_our_words(
            &job.origin,
            format!(
                "job {}: io_submit_mode=offload would reorder the blocks of a connection; leave it out",
                job.name
            ),
        ));
    }
    if job.verification.verify_only {
        return Err(review.refuse_in_our_words(
            &job.origin,
            format!("job {}: verify_only=1 reads written data again, but sent data is not stored", job.name),
        ));
    }
    // Sent data is not stored, so it cannot be read back. Blocks that arrive are verified as they are read.
    job.verification.do_verify = false;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::testing::quiet_job;

    #[test]
    fn a_socket_of_this_machine_is_named_by_either_option() {
        let path =
            |words: &str| socket_path(&quiet_job(&format!("--name=a --ioengine=net --size=4k {words}")));
        assert_eq!(path("--port=1 --hostname=h"), None);
        assert_eq!(path("--protocol=unix --hostname=/s --filename=/f"), Some(PathBuf::from("/s")));
        assert_eq!(path("--protocol=unix --filename=/f:/g"), Some(PathBuf::from("/f:/g")));
        assert_eq!(path("--protocol=unix"), None);
    }

    #[test]
    fn what_was_sent_is_not_read_back() {
        let job =
            quiet_job("--name=a --ioengine=net --size=4k --rw=write --verify=md5 --hostname=h --port=1");
        assert!(!job.verification.do_verify);
    }
}
