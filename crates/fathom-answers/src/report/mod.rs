//! `fathom report`: shows results as one self-contained HTML page.

pub(crate) mod chart;
mod charts;
mod courses;
mod curve;
pub(crate) mod fleet;
mod grid;
pub(crate) mod history;
mod hosts;
mod intervals;
mod page;
mod pts;
mod rehearse;
pub(crate) mod runs;
mod shell;
mod sweep;

use chart::Figure;
pub(crate) use chart::Series;
pub(crate) use charts::{TABLE_ROWS, charts, limits as latency_limits, percentiles, seconds_axis};
pub(crate) use intervals::{Change, html as intervals};
pub(crate) use shell::{Link, SCRIPT as PAGE_SCRIPT, STYLE as PAGE_STYLE, list, sentences, shell};

use crate::Command;
use crate::curve::record as curve_results;
use crate::pts::record as pts_results;
use crate::rehearse::record::RecordedRehearsal;
use crate::results_file;
use crate::runner::Runner;
use crate::sweep::record as sweep_results;
use fathom_command::printer::harmless;
use fathom_command::{Failure, NewFile, Streams, arguments};
use fathom_results::RunResult;
use lexopt::Arg::{Long, Short, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(crate) const COMMAND: Command = Command {
    name: "report",
    arguments: "RESULT...",
    summary: "Make one self-contained HTML page of results",
    help: "\
Usage: fathom report [options] RESULT...

Makes one self-contained page of results (JSON, JSON+ or JSONL, of fathom or fio): summary, verdict, latency percentiles and
histogram, rates and latencies over time, depth, CPU, devices; per job and for all together. Several results appear side by
side. JSON+ is best, because it holds the histograms. - is standard input. The results file of a sweep becomes heat maps and
line charts over the varied options, that of fathom pts the report that the specification asks for.

  -o, --output=FILE   the page or chart (default: the name of the first result with .html or .svg); - is standard output
      --title=TEXT    its heading
      --chart=NAME    one chart as an SVG file, not a page; list prints the names of all charts
      --force         overwrite a file that is not an earlier page or chart
",
    run,
};

/// The start of every page; it distinguishes an earlier report from other files.
const MARK: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>";

fn run(words: &[OsString], streams: &mut Streams<'_>, _: &mut dyn Runner) -> Result<u8, Failure> {
    let (mut files, mut output, mut title, mut chart, mut force) = (Vec::new(), None, None, None, false);
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('o') | Long("output") => output = Some(PathBuf::from(parser.value()?)),
            Long("title") => title = Some(arguments::text(&mut parser, "--title")?),
            Long("chart") => chart = Some(arguments::text(&mut parser, "--chart")?),
            Long("force") => force = true,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    let files = arguments::some_files(files)?;
    let source = Source::of(&files)?;
    if let Some(name) = chart {
        return write_chart(&source, &name, output, &files, force, streams);
    }
    let output = output.unwrap_or_else(|| default_output(&files, "html"));
    put(&output, &source.page(title)?, force, streams)
}

/// A kind of results file that has its own page.
struct Kind {
    is: fn(&Path) -> bool,
    /// Why a file of this kind must be the only one.
    alone: &'static str,
    page: fn(&Path, Option<&str>) -> Result<String, Failure>,
    charts: fn(&Path) -> Result<Vec<Figure>, Failure>,
}

const KINDS: [Kind; 4] = [
    Kind {
        is: results_file::is_results::<sweep_results::RecordedSweep>,
        alone: "a sweep needs its own page; name it alone, or compare two with fathom compare -o FILE A B",
        page: sweep::page,
        charts: sweep::all_charts,
    },
    Kind {
        is: results_file::is_results::<pts_results::RecordedTest>,
        alone: "a PTS test needs its own page; name it alone",
        page: pts::page,
        charts: pts::all_charts,
    },
    Kind {
        is: results_file::is_results::<curve_results::RecordedCurve>,
        alone: "curves need their own page; name the file alone",
        page: curve::page,
        charts: curve::all_charts,
    },
    Kind {
        is: results_file::is_results::<RecordedRehearsal>,
        alone: "a rehearsal needs its own page; name the file alone",
        page: rehearse::page,
        charts: rehearse::all_charts,
    },
];

/// The results that a page shows.
enum Source<'f> {
    /// A results file of this kind.
    File(&'static Kind, &'f Path),
    /// Results of runs.
    Runs(Vec<RunResult>),
}

impl Source<'_> {
    fn of(files: &[PathBuf]) -> Result<Source<'_>, Failure> {
        for kind in &KINDS {
            let Some(path) = files.iter().find(|path| (kind.is)(path)) else { continue };
            return match files {
                [one] => Ok(Source::File(kind, one)),
                _ => Err(Failure::new(format!("{}: {}", path.display(), kind.alone))),
            };
        }
        let read =
            |file: &PathBuf| fathom_results::read(file).map_err(|error| Failure::new(error.to_string()));
        Ok(Source::Runs(files.iter().map(read).collect::<Result<_, Failure>>()?))
    }

    fn page(&self, title: Option<String>) -> Result<String, Failure> {
        match self {
            Source::File(kind, path) => (kind.page)(path, title.as_deref()),
            Source::Runs(results) => Ok(page::html(results, &title.unwrap_or_else(|| title_of(results)))),
        }
    }

    fn charts(&self) -> Result<Vec<Figure>, Failure> {
        match self {
            Source::File(kind, path) => (kind.charts)(path),
            Source::Runs(results) => Ok(page::all_charts(results)),
        }
    }
}

fn title_of(results: &[RunResult]) -> String {
    match results {
        [one] => match crate::quick::GridReport::of(one) {
            Some(report) => format!("How fast is {}?", report.title()),
            None => format!("Storage test: {}", one.source),
        },
        several => format!("Storage tests: {} results", several.len()),
    }
}

/// Writes one chart as an SVG file, or lists the names of all of them.
fn write_chart(
    source: &Source<'_>,
    name: &str,
    output: Option<PathBuf>,
    files: &[PathBuf],
    force: bool,
    streams: &mut Streams<'_>,
) -> Result<u8, Failure> {
    let charts = source.charts()?;
    if name == "list" {
        for chart in &charts {
            writeln!(streams.out, "{}: {}", harmless(&chart.id), harmless(&chart.title))?;
        }
        return Ok(0);
    }
    let Some(chart) = charts.iter().find(|chart| chart.id == name) else {
        let names: Vec<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
        let message = match names.is_empty() {
            true => format!("--chart={name}: these results have no charts"),
            false => format!("--chart: there is no chart `{name}`; there are {}", names.join(", ")),
        };
        return Err(Failure::new(message));
    };
    let output = output.unwrap_or_else(|| default_output(files, "svg"));
    put(&output, &chart.file(), force, streams)
}

/// The name of the first result with another extension, as a path in the current directory.
fn default_output(files: &[PathBuf], extension: &str) -> PathBuf {
    let stem = files.first().filter(|file| *file != Path::new("-")).and_then(|file| file.file_stem());
    let stem = stem.map_or_else(|| "report".to_owned(), |stem| stem.to_string_lossy().into_owned());
    // The name of a shell's pipe is only a number, so it is not used.
    match stem.bytes().all(|byte| byte.is_ascii_digit()) {
        true => PathBuf::from(format!("report.{extension}")),
        false => PathBuf::from(format!("{stem}.{extension}")),
    }
}

/// Prints the page or writes it to a file, and reports where it is.
pub(crate) fn put(output: &Path, page: &str, force: bool, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    if output == Path::new("-") {
        streams.out.write_all(page.as_bytes())?;
        return Ok(0);
    }
    write_page(output, page, force)?;
    writeln!(streams.err, "{}: {}", output.display(), crate::figures::size(page.len() as u64))?;
    Ok(0)
}

/// Writes a page or a chart. Without `--force`, an existing file is overwritten only if it is an earlier one of
/// the same kind.
fn write_page(path: &Path, page: &str, force: bool) -> Result<(), Failure> {
    let mark = if page.starts_with(chart::FILE_MARK) { chart::FILE_MARK } else { MARK };
    let is_earlier =
        || path.is_file() && std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(mark.as_bytes()));
    NewFile::new(path, force || is_earlier()).write(page.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_named_after_their_result() {
        let name = |file: &str| default_output(&[PathBuf::from(file)], "html").display().to_string();
        assert_eq!(name("/data/deep.json"), "deep.html");
        assert_eq!(name("x.sweep.jsonl"), "x.sweep.html");
        assert_eq!((name("-"), name("/dev/fd/63")), ("report.html".to_owned(), "report.html".to_owned()));
    }

    #[test]
    fn pages_have_the_mark_and_escape_what_they_are_given() {
        let text = r#"{"fio version":"fio-3.42","jobs":[{"jobname":"<b>&\"x\"","read":{"total_ios":4,"io_bytes":4096,"runtime":10,
            "clat_ns":{"mean":5,"bins":{"1000":2,"5000":2}}},"iodepth_level":{"1":100.0}}]}"#;
        let run = fathom_results::parse(text, "a<script>\u{1b}[31m\u{202e}.json").expect("reads");
        let page = page::html(&[run], "title & more");
        assert!(page.starts_with(MARK));
        assert!(page.contains("title &amp; more") && page.contains("&lt;b&gt;&amp;&quot;x&quot;"));
        assert!(page.contains("a&lt;script&gt;\u{fffd}[31m\u{fffd}.json") && !page.contains("a<script>"));
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "what a terminal would obey");
        assert_eq!(page.matches("<script>").count(), 1);
        assert_eq!(page.matches("<figure ").count(), 3, "percentiles, distribution, depths");
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
    }
}
