//! House rules that no compiler checks. Each rule is a function that maps the tree to a list of violations.

mod circles;
mod commits;
mod dependencies;
mod error_numbers;
mod frames;
mod licences;
mod links;
mod plans;
mod scripts;
mod spdx;
mod unsafe_code;
mod unused;
mod words;

use crate::metadata::Metadata;
use crate::tree::Tree;
use std::path::Path;

/// Checks all rules; the error lists every violation.
pub(crate) fn run(repository: &Path) -> Result<(), String> {
    let tree = Tree::read(repository)?;
    let metadata = Metadata::read(repository)?;
    let rules = [
        ("licences", licences::check(&metadata)),
        ("dependency direction", dependencies::check(&metadata)),
        ("import circles", circles::check(&tree)),
        ("unused dependencies", unused::check(&metadata, &tree)),
        ("file length", words::check_lengths(&tree)),
        ("unfinished work", words::check_unfinished(&tree)),
        ("module documentation", words::check_module_docs(&tree)),
        ("unsafe code", unsafe_code::check(&tree)),
        ("run code reads plans, not options", plans::check(&tree)),
        ("shell scripts", scripts::check(&tree)),
        ("links of pages", links::check(&tree)),
        ("plain English", frames::check(&tree)),
        ("error numbers", error_numbers::check(&tree)),
        ("commit subjects", commits::check(repository)),
    ];
    let mut violations = Vec::new();
    for (rule, broken) in rules {
        println!("tidy: {rule}: {}", if broken.is_empty() { "ok" } else { "broken" });
        violations.extend(broken);
    }
    match violations.len() {
        0 => Ok(()),
        count => Err(format!("tidy: {count} to fix\n  {}", violations.join("\n  "))),
    }
}
