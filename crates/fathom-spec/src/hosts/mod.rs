//! Runs over several hosts: the list of hosts (`--hosts`), the position of a host among them, and the command
//! line and files that each host parses as if they were its own.

mod bytes;
mod invocation;
mod list;
mod ranges;

pub use bytes::Bytes;
pub use invocation::{Invocation, InvocationSource, Recording};
pub use list::{HostEntry, HostList};
use ranges::RangeError;

use serde::{Deserialize, Serialize};

/// The names in a list of hosts or groups, with ranges expanded.
pub(crate) fn expand_hosts(text: &str) -> Result<Vec<String>, RangeError> {
    ranges::expand(text, list::MOST_HOSTS)
}

/// The position of a host in a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostPlace {
    /// Index in the list, from 0: `${HOST_INDEX}`.
    pub index: u32,
    /// All hosts as the user wrote them, separated by commas in `${HOSTS}`.
    pub hosts: Vec<String>,
    /// Groups of each host, for `host=`; empty without groups.
    pub groups: Vec<Vec<String>>,
    /// The host or client whose files are kept apart from those of others (`unique_filename`).
    pub owner: FileOwner,
}

/// The owner of files that must be distinct from those of other owners in the same directory
/// (`unique_filename`). The kind of owner determines how names differ.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum FileOwner {
    /// A host of the run. Generated names begin with the host's name.
    #[default]
    Host,
    /// A client that sent jobs to a server. As with fio, all names begin with the client's address; clients on
    /// a Unix socket have none.
    Client(Option<String>),
}

impl HostPlace {
    /// Name of the host as the user wrote it: `${HOST}`.
    pub fn name(&self) -> &str {
        self.name_of(self.index)
    }

    /// Name of the host with this index, as the user wrote it.
    pub fn name_of(&self, index: u32) -> &str {
        self.hosts.get(index as usize).map_or("", String::as_str)
    }

    /// True if a job with these hosts and groups (`host=`) runs here; always true if it has none.
    pub fn runs(&self, wanted: &[String]) -> bool {
        self.runs_on(self.index, wanted)
    }

    fn runs_on(&self, index: u32, wanted: &[String]) -> bool {
        let groups = self.groups.get(index as usize).map_or(&[][..], Vec::as_slice);
        let is_it = |name: &String| name == self.name_of(index) || groups.contains(name);
        wanted.is_empty() || wanted.iter().any(is_it)
    }

    /// Indices of all hosts that run a job with these hosts and groups, in order.
    pub fn runners(&self, wanted: &[String]) -> Vec<u32> {
        (0..self.hosts.len() as u32).filter(|index| self.runs_on(*index, wanted)).collect()
    }

    /// The value of a variable that distinguishes this host from others; `None` for other names.
    pub fn variable(&self, name: &str) -> Option<String> {
        match name {
            "HOST" => Some(self.name().to_owned()),
            "HOST_INDEX" => Some(self.index.to_string()),
            "HOST_COUNT" => Some(self.hosts.len().to_string()),
            "HOSTS" => Some(self.hosts.join(",")),
            _ => None,
        }
    }
}

/// What to do if a host is lost during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnHostLoss {
    /// The other hosts continue.
    #[default]
    Continue,
    /// The other hosts are stopped as well.
    Stop,
}
