//! Runs over several hosts: which hosts (`--hosts`), what a host knows about its position among them, and the
//! command line and files that it parses as if they were its own.

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
    /// Host or client whose files must be kept apart (`unique_filename`).
    pub owner: FileOwner,
}

/// Whose files must be distinct from those of others in the same directory (`unique_filename`), and what
/// distinguishes their names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum FileOwner {
    /// A host of the run: names generated for it start with its own.
    #[default]
    Host,
    /// A client that sent jobs to a server: all names start with its address, as with fio. Clients on a Unix
    /// socket have no address.
    Client(Option<String>),
}

impl HostPlace {
    /// As the user wrote it: `${HOST}`.
    pub fn name(&self) -> &str {
        self.name_of(self.index)
    }

    /// The same for the host with this index.
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
    /// The others continue.
    #[default]
    Continue,
    /// The others are stopped as well.
    Stop,
}
