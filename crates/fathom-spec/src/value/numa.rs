//! NUMA nodes, and memory policies.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::number_range::number_range;
use super::{OptionValue, ParseContext, ValueError};
use crate::definition::OptionDef;

/// Highest possible node number in Linux.
const LAST_NODE: u32 = 1023;

/// NUMA nodes of the machine. Whether they exist is checked only when the job runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NumaNodes {
    /// Every node.
    All,
    /// These nodes, in ascending order, without duplicates.
    List(Vec<u32>),
}

/// NUMA policy for a job's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NumaPolicy {
    /// Memory of the node on which a thread runs, unless the system's default differs.
    Default,
    /// Memory of the node on which a thread runs.
    Local,
    /// Memory of one node, as long as it has some.
    Prefer(u32),
    /// Only memory of these nodes.
    Bind(NumaNodes),
    /// Pages from these nodes in turn.
    Interleave(NumaNodes),
}

impl fmt::Display for NumaNodes {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NumaNodes::All => formatter.write_str("all"),
            NumaNodes::List(nodes) => {
                let nodes: Vec<String> = nodes.iter().map(u32::to_string).collect();
                formatter.write_str(&nodes.join(","))
            }
        }
    }
}

impl fmt::Display for NumaPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NumaPolicy::Default => formatter.write_str("default"),
            NumaPolicy::Local => formatter.write_str("local"),
            NumaPolicy::Prefer(node) => write!(formatter, "prefer:{node}"),
            NumaPolicy::Bind(nodes) => write!(formatter, "bind:{nodes}"),
            NumaPolicy::Interleave(nodes) => write!(formatter, "interleave:{nodes}"),
        }
    }
}

fn parse_nodes(text: &str) -> Result<NumaNodes, ValueError> {
    let expected = || ValueError::new("node numbers and ranges such as 0,2-3, or all");
    if text == "all" {
        return Ok(NumaNodes::All);
    }
    let mut nodes = Vec::new();
    for part in text.split(',').map(str::trim) {
        let range = number_range(part).filter(|range| *range.end() <= LAST_NODE).ok_or_else(expected)?;
        nodes.extend(range);
    }
    nodes.sort_unstable();
    nodes.dedup();
    Ok(NumaNodes::List(nodes))
}

impl OptionValue for NumaNodes {
    fn unset() -> Self {
        NumaNodes::All
    }

    fn assign(&mut self, text: &str, _: &OptionDef, _: &mut ParseContext<'_>) -> Result<(), ValueError> {
        *self = parse_nodes(text)?;
        Ok(())
    }
}

impl OptionValue for NumaPolicy {
    fn unset() -> Self {
        NumaPolicy::Default
    }

    fn assign(
        &mut self,
        text: &str,
        _: &OptionDef,
        context: &mut ParseContext<'_>,
    ) -> Result<(), ValueError> {
        let (mode, nodes) = text.split_once(':').map_or((text, None), |(mode, nodes)| (mode, Some(nodes)));
        let mut nodes_for = |mode: &str| match nodes {
            Some(nodes) => parse_nodes(nodes),
            None => {
                context.complain(format!("fio: a nodelist is needed for '{mode}'"));
                Err(ValueError::new(format!("{mode}:NODES")))
            }
        };
        *self = match mode {
            "default" => NumaPolicy::Default,
            "local" => NumaPolicy::Local,
            "bind" => NumaPolicy::Bind(nodes_for(mode)?),
            "interleave" => NumaPolicy::Interleave(nodes_for(mode)?),
            "prefer" => match nodes_for(mode)? {
                NumaNodes::List(nodes) if nodes.len() == 1 => NumaPolicy::Prefer(nodes[0]),
                _ => {
                    context.complain("fio: one node only for 'prefer'".to_owned());
                    return Err(ValueError::new("prefer:NODE"));
                }
            },
            _ => {
                context.complain(
                    "fio: memory policy should be: default, prefer, bind, interleave, local".to_owned(),
                );
                return Err(ValueError::new("default, local, prefer:NODE, bind:NODES or interleave:NODES"));
            }
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::parse;
    use super::*;

    #[test]
    fn policies_and_their_nodes() {
        for text in ["default", "local", "prefer:1", "bind:0,2,3", "interleave:all"] {
            assert_eq!(parse::<NumaPolicy>(text).map(|policy| policy.to_string()).as_deref(), Ok(text));
        }
        assert_eq!(parse("bind:2-3,0"), Ok(NumaPolicy::Bind(NumaNodes::List(vec![0, 2, 3]))));
        for text in ["", "bind", "prefer", "prefer:0-1", "prefer:all", "foo:0", "bind:x", "bind:", "bind:3-2"]
        {
            assert!(parse::<NumaPolicy>(text).is_err(), "{text}");
        }
        assert_eq!(parse("all"), Ok(NumaNodes::All));
        assert!(parse::<NumaNodes>("99999").is_err());
    }
}
