//! Runs over several hosts: which hosts (`--hosts`), what a host knows of its place among them, and the command line and
//! files that it is given to read as if they were its own.

mod bytes;
mod invocation;
mod list;

pub use bytes::Bytes;
pub use invocation::{Invocation, InvocationSource, Recording};
pub use list::{HostEntry, HostList};

use serde::{Deserialize, Serialize};

/// The place of a host in a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostPlace {
    /// Number in the list, from 0: `${HOST_INDEX}`.
    pub index: u32,
    /// All hosts as the user wrote them, separated by commas in `${HOSTS}`.
    pub hosts: Vec<String>,
    /// Groups that it belongs to, for `host=`.
    pub groups: Vec<String>,
    /// What names of files have before them that must differ by client (`unique_filename`): the address of the one who asks.
    pub client: Option<String>,
}

impl HostPlace {
    /// As the user wrote it: `${HOST}`.
    pub fn name(&self) -> &str {
        self.hosts.get(self.index as usize).map_or("", String::as_str)
    }

    /// Whether a job of these hosts and groups (`host=`) runs here; every job without any does.
    pub fn runs(&self, wanted: &[String]) -> bool {
        let is_here = |name: &String| name == self.name() || self.groups.contains(name);
        wanted.is_empty() || wanted.iter().any(is_here)
    }
}

/// What to do when a host is lost in the middle of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnHostLoss {
    /// The others go on.
    #[default]
    Continue,
    /// The others are stopped, too.
    Stop,
}
