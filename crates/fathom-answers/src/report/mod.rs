//! `fathom report`: results as one self-contained page.

mod chart;
mod charts;
mod curve;
mod grid;
mod hosts;
mod intervals;
mod page;
mod pts;
mod shell;
mod sweep;

pub(crate) use chart::Series;
pub(crate) use charts::{charts, percentiles};
pub(crate) use intervals::{Change, html as intervals};
pub(crate) use shell::{Link, sentences, shell};

use crate::Command;
use crate::curve::record as curve_results;
use crate::pts::record as pts_results;
use crate::results_file;
use crate::runner::Runner;
use crate::sweep::record as sweep_results;
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

  -o, --output=FILE   the page (default: the name of the first result with .html); - is standard output
      --title=TEXT    its heading
      --force         overwrite a file that is not an earlier report
",
    run,
};

/// The start of every page; it distinguishes an earlier report from other files.
const MARK: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>";

fn run(words: &[OsString], streams: &mut Streams<'_>, _: &mut dyn Runner) -> Result<u8, Failure> {
    let (mut files, mut output, mut title, mut force) = (Vec::new(), None, None, false);
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('o') | Long("output") => output = Some(PathBuf::from(parser.value()?)),
            Long("title") => title = Some(arguments::text(&mut parser, "--title")?),
            Long("force") => force = true,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    let files = arguments::some_files(files)?;
    let output = output.unwrap_or_else(|| default_output(&files));
    if let Some(path) =
        files.iter().find(|path| results_file::is_results::<sweep_results::RecordedSweep>(path))
    {
        let [one] = &files[..] else {
            return Err(Failure::new(format!(
                "{}: a sweep needs its own page; name it alone, or compare two with fathom compare -o FILE A B",
                path.display()
            )));
        };
        let title = title.unwrap_or_else(|| format!("Sweep: {}", one.display()));
        return put(&output, &sweep::page(one, &title)?, force, streams);
    }
    if let Some(path) = files.iter().find(|path| results_file::is_results::<pts_results::RecordedTest>(path))
    {
        let [one] = &files[..] else {
            return Err(Failure::new(format!(
                "{}: a PTS test needs its own page; name it alone",
                path.display()
            )));
        };
        return put(&output, &pts::page(one, title.as_deref())?, force, streams);
    }
    if let Some(path) =
        files.iter().find(|path| results_file::is_results::<curve_results::RecordedCurve>(path))
    {
        let [one] = &files[..] else {
            return Err(Failure::new(format!(
                "{}: curves need their own page; name the file alone",
                path.display()
            )));
        };
        let title = title.unwrap_or_else(|| format!("Curve: {}", one.display()));
        return put(&output, &curve::page(one, &title)?, force, streams);
    }
    let results: Vec<RunResult> = files
        .iter()
        .map(|file| fathom_results::read(file).map_err(|error| Failure::new(error.to_string())))
        .collect::<Result<_, Failure>>()?;
    let title = title.unwrap_or_else(|| match results.as_slice() {
        [one] => match crate::quick::GridReport::of(one) {
            Some(report) => format!("How fast is {}?", report.title()),
            None => format!("Storage test: {}", one.source),
        },
        several => format!("Storage tests: {} results", several.len()),
    });
    let page = page::html(&results, &title);
    put(&output, &page, force, streams)
}

/// The name of the first result, with another extension, in the current directory.
fn default_output(files: &[PathBuf]) -> PathBuf {
    let stem = files.first().filter(|file| *file != Path::new("-")).and_then(|file| file.file_stem());
    let stem = stem.map_or_else(|| "report".to_owned(), |stem| stem.to_string_lossy().into_owned());
    // The name of a shell's pipe is a number.
    match stem.bytes().all(|byte| byte.is_ascii_digit()) {
        true => PathBuf::from("report.html"),
        false => PathBuf::from(format!("{stem}.html")),
    }
}

/// Prints the page or writes it to its file, and reports where it is.
pub(crate) fn put(output: &Path, page: &str, force: bool, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    if output == Path::new("-") {
        streams.out.write_all(page.as_bytes())?;
        return Ok(0);
    }
    write_page(output, page, force)?;
    writeln!(streams.err, "{}: {}", output.display(), crate::figures::size(page.len() as u64))?;
    Ok(0)
}

/// Writes the page; only an earlier page is overwritten without `--force`.
fn write_page(path: &Path, page: &str, force: bool) -> Result<(), Failure> {
    let is_page =
        || path.is_file() && std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(MARK.as_bytes()));
    NewFile::new(path, force || is_page()).write(page.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_named_after_their_result() {
        let name = |file: &str| default_output(&[PathBuf::from(file)]).display().to_string();
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
