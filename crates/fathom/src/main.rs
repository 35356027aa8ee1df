//! The program: parse, plan, supervise, report.

#![forbid(unsafe_code)]

mod checksum_times;
mod clock_test;
mod every;
mod hosts;
mod inflate;
mod keep;
mod live;
mod manual;
mod metrics;
mod refusal;
mod run;
mod runner;
mod starter;
mod tools;

use fathom_local::{defect, exit, here, output, source};
use fathom_spec::{Message, Outcome};
use fathom_sys::clock::Calibration;
use output::Output;
use std::panic::PanicHookInfo;
use std::process::ExitCode;

fn main() -> ExitCode {
    std::panic::set_hook(Box::new(report_defect));
    std::panic::catch_unwind(start).unwrap_or(ExitCode::from(exit::DEFECT))
}

fn start() -> ExitCode {
    if fathom_sys::streams::output_was_closed() {
        Output::terminal().error_line(
            "fathom: standard output is closed, so the output would be lost; redirect it to a file or to /dev/null",
        );
        return ExitCode::from(exit::SETUP_FAILED);
    }
    if let Err(refusal) = starter::follow() {
        return refusal.tell(&mut Output::terminal());
    }
    let mut given = std::env::args_os();
    let program = given.next().unwrap_or_else(|| "fathom".into());
    if let Some(exit) = tools::run(&program, &given.collect::<Vec<_>>()) {
        return exit;
    }
    // Started early: the calibration takes two milliseconds, which parsing and planning use anyway.
    let calibration = Calibration::start();
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let program_name = words.next().unwrap_or_else(|| "fathom".to_owned());
    let words: Vec<String> = words.collect();
    let source = source::machine();
    if let Some(exit) = hosts::clients::start(&program_name, &words, &source) {
        return exit;
    }
    if let Some(asked) = hosts::asked(&words) {
        return match hosts::parse(&asked, &program_name, &words, &source) {
            Ok((Outcome::Run(spec), hosts)) => run::run(&spec, run::Where::Hosts(&hosts, &source)),
            Ok((other, _)) => without_run(other, &program_name, calibration),
            Err(refusal) => refusal.tell(&mut Output::terminal()),
        };
    }
    match fathom_spec::parse(&program_name, &words, &source) {
        Outcome::Run(spec) => match hosts::overlooked(&spec.program) {
            // Jobs for other hosts must not run here.
            Some(refusal) => refusal.tell(&mut Output::terminal()),
            None => {
                let mut terminal = Output::terminal();
                hosts::without_effect(&spec.program).iter().for_each(|line| terminal.error_line(line));
                drop(terminal);
                run::run(&spec, run::Where::Here(calibration))
            }
        },
        other => without_run(other, &program_name, calibration),
    }
}

/// Handles a command line that does not request a run.
fn without_run(outcome: Outcome, program_name: &str, calibration: Calibration) -> ExitCode {
    match outcome {
        Outcome::Exit(reply) => {
            let mut output = Output::terminal();
            let is_fio = fathom_spec::is_called_fio(program_name);
            let told = |message: &&Message| is_fio || !here::is_redundant(&message.text, &reply.messages);
            reply.messages.iter().filter(told).for_each(|message| output.say(message));
            ExitCode::from(reply.exit)
        }
        Outcome::InflateLog(path) => inflate::run(&path),
        Outcome::TimeChecksums(names) => checksum_times::run(&names),
        Outcome::CalibrateIdleness => run::calibrate_idleness(),
        Outcome::TestClock => clock_test::run(calibration),
        Outcome::Serve(program) if !program.clients.is_empty() => {
            hosts::clients::both().tell(&mut Output::terminal())
        }
        Outcome::Serve(program) => hosts::server::run(&program),
        Outcome::Run(spec) => run::run(&spec, run::Where::Here(calibration)),
    }
}

/// A bug in fathom prints one line that asks for a report, never a backtrace.
fn report_defect(details: &PanicHookInfo<'_>) {
    // Otherwise the line would disappear with the full-screen view.
    fathom_live::restore();
    Output::terminal().error_line(&defect::line(details));
}
