//! Latency percentiles per time interval, from histogram logs of one or more jobs.

mod fio_programs;
mod histogram;
mod windows;

use crate::log_summary::direction_numbers;
use crate::{FioProgram, Tool};
use arguments::Format;
use fathom_command::{Failure, Streams, arguments};
use histogram::{Histogram, Layout};
use lexopt::Arg::{Long, Short, Value};
use serde_json::{Value as Json, json};
use std::ffi::OsString;
use std::path::PathBuf;
use windows::Rules;

pub(crate) const TOOL: Tool = Tool {
    name: "histogram-summary",
    summary: "Latency percentiles per interval of histogram logs",
    help: "\
Usage: fathom histogram-summary [OPTION...] LOG...

Reads logs of write_hist_log, of any coarseness, merges them, and prints samples, mean and percentiles for each
interval and for the whole run. A window that spans two intervals is split by overlap. Values are assumed to be spread
evenly within a bin: p0 is the lower bound of the first bin used, p100 the upper bound of the last.

  --interval=TIME          length of an interval; default 1s
  --percentiles=LIST       default 0,50,90,95,99,99.9,100
  --unit=nsec|usec|msec    of latencies; default usec
  --direction=read|write|trim  only this direction
  --window=TIME            length of a window (log_hist_msec); default: from one line to the next
  --format=text|csv|json   default text
",
    run,
    fio_programs: &[
        FioProgram { name: "fio-histo-log-pctiles.py", run: fio_programs::percentiles },
        FioProgram { name: "fiologparser_hist.py", run: fio_programs::weighted },
    ],
};

/// Units of latencies and the nanoseconds in them.
const UNITS: [(&str, f64); 3] = [("nsec", 1.0), ("usec", 1e3), ("msec", 1e6)];

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            layout: Layout::NANOSECONDS,
            interval_ms: 1000.0,
            window_ms: None,
            by_overlap: true,
            direction: None,
            latency_limit_ns: f64::INFINITY,
        }
    }
}

fn run(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut rules, mut files) = (Rules::default(), Vec::new());
    let mut shown = Shown { percentiles: vec![0.0, 50.0, 90.0, 95.0, 99.0, 99.9, 100.0], unit_ns: 1e3 };
    let mut format = Format::Text;
    let mut parser = lexopt::Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Long("interval") | Short('i') => {
                rules.interval_ms = arguments::milliseconds(&mut parser, "--interval")?;
            }
            Long("percentiles") => shown.percentiles = arguments::percentiles(&mut parser, "--percentiles")?,
            Long("unit") => shown.unit_ns = arguments::choice(&mut parser, "--unit", &UNITS)?,
            Long("direction") => {
                rules.direction = Some(arguments::choice(&mut parser, "--direction", &direction_numbers())?);
            }
            Long("window") => rules.window_ms = Some(arguments::milliseconds(&mut parser, "--window")?),
            Long("format") => {
                let offered = [Format::Text, Format::Csv, Format::Json];
                format = arguments::format(&mut parser, &offered)?;
            }
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    let windows = windows::read(&arguments::some_files(files)?, &rules)?;
    let intervals = windows::divide(&windows, &rules)?;
    let whole = windows::whole(&windows, &rules);
    match format {
        Format::Json => {
            let rows: Vec<Json> = intervals
                .iter()
                .map(|interval| {
                    let mut row = shown.json(&interval.histogram);
                    (row["start_ms"], row["end_ms"]) = (json!(interval.start_ms), json!(interval.end_ms));
                    row
                })
                .collect();
            writeln!(
                streams.out,
                "{:#}",
                json!({"unit": shown.unit(), "intervals": rows, "all": shown.json(&whole)})
            )?;
        }
        Format::Text | Format::Csv => {
            let (separator, width) = if format == Format::Csv { (",", 0) } else { ("  ", 12) };
            if format == Format::Text {
                writeln!(streams.out, "Latencies in {}", shown.unit())?;
            }
            writeln!(streams.out, "{:>width$}{separator}{}", "end_ms", shown.head(separator, width))?;
            let rows = intervals.iter().map(|interval| (interval.end_ms.to_string(), &interval.histogram));
            for (time, histogram) in rows.chain([("all".to_owned(), &whole)]) {
                writeln!(streams.out, "{time:>width$}{separator}{}", shown.row(histogram, separator, width))?;
            }
        }
    }
    Ok(0)
}

/// Statistics to print for a histogram.
struct Shown {
    percentiles: Vec<f64>,
    unit_ns: f64,
}

impl Shown {
    /// The name of the unit.
    fn unit(&self) -> &'static str {
        UNITS.iter().find(|(_, ns)| *ns == self.unit_ns).map_or("nsec", |(name, _)| name)
    }

    fn head(&self, separator: &str, width: usize) -> String {
        let percentiles = self.percentiles.iter().map(|percent| format!("p{percent}"));
        let columns = ["samples", "mean"].map(str::to_owned).into_iter().chain(percentiles);
        columns.map(|column| format!("{column:>width$}")).collect::<Vec<_>>().join(separator)
    }

    /// Mean and percentiles in the unit.
    fn values(&self, histogram: &Histogram) -> Vec<Option<f64>> {
        let percentiles = self.percentiles.iter().map(|percent| histogram.percentile_ns(*percent));
        let all = [histogram.mean_ns()].into_iter().chain(percentiles);
        all.map(|value| value.map(|value| value / self.unit_ns)).collect()
    }

    fn row(&self, histogram: &Histogram, separator: &str, width: usize) -> String {
        let missing = if width > 0 { "-" } else { "" };
        let values = self.values(histogram).into_iter().map(|value| match value {
            Some(value) => format!("{value:>width$.3}"),
            None => format!("{missing:>width$}"),
        });
        let samples = format!("{:>width$.0}", histogram.total());
        [samples].into_iter().chain(values).collect::<Vec<_>>().join(separator)
    }

    fn json(&self, histogram: &Histogram) -> Json {
        let mut values = self.values(histogram).into_iter();
        let mut object = json!({"samples": histogram.total(), "mean": values.next().flatten()});
        let percentiles = self.percentiles.iter().map(|percent| format!("{percent}"));
        object["percentiles"] =
            percentiles.zip(values).map(|(percent, value)| (percent, json!(value))).collect();
        object
    }
}

#[cfg(test)]
mod tests;
