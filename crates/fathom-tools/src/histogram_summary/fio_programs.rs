//! The options and output of fio's scripts for histogram logs.

use super::UNITS;
use super::histogram::Layout;
use super::windows::{self, Rules};
use fathom_command::{Failure, Streams, arguments};
use fathom_stats::Direction;
use lexopt::Arg::{Long, Short, Value};
use lexopt::Parser;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

const PERCENTILES_USAGE: &str = "\
usage: fio-histo-log-pctiles.py [-h] [--fio-version {2,3}] [--bucket-groups N] [--bucket-bits N]
                                [--percentiles P [P ...]] [--time-quantum SEC] [--log-hist-msec MS]
                                [--output-unit {msec,usec,nsec}] -- LOG [LOG ...]";

/// Maximum number of groups.
const MOST_GROUPS: u64 = 58;
/// Maximum number of bins per group, as a power of two.
const MOST_BITS: u64 = 12;

/// fio-histo-log-pctiles.py: percentiles of all logs together per time quantum.
pub(super) fn percentiles(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let (mut rules, mut files) = (Rules::default(), Vec::new());
    let mut list = vec![0.0, 50.0, 95.0, 99.0, 100.0];
    let (mut version, mut unit) = (3, UNITS[1]);
    let (mut groups, mut bits) = (None, None);
    let mut parser = Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Short('h') | Long("help") => {
                writeln!(streams.out, "{PERCENTILES_USAGE}")?;
                return Ok(0);
            }
            Long("fio-version") => {
                version = arguments::choice(&mut parser, "--fio-version", &[("2", 2), ("3", 3)])?;
            }
            Long("bucket-groups") => groups = Some(limited(&mut parser, "--bucket-groups", MOST_GROUPS)?),
            Long("bucket-bits") => bits = Some(limited(&mut parser, "--bucket-bits", MOST_BITS)?),
            Long("percentiles") => list = percentile_words(&mut parser)?,
            Long("time-quantum") => {
                rules.interval_ms = arguments::milliseconds(&mut parser, "--time-quantum")?
            }
            Long("log-hist-msec") => {
                rules.window_ms = Some(arguments::number(&mut parser, "--log-hist-msec", 1)? as f64);
            }
            Long("output-unit") => {
                let units = UNITS.map(|(name, ns)| (name, (name, ns)));
                unit = arguments::choice(&mut parser, "--output-unit", &units)?;
            }
            Value(file) => files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    if files.is_empty() {
        writeln!(
            streams.err,
            "{PERCENTILES_USAGE}\nfio-histo-log-pctiles.py: error: name one or more logs after --"
        )?;
        return Ok(2);
    }
    let usual = if version == 2 { Layout::MICROSECONDS } else { Layout::NANOSECONDS };
    rules.layout =
        Layout { groups: groups.unwrap_or(usual.groups), bits: bits.unwrap_or(usual.bits), ..usual };
    let names: Vec<String> = list.iter().map(|percent| percent_name(*percent)).collect();
    let numbers: Vec<String> = list.iter().map(|percent| format!("{percent:?}")).collect();
    writeln!(streams.out, "fio version = {version}")?;
    writeln!(streams.out, "bucket groups = {}", rules.layout.groups)?;
    writeln!(streams.out, "bucket bits = {}", rules.layout.bits)?;
    writeln!(streams.out, "time quantum = {} sec", rules.interval_ms / 1000.0)?;
    writeln!(streams.out, "percentiles = {}", numbers.join(","))?;
    let per_group = 1u64 << rules.layout.bits;
    writeln!(streams.out, "buckets per group = {per_group}")?;
    writeln!(streams.out, "buckets per interval = {} ", per_group * u64::from(rules.layout.groups))?;
    if let Some(window_ms) = rules.window_ms {
        writeln!(streams.out, "log_hist_msec = {window_ms}")?;
    }
    writeln!(streams.out, "output unit = {}", unit.0)?;
    writeln!(streams.out, "time (millisec), percentiles in increasing order with values in {}", unit.0)?;
    writeln!(streams.out, "msec-since-start, samples, {}, ", names.join(", "))?;
    let windows = windows::read(&files, &rules)?;
    for interval in windows::divide(&windows, &rules)? {
        let values: Vec<String> = list
            .iter()
            .map(|percent| {
                interval.histogram.percentile_ns(*percent).map_or(String::new(), |ns| six_digits(ns / unit.1))
            })
            .collect();
        let samples = interval.histogram.total().round();
        writeln!(streams.out, "{:8}, {samples:8}, {}", interval.start_ms, values.join(", "))?;
    }
    Ok(0)
}

fn limited(parser: &mut Parser, option: &str, most: u64) -> Result<u32, Failure> {
    let number = arguments::number(parser, option, 1)?;
    match number <= most {
        true => Ok(number as u32),
        false => {
            Err(Failure::new(format!("{option}: {number} is more than the largest possible value of {most}")))
        }
    }
}

/// All words up to the next option.
fn percentile_words(parser: &mut Parser) -> Result<Vec<f64>, Failure> {
    let words: Vec<String> = parser.values()?.map(|word| word.to_string_lossy().into_owned()).collect();
    arguments::parse_percentiles(words.iter().map(String::as_str)).ok_or_else(|| {
        let words = words.join(" ");
        Failure::new(format!(
            "--percentiles: `{words}` are not percentiles (0 to 100); put -- before the logs"
        ))
    })
}

fn percent_name(percent: f64) -> String {
    match percent {
        0.0 => "min".to_owned(),
        50.0 => "median".to_owned(),
        100.0 => "max".to_owned(),
        other => format!("{other:?}"),
    }
}

/// The number with at most six significant digits.
fn six_digits(value: f64) -> String {
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let decimals = (5 - magnitude).clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

const WEIGHTED_USAGE: &str = "\
usage: fiologparser_hist.py [-h] [-i MS] [-d DIVISOR] [-m SEC] [-p P,P,...] [-g N] [-b N] [-J JOBFILE]
                            [--noweight] [--warn] [--usbin] [--directions] LOG [LOG ...]

  -i, --interval      milliseconds of an interval (1000, or log_hist_msec of the job file)
  -d, --divisor       divide latencies by this (1)
  -m, --max_latency   leave out latencies above this many seconds (20)
  -p, --percentiles   default 90,95,99
  -g, --group_nr      groups of bins (29)
  -b, --buff_size     accepted; logs are read as a whole
  -J, --job-file      job file that the logs are of
  --noweight          count a window where it ends, not by overlap
  --warn              tell of windows longer than the interval
  --usbin             bins are in usec, as in logs of fio 2
  --directions        a line for each direction";

/// The settings of fiologparser_hist.py.
struct Weighted {
    rules: Rules,
    interval_given: bool,
    divisor: f64,
    percentiles: Vec<f64>,
    warn: bool,
    directions: bool,
    files: Vec<PathBuf>,
}

/// fiologparser_hist.py: weighted statistics per interval.
pub(super) fn weighted(words: &[OsString], streams: &mut Streams<'_>) -> Result<u8, Failure> {
    let Some(settings) = weighted_settings(words)? else {
        writeln!(streams.out, "{WEIGHTED_USAGE}")?;
        return Ok(0);
    };
    if settings.files.is_empty() {
        writeln!(streams.err, "{WEIGHTED_USAGE}\nfiologparser_hist.py: error: name one or more logs")?;
        return Ok(2);
    }
    let Weighted { rules, percentiles, divisor, .. } = &settings;
    if settings.warn {
        let windows = windows::read(&settings.files, rules)?;
        let longest = windows.windows(2).map(|pair| pair[1].end_ms - pair[0].end_ms).fold(0.0, f64::max);
        if longest > rules.interval_ms {
            let interval = rules.interval_ms;
            writeln!(
                streams.err,
                "warning: windows of up to {longest} ms are longer than the interval of {interval} ms"
            )?;
        }
    }
    let names: Vec<String> = percentiles.iter().map(|percent| format!("{percent}%")).collect();
    let direction_column = if settings.directions { "dir, " } else { "" };
    writeln!(
        streams.out,
        "end-time, {direction_column}samples, min, avg, median, {}, max",
        names.join(", ")
    )?;
    let chosen: Vec<Option<u8>> = match settings.directions {
        true => Direction::ALL.map(|direction| Some(direction as u8)).to_vec(),
        false => vec![None],
    };
    let windows = windows::read(&settings.files, rules)?;
    let mut lines = Vec::new();
    for direction in chosen {
        let own: Vec<_> = windows.iter().filter(|window| window.is_of(direction)).cloned().collect();
        if own.is_empty() {
            continue;
        }
        for interval in windows::divide(&own, rules)? {
            let histogram = &interval.histogram;
            let shown = |value: Option<f64>| format!("{:.3}", value.unwrap_or_default() / divisor);
            let mut cells = vec![format!("{}", interval.end_ms)];
            cells.extend(direction.map(|direction| Direction::ALL[usize::from(direction)].word().to_owned()));
            cells.push(format!("{:.0}", histogram.total()));
            cells.extend(
                [histogram.percentile_ns(0.0), histogram.mean_ns(), histogram.percentile_ns(50.0)].map(shown),
            );
            cells.extend(percentiles.iter().map(|percent| shown(histogram.percentile_ns(*percent))));
            cells.push(shown(histogram.percentile_ns(100.0)));
            lines.push((interval.end_ms, cells.join(", ")));
        }
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (_, line) in lines {
        writeln!(streams.out, "{line}")?;
    }
    Ok(0)
}

/// The settings; `None` if help was requested.
fn weighted_settings(words: &[OsString]) -> Result<Option<Weighted>, Failure> {
    let mut settings = Weighted {
        rules: Rules { latency_limit_ns: 20e9, ..Rules::default() },
        interval_given: false,
        divisor: 1.0,
        percentiles: vec![90.0, 95.0, 99.0],
        warn: false,
        directions: false,
        files: Vec::new(),
    };
    let (mut job_file, mut microseconds) = (None, false);
    let mut parser = Parser::from_args(words);
    while let Some(word) = parser.next()? {
        match word {
            Short('h') | Long("help") => return Ok(None),
            Short('i') | Long("interval") => {
                settings.rules.interval_ms = arguments::number(&mut parser, "--interval", 1)? as f64;
                settings.interval_given = true;
            }
            Short('d') | Long("divisor") => {
                settings.divisor = arguments::fraction(&mut parser, "--divisor")?;
                if settings.divisor == 0.0 {
                    return Err(Failure::new("--divisor: cannot divide by 0"));
                }
            }
            Short('m') | Long("max_latency") => {
                settings.rules.latency_limit_ns = arguments::fraction(&mut parser, "--max_latency")? * 1e9;
            }
            Short('p') | Long("percentiles") => {
                settings.percentiles = arguments::percentiles(&mut parser, "--percentiles")?;
            }
            Short('g') | Long("group_nr") => {
                settings.rules.layout.groups = limited(&mut parser, "--group_nr", MOST_GROUPS)?;
            }
            Short('b') | Long("buff_size") => {
                arguments::number(&mut parser, "--buff_size", 1)?;
            }
            Short('J') | Long("job-file") => job_file = Some(PathBuf::from(parser.value()?)),
            Long("noweight") => settings.rules.by_overlap = false,
            Long("warn") => settings.warn = true,
            Long("usbin") => microseconds = true,
            Long("directions") => settings.directions = true,
            Value(file) => settings.files.push(PathBuf::from(file)),
            other => return Err(other.unexpected().into()),
        }
    }
    if microseconds {
        settings.rules.layout.unit_ns = Layout::MICROSECONDS.unit_ns;
    }
    if let (Some(job_file), false) = (job_file, settings.interval_given) {
        settings.rules.interval_ms = window_of_job(&job_file)?.unwrap_or(settings.rules.interval_ms);
    }
    Ok(Some(settings))
}

/// The first `log_hist_msec` of a job file.
fn window_of_job(path: &Path) -> Result<Option<f64>, Failure> {
    let text = fs::read_to_string(path).map_err(|error| Failure::file(path, &error))?;
    let mut values = text.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "log_hist_msec").then(|| value.trim())
    });
    let Some(value) = values.next() else { return Ok(None) };
    let number = value.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
    let wrong =
        || Failure::new(format!("{}: log_hist_msec={value} is not a number of milliseconds", path.display()));
    number.map(Some).ok_or_else(wrong)
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn figures_have_six_digits() {
        for (value, text) in [
            (0.11, "0.11"),
            (6.8064, "6.8064"),
            (2.14, "2.14"),
            (1234567.0, "1234567"),
            (0.0, "0"),
            (100.0, "100"),
        ] {
            assert_eq!(six_digits(value), text);
        }
        assert_eq!(six_digits(6.806_400_001), "6.8064");
    }
}
