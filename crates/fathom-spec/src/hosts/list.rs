//! Lists of hosts: `a,b`, `writers:a,b readers:c`, `@FILE`.

use serde::{Deserialize, Serialize};
use std::io;
use thiserror::Error;

/// Hosts in the order in which they were named; each once.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostList(pub Vec<HostEntry>);

/// A host of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostEntry {
    /// As written, which is what the way to it (ssh, ...) understands.
    pub name: String,
    /// Groups that it was named in.
    pub groups: Vec<String>,
}

/// Most hosts of a run.
const MOST_HOSTS: usize = 100_000;

/// Why a list names no hosts.
#[derive(Debug, Error)]
pub enum HostListError {
    /// A file of hosts.
    #[error("the list of hosts {path} cannot be read: {error}")]
    Unreadable {
        /// As written, without the `@`.
        path: String,
        /// What the system says.
        error: io::Error,
    },
    /// A name that a remote shell would take for something else.
    #[error("{0:?} is no name of a host")]
    NoName(String),
    /// An empty list.
    #[error("expected at least one host")]
    Empty,
    /// More than a run can have.
    #[error("expected at most {MOST_HOSTS} hosts")]
    TooMany,
}

impl HostList {
    /// Reads a list and adds its hosts; `read` gives the text of a file (`@FILE`). Groups and hosts are separated by white space,
    /// the hosts of a group by commas; in a file a line may end in a comment after `#`.
    pub fn add(
        &mut self,
        text: &str,
        read: &dyn Fn(&str) -> io::Result<String>,
    ) -> Result<(), HostListError> {
        for word in text.split_whitespace() {
            match word.strip_prefix('@') {
                Some(path) => {
                    let text = read(path)
                        .map_err(|error| HostListError::Unreadable { path: path.to_owned(), error })?;
                    for line in text.lines() {
                        let line = line.split('#').next().unwrap_or("");
                        line.split_whitespace().try_for_each(|word| self.add_group(word))?;
                    }
                }
                None => self.add_group(word)?,
            }
        }
        if self.0.is_empty() { Err(HostListError::Empty) } else { Ok(()) }
    }

    /// Hosts of one group, `GROUP:a,b`, or of none. `NAME:DIGITS` is a host with its port.
    fn add_group(&mut self, word: &str) -> Result<(), HostListError> {
        let (group, hosts) = match word.split_once(':') {
            Some((group, hosts)) if is_group(group) && !is_port(hosts) => (Some(group), hosts),
            _ => (None, word),
        };
        for name in hosts.split(',').filter(|name| !name.is_empty()) {
            if name.starts_with('-') || name.chars().any(char::is_control) {
                return Err(HostListError::NoName(name.to_owned()));
            }
            let at = match self.0.iter().position(|entry| entry.name == name) {
                Some(at) => at,
                None => {
                    self.0.push(HostEntry { name: name.to_owned(), groups: Vec::new() });
                    self.0.len() - 1
                }
            };
            let groups = &mut self.0[at].groups;
            groups.extend(group.filter(|group| !groups.iter().any(|own| own == group)).map(str::to_owned));
        }
        if self.0.len() > MOST_HOSTS { Err(HostListError::TooMany) } else { Ok(()) }
    }

    /// The hosts as written.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|entry| entry.name.clone()).collect()
    }
}

fn is_group(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
}

/// `8766`, or `8766,b` where more hosts follow a host with its port.
fn is_port(text: &str) -> bool {
    let first = text.split(',').next().unwrap_or("");
    !first.is_empty() && first.len() <= 5 && first.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str) -> Result<Vec<(String, String)>, HostListError> {
        let read = |path: &str| match path {
            "rack" => Ok("# the rack\nwriters:a,b\n\nc # a spare\n".to_owned()),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        let mut list = HostList::default();
        list.add(text, &read)?;
        Ok(list.0.into_iter().map(|entry| (entry.name, entry.groups.join("+"))).collect())
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let found = list(text).expect("a list");
        let found: Vec<(&str, &str)> = found.iter().map(|(name, groups)| (&**name, &**groups)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn hosts_groups_and_files() {
        check("a,b", &[("a", ""), ("b", "")]);
        check("writers:a,b readers:c,a", &[("a", "writers+readers"), ("b", "writers"), ("c", "readers")]);
        check("@rack", &[("a", "writers"), ("b", "writers"), ("c", "")]);
        check("root@a:8766,b", &[("root@a:8766", ""), ("b", "")]);
        check("w:a:8766,[::1]:9000", &[("a:8766", "w"), ("[::1]:9000", "w")]);
        check("[fe80::1]:9", &[("[fe80::1]:9", "")]);
        check("a a,a", &[("a", "")]);
    }

    #[test]
    fn what_names_no_host_is_refused() {
        let refused = |text: &str| list(text).expect_err("refused").to_string();
        assert_eq!([refused(""), refused(",")], ["expected at least one host"; 2]);
        assert!(refused("@nowhere").starts_with("the list of hosts nowhere cannot be read: "));
        // What ssh would take for an option of its own.
        assert_eq!(refused("-oProxyCommand=x"), "\"-oProxyCommand=x\" is no name of a host");
    }

    proptest! {
        #[test]
        fn any_text_is_a_list_or_refused(text in "\\PC{0,40}") {
            let mut list = HostList::default();
            let added = list.add(&text, &|_| Err(io::ErrorKind::NotFound.into()));
            prop_assert!(added.is_err() || !list.0.is_empty());
            prop_assert!(list.0.iter().all(|entry| !entry.name.is_empty() && !entry.name.starts_with('-')));
        }
    }
}
