//! The crates that promise not to contain unsafe code must declare this to the compiler.

use crate::tree::{File, Tree};
use std::path::Path;

/// The declaration for the compiler.
const PROMISE: &str = "#![forbid(unsafe_code)]";

/// Crates that access the kernel, share memory between processes, or replace the kernel in tests. All others
/// make the promise.
const MAY_BE_UNSAFE: [&str; 5] = [
    "crates/fathom-engines",
    "crates/fathom-lanes",
    "crates/fathom-run",
    "crates/fathom-sys",
    "crates/fathom-testing",
];

/// Root files of crates without the promise.
pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let lacks = |file: &&File| !file.text.lines().any(|line| line.trim() == PROMISE);
    tree.files
        .iter()
        .filter(|file| is_crate_root(&file.path))
        .filter(|file| !MAY_BE_UNSAFE.iter().any(|may| file.path.starts_with(may)))
        .filter(lacks)
        .map(|file| format!("{}: `{PROMISE}` is missing", file.name()))
        .collect()
}

fn is_crate_root(path: &Path) -> bool {
    let is_root_file = path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
    is_root_file && (path.starts_with("crates") || path.starts_with("xtask"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_promise_is_asked_of_all_crates_but_those_listed() {
        let tree = Tree::of(&[
            ("crates/fathom/src/main.rs", "//! The program.\n"),
            ("crates/fathom-spec/src/lib.rs", "//! The language.\n#![forbid(unsafe_code)]\n"),
            ("crates/fathom-sys/src/lib.rs", "//! System calls.\n"),
            ("crates/fathom-report/src/json/mod.rs", "//! A module.\n"),
        ]);
        assert_eq!(check(&tree), ["crates/fathom/src/main.rs: `#![forbid(unsafe_code)]` is missing"]);
    }
}
