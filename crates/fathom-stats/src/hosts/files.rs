//! Ownership of the files in a multi-host run.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The files of a job that runs on several hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFiles {
    /// The job.
    pub job: String,
    /// Name of the first file on the first host.
    pub name: String,
    /// The hosts that use these files.
    pub ownership: Ownership,
}

/// The hosts that use the files. It is unknown whether the same name refers to the same storage on all hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ownership {
    /// Every host has its own files.
    Own,
    /// All hosts use the same names and the same parts.
    Shared,
    /// All hosts use the same names but different parts.
    Divided,
}

impl Ownership {
    /// Returns the word in documents.
    pub fn word(self) -> &'static str {
        match self {
            Ownership::Own => "own",
            Ownership::Shared => "shared",
            Ownership::Divided => "divided",
        }
    }
}

impl fmt::Display for HostFiles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HostFiles { job, name, ownership } = self;
        match ownership {
            Ownership::Own => write!(formatter, "{job}: each host has its own, such as {name}"),
            Ownership::Shared => {
                write!(
                    formatter,
                    "{job}: all hosts share {name}, unless each has other storage under this name"
                )
            }
            Ownership::Divided => write!(formatter, "{job}: each host has a part of {name}"),
        }
    }
}
