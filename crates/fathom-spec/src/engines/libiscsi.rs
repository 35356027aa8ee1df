//! The `libiscsi` engine and its options.

use crate::declare::{choices, options};
use crate::definition::{Bounds, Names};
use crate::diagnostic::Rejected;
use crate::engines::{EngineDef, Review};
use crate::options::verification::VerifyMethod;
use crate::spec::JobSpec;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "libiscsi";

/// `ioengine=libiscsi`
pub const DEFINITION: EngineDef = EngineDef::new(ENGINE, "iSCSI through libiscsi")
    .built()
    .on_volume()
    .with_options(TABLE)
    .with_rules(&[check]);

choices! {
    /// Command for writes.
    pub enum WriteMode {
        /// The job's data
        Write = "write",
        /// The first block of the data, repeated (WRITE SAME)
        Same = "same",
    }
}

options! {
    /// Options of the `libiscsi` engine.
    pub struct LibiscsiOptions in Engine, table TABLE;

    /// Initiator name
    Built Text initiator: String = "iqn.2019-04.org.fio:fio", { names: Names::Remote, engine: ENGINE };

    /// Sessions with the target for each file of the job
    Built Int sessions: u32 = "1", { bounds: Bounds::between(1.0, 64.0), engine: ENGINE };

    /// Command for writes
    Built Choice write_mode: WriteMode = "write", { choices: WriteMode::CHOICES, engine: ENGINE };
}

/// Refuses verification with a repeated block, because such a block does not contain the expected data.
fn check(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let same = job.private.libiscsi.write_mode == WriteMode::Same;
    if same && job.verification.verify != VerifyMethod::None {
        return Err(review.refuse(
            &job.origin,
            "fathom: repeated blocks cannot be verified",
            format!(
                "job {}: write_mode=same repeats the first block; leave out verify= or write_mode=",
                job.name
            ),
        ));
    }
    Ok(())
}
