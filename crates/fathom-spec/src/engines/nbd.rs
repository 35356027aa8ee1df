//! The `nbd` engine and its options.

use crate::declare::{choices, options};
use crate::definition::{Bounds, Names};
use crate::diagnostic::Rejected;
use crate::engines::commands::refuse_zeroes_of_others;
use crate::engines::{EngineDef, Review, refuse_appending};
use crate::options::verification::VerifyMethod;
use crate::spec::JobSpec;
use std::time::Duration;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "nbd";

/// `ioengine=nbd`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "network block device")
    .built()
    .on_volume()
    .with_options(TABLE)
    .with_rules(&[check]);

choices! {
    /// Command for writes.
    pub enum WriteMode {
        /// The data of the job
        Write = "write",
        /// Zeroes that the server makes itself (WRITE_ZEROES)
        Zeroes = "zeroes",
    }
}

options! {
    /// Options of the `nbd` engine.
    pub struct NbdOptions in Engine, table TABLE;

    /// Server and export, such as nbd://host:10809/export or nbd+unix:///export?socket=/path
    ///
    /// With TLS the scheme is nbds or nbds+unix, and tls-certificates=DIR names a directory with ca-cert.pem, client-cert.pem and
    /// client-key.pem.
    Built Text uri: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Connections of the job to its export
    ///
    /// A job that writes has several only if the server promises that a flush covers them all (multi-conn).
    Built Int connections: u32 = "1", { bounds: Bounds::between(1.0, 256.0), engine: ENGINE };

    /// How long to try to get a lost connection back; 0 fails its I/Os immediately
    ///
    /// What was in flight is sent again. The gap is part of its latencies, and a line says how long it was.
    Built Time reconnect: Duration = "0", { engine: ENGINE };

    /// Command for writes
    Built Choice write_mode: WriteMode = "write", { choices: WriteMode::CHOICES, engine: ENGINE };
}

/// An export has no end to append to, and zeroes have nothing in them that could be checked.
fn check(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    refuse_appending(job, review, "in an export")?;
    let zeroes = job.private.nbd.write_mode == WriteMode::Zeroes;
    if zeroes && job.verification.verify != VerifyMethod::None {
        return refuse_zeroes_of_others(job, review);
    }
    Ok(())
}
