//! The `rdma` engine and its options.

use crate::declare::{choices, options};
use crate::definition::{Bounds, Names};
use crate::diagnostic::Rejected;
use crate::engines::{EngineDef, Review};
use crate::options::depth::IoSubmitMode;
use crate::spec::JobSpec;
use crate::value::Rw;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "rdma";

/// `ioengine=rdma`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "RDMA between hosts: remote writes, remote reads and sends, over rdma_cm")
        .built()
        .with_peers()
        .with_options(TABLE)
        .with_rules(&[check]);

choices! {
    /// RDMA operation.
    pub enum RdmaVerb {
        /// Write to the peer's memory
        Write = "write",
        /// Read from the peer's memory
        Read = "read",
        /// Send blocks
        Send = "send",
        /// Receive blocks
        Receive = "recv",
    }
}

options! {
    /// Options of the `rdma` engine.
    pub struct RdmaOptions in Engine, table TABLE;

    /// Peer to which a job with rw=write connects
    ///
    /// For a job with rw=read, which listens, it is the address to listen on, like bindname.
    Built Text hostname: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Local address
    Built Text bindname: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Port; the clone's number is added
    Built Int port: Option<u32>, { bounds: Bounds::between(1.0, 65535.0), engine: ENGINE };

    /// RDMA operation
    ///
    /// The job with rw=write decides, and the peer follows. Only with send does the peer receive the data and
    /// can verify it.
    Built Choice verb: RdmaVerb = "write", {
        aliases: &["proto"],
        choices: RdmaVerb::CHOICES,
        engine: ENGINE,
    };
}

/// Applies the properties of a connection: blocks are sequential and not stored, and a receiver sees only sent
/// blocks.
fn check(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let rw = job.io_type.rw.rw;
    let writes = rw == Rw::Write;
    let verb = job.private.rdma.verb;
    let line = if matches!(rw, Rw::Trim | Rw::RandTrim | Rw::TrimWrite | Rw::RandTrimWrite) {
        "ioengine=rdma has nothing to trim; rw=read and rw=write are possible"
    } else if job.depth.io_submit_mode == IoSubmitMode::Offload {
        "io_submit_mode=offload would reorder the blocks of a connection; leave it out"
    } else if job.verification.verify_only {
        "verify_only=1 reads written data again, but sent data is not stored"
    } else if writes && verb == RdmaVerb::Receive {
        "rw=write with verb=recv: the writing job sets verb=send, and the reading job then receives automatically"
    } else if writes && verb != RdmaVerb::Send && job.is_set("verify") {
        "verify= needs verb=send: with other verbs the passive side does not see the data"
    } else {
        // Sent data is not stored, so it cannot be read back. Blocks that arrive are verified as they are read.
        job.verification.do_verify = false;
        return Ok(());
    };
    let line = format!("job {}: {line}", job.name);
    Err(review.refuse_in_our_words(&job.origin, line))
}
