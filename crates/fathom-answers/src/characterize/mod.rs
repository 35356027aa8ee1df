//! `fathom characterize`: what load is this?

mod calls;
pub(crate) mod output;
mod page;
mod section;
pub(crate) mod sentence;
pub(crate) mod trace;

use crate::table::Format;
use crate::{Command, Runner, columns};
use fathom_command::{Failure, Streams, arguments};
use lexopt::Arg::{Long, Short, Value};
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) const COMMAND: Command = Command {
    name: "characterize",
    arguments: "TRACE",
    summary: "What load is this trace?",
    help: "\
Usage: fathom characterize [options] TRACE

Says what load a trace is, in a sentence and in figures: directions, sizes,
sequential streams, footprint, skew, reuse, flushes; arrivals, bursts, depth and
think time; latencies before and within the device, and how all of it changes.

TRACE comes from fathom record (of devices or files) or blktrace, or is the text of blkparse or
biosnoop, or a trace of a public collection (MSR Cambridge, Alibaba, Tencent,
SPC, FIU), compressed (zstd, gzip) or not. - is standard input.

  --format=text|json  default text
  -o, --output=FILE   write a page with charts instead; - is standard output
      --title=TEXT    its heading
      --force         overwrite a file that is not an earlier page

Exit: 0, or 1 if the trace is unreadable or contains no requests.
",
    run,
};

fn run(words: &[OsString], streams: &mut Streams<'_>, _: &mut dyn Runner) -> Result<u8, Failure> {
    let (mut files, mut format, mut output, mut title, mut force) =
        (Vec::new(), Format::Text, None, None, false);
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("format" | "output-format") => {
                let formats = [("text", Format::Text), ("json", Format::Json)];
                format = arguments::choice(&mut parser, "--format", &formats)?;
            }
            Short('o') | Long("output") => output = Some(PathBuf::from(parser.value()?)),
            Long("title") => title = Some(arguments::text(&mut parser, "--title")?),
            Long("force") => force = true,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    let found = trace::characterize(&arguments::one_file(files)?)?;
    if let Some(path) = output {
        let title = title.unwrap_or_else(|| format!("Load: {}", found.name));
        crate::report::put(&path, &page::page(&found, &title), force, streams)?;
        return Ok(0);
    }
    match format {
        Format::Json => streams.out.write_all(output::json(&found)?.as_bytes())?,
        _ => crate::output::print_long(streams, &output::text(&found, columns::of_terminal()))?,
    }
    Ok(0)
}
