//! `fathom report`: results as one page that can be read anywhere, without a network.

mod chart;
mod charts;
mod page;

use crate::Command;
use crate::runner::Runner;
use fathom_results::RunResult;
use fathom_tools::{Failure, Streams, arguments};
use lexopt::Arg::{Long, Short, Value};
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

pub(crate) const COMMAND: Command = Command {
    name: "report",
    arguments: "RESULT... -o FILE",
    summary: "Pictures: one HTML page that needs no network",
    help: "\
Usage: fathom report [options] RESULT... -o report.html

Makes one self-contained page of results (JSON, JSON+ or lines of JSON, of fathom or of fio): summary, verdict, latency
percentiles and histogram, rates and latencies over time, depth, processor, devices; per job and all together. Several results
stand side by side. JSON+ has the histograms that most charts are best with. - is standard input.

  -o, --output=FILE   the page; - is standard output
      --title=TEXT    its heading
      --force         write over a file that is no earlier report
",
    run,
};

/// What every page begins with, so that an earlier report can be told from somebody's file.
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
    let Some(output) = output else {
        return Err(Failure::new("no page named: -o report.html says where it goes, -o - prints it"));
    };
    let results: Vec<RunResult> = files
        .iter()
        .map(|file| fathom_results::read(file).map_err(|error| Failure::new(error.to_string())))
        .collect::<Result<_, Failure>>()?;
    let title = title.unwrap_or_else(|| match results.as_slice() {
        [one] => format!("Storage test: {}", one.source),
        several => format!("Storage tests: {} results", several.len()),
    });
    let page = page::html(&results, &title);
    if output == Path::new("-") {
        streams.out.write_all(page.as_bytes())?;
        return Ok(0);
    }
    write_page(&output, &page, force)?;
    writeln!(streams.err, "{}: {}", output.display(), crate::figures::size(page.len() as u64))?;
    Ok(0)
}

/// Writes the page; nothing but an earlier page is overwritten unasked.
fn write_page(path: &Path, page: &str, force: bool) -> Result<(), Failure> {
    if !force && path.is_file() {
        let is_page =
            std::fs::read(path).is_ok_and(|bytes| bytes.is_empty() || bytes.starts_with(MARK.as_bytes()));
        if !is_page {
            return Err(Failure::new(format!(
                "{}: this file is no earlier report; name another one, or say --force to write over it",
                path.display()
            )));
        }
    }
    let mut file = std::fs::File::create(path).map_err(|error| Failure::file(path, &error))?;
    file.write_all(page.as_bytes()).map_err(|error| Failure::file(path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_the_mark_and_escape_what_they_are_given() {
        let text = r#"{"fio version":"fio-3.42","jobs":[{"jobname":"<b>&\"x\"","read":{"total_ios":4,"io_bytes":4096,"runtime":10,
            "clat_ns":{"mean":5,"bins":{"1000":2,"5000":2}}},"iodepth_level":{"1":100.0}}]}"#;
        let run = fathom_results::parse(text, "a<script>.json").expect("reads");
        let page = page::html(&[run], "title & more");
        assert!(page.starts_with(MARK));
        assert!(page.contains("title &amp; more") && page.contains("&lt;b&gt;&amp;&quot;x&quot;"));
        assert!(page.contains("a&lt;script&gt;.json") && !page.contains("a<script>"));
        assert_eq!(page.matches("<script>").count(), 1);
        assert_eq!(page.matches("<figure ").count(), 3, "percentiles, distribution, depths");
        for outside in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
    }
}
