//! Jobs given as command lines.

use fathom_spec::engines::EngineDef;
use fathom_spec::{Outcome, RunSpec, SystemSource, parse};

/// Parses a command line that may name these engines.
///
/// # Panics
///
/// If it is not a run.
pub(crate) fn spec(words: &str, engines: &[&'static EngineDef]) -> RunSpec {
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    match parse("fathom", &words, &SystemSource::new(4096).with_engines(engines)) {
        Outcome::Run(spec) => *spec,
        _ => panic!("no job: {words:?}"),
    }
}
