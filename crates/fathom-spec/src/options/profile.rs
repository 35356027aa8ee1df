//! Built-in workloads.

use crate::declare::options;
use crate::definition::{Choice, Names};
use crate::value::{ParseContext, ValueError};

/// The values of `--profile`.
const PROFILES: &[Choice] = &[
    Choice { name: "tiobench", help: "Four phases over four files, as in the program tiobench" },
    Choice { name: "act", help: "Aerospike's certification test for solid state disks" },
];

/// Refuses `profile` in a job file, where the jobs exist already. On the command line, `--profile` creates the
/// jobs.
fn refuse_in_jobs(_: &str, context: &mut ParseContext<'_>) -> Result<(), ValueError> {
    if context.parse_only {
        return Ok(());
    }
    let expected = "--profile on the command line: a job cannot choose a built-in workload".to_owned();
    Err(ValueError { expected, fully_reported: true })
}

options! {
    /// Built-in workloads.
    pub struct ProfileOptions in Profile, table TABLE;

    /// Use a built-in workload
    ///
    /// Command line only, as --profile.
    Built Text profile: Option<String>, { names: Names::Nothing, choices: PROFILES, check: Some(refuse_in_jobs) };
}
