//! `fathom compare`: tells whether B is slower than A, and whether the difference is more than chance.

mod answer;
mod change;
mod chart;
mod github;
mod input;
mod limits;
mod matching;
mod output;
mod page;
mod trust;
mod warnings;

use crate::bars::Ink;
use crate::columns;
use crate::measures::figure::COMPARED;
use crate::table::{self, Format, print_as};
use crate::{Command, Runner};
use fathom_command::{Failure, Streams, arguments};
use lexopt::Arg::{Long, Short, Value};
use limits::FailIf;
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) const COMMAND: Command = Command {
    name: "compare",
    arguments: "A B",
    summary: "Is it slower than yesterday, by more than chance?",
    help: "\
Usage: fathom compare [OPTION...] A B
       fathom compare [OPTION...] A... -- B...

Compares results of fathom or fio (JSON, JSON+ or JSONL) job by job and figure by figure. A and B are files, or directories of
results that repeat the same jobs; with -- between them, you can give several of each. Results of fathom sweep are compared
cell by cell; FILE:NAME=VALUE,... selects the cells with these values.

With repeated runs, differences have 95 % intervals that also hold for the next run. With one run each, intervals come from
the variation within the two runs and do not say how far off the next run may be.

  --fail-if='FIGURE OP VALUE'  exit with 2 if true, for example 'p99 > +5%', 'read.bw < -3%', 'JOB:write.p99.9 > 2ms'; a
                           change in percent counts only if it is distinguishable from chance; may be repeated
  --strict                 let --fail-if also count differences that may be chance
  --format=text|markdown|csv|json  default text
  --format=github-benchmark-bigger|github-benchmark-smaller  the figures of B for github-action-benchmark, as its tools
                           customBiggerIsBetter and customSmallerIsBetter read them; bigger is better for bw and iops,
                           smaller for all others
  --no-chart               omit the latency distributions from the text
  --map=JOB=JOB            compare a job of A with a job of B that has another name; may be repeated
  -o, --output=FILE        write a page for the browser instead; - is standard output
      --force              overwrite a file that is not an earlier page

Bandwidths are printed in MB/s; --fail-if also takes MiB/s, GB/s and so on.
Figures: bw, iops, lat, p50 (any percentile), max, cpu; prefix them with read., write. or trim. for one direction.
No difference is called real where the verdict on a side is that its figures are wrong; see fathom explain.
Exit: 0, 2 if a --fail-if is met, 1 if the results cannot be compared, or a side that --fail-if looks at is wrong.
",
    run,
};

/// The results in a file: one, or those of a sweep. Each has the values of the options that the sweep varies.
pub(crate) fn results_at(
    path: &std::path::Path,
) -> Result<Vec<(String, fathom_results::RunResult)>, Failure> {
    let runs = input::runs_of(path)?;
    Ok(runs.into_iter().map(|run| (run.cell, run.result)).collect())
}

/// How a comparison is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ComparisonFormat {
    /// The full comparison.
    Whole(Format),
    /// Figures of B for which larger, or smaller, values are better, for github-action-benchmark.
    GithubBenchmark { more_is_better: bool },
}

/// The values of `--format`.
fn formats() -> Vec<(&'static str, ComparisonFormat)> {
    let of_github = |more_is_better| ComparisonFormat::GithubBenchmark { more_is_better };
    let own = [("github-benchmark-bigger", of_github(true)), ("github-benchmark-smaller", of_github(false))];
    table::FORMATS
        .map(|(word, format)| (word, ComparisonFormat::Whole(format)))
        .into_iter()
        .chain(own)
        .collect()
}

/// The parsed arguments.
struct CompareOptions {
    a: Vec<PathBuf>,
    b: Vec<PathBuf>,
    limits: Vec<FailIf>,
    is_strict: bool,
    format: ComparisonFormat,
    has_chart: bool,
    /// Renamed jobs: the name in A and the name in B of each.
    map: Vec<(String, String)>,
    page: Option<PathBuf>,
    force: bool,
}

fn run(words: &[OsString], streams: &mut Streams<'_>, _runner: &mut dyn Runner) -> Result<u8, Failure> {
    let options = options(words)?;
    let (a, mut b) = (input::side(&options.a)?, input::side(&options.b)?);
    rename(&a, &mut b, &options.map)?;
    let mut figures = COMPARED.to_vec();
    for limit in &options.limits {
        if !figures.contains(&limit.figure.figure) {
            figures.push(limit.figure.figure);
        }
    }
    let mut matched = matching::compare(&a, &b, &figures);
    let trust = [trust::Trust::of(&a), trust::Trust::of(&b)];
    trust::refuse(&mut matched, &trust);
    if matched.pairs.is_empty() {
        return Err(nothing_in_common(&matched, &a, &b));
    }
    let outcomes = limits::check(&options.limits, &matched, options.is_strict)?;
    let report = output::ComparisonReport {
        warnings: warnings::warnings(&a, &b).into_iter().chain(trust::warnings(&trust)).collect(),
        a,
        b,
        matched,
        outcomes,
        ink: options.has_chart.then(Ink::of_environment),
        limit: columns::of_terminal(),
    };
    if let Some(path) = &options.page {
        let title =
            format!("Comparison: {} and {}", report.a.sources().join(", "), report.b.sources().join(", "));
        crate::report::put(path, &page::html(&report, &title), options.force, streams)?;
        streams.err.write_all(report.outcome_lines().as_bytes())?;
        return Ok(report.exit());
    }
    let format = match options.format {
        ComparisonFormat::Whole(format) => format,
        ComparisonFormat::GithubBenchmark { .. } => Format::Json,
    };
    let text = match options.format {
        ComparisonFormat::Whole(Format::Text) => report.text(),
        ComparisonFormat::Whole(Format::Markdown) => report.markdown(),
        ComparisonFormat::Whole(Format::Csv) => report.csv(),
        ComparisonFormat::Whole(Format::Json) => report.json(),
        ComparisonFormat::GithubBenchmark { more_is_better } => {
            report.refusals().iter().try_for_each(|line| writeln!(streams.err, "{line}"))?;
            github::entries(&report, more_is_better)
        }
    };
    print_as(format, streams, &text)?;
    // The other formats are read by programs, which would take these lines for data.
    if format != Format::Text {
        streams.err.write_all(report.outcome_lines().as_bytes())?;
    }
    Ok(report.exit())
}

fn nothing_in_common(matched: &matching::Matched, a: &input::Side, b: &input::Side) -> Failure {
    let list = |names: &[String]| match names {
        [] => "no job with I/O".to_owned(),
        names => names.join("; "),
    };
    // Only the user knows which jobs correspond, so the message shows the syntax with an example.
    let (names_a, names_b) = (a.names(), b.names());
    let hint = match (names_a.first(), names_b.first()) {
        (Some(one), Some(other)) if one != other => {
            format!(". --map='{one}={other}' compares two jobs with different names")
        }
        _ => String::new(),
    };
    Failure::new(format!(
        "the results have no job and direction in common, so there is nothing to compare. A has {}. B has {}{hint}",
        list(&matched.only_a),
        list(&matched.only_b)
    ))
}

fn options(words: &[OsString]) -> Result<CompareOptions, Failure> {
    let mut options = CompareOptions {
        a: Vec::new(),
        b: Vec::new(),
        limits: Vec::new(),
        is_strict: false,
        format: ComparisonFormat::Whole(Format::Text),
        has_chart: true,
        map: Vec::new(),
        page: None,
        force: false,
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
        return Err(Failure::new("-- is allowed once, between the first set and the second"));
    }
    for (side, files) in [("before", &options.a), ("after", &options.b)] {
        if files.is_empty() {
            return Err(Failure::new(format!("no result {side} --; name at least one on each side")));
        }
    }
    Ok(options)
}

/// Parses the two names in `JOB=JOB`.
fn map_of(text: &str) -> Result<(String, String), Failure> {
    match text.split_once('=') {
        Some((a, b)) if !a.trim().is_empty() && !b.trim().is_empty() => {
            Ok((a.trim().to_owned(), b.trim().to_owned()))
        }
        _ => Err(Failure::new(format!("--map: `{text}` is not JOB=JOB, a job of A and a job of B"))),
    }
}

/// Renames a job of B to the name of the corresponding job in A.
fn rename(a: &input::Side, b: &mut input::Side, map: &[(String, String)]) -> Result<(), Failure> {
    for (of_a, of_b) in map {
        for (side, letter, name) in [(a, 'A', of_a), (&*b, 'B', of_b)] {
            if !side.names().contains(&name.as_str()) {
                let known = side.names().join(", ");
                return Err(Failure::new(format!("--map: {letter} has no job {name}; it has {known}")));
            }
        }
        b.rename(of_b, of_a);
    }
    Ok(())
}

/// Parses the arguments on one side of `--` and returns the files among them.
fn read_words(words: &[OsString], options: &mut CompareOptions) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut parser = lexopt::Parser::from_args(words.iter().cloned());
    while let Some(argument) = parser.next()? {
        match argument {
            Long("fail-if") => {
                options.limits.push(FailIf::parse(&arguments::text(&mut parser, "--fail-if")?)?)
            }
            Long("strict") => options.is_strict = true,
            Long("format" | "output-format") => {
                options.format = arguments::choice(&mut parser, "--format", &formats())?
            }
            Long("no-chart") => options.has_chart = false,
            Long("map") => options.map.push(map_of(&arguments::text(&mut parser, "--map")?)?),
            Short('o') | Long("output") => options.page = Some(PathBuf::from(parser.value()?)),
            Long("force") => options.force = true,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<CompareOptions, Failure> {
        options(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn two_words_or_two_sets() {
        let two = read(&["a.json", "--strict", "b.json"]).expect("reads");
        assert_eq!((two.a.len(), two.b.len(), two.is_strict), (1, 1, true));
        let sets = read(&["a", "b", "--", "c", "--format=csv"]).expect("reads");
        assert_eq!((sets.a.len(), sets.b.len(), sets.format), (2, 1, ComparisonFormat::Whole(Format::Csv)));
        for wrong in [&["a"][..], &["a", "b", "c"], &["--", "b"], &["a", "--"], &["a", "--", "b", "--", "c"]]
        {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
