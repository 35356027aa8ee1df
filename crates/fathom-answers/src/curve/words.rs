//! The arguments of the command.

use crate::base_job::JobSource;
use crate::loads;
use crate::loads::objective::Objective;
use crate::loads::precision::LEAST_RUNS;
use crate::sweep::plan;
use crate::sweep::variation::{Variation, values};
use crate::table::{FORMATS, Format};
use fathom_command::{Failure, arguments};
use fathom_spec::registry::find_job_option;
use lexopt::Arg::{Long, Value};
use std::ffi::OsString;
use std::path::PathBuf;

/// Maximum number of loads per curve; a larger number indicates a mistake in the arguments.
const MOST_RATES: usize = 200;
/// Maximum number of curves.
const MOST_CURVES: usize = 100;

/// The parsed arguments.
#[derive(Debug)]
pub(super) struct CurveOptions {
    pub(super) job: JobSource,
    pub(super) rates: Vec<f64>,
    pub(super) objectives: Vec<Objective>,
    pub(super) process: String,
    pub(super) vary: Vec<Variation>,
    pub(super) time_ms: u64,
    pub(super) ramp_ms: u64,
    pub(super) precision: f64,
    pub(super) most_runs: u32,
    pub(super) seed: Option<u64>,
    pub(super) output: Option<PathBuf>,
    /// The store to which the runs are added, if it is asked for; without a name, the usual one.
    pub(super) history: Option<Option<OsString>>,
    pub(super) is_dry_run: bool,
    pub(super) format: Format,
    /// A given option that applies only to runs, for a message.
    pub(super) concerns_runs: Option<&'static str>,
}

/// Options that apply only to runs.
const OF_RUNS: [&str; 11] = [
    "rates",
    "process",
    "vary",
    "time",
    "ramp",
    "precision",
    "most-runs",
    "seed",
    "output",
    "history",
    "dry-run",
];

/// Parses them.
pub(super) fn read(words: &[OsString]) -> Result<CurveOptions, Failure> {
    let mut parts = words.splitn(2, |word| word == "--");
    let own = parts.next().unwrap_or_default();
    let job_words = parts.next();
    let mut options = CurveOptions {
        job: JobSource::Words(Vec::new()),
        rates: Vec::new(),
        objectives: Vec::new(),
        process: "poisson".to_owned(),
        vary: Vec::new(),
        time_ms: 5000,
        ramp_ms: 500,
        precision: 10.0,
        most_runs: 5,
        seed: None,
        output: None,
        history: None,
        is_dry_run: false,
        format: Format::Text,
        concerns_runs: None,
    };
    let files = read_own(own, &mut options)?;
    options.job = JobSource::of(files, job_words, "curve")?;
    let curves: usize = options.vary.iter().map(|variation| variation.values.len()).product();
    if curves > MOST_CURVES {
        return Err(Failure::new(format!("--vary: {curves} curves are more than {MOST_CURVES}")));
    }
    Ok(options)
}

fn read_own(words: &[OsString], options: &mut CurveOptions) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut parser = lexopt::Parser::from_args(words.iter().cloned());
    while let Some(argument) = parser.next()? {
        if let Long(name) = argument {
            let found = OF_RUNS.iter().find(|own| **own == name);
            options.concerns_runs = options.concerns_runs.or(found.copied());
        }
        match argument {
            Long("rates") => options.rates = rates(&arguments::text(&mut parser, "--rates")?)?,
            Long("slo") => options.objectives.extend(loads::words::objectives(&mut parser)?),
            Long("process") => options.process = arguments::text(&mut parser, "--process")?,
            Long("vary") => {
                let variation = Variation::parse(&arguments::text(&mut parser, "--vary")?)?;
                plan::vary(&mut options.vary, variation)?;
            }
            Long("time") => options.time_ms = milliseconds(&mut parser, "--time", 100)?,
            Long("ramp") => options.ramp_ms = ramp(&arguments::text(&mut parser, "--ramp")?)?,
            Long("precision") => options.precision = loads::words::precision(&mut parser)?,
            Long("most-runs") => options.most_runs = loads::words::most_runs(&mut parser)?,
            Long("seed") => options.seed = Some(arguments::number(&mut parser, "--seed", 0)?),
            Long("output") => options.output = Some(PathBuf::from(parser.value()?)),
            Long("history") => options.history = Some(parser.optional_value()),
            Long("dry-run") => options.is_dry_run = true,
            Long("format") => options.format = arguments::choice(&mut parser, "--format", &FORMATS)?,
            Value(file) => files.push(PathBuf::from(file)),
            Long(name) if find_job_option(name).is_some() => {
                return Err(Failure::new(format!(
                    "--{name} is a job option: write the job after --, as in fathom curve --slo=p99<2ms -- --name=job --rw=randread, or \
                     in a file"
                )));
            }
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(files)
}

/// Parses rates in I/Os per second; sorts them and removes duplicates.
fn rates(list: &str) -> Result<Vec<f64>, Failure> {
    let mut rates = Vec::new();
    for text in values(list) {
        let rate =
            fathom_spec::value::parse_amount(&text, 1000).filter(|rate| *rate >= 1.0 && rate.is_finite());
        rates.push(rate.ok_or_else(|| {
            Failure::new(format!(
                "--rates: `{text}` is not a number of I/Os per second; write for example --rates=500,1k,2k"
            ))
        })?);
    }
    rates.iter_mut().for_each(|rate| *rate = rate.round());
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    if rates.len() > MOST_RATES {
        return Err(Failure::new(format!("--rates: {} are more than {MOST_RATES}", rates.len())));
    }
    Ok(rates)
}

fn milliseconds(parser: &mut lexopt::Parser, option: &str, least: u64) -> Result<u64, Failure> {
    let time = arguments::milliseconds(parser, option)?.min(1e12) as u64;
    if time < least {
        return Err(Failure::new(format!("{option}: at least {least} ms")));
    }
    Ok(time)
}

/// Parses a time that may be 0.
fn ramp(text: &str) -> Result<u64, Failure> {
    let time = arguments::parse_milliseconds(text).filter(|time| *time >= 0.0).ok_or_else(|| {
        Failure::new(format!("--ramp: `{text}` is not a time; write seconds, or for example 500ms, 2m"))
    })?;
    Ok(time.min(1e12) as u64)
}

impl CurveOptions {
    /// True if there are enough runs for intervals.
    pub(super) fn has_intervals(&self) -> bool {
        self.most_runs >= LEAST_RUNS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(words: &[&str]) -> Result<CurveOptions, Failure> {
        read(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_are_read() {
        let options = read_words(&["job.fio", "--rates=2k,500,1k,500", "--slo=p99<2ms,mean<1ms", "--ramp=0"])
            .expect("reads");
        assert_eq!((options.rates, options.ramp_ms), (vec![500.0, 1000.0, 2000.0], 0));
        let limits: Vec<&str> = options.objectives.iter().map(|limit| limit.text.as_str()).collect();
        assert_eq!(limits, ["p99<2ms", "mean<1ms"]);
        for wrong in [
            &[][..],
            &["a", "b"],
            &["a", "--rates=fast"],
            &["a", "--rates=0"],
            &["a", "--slo=p99"],
            &["a", "--time=1ms"],
            &["a", "--precision=0"],
            &["a", "--iodepth=4"],
            &["a", "--", "--name=b"],
        ] {
            assert!(read_words(wrong).is_err(), "{wrong:?}");
        }
    }
}
