//! `words`: a random sample of the prose of the tree, with the place of each passage, for review by a person who did not write it.

use crate::chance::Chance;
use crate::passages::{self, Kind};
use crate::tree::{File, Tree};
use std::path::Path;

/// Prints the sample and the seed that reproduces it.
pub(crate) fn run(repository: &Path, options: &[String]) -> Result<(), String> {
    let (mut sample, mut seed) = (120, crate::chance::seed_of_the_clock());
    for option in options {
        let value = |text: &str| text.parse().map_err(|_| format!("words: {option}: not a whole number"));
        match option.split_once('=') {
            Some(("--sample", count)) => sample = value(count)?,
            Some(("--seed", number)) => seed = value(number)?,
            _ => return Err(format!("words: {option}: unknown option")),
        }
    }
    let tree = Tree::read(repository)?;
    let mut places: Vec<String> = tree.files.iter().flat_map(passages_for_people).collect();
    let all = places.len();
    println!("words: {} of {all} passages, seed {seed}", sample.min(all as u64));
    let mut chance = Chance::new(seed);
    for _ in 0..sample.min(all as u64) {
        println!("{}", places.swap_remove(chance.below(places.len() as u64) as usize));
    }
    Ok(())
}

/// The passages of a file that people read: not the strings of tests, which are data.
fn passages_for_people(file: &File) -> Vec<String> {
    let is_test =
        file.path.components().any(|part| part.as_os_str() == "tests") || file.path.ends_with("tests.rs");
    let tests = file.text.lines().position(|line| line == "mod tests {").unwrap_or(usize::MAX);
    let is_data = |kind: Kind, line: usize| kind == Kind::Message && (is_test || line > tests);
    let passages = passages::of(file).into_iter().filter(|passage| !is_data(passage.kind, passage.line));
    passages.map(|passage| format!("{}:{}: {}", file.name(), passage.line, passage.text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_tests_are_not_drawn() {
        let text = "//! About this file.\nlet a = \"told to the user\";\nmod tests {\n    // why this matters\n    \"data for the test\"\n";
        let drawn = |path: &str| passages_for_people(&File { path: path.into(), text: text.to_owned() });
        let comments = ["1: About this file.", "4: why this matters"];
        assert_eq!(drawn("a/tests/b.rs"), comments.map(|text| format!("a/tests/b.rs:{text}")));
        assert_eq!(
            drawn("a.rs"),
            ["1: About this file.", "2: told to the user", "4: why this matters"]
                .map(|text| format!("a.rs:{text}"))
        );
    }
}
