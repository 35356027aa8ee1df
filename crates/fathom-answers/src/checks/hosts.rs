//! `lost-hosts`: hosts in a run over several hosts whose figures are missing, wholly or in part.

use super::{Found, Severity};
use fathom_results::RunResult;

/// Code of this check, which runs once for all hosts together.
pub(super) const CODE: &str = "lost-hosts";

pub(super) fn lost(run: &RunResult) -> Vec<Found> {
    let Some(hosts) = &run.hosts else { return Vec::new() };
    let names: Vec<&str> =
        hosts.hosts.iter().filter(|host| !host.is_whole()).map(|host| host.name.as_str()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let found = Found::new(
        Severity::Doubtful,
        format!(
            "{} of {} hosts were lost or never began ({}): the sums are incomplete without them",
            names.len(),
            hosts.hosts.len(),
            crate::hosts::listed(&names)
        ),
        "look at each host by itself, or run it again with all of them",
    );
    vec![found.with(&[("lost", names.len() as f64), ("hosts", hosts.hosts.len() as f64)])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::testing::{is_told, parsed, told};

    #[test]
    fn hosts_that_are_missing_are_told() {
        let result = parsed(include_str!("../../tests/results/hosts.json"));
        is_told(
            &told(lost(&result)),
            Severity::Doubtful,
            "2 of 4 hosts were lost or never began (b4 and b5)",
        );
        assert_eq!(told(lost(&parsed(r#"{"fio version":"fio-3.42","jobs":[]}"#))), []);
    }
}
