//! Hosts and groups of hosts that run a job.

use super::{OptionValue, ParseContext, ValueError};
use crate::definition::OptionDef;
use crate::hosts::expand_hosts;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Names of hosts or groups, with ranges expanded.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HostNames(pub Vec<String>);

impl fmt::Display for HostNames {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join(","))
    }
}

impl OptionValue for HostNames {
    fn unset() -> Self {
        HostNames::default()
    }

    fn assign(&mut self, text: &str, _: &OptionDef, _: &mut ParseContext<'_>) -> Result<(), ValueError> {
        *self = HostNames(expand_hosts(text).map_err(|error| ValueError::new(format!("hosts: {error}")))?);
        if self.0.is_empty() {
            Err(ValueError::new("hosts or groups, such as a,b or node[1-3]"))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::parse;
    use super::*;

    #[test]
    fn ranges_are_taken_apart() {
        let names = |text: &str| parse::<HostNames>(text).map(|names| names.to_string());
        assert_eq!(names("writers, node[09-10]").as_deref(), Ok("writers,node09,node10"));
        assert!(names("node[3-1]").is_err() && names(",").is_err());
    }
}
