//! Measures the share of duplicates in a file or device, and how well the rest compresses. Read-only.

mod bloom;
mod compress;
mod report;
mod scan;
mod table;

use crate::{FioProgram, Tool};
use arguments::Format;
use fathom_command::{Failure, Streams, arguments};
use lexopt::Arg::{Long, Short, Value};
use scan::{Method, Options, Progress};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

pub(crate) const TOOL: Tool = Tool {
    name: "dedupe",
    summary: "Estimate how well a file or device deduplicates and compresses",
    help: "\
Usage: fathom dedupe [OPTION...] FILE

Reads a file or block device in chunks and counts the unique ones. It writes nothing to it. It also prints the setting
that gives a job's buffers the same share of duplicates.

  --block-size=SIZE      size of a chunk; default 4k. A remainder at the end is not counted
  --threads=N            number of threads; default one per CPU
  --direct               bypass the page cache (O_DIRECT)
  --compress             also sum the sizes of the unique chunks, each compressed (deflate)
  --method=exact|bloom   exact keeps a table of all unique chunks (about 100 bytes each); bloom takes 2 bytes per
                         chunk, at most 1 GiB, and may count a few unique chunks as duplicates.
                         Default: exact up to 4 million chunks
  --compare              compare the chunks themselves if their hashes (MD5) match; needs exact
  --extents              list each unique chunk with its offsets; needs exact
  --format=text|json     default text
",
    run,
    fio_programs: &[FioProgram { name: "fio-dedupe", run: run_as_fio }],
};

/// Maximum number of chunks for which the exact method is the default.
const EXACT_CHUNKS: u64 = 4 << 20;

fn run(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let mut options = Options::default();
    let (mut method, mut format, mut files) = (None, Format::Text, Vec::new());
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Long("block-size") | Short('b') => {
                options.block_size = arguments::size(&mut parser, "--block-size")?;
            }
            Long("threads") | Short('t') => {
                options.threads = arguments::number(&mut parser, "--threads", 1)? as usize;
            }
            Long("direct") => options.direct = true,
            Long("compress") => options.compress = true,
            Long("compare") => options.compare = true,
            Long("extents") => options.keep_offsets = true,
            Long("method") => {
                let methods = [("exact", Method::Exact), ("bloom", Method::Bloom)];
                method = Some(arguments::choice(&mut parser, "--method", &methods)?);
            }
            Long("format") => format = arguments::format(&mut parser, &[Format::Text, Format::Json])?,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    let needs_table = options.compare || options.keep_offsets;
    if needs_table && method == Some(Method::Bloom) {
        return Err(Failure::new(
            "--compare and --extents need --method=exact: a Bloom filter keeps no chunks",
        ));
    }
    if std::io::stderr().is_terminal() {
        options.progress = Progress::StandardError;
    }
    let target = scan::Target::open(&arguments::one_file(files)?, &options)?;
    let few = target.chunks() <= EXACT_CHUNKS;
    options.method = method.unwrap_or(if few || needs_table { Method::Exact } else { Method::Bloom });
    let found = scan::run(&target, &options, streams)?;
    match format {
        Format::Json => report::json(&target, &options, &found, streams)?,
        Format::Text | Format::Csv => report::text(&options, &found, streams)?,
    }
    Ok(0)
}

const FIO_USAGE: &str = "\
Finds chunks of a file or device that are the same

fio-dedupe: [options] <device or file>
\t-b\tChunk size
\t-t\tThreads
\t-d\tPrint every chunk
\t-o\tRead with O_DIRECT
\t-c\tCompare chunks whose hashes agree
\t-B\tUse a bloom filter
\t-p\tShow the progress
\t-C\tSum up the compressed size";

fn run_as_fio(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let mut options =
        Options { progress: Progress::StandardOutput, method: Method::Bloom, ..Options::default() };
    match read_fio_options(words, &mut options) {
        Ok(Some(file)) => check_as_fio(&file, &options, streams),
        Ok(None) => usage(streams, None),
        Err(failure) => usage(streams, Some(failure)),
    }
}

fn usage(streams: &mut Streams<'_>, failure: Option<Failure>) -> Result<u8, Failure> {
    if let Some(failure) = failure {
        writeln!(streams.err, "fio-dedupe: {failure}")?;
    }
    writeln!(streams.err, "{FIO_USAGE}")?;
    Ok(1)
}

fn read_fio_options(words: &[OsString], options: &mut Options) -> Result<Option<PathBuf>, Failure> {
    let mut file = None;
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Short('b') => options.block_size = arguments::size(&mut parser, "-b")?,
            Short('t') => match arguments::number(&mut parser, "-t", 0)? {
                0 => {}
                threads => options.threads = threads as usize,
            },
            Short('d') => options.keep_offsets = switch(&mut parser, "-d")?,
            Short('o') => options.direct = switch(&mut parser, "-o")?,
            Short('c') => options.compare = switch(&mut parser, "-c")?,
            Short('p') => {
                let shown = switch(&mut parser, "-p")?;
                options.progress = if shown { Progress::StandardOutput } else { Progress::None };
            }
            Short('B') => {
                let bloom = switch(&mut parser, "-B")?;
                options.method = if bloom { Method::Bloom } else { Method::Exact };
            }
            Short('C') => options.compress = switch(&mut parser, "-C")?,
            Value(value) if file.is_none() => file = Some(PathBuf::from(value)),
            Value(_) => {}
            other => return Err(other.unexpected().into()),
        }
    }
    // These options need the chunks themselves, so they select the exact method regardless of -B.
    if options.keep_offsets || options.compare || options.compress {
        options.method = Method::Exact;
    }
    Ok(file)
}

fn switch(parser: &mut lexopt::Parser, option: &str) -> Result<bool, Failure> {
    Ok(arguments::number(parser, option, 0)? != 0)
}

fn check_as_fio(file: &Path, options: &Options, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let target = scan::Target::open(file, options)?;
    let (name, size, threads) = (file.display(), target.size, options.threads);
    writeln!(streams.out, "Will check <{name}>, size <{size}>, using {threads} threads")?;
    let found = scan::run(&target, options, streams)?;
    report::text(options, &found, streams)?;
    Ok(0)
}

impl Default for Options {
    fn default() -> Options {
        Options {
            block_size: 4096,
            threads: available_parallelism().map_or(1, usize::from),
            keep_offsets: false,
            direct: false,
            compare: false,
            compress: false,
            method: Method::Exact,
            progress: Progress::None,
        }
    }
}
