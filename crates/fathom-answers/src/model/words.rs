//! The command line of `fathom model`.

use super::named;
use crate::table::Format;
use fathom_command::{Failure, arguments};
use fathom_workload::model::Scaling;
use lexopt::Arg::{Long, Short, Value};
use std::ffi::OsString;
use std::path::PathBuf;

/// Largest factor of the rate.
const LARGEST_RATE: f64 = 1e6;
/// Maximum number of clones.
const MOST_CLONES: u64 = 4096;

/// What the command line asks for.
pub(super) struct ModelOptions {
    pub(super) trace: PathBuf,
    pub(super) output: Option<PathBuf>,
    pub(super) force: bool,
    pub(super) target: Option<String>,
    pub(super) scaling: Scaling,
    pub(super) is_open: bool,
    pub(super) check: Option<PathBuf>,
    pub(super) destroy: Option<PathBuf>,
    pub(super) format: Format,
}

pub(super) fn read(words: &[OsString]) -> Result<ModelOptions, Failure> {
    let mut files = Vec::new();
    let mut found = ModelOptions {
        trace: PathBuf::new(),
        output: None,
        force: false,
        target: None,
        scaling: Scaling::default(),
        is_open: false,
        check: None,
        destroy: None,
        format: Format::Text,
    };
    let mut format = None;
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('o') | Long("output") => found.output = Some(parser.value()?.into()),
            Long("force") => found.force = true,
            Long("target" | "filename") => found.target = Some(named(parser.value()?.into())?),
            Long("rate") => found.scaling.rate = factor(&arguments::text(&mut parser, "--rate")?)?,
            Long("size") => found.scaling.size = Some(arguments::size(&mut parser, "--size")?),
            Long("numjobs") => found.scaling.clones = clones(&arguments::text(&mut parser, "--numjobs")?)?,
            Long("open-loop") => found.is_open = true,
            Long("check") => found.check = Some(parser.value()?.into()),
            Long("destroy") => found.destroy = Some(parser.value()?.into()),
            Long("format" | "output-format") => {
                let formats = [("text", Format::Text), ("json", Format::Json)];
                format = Some(arguments::choice(&mut parser, "--format", &formats)?);
            }
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    found.trace = arguments::one_file(files)?;
    found.format = format.unwrap_or(Format::Text);
    if found.check.is_none() && (found.destroy.is_some() || format.is_some()) {
        return Err(Failure::new("--destroy and --format belong to --check"));
    }
    if found.scaling.size == Some(0) {
        return Err(Failure::new("--size: expected at least one block, as in 10g"));
    }
    Ok(found)
}

/// `2x`, `2` or `0.5`.
fn factor(text: &str) -> Result<f64, Failure> {
    let number = text.strip_suffix(['x', 'X', '×']).unwrap_or(text).parse::<f64>().ok();
    number.filter(|factor| *factor > 0.0 && *factor <= LARGEST_RATE).ok_or_else(|| {
        Failure::new(format!(
            "--rate={text}: expected how many times the rate of the trace, as in 2x or 0.5x"
        ))
    })
}

fn clones(text: &str) -> Result<u32, Failure> {
    let number = text.parse::<u64>().ok().filter(|number| (1..=MOST_CLONES).contains(number));
    number.and_then(|number| u32::try_from(number).ok()).ok_or_else(|| {
        Failure::new(format!("--numjobs={text}: expected a number of clones from 1 to {MOST_CLONES}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<ModelOptions, Failure> {
        read(&text.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let found =
            words("db.trace --rate=2.5x --size=1g --numjobs=4 -o x --target=/dev/sdz").expect("reads");
        assert_eq!(found.scaling, Scaling { rate: 2.5, size: Some(1 << 30), clones: 4 });
        assert_eq!(found.target.as_deref(), Some("/dev/sdz"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in [
            "",
            "a b",
            "a --rate=0",
            "a --rate=fast",
            "a --rate=nan",
            "a --numjobs=0",
            "a --numjobs=99999",
            "a --size=0",
            "a --destroy=/dev/sdz",
            "a --format=json",
        ] {
            assert!(words(wrong).is_err(), "{wrong}");
        }
    }
}
