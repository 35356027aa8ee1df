//! Lists of hosts: `a,b`, `node[01-16]`, `writers:a,b readers:c`, `@FILE`.

use super::ranges::{self, RangeError};
use fathom_errors::plain;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io;
use thiserror::Error;

/// Hosts in the order in which they were named, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostList(pub Vec<HostEntry>);

/// A host of a list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostEntry {
    /// Name of the host as written in the list; the transport (ssh, ...) resolves it.
    pub name: String,
    /// Groups to which the host belongs.
    pub groups: Vec<String>,
}

/// Maximum number of hosts in a run.
pub(super) const MOST_HOSTS: usize = 100_000;

/// Why a list of hosts is invalid.
#[derive(Debug, Error)]
pub enum HostListError {
    /// A file of hosts cannot be read.
    #[error("the list of hosts {path} cannot be read: {error}", error = plain(.error))]
    Unreadable {
        /// Name of the file as written, without the `@`.
        path: String,
        /// The system's error.
        error: io::Error,
    },
    /// A remote shell would misinterpret the name.
    #[error("{0:?} is not a name of a host")]
    NoName(String),
    /// A range in a name is invalid.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// A host is listed twice, so it would run the jobs twice.
    #[error("host {name} is named twice{place}; name it once, or once in each of several groups")]
    Twice {
        /// The host.
        name: String,
        /// The group in which the host is listed twice, if it is in a group.
        place: String,
    },
    /// The list contains no hosts.
    #[error("expected at least one host")]
    Empty,
    /// The list has more hosts than a run can have.
    #[error("expected at most {MOST_HOSTS} hosts")]
    TooMany,
}

impl HostList {
    /// Parses a list and adds its hosts; `read` returns the text of a file (`@FILE`). Groups and hosts are
    /// separated by white space, the hosts of a group by commas; in a file, `#` starts a comment.
    pub fn add(
        &mut self,
        text: &str,
        read: &dyn Fn(&str) -> io::Result<String>,
    ) -> Result<(), HostListError> {
        let mut places = self.0.iter().enumerate().map(|(at, entry)| (entry.name.clone(), at)).collect();
        for word in text.split_whitespace() {
            match word.strip_prefix('@') {
                Some(path) => {
                    let text = read(path)
                        .map_err(|error| HostListError::Unreadable { path: path.to_owned(), error })?;
                    for line in text.lines() {
                        let line = line.split('#').next().unwrap_or("");
                        line.split_whitespace().try_for_each(|word| self.add_group(word, &mut places))?;
                    }
                }
                None => self.add_group(word, &mut places)?,
            }
        }
        if self.0.is_empty() { Err(HostListError::Empty) } else { Ok(()) }
    }

    /// Adds the hosts of one group (`GROUP:a,b`), or hosts without a group. `NAME:DIGITS` is a host with its
    /// port. `places` maps each name to its index.
    fn add_group(&mut self, word: &str, places: &mut HashMap<String, usize>) -> Result<(), HostListError> {
        let (group, hosts) = match word.split_once(':') {
            Some((group, hosts)) if is_group(group) && !is_port(hosts) => (Some(group), hosts),
            _ => (None, word),
        };
        for name in ranges::expand(hosts, MOST_HOSTS)? {
            if name.starts_with('-') || name.chars().any(char::is_control) {
                return Err(HostListError::NoName(name));
            }
            match places.get(&name) {
                Some(&at) => self.add_to_group(at, group)?,
                None => {
                    places.insert(name.clone(), self.0.len());
                    self.0.push(HostEntry { name, groups: group.into_iter().map(str::to_owned).collect() });
                }
            }
        }
        if self.0.len() > MOST_HOSTS { Err(HostListError::TooMany) } else { Ok(()) }
    }

    /// Adds a group to a host that is already in the list. Any other repetition is an error, because the user
    /// presumably meant two different hosts.
    fn add_to_group(&mut self, at: usize, group: Option<&str>) -> Result<(), HostListError> {
        let HostEntry { name, groups } = &mut self.0[at];
        match group {
            Some(group) if !groups.is_empty() && !groups.iter().any(|own| own == group) => {
                groups.push(group.to_owned());
                Ok(())
            }
            _ => {
                let place = match group.filter(|group| groups.iter().any(|own| own == group)) {
                    Some(group) => format!(" in the group {group}"),
                    None => String::new(),
                };
                Err(HostListError::Twice { name: name.clone(), place })
            }
        }
    }

    /// Names of the hosts, as written.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|entry| entry.name.clone()).collect()
    }

    /// The groups of each host; empty without groups.
    pub fn groups(&self) -> Vec<Vec<String>> {
        match self.0.iter().any(|entry| !entry.groups.is_empty()) {
            true => self.0.iter().map(|entry| entry.groups.clone()).collect(),
            false => Vec::new(),
        }
    }
}

fn is_group(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
}

/// True for a port, such as `8766`, or `8766,b` if more hosts follow a host with a port.
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
        check("w:n[1-2] r:n[2-3]", &[("n1", "w"), ("n2", "w+r"), ("n3", "r")]);
        check("n[1-2]:8766", &[("n1:8766", ""), ("n2:8766", "")]);
    }

    #[test]
    fn a_host_that_is_named_twice_is_refused() {
        let refused = |text: &str| list(text).expect_err("refused").to_string();
        let rest = "; name it once, or once in each of several groups";
        assert_eq!(refused("a a"), format!("host a is named twice{rest}"));
        assert_eq!(refused("n[1-3],n2"), format!("host n2 is named twice{rest}"));
        assert_eq!(refused("w:a,b,a"), format!("host a is named twice in the group w{rest}"));
        for text in ["a w:a", "w:a a", "@rack b", "@rack @rack", "c @rack"] {
            assert!(refused(text).contains(" is named twice"), "{text}: {}", refused(text));
        }
        // Several --hosts options form one list.
        let mut hosts = HostList::default();
        hosts.add("a", &|_| Err(io::ErrorKind::NotFound.into())).expect("a list");
        assert!(hosts.add("b,a", &|_| Err(io::ErrorKind::NotFound.into())).is_err());
    }

    #[test]
    fn what_names_no_host_is_refused() {
        let refused = |text: &str| list(text).expect_err("refused").to_string();
        assert_eq!([refused(""), refused(",")], ["expected at least one host"; 2]);
        assert!(refused("@nowhere").starts_with("the list of hosts nowhere cannot be read: "));
        // ssh would interpret these names as options.
        assert_eq!(refused("-oProxyCommand=x"), "\"-oProxyCommand=x\" is not a name of a host");
    }

    proptest! {
        #[test]
        fn any_text_is_a_list_or_refused(text in "\\PC{0,40}") {
            let mut list = HostList::default();
            let added = list.add(&text, &|_| Err(io::ErrorKind::NotFound.into()));
            prop_assert!(added.is_err() || !list.0.is_empty());
            prop_assert!(list.0.iter().all(|entry| !entry.name.is_empty() && !entry.name.starts_with('-')));
            let names: std::collections::HashSet<&str> = list.0.iter().map(|entry| &*entry.name).collect();
            prop_assert_eq!(names.len(), list.0.len());
        }
    }
}
