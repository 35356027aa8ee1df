//! The `rbd` engine and its options.

use crate::declare::options;
use crate::definition::Names;
use crate::diagnostic::Rejected;
use crate::engines::{EngineDef, Review, refuse_appending};
use crate::spec::JobSpec;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "rbd";

/// `ioengine=rbd`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "Ceph block devices").built().on_server().with_options(TABLE).with_rules(&[check]);

options! {
    /// Options of the `rbd` engine.
    pub struct RbdOptions in Engine, table TABLE;

    /// Cluster, if it is not called ceph
    Built Text clustername: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Image
    Built Text rbdname: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Pool of the image
    Built Text pool: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Namespace of the pool
    Built Text namespace: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// User name, with or without the prefix client.; if unset, admin
    Built Text clientname: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Cluster configuration file; if unset, CEPH_CONF or the default one
    Built Text conf: Option<String>, { names: Names::ClientFile, engine: ENGINE };

    /// Looks for completions without a pause
    Built Bool busy_poll: bool = "0", { engine: ENGINE };

    /// Use the client's cache as configured; 0 disables it
    Built Bool rbd_cache: bool = "1", { engine: ENGINE };

    /// Create a missing image as large as the job needs, and remove it after the run
    Built Bool rbd_create: bool = "0", { engine: ENGINE };

    /// Encryption of the image: luks1 or luks2
    Built Text rbd_encryption_format: Option<String>, { names: Names::Remote, engine: ENGINE };

    /// Encryption passphrase; ${NAME} takes it from the environment
    Built Text rbd_encryption_passphrase: Option<String>, { names: Names::Remote, engine: ENGINE, secret: true };
}

/// Refuses a job that appends to an image or keeps an image that it creates.
fn check(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    refuse_appending(job, review, "in an image")?;
    job.file.unlink |= job.private.rbd.rbd_create;
    Ok(())
}
