//! `fathom serve`: a web interface. One page, served by the program, on which to write a job, see what it would
//! do, run it, watch it, and view its result. The server keeps no state that must survive it: each run is a
//! folder ([`folder`]) and a separate process ([`work`]), which continues if the server ends and is found again
//! by the next one. [`history`] shows the runs of months. [`allowed`] controls the access of jobs to files and devices, and [`http`] the access of
//! browsers to the server.

#![forbid(unsafe_code)]

mod allowed;
mod check;
mod events;
mod folder;
mod forecast;
mod history;
mod http;
mod made;
mod options;
mod pages;
mod process;
mod reading;
mod runs;
mod words;
mod work;

use fathom_answers::Runner;
use fathom_command::{Failure, Streams};
use fathom_spec::Source;
use std::ffi::OsString;

/// The name of the command.
pub const NAME: &str = "serve";

/// The command's line in lists of commands.
pub const SUMMARY: &str = "Write, run, watch and compare jobs in the browser";

/// The output of `fathom serve --help`.
pub const HELP: &str = "\
Usage: fathom serve [options]

Serves a web page to browsers on this machine: write or open a job, check what it would do, run it, watch it, stop it, view its
result, compare two; the same for quick and sweep. Open the address that it prints: it contains the required token. Runs are
separate processes: they continue if the server ends, and the next server finds them.

  --port=NUMBER          Local port; default 8767; 0 for any free port
  --listen=ADDRESS       127.0.0.1, ::1 or localhost, optionally with a port; others are refused. From another machine:
                         ssh -L 8767:127.0.0.1:8767 HOST
  --results=DIRECTORY    Where runs are kept, a folder each; default fathom-results in the current directory
  --history=STORE        Show the runs of this store of fathom history, and add those that are started here; without STORE:
                         the default one

Jobs may use files in the folder targets of the results, and what these options add:

  --allow-path=PATH      Files below this directory, or this file; may be repeated. Relative names in jobs count from
                         the first of these directories
  --allow-device=PATH    This device; may be repeated
  --allow-commands       exec_prerun, exec_postrun, engines that run or load programs
  --allow-network        Engines that connect to servers or other hosts
";

/// Runs the command and returns its exit code. `machine` answers the parser's questions about this machine,
/// `runner` runs the jobs of commands.
pub fn run(
    words: &[OsString],
    streams: &mut Streams<'_>,
    machine: &dyn Source,
    runner: &mut dyn Runner,
) -> u8 {
    fathom_command::call("fathom serve", Some(HELP), words, streams, |words, streams| {
        match words::read(words)? {
            words::Asked::Work(folder, history) => {
                work::perform(&folder, history.as_deref(), machine, runner)
            }
            words::Asked::Serve(wishes) => http::serve(&wishes, streams, machine, runner),
        }
    })
}

/// Creates a failure that names its path.
fn failed(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::file(path, error)
}
