//! Expands words in job files that stand for values known only at run time: `${NAME}`, `$pagesize`,
//! `$mb_memory` and `$ncpus`.

use crate::expression::{self, Suffixes};
use crate::hosts::HostPlace;
use crate::source::Source;

/// Replaces `${NAME}` by the environment variable; an unset variable becomes the empty string, and its name is
/// returned as well.
pub(crate) fn expand_variables<'t>(text: &'t str, source: &dyn Source) -> (String, Vec<&'t str>) {
    let mut unset = Vec::new();
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        let name = &rest[start + 2..start + length];
        expanded.push_str(&rest[..start]);
        match source.variable(name) {
            Some(value) => expanded.push_str(&value),
            None => unset.push(name),
        }
        rest = &rest[start + length + 1..];
    }
    expanded.push_str(rest);
    (expanded, unset)
}

/// Replaces the variables that distinguish hosts, and leaves all others unchanged.
pub(crate) fn expand_host(text: &str, host: &HostPlace) -> String {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else { break };
        expanded.push_str(&rest[..start]);
        match host.variable(&rest[start + 2..start + length]) {
            Some(value) => expanded.push_str(&value),
            None => expanded.push_str(&rest[start..=start + length]),
        }
        rest = &rest[start + length + 1..];
    }
    expanded.push_str(rest);
    expanded
}

/// Replaces the machine's keywords and evaluates the arithmetic around them.
pub(crate) fn expand_keywords(text: &str, source: &dyn Source) -> String {
    let facts = [
        ("$pagesize", source.page_size()),
        ("$mb_memory", source.memory_mib()),
        ("$ncpus", u64::from(source.online_cpus())),
    ];
    let mut expanded = text.to_owned();
    for (keyword, value) in facts {
        expanded = expanded.replace(keyword, &value.to_string());
    }
    if expanded == text || !expanded.contains(['+', '-', '*', '/']) {
        return expanded;
    }
    // The result is a whole number, as in fio's calculator for keywords.
    match expression::evaluate(&expanded, Suffixes::Sizes) {
        Some(value) if value.abs() < 9e15 => format!("{}", value.trunc() as i64),
        _ => expanded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MemorySource;

    #[test]
    fn variables_are_replaced_anywhere() {
        let mut source = MemorySource::default();
        source.variables.insert("A".to_owned(), "x".to_owned());
        assert_eq!(expand_variables("${A}=${A}${B}$A${", &source), ("x=x$A${".to_owned(), vec!["B"]));
    }

    #[test]
    fn variables_of_hosts_are_replaced_and_others_left() {
        let host = HostPlace { index: 1, hosts: vec!["x".into(), "y".into()], ..HostPlace::default() };
        let expand = |text: &str| expand_host(text, &host);
        assert_eq!(expand("/d/${HOST}.${HOST_INDEX}/${HOME}"), "/d/y.1/${HOME}");
        assert_eq!(expand("${HOSTS} of ${HOST_COUNT}: $HOST ${HOST"), "x,y of 2: $HOST ${HOST");
    }

    #[test]
    fn keywords_take_part_in_arithmetic() {
        let source = MemorySource::default();
        assert_eq!(expand_keywords("$pagesize", &source), "4096");
        assert_eq!(expand_keywords("8*$mb_memory", &source), "8192");
        assert_eq!(expand_keywords("$ncpus/2", &source), "2");
        assert_eq!(expand_keywords("a-b", &source), "a-b");
        assert_eq!(expand_keywords("$ncpus-x", &source), "4-x");
    }
}
