//! Phrases that read as if translated (docs/style.md), each with its plain English replacement.

use crate::passages;
use crate::tree::{File, Tree};

/// The page that lists the phrases.
const STYLE: &str = "docs/style.md";

/// The phrases, each with its replacement.
const FRAMES: [(&str, &str); 15] = [
    ("so many", "a number, a name or \"every N\""),
    ("whoever", "the one who acts: the caller, the user"),
    ("nobody", "\"no process\", \"no worker\", or the sentence turned round"),
    ("somebody", "the one who acts"),
    ("anybody", "the one who acts"),
    ("is told of", "\"learns of\", \"is notified of\""),
    ("are told of", "\"learn of\", \"are notified of\""),
    ("is told over", "\"is reported\""),
    ("of its own", "\"its own …\" or \"a separate …\""),
    ("of their own", "\"their own …\" or \"separate …\""),
    ("at once", "\"together\", \"concurrently\", \"immediately\""),
    ("beside", "\"next to\", \"with\", \"besides\""),
    ("lies in", "\"is in\""),
    ("lie in", "\"are in\""),
    ("in vain", "what fails, or \"empty\""),
];

/// Number of passages that still contain one. It may only decrease.
const LEFT: usize = 22;

/// Passages that contain one of the phrases outside of quotations, if there are more than the allowed number.
pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let broken = all(tree);
    if broken.len() > LEFT { broken } else { Vec::new() }
}

fn all(tree: &Tree) -> Vec<String> {
    tree.files.iter().filter(|file| file.name() != STYLE).flat_map(broken_in).collect()
}

fn broken_in(file: &File) -> Vec<String> {
    let mut broken = Vec::new();
    for passage in passages::of(file) {
        let text = words(&passages::without_quotations(&passage.text));
        for (frame, instead) in FRAMES.iter().filter(|(frame, _)| text.contains(&format!(" {frame} "))) {
            broken.push(format!("{}:{}: \"{frame}\": write {instead}", file.name(), passage.line));
        }
    }
    broken
}

/// The words in lower case, with a space around each.
fn words(text: &str) -> String {
    let plain = text.replace(|letter: char| !letter.is_alphanumeric() && letter != '\'', " ").to_lowercase();
    format!(" {} ", plain.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_across_lines_and_not_in_quotations() {
        let tree = Tree::of(&[
            (
                "a.rs",
                "//! Waits for so\n//! many seconds.\nfn somebody() {}\n// Says \"so many\", or `nobody`.\n",
            ),
            ("b.md", "# Title\n\nNot besides the\nothers, but Beside.\n"),
            (STYLE, "This page names so many.\n"),
        ]);
        let found = all(&tree);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("a.rs:1: \"so many\""), "{found:?}");
        assert!(found[1].starts_with("b.md:3: \"beside\""), "{found:?}");
    }
}
