//! Jobs as a command line gives them.

use fathom_spec::engines::EngineDef;
use fathom_spec::{Outcome, RunSpec, SystemSource, parse};

/// What these words of a command line ask for, which may name these engines too.
///
/// # Panics
/// When that is not a run.
pub(crate) fn spec(words: &str, engines: &[&'static EngineDef]) -> RunSpec {
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    match parse("fathom", &words, &SystemSource::new(4096).with_engines(engines)) {
        Outcome::Run(spec) => *spec,
        _ => panic!("no job: {words:?}"),
    }
}
