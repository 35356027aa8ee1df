//! Runs over several hosts: which hosts (`--hosts`), what a host knows of its place among them, and the command line and
//! files that it is given to read as if they were its own.

mod bytes;
mod invocation;
mod list;
mod ranges;

pub use bytes::Bytes;
pub use invocation::{Invocation, InvocationSource, Recording};
pub use list::{HostEntry, HostList};
use ranges::RangeError;

use serde::{Deserialize, Serialize};

/// The names in a list of hosts or groups, ranges taken apart.
pub(crate) fn expand_hosts(text: &str) -> Result<Vec<String>, RangeError> {
    ranges::expand(text, list::MOST_HOSTS)
}

/// The place of a host in a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostPlace {
    /// Number in the list, from 0: `${HOST_INDEX}`.
    pub index: u32,
    /// All hosts as the user wrote them, separated by commas in `${HOSTS}`.
    pub hosts: Vec<String>,
    /// Groups that each of them belongs to, for `host=`; empty without groups.
    pub groups: Vec<Vec<String>>,
    /// Whose files must not be those of others (`unique_filename`).
    pub owner: FileOwner,
}

/// Whose files must not be those of others in the same directory (`unique_filename`), and what tells their names apart.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum FileOwner {
    /// A host of the run: the names that are generated for it begin with its own.
    #[default]
    Host,
    /// A client that sent the jobs to a server: all names begin with its address, as with fio. Clients on a Unix socket have no address.
    Client(Option<String>),
}

impl HostPlace {
    /// As the user wrote it: `${HOST}`.
    pub fn name(&self) -> &str {
        self.name_of(self.index)
    }

    /// The same of the host of this number.
    pub fn name_of(&self, index: u32) -> &str {
        self.hosts.get(index as usize).map_or("", String::as_str)
    }

    /// Whether a job of these hosts and groups (`host=`) runs here; every job without any does.
    pub fn runs(&self, wanted: &[String]) -> bool {
        self.runs_on(self.index, wanted)
    }

    fn runs_on(&self, index: u32, wanted: &[String]) -> bool {
        let groups = self.groups.get(index as usize).map_or(&[][..], Vec::as_slice);
        let is_it = |name: &String| name == self.name_of(index) || groups.contains(name);
        wanted.is_empty() || wanted.iter().any(is_it)
    }

    /// The numbers of all hosts that run a job of these hosts and groups, in order.
    pub fn runners(&self, wanted: &[String]) -> Vec<u32> {
        (0..self.hosts.len() as u32).filter(|index| self.runs_on(*index, wanted)).collect()
    }

    /// The value of a variable that tells this host from the others; `None` for other names.
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

/// What to do when a host is lost in the middle of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum OnHostLoss {
    /// The others continue.
    #[default]
    Continue,
    /// The others are stopped, too.
    Stop,
}
