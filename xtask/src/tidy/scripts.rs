//! Checks that shell scripts are syntactically valid.

use crate::tree::{File, Tree};
use std::process::{Command, Stdio};

/// Scripts that the shell cannot parse.
pub(crate) fn check(tree: &Tree) -> Vec<String> {
    tree.files.iter().filter(|file| is_script(file)).filter_map(|file| complaint(tree, file)).collect()
}

fn is_script(file: &File) -> bool {
    let first = file.text.lines().next().unwrap_or_default();
    let asks_for_shell = first.starts_with("#!") && (first.ends_with("bash") || first.ends_with("/sh"));
    file.has_extension("sh") || asks_for_shell
}

fn complaint(tree: &Tree, file: &File) -> Option<String> {
    let path = tree.root.join(&file.path);
    match Command::new("bash").arg("-n").arg(&path).stdin(Stdio::null()).output() {
        Ok(checked) if checked.status.success() => None,
        Ok(checked) => Some(format!("{}: {}", file.name(), String::from_utf8_lossy(&checked.stderr).trim())),
        Err(error) => Some(format!("{}: bash cannot be run: {error}", file.name())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_does_not_parse_is_told() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let sources =
            [("good.sh", "if true; then echo; fi\n"), ("bad", "#!/usr/bin/env bash\nif true; then\n")];
        for (name, text) in sources {
            std::fs::write(directory.path().join(name), text).expect("a temporary file");
        }
        let mut tree = Tree::of(&sources);
        tree.root = directory.path().to_path_buf();
        let found = check(&tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("bad: "), "{found:?}");
    }

    #[test]
    fn other_files_are_left_alone() {
        let tree = Tree::of(&[("a.py", "#!/usr/bin/env python3\nif x:\n"), ("b.md", "if then\n")]);
        assert_eq!(check(&tree), Vec::<String>::new());
    }
}
