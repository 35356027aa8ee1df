//! The job language: parses command lines and job files into typed job specifications.
//!
//! This crate knows every option of fio by one declaration each (see [`options`]), reads fio's command line and
//! job file grammar, and returns an [`Outcome`]: jobs to run, or messages to print with an exit status. It
//! accesses the outside world only through [`Source`].

#![forbid(unsafe_code)]

mod assembly;
mod assign;
mod command_line;
mod compatibility;
mod context;
pub mod debug;
mod declare;
pub mod definition;
mod diagnostic;
pub mod engines;
mod expression;
pub mod formats;
mod help;
pub mod hosts;
mod job_file;
mod keywords;
mod machine;
mod message;
pub mod mistakes;
pub mod options;
mod outcome;
mod profiles;
mod program_options;
mod raw_option;
mod reference;
pub mod registry;
mod resolve;
mod show_command;
mod source;
mod spec;
pub mod spelling;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod value;

pub use compatibility::compatibility_markdown;
pub use diagnostic::{Diagnostic, Origin, Rejected};
pub use engines::{Review, Rule};
pub use formats::FormatDeclaration;
pub use help::is_called_fio;
pub use machine::{EngineNotLoaded, Machine};
pub use message::{Message, Reply, Stream};
pub use outcome::{GlobalSection, Outcome, RunSpec};
pub use program_options::{ALL as PROGRAM_OPTIONS, Argument, ProgramOption, ProgramOptions};
pub use reference::{engines_markdown, options_markdown};
pub use resolve::tree::directories as directories_of_tree;
pub use source::{LoadEngine, Source, SystemSource};
pub use spec::{Eta, IdleProfile, JobSpec, PrivateOptions, Requirement, Trigger};

use assembly::Assembly;
use command_line::Stop;
use options::verification::VerifyMethod;

/// The version of this program; for a release, it is set at build time.
pub const VERSION: &str = match option_env!("FATHOM_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// Parses a command line (without the program's name) and the job files that it names.
///
/// Nothing is created or written; the outcome says what to run or what to print.
pub fn parse(program_name: &str, args: &[String], source: &dyn Source) -> Outcome {
    let mut assembly = Assembly::new(program_name, source);
    let read = command_line::read(program_name, args, &mut assembly).and_then(|files| {
        assembly.read_profile()?;
        files.iter().try_for_each(|file| assembly.read_job_file(file)).map_err(Stop::from)?;
        assembly.refuse_forbidden_defaults().map_err(Stop::from)
    });
    assembly.note_idle_profile_options();
    let Assembly { program, mut messages, jobs, global_options, global_sections, .. } = assembly;
    match read {
        Err(Stop::End(Outcome::Exit(reply))) => {
            messages.extend(reply.messages);
            Outcome::Exit(Reply { messages, exit: reply.exit })
        }
        Err(Stop::End(outcome)) => outcome,
        Err(Stop::Mistake) => Outcome::Exit(Reply { messages, exit: 1 }),
        Ok(()) if program.trigger.command.is_some() && !program.trigger.fires() => {
            let problem = "--trigger has nothing to run after; give --trigger-file or --trigger-timeout";
            messages.push(Diagnostic::general(&Origin::CommandLine, problem).message());
            Outcome::Exit(Reply { messages, exit: 1 })
        }
        Ok(()) if program.every.is_some() && program.server.is_some() => {
            let problem = "--every repeats jobs, and --server waits for jobs of clients; give one of them";
            messages.push(Diagnostic::general(&Origin::CommandLine, problem).message());
            Outcome::Exit(Reply { messages, exit: 1 })
        }
        Ok(()) if program.server.is_some() => Outcome::Serve(Box::new(program)),
        Ok(()) if program.show_command => Outcome::Exit(Reply { messages, exit: 0 }),
        Ok(()) if jobs.is_empty() && program.parse_only => Outcome::Exit(Reply { messages, exit: 0 }),
        Ok(()) if jobs.is_empty() => {
            // Without jobs, only a short message is printed, because sixty lines of options would hide it.
            if is_called_fio(program_name) {
                messages.push(Message::stdout(help::usage(program_name, source.formats())));
            }
            messages.push(Message::stderr("No job(s) defined\n"));
            messages.push(no_jobs(&program).message());
            Outcome::Exit(Reply { messages, exit: 1 })
        }
        Ok(()) => match changing_job(&program, &jobs) {
            Some(job) => {
                messages.extend(readonly_refusal(job));
                Outcome::Exit(Reply { messages, exit: 1 })
            }
            None => Outcome::Run(Box::new(RunSpec {
                messages: [messages, what_stays(&program, &jobs)].concat(),
                program,
                global_options,
                global_sections,
                jobs,
                place: None,
            })),
        },
    }
}

/// Parses the program's own options on a command line, regardless of its jobs.
pub fn program_options(
    program_name: &str,
    args: &[String],
    source: &dyn Source,
) -> Result<ProgramOptions, Reply> {
    let mut assembly = Assembly::new(program_name, source);
    let read = command_line::read(program_name, args, &mut assembly);
    let Assembly { program, mut messages, .. } = assembly;
    match read {
        Ok(_) => Ok(program),
        Err(Stop::End(Outcome::Exit(reply))) => {
            messages.extend(reply.messages);
            Err(Reply { messages, exit: reply.exit })
        }
        Err(_) => Err(Reply { messages, exit: 1 }),
    }
}

/// Refuses a job that writes or trims although `--readonly` forbids it. The option `rw` itself is refused if it
/// comes after `--readonly`; this check makes a trailing `--readonly` have the same effect.
fn changing_job<'a>(program: &ProgramOptions, jobs: &'a [JobSpec]) -> Option<&'a JobSpec> {
    let mode = |job: &JobSpec| job.io_type.rw.rw;
    let changes = |job: &JobSpec| mode(job).writes() || mode(job).trims() || trims_to_verify(job);
    jobs.iter().find(|job| program.readonly && !job.only_checks() && changes(job))
}

/// Notes about files that jobs would remove but that stay, because of `--readonly` or because they are needed
/// for verification.
fn what_stays(program: &ProgramOptions, jobs: &[JobSpec]) -> Vec<Message> {
    let told = |job: &JobSpec, option: &str, is_set: bool| {
        let reason = match (program.readonly, job.only_checks()) {
            (true, _) => "--readonly",
            (false, true) => "verify_only",
            (false, false) => return None,
        };
        let line = || format!("fathom: job {}: {option}=1 removes nothing because of {reason}", job.name);
        is_set.then(|| Message::stderr(line()))
    };
    let lines = |job: &JobSpec| {
        [told(job, "unlink", job.file.unlink), told(job, "unlink_each_loop", job.file.unlink_each_loop)]
    };
    jobs.iter().flat_map(lines).flatten().collect()
}

/// True if the job trims part of the data that it is to verify.
fn trims_to_verify(job: &JobSpec) -> bool {
    job.verification.verify != VerifyMethod::None && job.verification.trim_percentage > 0
}

fn readonly_refusal(job: &JobSpec) -> [Message; 2] {
    let mode = job.io_type.rw.rw;
    let problem = match mode.writes() || mode.trims() {
        true => format!("job {}: rw={mode} is refused because of --readonly", job.name),
        false => format!("job {}: trim_percentage is refused because of --readonly", job.name),
    };
    [
        Message::stderr("fio: trim and write operations are not allowed with the --readonly parameter."),
        Diagnostic::general(&job.origin, problem).message(),
    ]
}

fn no_jobs(program: &ProgramOptions) -> Diagnostic {
    let problem = if program.sections.is_empty() {
        "no job was defined; name one with --name=... or give a job file; fathom help lists the commands"
            .to_owned()
    } else {
        format!("no job is called {}, as --section asks for", program.sections.join(" or "))
    };
    Diagnostic::general(&Origin::CommandLine, problem)
}
