//! Listed dependencies must be used: normal ones by shipped code, dev-dependencies by tests or examples.

use crate::metadata::{Metadata, Package};
use crate::tree::{File, Tree};
use std::path::{Component, Path, PathBuf};

/// Dependencies that are not mentioned in the package's code.
pub(crate) fn check(metadata: &Metadata, tree: &Tree) -> Vec<String> {
    metadata.packages.iter().filter(|package| package.is_own).flat_map(|package| of(package, tree)).collect()
}

fn of(package: &Package, tree: &Tree) -> Vec<String> {
    let directory = package.directory.strip_prefix(&tree.root).unwrap_or(&package.directory);
    let all = code(tree, directory);
    let shipped = code(tree, &directory.join("src"));
    let unused = |needed: &&String, files: &[&File]| !files.iter().any(|file| names(&file.text, needed));
    let of_code = package.needs.iter().filter(|needed| unused(needed, &shipped)).map(|needed| {
        let place = match unused(&needed, &all) {
            true => "nothing uses it",
            false => "only tests use it, so it belongs to dev-dependencies",
        };
        format!("{}: depends on {needed}: {place}", package.name)
    });
    let of_tests = package.tests_need.iter().filter(|needed| unused(needed, &all));
    let of_tests =
        of_tests.map(|needed| format!("{}: has {needed} in dev-dependencies: nothing uses it", package.name));
    of_code.chain(of_tests).collect()
}

/// The files below the directory, and their modules elsewhere.
fn code<'t>(tree: &'t Tree, directory: &Path) -> Vec<&'t File> {
    let is_own = |file: &&File| file.has_extension("rs") && file.path.starts_with(directory);
    let own: Vec<&File> = tree.files.iter().filter(is_own).collect();
    let elsewhere: Vec<PathBuf> = own.iter().flat_map(|file| modules_elsewhere(file)).collect();
    let others = tree.files.iter().filter(|file| elsewhere.contains(&file.path));
    own.iter().copied().chain(others).collect()
}

/// Files that `#[path]` turns into modules of this one.
fn modules_elsewhere(file: &File) -> impl Iterator<Item = PathBuf> {
    let named =
        file.text.lines().filter_map(|line| line.trim().strip_prefix("#[path = \"")?.strip_suffix("\"]"));
    named.map(|path| {
        let mut found = file.path.parent().unwrap_or(Path::new("")).to_path_buf();
        for part in Path::new(path).components() {
            match part {
                Component::ParentDir => drop(found.pop()),
                part => found.push(part),
            }
        }
        found
    })
}

/// True if the code, apart from comments, contains the name by which Rust knows the package.
fn names(text: &str, package: &str) -> bool {
    let word = package.replace('-', "_");
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let has_word = |line: &str| {
        line.match_indices(&word)
            .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part))
    };
    text.lines().filter(|line| !line.trim_start().starts_with("//")).any(has_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package() -> Metadata {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let package = Package {
            name: "it".into(),
            is_own: true,
            needs: words(&["serde", "fathom-spec"]),
            tests_need: words(&["tempfile"]),
            directory: "./crates/it".into(),
            ..Package::default()
        };
        Metadata { packages: vec![package] }
    }

    #[test]
    fn what_is_used_passes() {
        let tree = Tree::of(&[
            ("crates/it/src/lib.rs", "use fathom_spec::parse;\n#[derive(serde::Serialize)]\n"),
            ("crates/it/tests/it.rs", "#[path = \"../../other/shared.rs\"]\nmod shared;\n"),
            ("crates/other/shared.rs", "let directory = tempfile::tempdir();\n"),
        ]);
        assert_eq!(check(&package(), &tree), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_used_is_told() {
        let tree = Tree::of(&[
            ("crates/it/src/lib.rs", "// serde is not used\nuse serde_json::Value;\n"),
            ("crates/it/tests/it.rs", "use fathom_spec::parse;\n"),
            ("crates/other/src/lib.rs", "use tempfile::tempdir;\n"),
        ]);
        let found = check(&package(), &tree);
        assert_eq!(
            found,
            [
                "it: depends on serde: nothing uses it",
                "it: depends on fathom-spec: only tests use it, so it belongs to dev-dependencies",
                "it: has tempfile in dev-dependencies: nothing uses it",
            ]
        );
    }
}
