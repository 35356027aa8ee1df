//! Every package must have a licence that is compatible with a program under MIT or Apache-2.0.

use super::spdx;
use crate::metadata::{Metadata, Package};

/// The same list as in deny.toml.
const ALLOWED: [&str; 10] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
    "CC0-1.0",
    "Unlicense",
];

/// Packages with none of the allowed licences.
pub(crate) fn check(metadata: &Metadata) -> Vec<String> {
    metadata.packages.iter().filter_map(complaint).collect()
}

fn complaint(package: &Package) -> Option<String> {
    let named = format!("{} {}", package.name, package.version);
    match &package.licence {
        None => Some(format!("{named}: does not state a licence")),
        Some(licence) => match spdx::is_satisfied(licence, |one| ALLOWED.contains(&one)) {
            Ok(true) => None,
            Ok(false) => Some(format!("{named}: {licence} is not on the list of licences")),
            Err(error) => Some(format!("{named}: {licence}: {error}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(licence: Option<&str>) -> Metadata {
        let licence = licence.map(str::to_owned);
        let package = Package { name: "it".into(), version: "1.0.0".into(), licence, ..Package::default() };
        Metadata { packages: vec![package] }
    }

    #[test]
    fn permissive_licences_pass() {
        for licence in
            ["MIT", "MIT OR Apache-2.0", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR ISC) AND Zlib"]
        {
            assert_eq!(check(&package(Some(licence))), Vec::<String>::new(), "{licence}");
        }
    }

    #[test]
    fn others_are_told() {
        assert_eq!(check(&package(None)), ["it 1.0.0: does not state a licence"]);
        for licence in ["GPL-2.0-only", "MIT AND GPL-3.0", "AGPL-3.0", "MIT OR", ""] {
            assert_eq!(check(&package(Some(licence))).len(), 1, "{licence}");
        }
    }

    #[test]
    fn deny_toml_has_the_same_list() {
        let text = include_str!("../../../deny.toml");
        let list =
            text.split("allow = [").nth(1).and_then(|rest| rest.split(']').next()).expect("an allow list");
        let named: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
        assert_eq!(named, ALLOWED);
    }
}
