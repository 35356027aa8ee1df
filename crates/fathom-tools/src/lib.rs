//! The small tools of fathom. Each tool is a subcommand of fathom, and behaves like fio's tool if it is run
//! under that tool's name.
//!
//! Each tool has a file or folder, and [`TOOLS`] lists all of them. A tool has a front end for its arguments as
//! a subcommand, and one per fio name for the options of fio's tool. Both produce the same settings and call
//! the same code. Tools write only to the [`Streams`] that they are given.

#![forbid(unsafe_code)]

mod dedupe;
mod distribution;
mod figures;
mod halve_bins;
mod histogram_summary;
mod input;
mod latency_csv;
mod ledger;
mod log_summary;
mod trace_to_job;
mod verify_state;

use fathom_command::{Failure, Streams, call};
use std::ffi::OsString;

/// Main function of a tool: takes its arguments and streams; returns the exit code.
pub type ToolMain = fn(&[OsString], &mut Streams<'_>) -> Result<u8, Failure>;

/// One of the tools.
pub struct Tool {
    /// The subcommand.
    pub name: &'static str,
    /// One-line summary.
    pub summary: &'static str,
    /// Output of `fathom NAME --help`.
    pub help: &'static str,
    /// Main function of the subcommand.
    pub run: ToolMain,
    /// fio's programs that it replaces, if any.
    pub fio_programs: &'static [FioProgram],
}

/// A program of fio's that a tool replaces.
pub struct FioProgram {
    /// Name of the program; a name that ends in `.py` is also recognised without it.
    pub name: &'static str,
    /// Main function with that program's options and output.
    pub run: ToolMain,
}

/// Every tool, in the order of the documentation.
pub const TOOLS: &[Tool] = &[
    latency_csv::TOOL,
    log_summary::TOOL,
    histogram_summary::TOOL,
    halve_bins::TOOL,
    dedupe::TOOL,
    distribution::TOOL,
    verify_state::TOOL,
    ledger::TOOL,
    trace_to_job::TOOL,
];

/// A tool and the front end by which it was called.
pub struct Call {
    /// Prefix of messages.
    pub name: &'static str,
    run: ToolMain,
    /// Text for `--help`; fio's programs have only their own options, so they have none.
    help: Option<&'static str>,
}

impl Call {
    /// The tool that replaces fio's program of this name (the last part of its path).
    pub fn by_program_name(program: &str) -> Option<Call> {
        let found = TOOLS.iter().flat_map(|tool| tool.fio_programs).find(|fio_program| {
            program == fio_program.name || fio_program.name.strip_suffix(".py") == Some(program)
        })?;
        Some(Call { name: found.name, run: found.run, help: None })
    }

    /// The tool of this subcommand.
    pub fn by_subcommand(word: &str) -> Option<Call> {
        let tool = TOOLS.iter().find(|tool| tool.name == word)?;
        Some(Call { name: tool.name, run: tool.run, help: Some(tool.help) })
    }

    /// Runs the tool; returns the exit code. If the reader of the output has exited, that is not an error.
    pub fn run(&self, words: &[OsString], streams: &mut Streams<'_>) -> u8 {
        let name = match self.help {
            Some(_) => format!("fathom {}", self.name),
            None => self.name.to_owned(),
        };
        call(&name, self.help, words, streams, self.run)
    }
}

/// The output of `fathom tools`.
pub fn listing() -> String {
    let mut text = String::from("Tools (fathom TOOL --help explains one):\n\n");
    for tool in TOOLS {
        text.push_str(&format!("  {:<18} {}\n", tool.name, tool.summary));
        let names: Vec<&str> = tool.fio_programs.iter().map(|program| program.name).collect();
        if !names.is_empty() {
            text.push_str(&format!("  {:<18} as fio's {}\n", "", names.join(", ")));
        }
    }
    text.push_str("\nA link to fathom with one of fio's names takes that program's options.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_explained() {
        let mut names = BTreeSet::new();
        for tool in TOOLS {
            assert!(names.insert(tool.name), "{} twice", tool.name);
            assert!(tool.help.starts_with("Usage: fathom "), "{}", tool.name);
            assert!(tool.help.contains(tool.name) && tool.help.ends_with('\n'), "{}", tool.name);
            assert!(tool.help.lines().all(|line| line.len() <= 120), "{}: long lines in its help", tool.name);
            for program in tool.fio_programs {
                assert!(names.insert(program.name), "{} twice", program.name);
            }
        }
    }

    #[test]
    fn programs_of_fio_are_found_with_and_without_their_ending() {
        for name in [
            "fio-dedupe",
            "fio-genzipf",
            "fio-verify-state",
            "fio-btrace2fio",
            "fio_jsonplus_clat2csv",
            "fiologparser.py",
            "fiologparser",
            "fio-histo-log-pctiles.py",
            "fiologparser_hist.py",
            "fiologparser_hist",
            "half-bins.py",
            "half-bins",
        ] {
            assert!(Call::by_program_name(name).is_some(), "{name}");
        }
        assert!(Call::by_program_name("fio").is_none());
        assert!(Call::by_subcommand("dedupe").is_some());
        assert!(Call::by_subcommand("fio-dedupe").is_none());
    }
}
