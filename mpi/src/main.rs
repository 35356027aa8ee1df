//! `fathom-mpi`: the ranks of an MPI job as the hosts of a run.

#![forbid(unsafe_code)]

use fathom_local::exit;
use fathom_local::output::Output;
use fathom_mpi::communicator::Ranks;
use fathom_mpi::run::{self, Typed};
use fathom_mpi::{own_options, remains};
use fathom_spec::SystemSource;
use fathom_sys::clock::Calibration;
use fathom_sys::memory::page_size;
use std::panic::PanicHookInfo;
use std::process::ExitCode;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(report_defect));
    // Started early: this takes two milliseconds, during which other work proceeds.
    let calibration = Calibration::start();
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let program_name = words.next().unwrap_or_else(|| "fathom-mpi".to_owned());
    let machine = SystemSource::new(page_size() as u64).with_formats(fathom_report::declarations());
    let (own, words) = match own_options(words.collect()) {
        Ok(options) => options,
        Err(line) => return refuse(&line),
    };
    if let Some(directory) = &own.report_of {
        return remains::report(directory, &words, &machine);
    }
    let signals = match run::take_signals() {
        Ok(signals) => signals,
        Err(errno) => return refuse(&format!("fathom-mpi: it cannot wait for signals: {errno}")),
    };
    match Ranks::enter() {
        Ok(ranks) => {
            let typed = Typed { program_name, words, own, machine: &machine, calibration };
            run::run(ranks, typed, &signals)
        }
        Err(refusal) => refuse(&format!("fathom-mpi: {refusal}")),
    }
}

fn refuse(line: &str) -> ExitCode {
    Output::terminal().error_line(line);
    ExitCode::from(exit::SETUP_FAILED)
}

/// A bug in fathom prints one line that asks for a report, never a backtrace.
fn report_defect(details: &PanicHookInfo<'_>) {
    let place =
        details.location().map_or(String::new(), |place| format!(" at {}:{}", place.file(), place.line()));
    let text = details.payload_as_str().unwrap_or("no details");
    Output::terminal().error_line(&format!(
        "fathom-mpi: internal error{place} ({text}); please report it with the command that caused it"
    ));
}
