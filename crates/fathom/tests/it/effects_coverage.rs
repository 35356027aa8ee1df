//! Every option of every job has a test that runs the program with it.

use fathom_spec::definition::Status;
use std::path::Path;

/// Built options without a test yet, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[];

/// True if the text holds the name as a whole word.
fn mentions(text: &str, name: &str) -> bool {
    let is_inner =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    text.match_indices(name).any(|(start, _)| {
        !is_inner(text[..start].chars().next_back()) && !is_inner(text[start + name.len()..].chars().next())
    })
}

/// Returns the text of all files below a directory except this file, whose exceptions are not tests.
fn sources(directory: &Path) -> String {
    let entries = std::fs::read_dir(directory).expect("the sources are there");
    let mut text = String::new();
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            text += &sources(&path);
        } else if !path.ends_with("effects_coverage.rs") {
            text += &std::fs::read_to_string(&path).expect("sources are text");
        }
    }
    text
}

#[test]
fn every_option_has_a_run() {
    let text = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it"));
    for option in fathom_spec::registry::job_options().filter(|option| option.status == Status::Built) {
        let tested = std::iter::once(&option.name).chain(option.aliases).any(|name| mentions(&text, name));
        let excepted = EXCEPTIONS.iter().any(|(name, _)| *name == option.name);
        assert!(tested || excepted, "{}: no test runs with it", option.name);
        assert!(!(tested && excepted), "{} is tested and needs no exception", option.name);
    }
}
