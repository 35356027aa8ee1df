//! What parsing gives back: something to run, or something to say.

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
    /// Nothing to run: print this compressed log as text.
    InflateLog(PathBuf),
    /// Nothing to run: time these checksum functions.
    TimeChecksums(Vec<String>),
    /// Nothing to run: time the work by which the idleness of processors is measured.
    CalibrateIdleness,
    /// Run what clients ask for.
    Serve(Box<ProgramOptions>),
    /// Compare the clocks of the CPUs.
    TestClock,
    /// Nothing to run: print the messages and end with the exit status.
    Exit(Reply),
}

/// Everything requested in one invocation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunSpec {
    /// Options of the program itself.
    pub program: ProgramOptions,
    /// Options written for all jobs, by canonical name; flags have an empty value.
    pub global_options: Vec<(String, String)>,
    /// The same where it was written: options for all jobs from a certain one on.
    pub global_sections: Vec<GlobalSection>,
    /// The jobs, in the order they were defined.
    pub jobs: Vec<JobSpec>,
    /// Warnings and notes to print before the run, in order.
    pub messages: Vec<Message>,
    /// The place of this machine in a run over several hosts.
    pub place: Option<HostPlace>,
}

/// Options that jobs begin with, as one place of a command line or job file set them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GlobalSection {
    /// The place in the list of jobs of the first that they hold for.
    pub first_job: usize,
    /// By canonical name; flags have an empty value.
    pub options: Vec<(String, String)>,
}
