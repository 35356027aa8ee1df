//! `fathom keys`: makes the keys of a multi-host run.

use fathom_command::arguments;
use fathom_command::{Failure, Streams};
use fathom_hosts::keys;
use lexopt::Arg::{Long, Value};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The subcommand.
pub(crate) const NAME: &str = "keys";

/// Its line in lists of commands.
pub(crate) const SUMMARY: &str = "Make the keys of a multi-host run, for its controller and its agents";

/// Output of `fathom keys --help`.
pub(crate) const HELP: &str = "\
Usage: fathom keys DIRECTORY [--valid=TIME]

Creates controller.keys and agent.keys in a directory, which is created if necessary. A holder of agent.keys can take part
in the run as a host; a holder of controller.keys can run jobs on agents that have the other file. Copy agent.keys to the
hosts, and keep both files secret.

  --valid=TIME    How long the keys are valid; default 24h
";

const USUAL: Duration = Duration::from_secs(24 * 3600);

/// Runs the command; returns the exit code.
pub(crate) fn run(words: &[OsString], streams: &mut Streams<'_>) -> u8 {
    fathom_command::call("fathom keys", Some(HELP), words, streams, |words, streams| {
        let (mut directory, mut valid) = (None, USUAL);
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(word) = parser.next()? {
            match word {
                Long("valid") => {
                    valid =
                        Duration::from_secs_f64(arguments::milliseconds(&mut parser, "--valid")? / 1000.0);
                }
                Value(path) if directory.is_none() => directory = Some(PathBuf::from(path)),
                other => return Err(other.unexpected().into()),
            }
        }
        let directory = directory.ok_or_else(|| Failure::new("name the directory for the keys"))?;
        for path in keys::make(&directory, valid).map_err(Failure::because)? {
            writeln!(streams.out, "{}", path.display())?;
        }
        Ok(0)
    })
}
