//! Jobs as a command line gives them.

use fathom_spec::{Outcome, RunSpec, SystemSource, parse};

/// What these words of a command line ask for.
///
/// # Panics
/// When that is not a run.
pub(crate) fn spec(words: &str) -> RunSpec {
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    match parse("fathom", &words, &SystemSource::new(4096)) {
        Outcome::Run(spec) => *spec,
        _ => panic!("no job: {words:?}"),
    }
}
