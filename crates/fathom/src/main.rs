//! The program: parse, plan, supervise, report.

#![forbid(unsafe_code)]

mod checksum_times;
mod clock_test;
mod exit;
mod inflate;
mod live;
mod manual;
mod output;
mod run;
mod runner;
mod tools;

use fathom_spec::{Message, Outcome, SystemSource};
use fathom_sys::clock::Calibration;
use fathom_sys::memory::page_size;
use output::Output;
use std::ffi::OsStr;
use std::panic::PanicHookInfo;
use std::process::ExitCode;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(tell_defect));
    let mut given = std::env::args_os();
    let program = given.next().unwrap_or_else(|| "fathom".into());
    if let Some(exit) = tools::run(&program, &given.collect::<Vec<_>>()) {
        return exit;
    }
    // Taken first: the calibration needs two milliseconds, which parsing and planning already spend.
    let calibration = Calibration::start();
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let program_name = words.next().unwrap_or_else(|| "fathom".to_owned());
    let words: Vec<String> = words.collect();
    let source = machine();
    match fathom_spec::parse(&program_name, &words, &source) {
        Outcome::Exit(reply) => {
            let mut output = Output::terminal();
            let is_fio = tools::is_called_fio(OsStr::new(&program_name));
            let told = |message: &&Message| is_fio || !is_told_better(&message.text, &reply.messages);
            reply.messages.iter().filter(told).for_each(|message| output.say(message));
            ExitCode::from(reply.exit)
        }
        Outcome::InflateLog(path) => inflate::run(&path),
        Outcome::TimeChecksums(names) => checksum_times::run(&names),
        Outcome::CalibrateIdleness => run::calibrate_idleness(),
        Outcome::TestClock => clock_test::run(calibration),
        Outcome::Run(spec) => run::run(&spec, calibration),
    }
}

/// What the parser asks of this machine and of this program.
fn machine() -> SystemSource {
    SystemSource::new(page_size() as u64).with_formats(fathom_report::declarations())
}

/// Lines of fio on an option that there is not, where one of our own says it all: what, where, and what was meant.
fn is_told_better(line: &str, all: &[Message]) -> bool {
    let is_own = |message: &Message| {
        message.text.starts_with("fathom: ") && message.text.contains("there is no such option")
    };
    let is_fio = line.contains(": unrecognized option '")
        || line.starts_with("Bad option <")
        || line.starts_with("Did you mean ");
    is_fio && all.iter().any(is_own)
}

/// A defect of ours is one line that asks for a report, never a backtrace.
fn tell_defect(details: &PanicHookInfo<'_>) {
    // Otherwise the line goes with the screen of the view.
    fathom_live::restore();
    let place =
        details.location().map_or(String::new(), |place| format!(" at {}:{}", place.file(), place.line()));
    let text = details.payload_as_str().unwrap_or("no details");
    Output::terminal().error_line(&format!(
        "fathom: internal error{place} ({text}); please report it with the command that caused it"
    ));
}
