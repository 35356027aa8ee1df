//! Built-in workloads.

use crate::definition::{Choice, options};
use crate::value::{ParseContext, ValueError};

/// The words behind `--profile`.
const PROFILES: &[Choice] = &[
    Choice { name: "tiobench", help: "Four phases over four files, as the program tiobench has them" },
    Choice { name: "act", help: "The certification test of Aerospike for solid state disks" },
];

/// The command line has a `--profile` of its own, which makes the jobs. In a job file there is nothing left to make.
fn refuse_in_jobs(_: &str, context: &mut ParseContext<'_>) -> Result<(), ValueError> {
    if context.parse_only {
        return Ok(());
    }
    let expected = "--profile on the command line: a job cannot choose a built-in workload".to_owned();
    Err(ValueError { expected, fully_reported: true })
}

options! {
    /// Built-in workloads.
    pub struct ProfileOptions at job.profile, in Profile, table TABLE;

    /// Use a built-in workload
    ///
    /// Only on the command line, as --profile.
    Built Text profile: Option<String>, { choices: PROFILES, check: Some(refuse_in_jobs) };
}
