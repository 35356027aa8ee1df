//! Rules about the text of the tree: length of files, unfinished work, documentation of modules.

use crate::tree::{File, Tree};

/// A longer file is more than a person can read in one sitting.
const LONGEST_FILE: usize = 800;

/// Signs of unfinished work. They are assembled here so that this file does not contain any of them.
const UNFINISHED: [&str; 6] = [
    concat!("to", "do!"),
    concat!("unimpl", "emented!"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
    concat!("#[ig", "nore"),
];

/// Rust files outside tests and declaration tables must be short.
pub(crate) fn check_lengths(tree: &Tree) -> Vec<String> {
    let too_long = |file: &&File| file.text.lines().count() > LONGEST_FILE;
    let rust = tree.files.iter().filter(|file| file.has_extension("rs") && !may_be_long(file));
    rust.filter(too_long)
        .map(|file| {
            let lines = file.text.lines().count();
            format!("{}: {lines} lines; split it, {LONGEST_FILE} are the limit", file.name())
        })
        .collect()
}

/// Tables of declarations and lists of test cases remain readable at any length.
fn may_be_long(file: &File) -> bool {
    file.path.starts_with("crates/fathom-spec/src/options")
        || file.path.components().any(|part| part.as_os_str() == "tests")
        || file.path.file_name().is_some_and(|name| name == "tests.rs")
}

/// The tree must not contain placeholders for future work.
pub(crate) fn check_unfinished(tree: &Tree) -> Vec<String> {
    let mut found = Vec::new();
    for file in &tree.files {
        for (number, line) in file.text.lines().enumerate() {
            for word in UNFINISHED.iter().filter(|word| has_word(line, word)) {
                found.push(format!("{}:{}: `{word}`: finish it, or leave it out", file.name(), number + 1));
            }
        }
    }
    found
}

/// True if the line contains the word on its own, not as a part of a longer one such as a template of `mktemp`.
fn has_word(line: &str, word: &str) -> bool {
    let part_of_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    line.match_indices(word).any(|(at, _)| {
        let begins = word.starts_with('#') || !line[..at].ends_with(part_of_word);
        let ends = word.ends_with("nore") || !line[at + word.len()..].starts_with(part_of_word);
        begins && ends
    })
}

/// Every module must start with a statement of its purpose.
pub(crate) fn check_module_docs(tree: &Tree) -> Vec<String> {
    let silent = |file: &&File| !file.text.trim_start().starts_with("//!");
    let is_module = |file: &&File| file.has_extension("rs") && !file.path.ends_with("tests.rs");
    tree.files
        .iter()
        .filter(is_module)
        .filter(silent)
        .map(|file| format!("{}: say in a `//!` comment at the top what the module is for", file.name()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_told_except_tables_and_tests() {
        let long = "x\n".repeat(LONGEST_FILE + 1);
        let tree = Tree::of(&[
            ("crates/a/src/long.rs", &long),
            ("crates/a/src/short.rs", &"x\n".repeat(LONGEST_FILE)),
            ("crates/a/src/tests.rs", &long),
            ("crates/a/tests/it/cases.rs", &long),
            ("crates/fathom-spec/src/options/file.rs", &long),
            ("docs/long.md", &long),
        ]);
        let found = check_lengths(&tree);
        assert_eq!(found, ["crates/a/src/long.rs: 801 lines; split it, 800 are the limit"]);
    }

    #[test]
    fn unfinished_work_is_found_wherever_it_stands() {
        for word in UNFINISHED {
            let text = format!("fine\n    {word} here\n");
            let found = check_unfinished(&Tree::of(&[("a.rs", &text), ("b.rs", "fine\n")]));
            assert_eq!(found.len(), 1, "{word}: {found:?}");
            assert!(found[0].starts_with("a.rs:2: "), "{found:?}");
        }
    }

    #[test]
    fn a_longer_word_is_another_word() {
        for word in [UNFINISHED[3], UNFINISHED[4]] {
            let longer = format!("mktemp -d x.{word}{word}\n{word}NEY\n");
            assert_eq!(check_unfinished(&Tree::of(&[("a.sh", &longer)])), Vec::<String>::new(), "{word}");
        }
    }

    #[test]
    fn modules_without_documentation_are_told() {
        let tree = Tree::of(&[("a.rs", "//! Says it.\n"), ("b.rs", "use std::io;\n"), ("c.toml", "x = 1\n")]);
        let found = check_module_docs(&tree);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("b.rs: "), "{found:?}");
    }
}
