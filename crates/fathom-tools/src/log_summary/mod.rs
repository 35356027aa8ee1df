//! Bandwidth, IOPS and latency logs by time interval, over several jobs.

pub(crate) mod intervals;
pub(crate) mod series;

use crate::{FioProgram, Tool};
use arguments::Format;
use fathom_command::{Failure, Streams, arguments};
use fathom_stats::Direction;
use intervals::Interval;
use lexopt::Arg::{Long, Short, Value};
use serde_json::{Value as Json, json};
use series::{Kind, Series};
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) const TOOL: Tool = Tool {
    name: "log-summary",
    summary: "Averages and percentiles per interval of bandwidth, IOPS and latency logs",
    help: "\
Usage: fathom log-summary [OPTION...] LOG...

Reads logs of write_bw_log, write_iops_log and write_lat_log, compressed or not, merges them, and prints a line for
each interval and one for the whole run. A window of an averaged log counts in each interval by its overlap; in a log of
single I/Os each I/O counts once. Each file and direction is a series.

  --interval=TIME          length of an interval; default 1s
  --combine=sum|average    the sum of the means of all series, or the average over their lines; default average
  --each                   print the mean of each series instead of percentiles over all of them
  --direction=read|write|trim  only this direction
  --percentiles=LIST       default 50,90,95,99
  --divisor=NUMBER         divide all values by this, for example 1000 for latencies in us
  --format=text|csv|json   default text
",
    run,
    fio_programs: &[FioProgram { name: "fiologparser.py", run: run_as_fio }],
};

/// The numbers of directions in logs, by name.
pub(crate) fn direction_numbers() -> [(&'static str, u8); 3] {
    Direction::ALL.map(|direction| (direction.word(), direction as u8))
}

#[derive(Debug)]
struct Options {
    interval_ms: f64,
    sum: bool,
    each: bool,
    percentiles: Vec<f64>,
    divisor: f64,
    format: Format,
}

fn run(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let mut options = Options {
        interval_ms: 1000.0,
        sum: false,
        each: false,
        percentiles: vec![50.0, 90.0, 95.0, 99.0],
        divisor: 1.0,
        format: Format::Text,
    };
    let (mut direction, mut files) = (None, Vec::new());
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Long("interval") | Short('i') => {
                options.interval_ms = arguments::milliseconds(&mut parser, "--interval")?;
            }
            Long("combine") => {
                options.sum =
                    arguments::choice(&mut parser, "--combine", &[("sum", true), ("average", false)])?;
            }
            Long("each") => options.each = true,
            Long("direction") => {
                direction = Some(arguments::choice(&mut parser, "--direction", &direction_numbers())?)
            }
            Long("percentiles") => {
                options.percentiles = arguments::percentiles(&mut parser, "--percentiles")?
            }
            Long("divisor") | Short('d') => options.divisor = divisor(&mut parser, "--divisor")?,
            Long("format") => {
                let offered = [Format::Text, Format::Csv, Format::Json];
                options.format = arguments::format(&mut parser, &offered)?;
            }
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    let all = series::read(&arguments::some_files(files)?, direction)?;
    let intervals = intervals::divide(&all, options.interval_ms)?;
    let whole = intervals::whole(&all);
    match options.format {
        Format::Json => {
            let rows: Vec<Json> = intervals.iter().map(|interval| options.json(interval, &all)).collect();
            let document = json!({"intervals": rows, "all": options.json(&whole, &all)});
            writeln!(streams.out, "{document:#}")?;
        }
        Format::Csv => print_rows(&options, &all, &intervals, &whole, ",", 0, streams)?,
        Format::Text => {
            writeln!(streams.out, "{}", options.heading(&all))?;
            print_rows(&options, &all, &intervals, &whole, "  ", 12, streams)?;
        }
    }
    Ok(0)
}

fn divisor(parser: &mut lexopt::Parser, option: &str) -> Result<f64, Failure> {
    match arguments::fraction(parser, option)? {
        0.0 => Err(Failure::new(format!("{option}: cannot divide by 0"))),
        divisor => Ok(divisor),
    }
}

impl Options {
    /// What the values are, and their unit.
    fn heading(&self, all: &[Series]) -> String {
        let first = all.first().and_then(|series| series.kind());
        let kind = first.filter(|_| all.iter().all(|series| series.kind() == first));
        let what = kind.map_or("Values in the units of the logs (KiB/s, IOPS or ns)", Kind::heading);
        match self.divisor {
            1.0 => what.to_owned(),
            divisor => format!("{what}, divided by {divisor}"),
        }
    }

    fn columns(&self, all: &[Series]) -> Vec<String> {
        if self.each {
            let name = |series: &Series| {
                format!("{}:{}", series.file.display(), Direction::ALL[usize::from(series.direction)].word())
            };
            return all.iter().map(name).collect();
        }
        let mean = if self.sum { "sum" } else { "average" };
        let percentiles = self.percentiles.iter().map(|percent| format!("p{percent}"));
        let first = ["samples", mean, "min"].map(str::to_owned).into_iter();
        first.chain(percentiles).chain(["max".to_owned()]).collect()
    }

    /// The values of a line; `None` without samples.
    fn values(&self, interval: &Interval) -> Vec<Option<f64>> {
        let divided = |value: Option<f64>| value.map(|value| value / self.divisor);
        if self.each {
            return interval.means.iter().map(|mean| divided(*mean)).collect();
        }
        let sum = (interval.samples() > 0).then(|| interval.sum());
        let mean = if self.sum { sum } else { interval.average() };
        let percentiles = self.percentiles.iter().map(|percent| divided(interval.percentile(*percent)));
        [Some(interval.samples() as f64), divided(mean), divided(interval.percentile(0.0))]
            .into_iter()
            .chain(percentiles)
            .chain([divided(interval.percentile(100.0))])
            .collect()
    }

    fn json(&self, interval: &Interval, all: &[Series]) -> Json {
        let mut object = serde_json::Map::new();
        object.insert("end_ms".to_owned(), json!(interval.end_ms));
        for (column, value) in self.columns(all).into_iter().zip(self.values(interval)) {
            object.insert(column, json!(value));
        }
        Json::Object(object)
    }
}

fn print_rows(
    options: &Options,
    all: &[Series],
    intervals: &[Interval],
    whole: &Interval,
    separator: &str,
    width: usize,
    streams: &mut Streams<'_>,
) -> Result<(), Failure> {
    let columns = options.columns(all);
    let head: Vec<String> = columns.iter().map(|column| format!("{column:>width$}")).collect();
    writeln!(streams.out, "{:>width$}{separator}{}", "end_ms", head.join(separator))?;
    let rows = intervals.iter().map(|interval| (interval.end_ms.to_string(), interval));
    for (time, interval) in rows.chain([("all".to_owned(), whole)]) {
        let cells: Vec<String> = options
            .values(interval)
            .iter()
            .zip(&columns)
            .map(|(value, column)| match value {
                Some(count) if column == "samples" => format!("{count:>width$}"),
                Some(value) => format!("{value:>width$.3}"),
                None => format!("{:>width$}", if width > 0 { "-" } else { "" }),
            })
            .collect();
        writeln!(streams.out, "{time:>width$}{separator}{}", cells.join(separator))?;
    }
    Ok(())
}

const FIO_USAGE: &str =
    "usage: fiologparser.py [-h] [-i INTERVAL] [-d DIVISOR] [-f] [-A] [-a] [-s] FILE [FILE ...]";

/// Output of fiologparser.py.
#[derive(Clone, Copy, PartialEq)]
enum Report {
    Total,
    Each,
    All,
    Average,
    Sum,
}

fn run_as_fio(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut interval_ms, mut by, mut report, mut files) = (1000.0, 1.0, Report::Total, Vec::new());
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Short('h') | Long("help") => {
                writeln!(
                    streams.out,
                    "{FIO_USAGE}\n\n  -i, --interval  milliseconds of an interval (1000)\n  -d, --divisor   divide values by \
                     this\n  -f, --full      values of each file\n  -A, --all       all statistics\n  -a, --average   \
                     average over the files\n  -s, --sum       sum over the files"
                )?;
                return Ok(0);
            }
            // The help of fio's program says seconds, but it takes milliseconds.
            Short('i') | Long("interval") => interval_ms = divisor(&mut parser, "-i")?,
            Short('d') | Long("divisor") => by = divisor(&mut parser, "-d")?,
            Short('f') | Long("full") => report = Report::Each,
            Short('A') | Long("all") => report = Report::All,
            Short('a') | Long("average") => report = Report::Average,
            Short('s') | Long("sum") => report = Report::Sum,
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    if files.is_empty() {
        writeln!(
            streams.err,
            "{FIO_USAGE}\nfiologparser.py: error: the following arguments are required: FILE"
        )?;
        return Ok(2);
    }
    let all = series::read(&files, None)?;
    if report == Report::Total {
        writeln!(streams.out, "{:.3}", intervals::whole(&all).average().unwrap_or_default() / by)?;
        return Ok(0);
    }
    if report == Report::All {
        writeln!(streams.out, "start-time, samples, min, avg, median, 90%, 95%, 99%, max")?;
    }
    let end_ms = intervals::whole(&all).end_ms;
    for interval in intervals::divide(&all, interval_ms)? {
        let means = means_of_files(&interval, &all);
        let values: Vec<f64> = match report {
            Report::Total | Report::Average => vec![means.iter().sum::<f64>() / means.len().max(1) as f64],
            Report::Sum => vec![means.iter().sum()],
            Report::Each => means,
            Report::All => {
                let percentile = |percent: f64| interval.percentile(percent).unwrap_or_default();
                let mean = interval.average().unwrap_or_default();
                let rest = [50.0, 90.0, 95.0, 99.0, 100.0].map(percentile);
                [percentile(0.0), mean].into_iter().chain(rest).collect()
            }
        };
        let count = if report == Report::All { format!(", {}", interval.samples()) } else { String::new() };
        let values: Vec<String> = values.iter().map(|value| format!("{:.3}", value / by)).collect();
        writeln!(streams.out, "{}{count}, {}", interval.end_ms.min(end_ms), values.join(", "))?;
    }
    Ok(0)
}

/// The mean of each file over all directions; 0 without samples.
fn means_of_files(interval: &Interval, all: &[Series]) -> Vec<f64> {
    let mut files: Vec<(&PathBuf, f64, u32)> = Vec::new();
    for (series, mean) in all.iter().zip(&interval.means) {
        let place = match files.iter().position(|(file, ..)| *file == &series.file) {
            Some(place) => place,
            None => {
                files.push((&series.file, 0.0, 0));
                files.len() - 1
            }
        };
        if let Some(mean) = mean {
            files[place].1 += mean;
            files[place].2 += 1;
        }
    }
    files.into_iter().map(|(_, sum, count)| sum / f64::from(count.max(1))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(main: crate::ToolMain, options: &str, logs: &[&str]) -> String {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut words: Vec<OsString> = options.split_whitespace().map(OsString::from).collect();
        for (number, log) in logs.iter().enumerate() {
            let path = directory.path().join(format!("p_bw.{number}.log"));
            std::fs::write(&path, log).expect("it can be written");
            words.push(path.into());
        }
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = main(&words, &mut Streams { out: &mut out, err: &mut err }).expect("it works");
        assert_eq!(code, 0);
        String::from_utf8(out).expect("text")
    }

    const ONE: &str = "500, 400, 0, 0, 0\n1000, 608, 0, 0, 0\n1500, 100, 0, 0, 0\n";
    const TWO: &str = "1000, 100, 1, 0, 0\n2000, 300, 1, 0, 0\n";

    #[test]
    fn fios_forms() {
        assert_eq!(printed(run_as_fio, "-s", &[ONE]), "1000, 504.000\n1500, 100.000\n");
        assert_eq!(printed(run_as_fio, "-s -i 2000", &[ONE, TWO]), "2000, 477.000\n");
        // Lines of both directions form one series.
        let both = "1000, 100, 0, 0, 0\n1000, 300, 1, 0, 0\n";
        assert_eq!(printed(run_as_fio, "-s", &[both, both]), "1000, 400.000\n");
        assert_eq!(
            printed(run_as_fio, "-f -d 2", &[ONE, TWO]),
            "1000, 252.000, 50.000\n2000, 25.000, 150.000\n"
        );
        assert_eq!(printed(run_as_fio, "-a", &[ONE, TWO]), "1000, 302.000\n2000, 175.000\n");
        assert_eq!(printed(run_as_fio, "", &[TWO]), "200.000\n");
        let all = printed(run_as_fio, "-A", &[TWO]);
        assert!(
            all.ends_with("\n2000, 1, 300.000, 300.000, 300.000, 300.000, 300.000, 300.000, 300.000\n"),
            "{all}"
        );
    }

    #[test]
    fn own_forms() {
        let csv = printed(run, "--format=csv --percentiles=50 --combine=sum", &[ONE, TWO]);
        assert_eq!(
            csv,
            "end_ms,samples,sum,min,p50,max\n1000,3,604.000,100.000,100.000,608.000\n\
             2000,2,350.000,100.000,300.000,300.000\nall,5,477.000,100.000,300.000,608.000\n"
        );
        let json: Json = serde_json::from_str(&printed(run, "--format=json --each", &[TWO])).expect("JSON");
        assert_eq!(json["intervals"].as_array().map(Vec::len), Some(2));
        let text = printed(run, "--direction=write", &[ONE, TWO]);
        assert_eq!((text.lines().next(), text.lines().count()), (Some("Bandwidth in KiB/s"), 5));
        let text = printed(run, "--divisor=1024", &[ONE]);
        assert!(text.starts_with("Bandwidth in KiB/s, divided by 1024\n"), "{text}");
    }
}
