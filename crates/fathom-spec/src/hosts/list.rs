//! Lists of hosts: `a,b`, `writers:a,b readers:c`, `@FILE`.

use serde::{Deserialize, Serialize};

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

impl HostList {
    /// Reads a list and adds its hosts; `read` gives the text of a file (`@FILE`). Groups and hosts are separated by white space,
    /// the hosts of a group by commas; in a file a line may end in a comment after `#`. The error says what was expected.
    pub fn add(&mut self, text: &str, read: &dyn Fn(&str) -> Result<String, String>) -> Result<(), String> {
        for word in text.split_whitespace() {
            match word.strip_prefix('@') {
                Some(path) => {
                    let text = read(path)?;
                    for line in text.lines() {
                        let line = line.split('#').next().unwrap_or("");
                        line.split_whitespace().try_for_each(|word| self.add_group(word))?;
                    }
                }
                None => self.add_group(word)?,
            }
        }
        if self.0.is_empty() { Err("expected at least one host".to_owned()) } else { Ok(()) }
    }

    /// Hosts of one group, `GROUP:a,b`, or of none. `NAME:DIGITS` is a host with its port.
    fn add_group(&mut self, word: &str) -> Result<(), String> {
        let (group, hosts) = match word.split_once(':') {
            Some((group, hosts)) if is_group(group) && !is_port(hosts) => (Some(group), hosts),
            _ => (None, word),
        };
        for name in hosts.split(',').filter(|name| !name.is_empty()) {
            if name.starts_with('-') || name.chars().any(char::is_control) {
                return Err(format!("{name:?} is no name of a host"));
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
        if self.0.len() > MOST_HOSTS { Err(format!("expected at most {MOST_HOSTS} hosts")) } else { Ok(()) }
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

    fn list(text: &str) -> Result<Vec<(String, String)>, String> {
        let read = |path: &str| match path {
            "rack" => Ok("# the rack\nwriters:a,b\n\nc # a spare\n".to_owned()),
            _ => Err(format!("cannot read {path}")),
        };
        let mut list = HostList::default();
        list.add(text, &read)?;
        Ok(list.0.into_iter().map(|entry| (entry.name, entry.groups.join("+"))).collect())
    }

    fn pairs(expected: &[(&str, &str)]) -> Result<Vec<(String, String)>, String> {
        Ok(expected.iter().map(|(name, groups)| ((*name).to_owned(), (*groups).to_owned())).collect())
    }

    #[test]
    fn hosts_groups_and_files() {
        assert_eq!(list("a,b"), pairs(&[("a", ""), ("b", "")]));
        assert_eq!(
            list("writers:a,b readers:c,a"),
            pairs(&[("a", "writers+readers"), ("b", "writers"), ("c", "readers")])
        );
        assert_eq!(list("@rack"), pairs(&[("a", "writers"), ("b", "writers"), ("c", "")]));
        assert_eq!(list("root@a:8766,b"), pairs(&[("root@a:8766", ""), ("b", "")]));
        assert_eq!(list("w:a:8766,[::1]:9000"), pairs(&[("a:8766", "w"), ("[::1]:9000", "w")]));
        assert_eq!(list("[fe80::1]:9"), pairs(&[("[fe80::1]:9", "")]));
        assert_eq!(list("a a,a"), pairs(&[("a", "")]));
        assert!(list("").is_err() && list(",").is_err() && list("@nowhere").is_err());
        // What ssh would take for an option of its own.
        assert!(list("-oProxyCommand=x").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_list_or_refused(text in "\\PC{0,40}") {
            let mut list = HostList::default();
            let added = list.add(&text, &|_| Err("no file".to_owned()));
            prop_assert!(added.is_err() || !list.0.is_empty());
            prop_assert!(list.0.iter().all(|entry| !entry.name.is_empty() && !entry.name.starts_with('-')));
        }
    }
}
