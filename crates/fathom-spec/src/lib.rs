//! The job language: command lines and job files in, typed job specifications out.
//!
//! This crate knows every option of fio by one declaration each (see [`options`]), reads
//! fio's command line and job file grammar, and answers with an [`Outcome`]: jobs to run, or
//! messages to print and an exit status. It reaches the world only through [`Source`].

#![forbid(unsafe_code)]

pub mod definition;
pub mod engines;
mod expression;
pub mod options;
mod outcome;
pub mod registry;
mod source;
mod spec;
pub mod value;

pub use outcome::{Message, Outcome, Reply, Stream};
pub use source::{Source, SystemSource};
pub use spec::{Eta, JobSpec, Origin, OutputFormats, ProgramOptions, RunSpec};

/// Reads a command line (without the program's name) and the job files it names.
pub fn parse(program_name: &str, args: &[String], source: &dyn Source) -> Outcome {
    let _ = (args, source);
    Outcome::Exit(Reply { messages: vec![Message::stderr(program_name)], exit: 1 })
}
