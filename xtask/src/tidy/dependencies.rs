//! Allowed dependencies between crates. The layers are effective only if nothing bypasses them.

use crate::metadata::Metadata;

/// Each crate and the crates of the workspace that it may use.
const MAY_USE: [(&str, &[&str]); 30] = [
    (
        "fathom-io",
        &[
            "fathom-answers",
            "fathom-command",
            "fathom-engines",
            "fathom-errors",
            "fathom-hosts",
            "fathom-live",
            "fathom-local",
            "fathom-logs",
            "fathom-metrics",
            "fathom-report",
            "fathom-run",
            "fathom-serve",
            "fathom-spec",
            "fathom-stats",
            "fathom-sys",
            "fathom-tools",
            "fathom-verify",
        ],
    ),
    (
        "fathom-answers",
        &[
            "fathom-changes",
            "fathom-command",
            "fathom-errors",
            "fathom-history",
            "fathom-record",
            "fathom-report",
            "fathom-results",
            "fathom-spec",
            "fathom-stats",
            "fathom-sys",
            "fathom-trace",
            "fathom-workload",
        ],
    ),
    (
        "fathom-api",
        &[
            "fathom-answers",
            "fathom-engines",
            "fathom-errors",
            "fathom-local",
            "fathom-report",
            "fathom-results",
            "fathom-run",
            "fathom-spec",
            "fathom-stats",
            "fathom-sys",
        ],
    ),
    ("fathom-changes", &["fathom-stats"]),
    ("fathom-command", &["fathom-errors", "fathom-spec"]),
    ("fathom-engines", &["fathom-errors", "fathom-run", "fathom-spec", "fathom-stats", "fathom-sys"]),
    ("fathom-history", &["fathom-errors", "fathom-results", "fathom-spec", "fathom-stats"]),
    (
        "fathom-hosts",
        &[
            "fathom-command",
            "fathom-engines",
            "fathom-errors",
            "fathom-local",
            "fathom-run",
            "fathom-spec",
            "fathom-stats",
            "fathom-sys",
        ],
    ),
    (
        "fathom-local",
        &[
            "fathom-command",
            "fathom-engines",
            "fathom-errors",
            "fathom-report",
            "fathom-run",
            "fathom-spec",
            "fathom-stats",
            "fathom-sys",
        ],
    ),
    ("fathom-errors", &[]),
    ("fathom-lanes", &[]),
    ("fathom-live", &["fathom-report", "fathom-stats", "fathom-sys"]),
    ("fathom-logs", &["fathom-stats"]),
    ("fathom-metrics", &["fathom-errors", "fathom-stats"]),
    ("fathom-random", &[]),
    ("fathom-record", &["fathom-errors", "fathom-sys", "fathom-trace"]),
    ("fathom-report", &["fathom-errors", "fathom-results", "fathom-spec", "fathom-stats"]),
    ("fathom-results", &["fathom-errors", "fathom-stats"]),
    (
        "fathom-run",
        &[
            "fathom-errors",
            "fathom-logs",
            "fathom-random",
            "fathom-record",
            "fathom-spec",
            "fathom-stats",
            "fathom-sys",
            "fathom-trace",
            "fathom-verify",
        ],
    ),
    (
        "fathom-serve",
        &[
            "fathom-answers",
            "fathom-command",
            "fathom-engines",
            "fathom-errors",
            "fathom-local",
            "fathom-report",
            "fathom-run",
            "fathom-spec",
            "fathom-stats",
            "fathom-sys",
        ],
    ),
    ("fathom-skip", &[]),
    ("fathom-spec", &["fathom-errors", "fathom-stats", "fathom-verify"]),
    ("fathom-stats", &[]),
    ("fathom-sys", &["fathom-errors"]),
    ("fathom-testing", &["fathom-run", "fathom-spec", "fathom-stats", "fathom-sys"]),
    (
        "fathom-tools",
        &[
            "fathom-command",
            "fathom-errors",
            "fathom-logs",
            "fathom-random",
            "fathom-stats",
            "fathom-sys",
            "fathom-trace",
            "fathom-verify",
        ],
    ),
    ("fathom-trace", &["fathom-errors", "fathom-stats"]),
    ("fathom-verify", &["fathom-lanes", "fathom-random"]),
    ("fathom-workload", &["fathom-random", "fathom-stats", "fathom-trace"]),
    ("xtask", &[]),
];

/// Forbidden dependencies between crates of the workspace, and crates that the list does not contain.
pub(crate) fn check(metadata: &Metadata) -> Vec<String> {
    let own: Vec<&str> = metadata
        .packages
        .iter()
        .filter(|package| package.is_own)
        .map(|package| package.name.as_str())
        .collect();
    let mut found = Vec::new();
    for package in metadata.packages.iter().filter(|package| package.is_own) {
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == package.name) else {
            found.push(format!("{}: give the crate a place in xtask/src/tidy/dependencies.rs", package.name));
            continue;
        };
        let wrong = |needed: &&String| own.contains(&needed.as_str()) && !allowed.contains(&needed.as_str());
        found.extend(package.needs.iter().filter(wrong).map(|needed| {
            format!("{} uses {needed}: the layers in ARCHITECTURE.md do not allow that", package.name)
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Package;

    fn own(name: &str, needs: &[&str]) -> Package {
        Package {
            name: name.into(),
            is_own: true,
            needs: needs.iter().map(|needed| (*needed).to_owned()).collect(),
            ..Package::default()
        }
    }

    #[test]
    fn downwards_is_allowed_and_upwards_is_not() {
        let packages = vec![
            own("fathom-run", &["fathom-spec", "libc"]),
            own("fathom-spec", &["fathom-run", "serde"]),
            own("fathom-new", &[]),
        ];
        let found = check(&Metadata { packages });
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("fathom-spec uses fathom-run"), "{found:?}");
        assert!(found[1].starts_with("fathom-new: "), "{found:?}");
    }

    #[test]
    fn the_rules_have_no_circle() {
        for (name, uses) in MAY_USE {
            for used in uses {
                let back = MAY_USE.iter().find(|(other, _)| other == used).expect("a crate with a place");
                assert!(!back.1.contains(&name), "{name} and {used} may use each other");
            }
        }
    }
}
