//! The outcome of parsing: jobs to run, or messages to print.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::hosts::HostPlace;
use crate::message::{Message, Reply};
use crate::program_options::ProgramOptions;
use crate::spec::JobSpec;

/// The result of reading a command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// Jobs to run.
    Run(Box<RunSpec>),
    /// Instead of jobs: print this compressed log as text.
    InflateLog(PathBuf),
    /// Instead of jobs: time these checksum functions.
    TimeChecksums(Vec<String>),
    /// Instead of jobs: calibrate the work with which processor idleness is measured.
    CalibrateIdleness,
    /// Serve requests of clients.
    Serve(Box<ProgramOptions>),
    /// Compare the clocks of the CPUs.
    TestClock,
    /// Print the messages and exit with this status.
    Exit(Reply),
}

/// Everything requested in one invocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// The program's own options.
    pub program: ProgramOptions,
    /// Options written for all jobs, by canonical name; flags have an empty value.
    pub global_options: Vec<(String, String)>,
    /// These options, grouped by where they were written: each group applies from a certain job on.
    pub global_sections: Vec<GlobalSection>,
    /// The jobs, in the order they were defined.
    pub jobs: Vec<JobSpec>,
    /// Warnings and notes to print before the run, in order.
    pub messages: Vec<Message>,
    /// The position of this machine in a run over several hosts.
    pub place: Option<HostPlace>,
}

/// Defaults for jobs that were set at one place of a command line or job file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GlobalSection {
    /// Index of the first job to which the defaults apply.
    pub first_job: usize,
    /// Options by canonical name; flags have an empty value.
    pub options: Vec<(String, String)>,
}
