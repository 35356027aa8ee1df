//! The `exec` engine and its options.

use crate::definition::{Bounds, options};
use crate::engines::EngineDef;

/// The engine these options belong to.
pub(crate) const ENGINE: &str = "exec";

/// `ioengine=exec`
pub const DEFINITION: EngineDef =
    EngineDef::new(ENGINE, "runs a program").synchronous().without_files().with_options(TABLE);

options! {
    /// Options of the `exec` engine.
    pub struct ExecOptions at job.private.exec, in Engine, table TABLE;

    /// Program to run (required)
    Later Text program: Option<String>, { engine: ENGINE };

    /// Arguments of the program; %r is the runtime in seconds, %n the job name
    Later Text arguments: Option<String>, { engine: ENGINE };

    /// Seconds between SIGTERM and SIGKILL
    Later Int grace_time: u32 = "1", { bounds: Bounds::at_least(0.0), engine: ENGINE };

    /// Redirect stdout and stderr to files
    Later Bool std_redirect: bool = "1", { engine: ENGINE };
}
