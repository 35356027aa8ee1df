//! Rank 0's broadcast before the run: the command line, its files, and the places of the ranks.

use crate::communicator::Ranks;
use fathom_hosts::frames;
use fathom_spec::hosts::{FileOwner, HostEntry, HostList, HostPlace, Invocation};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;

/// Orders for all ranks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Orders {
    /// The common input of all ranks.
    pub(crate) invocation: Invocation,
    /// All ranks.
    pub(crate) places: Places,
    /// Directory for their snapshots.
    pub(crate) snapshots: Option<PathBuf>,
    /// Identifies this run.
    pub(crate) run: u64,
}

/// The ranks as hosts, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Places {
    /// The machine of each rank.
    pub(crate) nodes: Vec<String>,
    /// `NODE`, or `NODE.RANK` if a node has several.
    pub(crate) names: Vec<String>,
    /// Groups of each rank: its node, if that is not its name.
    pub(crate) groups: Vec<Vec<String>>,
}

impl Places {
    /// Places of ranks on these nodes.
    pub(crate) fn of(nodes: Vec<String>) -> Places {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for node in &nodes {
            *counts.entry(node).or_default() += 1;
        }
        let shares = |node: &str| counts.get(node).is_some_and(|count| *count > 1);
        let name = |(rank, node): (usize, &String)| match shares(node) {
            true => format!("{node}.{rank}"),
            false => node.clone(),
        };
        let names = nodes.iter().enumerate().map(name).collect();
        let groups = nodes.iter().map(|node| if shares(node) { vec![node.clone()] } else { Vec::new() });
        Places { names, groups: groups.collect(), nodes }
    }

    /// The ranks of this job, collected by rank 0.
    pub(crate) fn gather(ranks: &Ranks) -> Option<Places> {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let names = ranks.gather(name.trim().as_bytes())?;
        Some(Places::of(names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect()))
    }

    /// Groups of a rank.
    pub(crate) fn groups_of(&self, rank: usize) -> Vec<String> {
        self.groups.get(rank).cloned().unwrap_or_default()
    }

    /// The place of a rank.
    pub(crate) fn of_rank(&self, rank: usize) -> HostPlace {
        HostPlace {
            index: rank as u32,
            hosts: self.names.clone(),
            groups: self.groups.clone(),
            owner: FileOwner::Host,
        }
    }

    /// All places, as if given as a host list.
    pub(crate) fn list(&self) -> HostList {
        let entries = self.names.iter().zip(&self.groups);
        HostList(
            entries.map(|(name, groups)| HostEntry { name: name.clone(), groups: groups.clone() }).collect(),
        )
    }
}

/// A serialized message. Writing to memory does not fail.
pub(crate) fn written<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    match frames::write(&mut bytes, value) {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}

/// Broadcasts a value of rank 0; `None` if it has none.
pub(crate) fn broadcast<T: Serialize + DeserializeOwned>(ranks: &Ranks, value: Option<&T>) -> Option<T> {
    let mut bytes = value.map(written).unwrap_or_default();
    ranks.broadcast(&mut bytes);
    frames::read(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_ranks_of_a_node_apart() {
        let places = Places::of(["a", "b", "a", "c"].map(str::to_owned).to_vec());
        assert_eq!(places.names, ["a.0", "b", "a.2", "c"]);
        let place = places.of_rank(2);
        assert_eq!((place.name(), place.index, place.hosts.len()), ("a.2", 2, 4));
        // A job for the node runs on all ranks of the node.
        let wanted = ["a".to_owned()];
        let runs: Vec<bool> = (0..4).map(|rank| places.of_rank(rank).runs(&wanted)).collect();
        assert_eq!(runs, [true, false, true, false]);
        assert!(places.of_rank(1).runs(&["b".to_owned()]));
    }
}
