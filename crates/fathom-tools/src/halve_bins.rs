//! Merges neighbouring bins of a histogram log to shorten it, equivalent to a higher `log_hist_coarseness`.

use crate::{FioProgram, Tool, input};
use fathom_command::{Failure, Streams, arguments};
use fathom_logs::histogram_line::{HistogramLine, coarseness_of};
use lexopt::Arg::{Long, Short, Value};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use thiserror::Error;

pub(crate) const TOOL: Tool = Tool {
    name: "halve-bins",
    summary: "Shorten a histogram log by merging bins",
    help: "\
Usage: fathom halve-bins [--times=N] FILE...

Prints a histogram log (write_hist_log) with every 2^N neighbouring bins merged into one, in the same layout. The result
is the log of a job with log_hist_coarseness higher by N. - is standard input.

  --times=N  how many times to halve the number of bins; default 1
",
    run,
    fio_programs: &[FioProgram { name: "half-bins.py", run: run_as_fio }],
};

/// Maximum coarseness of a log with all bins.
const MOST: u32 = 6;

fn run(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut times, mut files) = (1, Vec::new());
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Long("times") | Short('n') => times = arguments::number(&mut parser, "--times", 0)?,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    for file in arguments::some_files(files)? {
        halve(&file, times, streams)?;
    }
    Ok(0)
}

const FIO_USAGE: &str = "usage: half-bins.py [-h] [-c COARSENESS] FILENAME";

fn run_as_fio(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut times, mut files) = (1, Vec::new());
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Short('h') | Long("help") => {
                writeln!(
                    streams.out,
                    "{FIO_USAGE}\n\n  -c N, --coarseness N  halve the number of bins N times (1)"
                )?;
                return Ok(0);
            }
            Short('c') | Long("coarseness") => times = arguments::number(&mut parser, "-c", 0)?,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    if files.is_empty() {
        writeln!(
            streams.err,
            "{FIO_USAGE}\nhalf-bins.py: error: the following arguments are required: FILENAME"
        )?;
        return Ok(2);
    }
    halve(&arguments::one_file(files)?, times, streams)?;
    Ok(0)
}

fn halve(file: &Path, times: u64, streams: &mut Streams<'_>) -> Result<(), Failure> {
    let mut reader = input::open(file)?;
    let mut text = Vec::new();
    let mut unwritten = Ok(());
    input::lines(file, &mut reader, |line| -> Result<(), NotHalved> {
        let line = HistogramLine::parse(line).ok_or(NotHalved::NoLine)?;
        text.clear();
        coarser(line, times)?.write_line(&mut text);
        if unwritten.is_ok() {
            unwritten = streams.out.write_all(&text);
        }
        Ok(())
    })?;
    Ok(unwritten?)
}

/// Reason for which a line's bins cannot be halved.
#[derive(Debug, Error)]
enum NotHalved {
    #[error("not a line of a histogram log")]
    NoLine,
    #[error("its {count} bins can be halved at most {room} times, not {times} times")]
    TooFewBins { count: usize, room: u32, times: u64 },
}

/// The line with 2^times bins merged into one.
fn coarser(line: HistogramLine, times: u64) -> Result<HistogramLine, NotHalved> {
    let room = MOST - coarseness_of(line.bins.len()).unwrap_or(MOST);
    if times > u64::from(room) {
        return Err(NotHalved::TooFewBins { count: line.bins.len(), room, times });
    }
    let merged = |chunk: &[u64]| chunk.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
    let bins = line.bins.chunks(1 << times).map(merged).collect();
    Ok(HistogramLine { bins, ..line })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(coarseness: u32, seed: u64) -> HistogramLine {
        let bins = (0..1856u64 >> coarseness).map(|bin| bin.wrapping_mul(seed) % 1000).collect();
        HistogramLine { time_ms: 5, direction: 1, block_size: 4096, bins }
    }

    proptest! {
        #[test]
        fn counts_stay_and_steps_compose(seed: u64, first in 0u64..4, second in 0u64..3) {
            let whole = line(0, seed);
            let at_once = coarser(whole.clone(), first + second).expect("within 6");
            let in_steps = coarser(coarser(whole.clone(), first).expect("within 6"), second).expect("within 6");
            prop_assert_eq!(at_once.bins.iter().sum::<u64>(), whole.bins.iter().sum::<u64>());
            prop_assert_eq!(at_once, in_steps);
        }
    }

    #[test]
    fn there_is_a_limit() {
        assert!(coarser(line(5, 1), 2).expect_err("58 bins").to_string().contains("at most 1 times"));
        assert_eq!(coarser(line(0, 1), 6).expect("the limit").bins.len(), 29);
    }
}
