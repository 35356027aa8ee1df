//! Dispatches commands and tools: by the first argument, for tools also by the name of fio's program.

use crate::hosts;
use crate::manual;
use crate::metrics;
use crate::output::Output;
use crate::refusal::Refusal;
use crate::runner::Program;
use fathom_command::Streams;
use fathom_command::printer::{Letters, Printer};
use fathom_local::source;
use fathom_spec::is_called_fio;
use fathom_tools::Call;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// Runs the requested command or tool; `None` if the arguments are jobs.
pub(crate) fn run(program: &OsStr, words: &[OsString]) -> Option<ExitCode> {
    if program == metrics::NAME {
        return Some(metrics::export());
    }
    let by_program = Path::new(program).file_name().and_then(|name| Call::by_program_name(name.to_str()?));
    if let Some(call) = by_program {
        return Some(start(&call, words));
    }
    let is_fio = is_called_fio(&program.to_string_lossy());
    let Some((first, rest)) = words.split_first() else {
        // fio prints its options and ends with 1.
        return (!is_fio).then(nothing_asked);
    };
    // A file of that name is a job file, as in fio.
    let word = first.to_str().filter(|_| !Path::new(first).is_file())?;
    if matches!(word, "--help" | "-help" | "-h") && !is_fio {
        // The most common tasks come before the long list of options.
        print(&format!("{}\n", manual::first_screen()));
        return None;
    }
    if let Some(command) = fathom_answers::by_name(word) {
        let mut rest = rest.to_vec();
        return Some(match Program::for_command(&mut rest) {
            Ok(mut program) => with_streams(|streams| command.run(&rest, streams, &mut program)),
            Err(refusal) => Refusal::new(format!("fathom {word}: {}", refusal.in_own_words()))
                .tell(&mut Output::terminal()),
        });
    }
    let rest_as_text: Vec<String> = rest.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    match manual::text_for(word, &rest_as_text) {
        Some(Ok(text)) => return Some(print(&text)),
        Some(Err(refusal)) => return Some(refusal.tell(&mut Output::terminal())),
        None => {}
    }
    if word == hosts::agent::NAME {
        return Some(with_streams(|streams| hosts::agent::run(rest, streams)));
    }
    if word == hosts::keys::NAME {
        return Some(with_streams(|streams| hosts::keys::run(rest, streams)));
    }
    if word == fathom_serve::NAME {
        let run = |streams: &mut Streams<'_>| {
            fathom_serve::run(rest, streams, &source::machine(), &mut Program::default())
        };
        return Some(with_streams(run));
    }
    if let Some(call) = Call::by_subcommand(word) {
        return Some(start(&call, rest));
    }
    // An existing file, or anything that looks like a path or an option, is left to the parser.
    let is_plain = !word.contains(['.', '/', '-', '=']) && !Path::new(first).exists();
    if !is_plain || is_fio {
        return None;
    }
    let meant = manual::meant_by(word)?;
    let line = format!("fathom: {word} is neither a command nor a job file; did you mean {meant}?");
    Some(Refusal::new(line).tell(&mut Output::terminal()))
}

/// Without arguments, the first screen lists the commands.
fn nothing_asked() -> ExitCode {
    print(&manual::first_screen());
    Refusal::new("fathom: neither a job nor a command was given").tell(&mut Output::terminal())
}

/// Prints a text; a reader that has gone away is not an error.
fn print(text: &str) -> ExitCode {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

fn start(call: &Call, words: &[OsString]) -> ExitCode {
    with_streams(|streams| call.run(words, streams))
}

fn with_streams(work: impl FnOnce(&mut Streams<'_>) -> u8) -> ExitCode {
    let stdout = io::stdout();
    let is_terminal = stdout.is_terminal();
    let mut out = Printer::new(BufWriter::new(stdout.lock()), Letters::Unicode).to_terminal(is_terminal);
    let mut err = Printer::new(io::stderr().lock(), Letters::of_environment());
    ExitCode::from(work(&mut Streams { out: &mut out, err: &mut err }))
}
