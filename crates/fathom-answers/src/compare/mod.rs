//! `fathom compare`: is it slower than before, and is that more than chance?

mod chart;
mod input;
mod limits;
mod matching;
mod output;
mod warnings;

use crate::bars::Ink;
use crate::columns;
use crate::measures::figure::COMPARED;
use crate::table::{FORMATS, Format};
use crate::{Command, Runner};
use fathom_tools::{Failure, Streams, arguments};
use lexopt::Arg::{Long, Value};
use limits::Limit;
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) const COMMAND: Command = Command {
    name: "compare",
    arguments: "A B",
    summary: "Is it slower than yesterday, by more than chance?",
    help: "\
Usage: fathom compare [OPTION...] A B
       fathom compare [OPTION...] A... -- B...

Compares results of fathom or fio (JSON, JSON+ or JSONL) job by job and figure by figure. Each of A and B is a file, or a
directory of results that repeat the same jobs; with -- between them there may be several of each. A results file of fathom
sweep is compared cell by cell; FILE:NAME=VALUE,... takes only the cells with these values.

With repeated runs, differences have 95 % intervals that hold for the next run too. With one run each, intervals come from
what happened within the two runs and say nothing about how far the next one may be away.

  --fail-if='FIGURE OP VALUE'  exit with 2 if it is so, for example 'p99 > +5%', 'read.bw < -3%', 'JOB:write.p99.9 > 2ms'; a
                           change in percent counts only if it can be distinguished from chance; may be given several times
  --strict                 let --fail-if count differences that may be chance, too
  --format=text|markdown|csv|json  default text
  --no-chart               leave the distributions of latencies out of the text

Bandwidths are printed in MB/s; --fail-if takes them in MiB/s, GB/s and the like as well.
Figures: bw, iops, lat, p50 (any percentile), max, cpu; with read., write. or trim. before them, only that direction.
Exit: 0, 2 when a --fail-if is met, 1 when the results cannot be compared.
",
    run,
};

/// What the words ask for.
struct Options {
    a: Vec<PathBuf>,
    b: Vec<PathBuf>,
    limits: Vec<Limit>,
    is_strict: bool,
    format: Format,
    has_chart: bool,
}

fn run(words: &[OsString], streams: &mut Streams<'_>, _runner: &mut dyn Runner) -> Result<u8, Failure> {
    let options = options(words)?;
    let (a, b) = (input::side(&options.a)?, input::side(&options.b)?);
    let mut figures = COMPARED.to_vec();
    for limit in &options.limits {
        if !figures.contains(&limit.figure.figure) {
            figures.push(limit.figure.figure);
        }
    }
    let matched = matching::compare(&a, &b, &figures);
    if matched.pairs.is_empty() {
        return Err(nothing_in_common(&matched));
    }
    let outcomes = limits::check(&options.limits, &matched, options.is_strict)?;
    let report = output::Report {
        warnings: warnings::warnings(&a, &b),
        a,
        b,
        matched,
        outcomes,
        ink: options.has_chart.then(Ink::of_environment),
        limit: columns::of_terminal(),
    };
    let text = match options.format {
        Format::Text => report.text(),
        Format::Markdown => report.markdown(),
        Format::Csv => report.csv(),
        Format::Json => report.json(),
    };
    streams.out.write_all(text.as_bytes())?;
    // Programs that read the other formats would take these lines for data.
    if options.format != Format::Text {
        streams.err.write_all(report.outcome_lines().as_bytes())?;
    }
    Ok(if report.outcomes.iter().any(limits::Outcome::is_met) { 2 } else { 0 })
}

fn nothing_in_common(matched: &matching::Matched) -> Failure {
    let list = |names: &[String]| match names {
        [] => "no job with I/O".to_owned(),
        names => names.join("; "),
    };
    Failure::new(format!(
        "the results have no job and direction in common, so there is nothing to compare. A has {}. B has {}",
        list(&matched.only_a),
        list(&matched.only_b)
    ))
}

fn options(words: &[OsString]) -> Result<Options, Failure> {
    let mut options = Options {
        a: Vec::new(),
        b: Vec::new(),
        limits: Vec::new(),
        is_strict: false,
        format: Format::Text,
        has_chart: true,
    };
    let mut parts = words.split(|word| word == "--");
    let before = parts.next().unwrap_or_default();
    let mut files = read_words(before, &mut options)?;
    match parts.next() {
        Some(after) => {
            options.a = files;
            options.b = read_words(after, &mut options)?;
        }
        None if files.len() == 2 => {
            options.b = files.split_off(1);
            options.a = files;
        }
        None => {
            return Err(Failure::new(format!(
                "{} given; it takes two, or -- between the first set and the second",
                if files.len() == 1 { "1 result".to_owned() } else { format!("{} results", files.len()) }
            )));
        }
    }
    if parts.next().is_some() {
        return Err(Failure::new("-- may be given once, between the first set and the second"));
    }
    for (side, files) in [("before", &options.a), ("behind", &options.b)] {
        if files.is_empty() {
            return Err(Failure::new(format!("no result {side} --; name one or more on either side")));
        }
    }
    Ok(options)
}

/// Reads the words on one side of `--`; the files among them.
fn read_words(words: &[OsString], options: &mut Options) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut parser = lexopt::Parser::from_args(words.iter().cloned());
    while let Some(argument) = parser.next()? {
        match argument {
            Long("fail-if") => {
                options.limits.push(Limit::parse(&arguments::text(&mut parser, "--fail-if")?)?)
            }
            Long("strict") => options.is_strict = true,
            Long("format") => options.format = arguments::choice(&mut parser, "--format", &FORMATS)?,
            Long("no-chart") => options.has_chart = false,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Options, Failure> {
        options(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn two_words_or_two_sets() {
        let two = read(&["a.json", "--strict", "b.json"]).expect("reads");
        assert_eq!((two.a.len(), two.b.len(), two.is_strict), (1, 1, true));
        let sets = read(&["a", "b", "--", "c", "--format=csv"]).expect("reads");
        assert_eq!((sets.a.len(), sets.b.len(), sets.format), (2, 1, Format::Csv));
        for wrong in [&["a"][..], &["a", "b", "c"], &["--", "b"], &["a", "--"], &["a", "--", "b", "--", "c"]]
        {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
