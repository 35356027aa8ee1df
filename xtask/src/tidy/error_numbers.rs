//! Messages name an error of the system by its text, without the number that the standard library appends.

use crate::tree::{File, Tree};

/// The only place that knows the number.
const PLACE: &str = "crates/fathom-errors/src/lib.rs";
/// The beginning of that text. Assembled here so that this file does not contain it.
const NUMBER: &str = concat!("(os", " error");

/// Lines of Rust that search for the number, or expect it in a message. The program's tests check everything
/// that it prints.
pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let rust = tree.files.iter().filter(|file| file.has_extension("rs") && file.name() != PLACE);
    rust.flat_map(numbered_in).collect()
}

fn numbered_in(file: &File) -> Vec<String> {
    let lines = file.text.lines().enumerate().filter(|(_, line)| line.contains(NUMBER));
    lines.map(|(at, _)| format!("{}:{}: use fathom_errors::plain", file.name(), at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_found_anywhere_else() {
        let line = format!("let text = \"{NUMBER} 2)\";\n");
        let found = check(&Tree::of(&[("a.rs", &line), (PLACE, &line), ("b.md", &line)]));
        assert_eq!(found, ["a.rs:1: use fathom_errors::plain"]);
    }
}
