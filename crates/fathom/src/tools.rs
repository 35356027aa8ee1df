//! The commands and the small tools: called by their first word, tools also by the name of fio's program for them.

use crate::runner::Program;
use fathom_tools::{Call, Streams};
use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

/// Runs the command or the tool that the words ask for; `None` when they ask for none, so that jobs are meant.
pub(crate) fn run(program: &OsStr, words: &[OsString]) -> Option<ExitCode> {
    let by_program = Path::new(program).file_name().and_then(|name| Call::by_program_name(name.to_str()?));
    if let Some(call) = by_program {
        return Some(start(&call, words));
    }
    let (first, rest) = words.split_first()?;
    // A file of that name is a job file, as it is to fio.
    let word = first.to_str().filter(|_| !Path::new(first).exists())?;
    if let Some(command) = fathom_answers::by_name(word) {
        return Some(with_streams(|streams| command.run(rest, streams, &mut Program)));
    }
    if word == "tools" {
        let listed = io::stdout().write_all(fathom_tools::listing().as_bytes());
        return Some(if listed.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    Call::by_subcommand(word).map(|call| start(&call, rest))
}

fn start(call: &Call, words: &[OsString]) -> ExitCode {
    with_streams(|streams| call.run(words, streams))
}

fn with_streams(work: impl FnOnce(&mut Streams<'_>) -> u8) -> ExitCode {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut err = io::stderr().lock();
    ExitCode::from(work(&mut Streams { out: &mut out, err: &mut err }))
}
