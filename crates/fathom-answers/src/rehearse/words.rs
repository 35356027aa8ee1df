//! The arguments of the command.

use super::next::{HIGHEST, LOWEST, rounded};
use crate::base_job::JobSource;
use crate::loads;
use crate::loads::objective::Objective;
use crate::sweep::variation::values;
use crate::table::Format;
use fathom_command::{Failure, arguments};
use fathom_spec::registry::find_job_option;
use fathom_trace::Fit;
use lexopt::Arg::{Long, Value};
use std::ffi::OsString;
use std::path::PathBuf;

/// The parsed arguments.
#[derive(Debug)]
pub(super) struct RehearseOptions {
    pub(super) load: JobSource,
    pub(super) on: Option<PathBuf>,
    pub(super) destroy: Option<PathBuf>,
    pub(super) fills: bool,
    pub(super) scales: Vec<f64>,
    pub(super) objectives: Vec<Objective>,
    /// `None` refuses a load that does not fit.
    pub(super) map: Option<Fit>,
    pub(super) is_closed: bool,
    pub(super) is_model: bool,
    pub(super) time_ms: Option<u64>,
    pub(super) engine: Option<String>,
    pub(super) depth: Option<u64>,
    /// Scale that the target must carry.
    pub(super) need: f64,
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
const OF_RUNS: [&str; 17] = [
    "on",
    "destroy",
    "fill",
    "scales",
    "map",
    "closed",
    "model",
    "time",
    "ioengine",
    "iodepth",
    "precision",
    "most-runs",
    "seed",
    "output",
    "history",
    "dry-run",
    "force",
];

/// Parses them.
pub(super) fn read(words: &[OsString]) -> Result<RehearseOptions, Failure> {
    let mut parts = words.splitn(2, |word| word == "--");
    let own = parts.next().unwrap_or_default();
    let job_words = parts.next();
    let mut options = RehearseOptions {
        load: JobSource::Words(Vec::new()),
        on: None,
        destroy: None,
        fills: false,
        scales: Vec::new(),
        objectives: Vec::new(),
        map: None,
        is_closed: false,
        is_model: false,
        time_ms: None,
        engine: None,
        depth: None,
        need: 1.0,
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
    options.load = JobSource::of(files, job_words, "rehearse")?;
    check(&options)?;
    Ok(options)
}

fn read_own(words: &[OsString], options: &mut RehearseOptions) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut parser = lexopt::Parser::from_args(words.iter().cloned());
    while let Some(argument) = parser.next()? {
        if let Long(name) = argument {
            let found = OF_RUNS.iter().find(|own| **own == name);
            options.concerns_runs = options.concerns_runs.or(found.copied());
        }
        match argument {
            Long("on") => options.on = Some(PathBuf::from(parser.value()?)),
            Long("destroy") => options.destroy = Some(PathBuf::from(parser.value()?)),
            Long("fill") => options.fills = true,
            Long("scales") => options.scales = scales(&arguments::text(&mut parser, "--scales")?)?,
            Long("slo") => options.objectives.extend(loads::words::objectives(&mut parser)?),
            Long("map") => {
                let maps = [("refuse", None), ("scale", Some(Fit::Scale)), ("wrap", Some(Fit::Wrap))];
                options.map = arguments::choice(&mut parser, "--map", &maps)?;
            }
            Long("closed") => options.is_closed = true,
            Long("model") => options.is_model = true,
            Long("time") => {
                let time = arguments::milliseconds(&mut parser, "--time")?.clamp(1.0, 1e12);
                options.time_ms = Some(time as u64);
            }
            Long("ioengine") => options.engine = Some(arguments::text(&mut parser, "--ioengine")?),
            Long("iodepth") => options.depth = Some(arguments::number(&mut parser, "--iodepth", 1)?),
            Long("need") => options.need = scale(&arguments::text(&mut parser, "--need")?, "--need")?,
            Long("precision") => options.precision = loads::words::precision(&mut parser)?,
            Long("most-runs") => options.most_runs = loads::words::most_runs(&mut parser)?,
            Long("seed") => options.seed = Some(arguments::number(&mut parser, "--seed", 0)?),
            Long("output") => options.output = Some(PathBuf::from(parser.value()?)),
            Long("history") => options.history = Some(parser.optional_value()),
            Long("dry-run") => options.is_dry_run = true,
            Long("format" | "output-format") => {
                let formats = [("text", Format::Text), ("json", Format::Json)];
                options.format = arguments::choice(&mut parser, "--format", &formats)?;
            }
            Value(file) => files.push(PathBuf::from(file)),
            Long(name) if find_job_option(name).is_some() => {
                return Err(Failure::new(format!(
                    "--{name} is a job option: write the job after --, as in fathom rehearse --on=/dev/sdz -- --name=job --rw=randread, \
                     or in a file"
                )));
            }
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(files)
}

/// Refuses options that contradict each other.
fn check(options: &RehearseOptions) -> Result<(), Failure> {
    let problem = match () {
        () if options.is_closed && options.is_model => {
            "--closed and --model: a model is an open loop; give one of them"
        }
        () if options.is_closed && options.time_ms.is_some() => {
            "--closed and --time: with dependencies, the target determines how long the load takes"
        }
        () if options.is_closed && options.objectives.is_empty() && options.scales.is_empty() => {
            "--closed: no scale is too much for programs that wait for their I/Os; give a limit, as in --slo=p99<5ms, or --scales=1"
        }
        () if options.is_model && (options.engine.is_some() || options.depth.is_some()) => {
            "--ioengine and --iodepth are those of a replay; fathom model -o FILE writes the model, whose options can be changed"
        }
        () => return Ok(()),
    };
    Err(Failure::new(problem))
}

/// Parses scales; sorts them and removes duplicates.
fn scales(list: &str) -> Result<Vec<f64>, Failure> {
    let mut scales =
        values(list).iter().map(|text| scale(text, "--scales")).collect::<Result<Vec<_>, _>>()?;
    scales.sort_by(f64::total_cmp);
    scales.dedup();
    Ok(scales)
}

/// `2x`, `2` or `0.5`.
fn scale(text: &str, option: &str) -> Result<f64, Failure> {
    let number = text.trim().strip_suffix(['x', 'X', '×']).unwrap_or(text.trim()).parse::<f64>().ok();
    let number = number.filter(|scale| (LOWEST..=HIGHEST).contains(scale));
    number.map(rounded).ok_or_else(|| {
        Failure::new(format!(
            "{option}: `{text}` is not a multiple of the load from {LOWEST:.3} to {HIGHEST}; write for example 1,2,4 or 0.5x"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<RehearseOptions, Failure> {
        read(&text.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let found = words("db.trace --on=/dev/sdz --scales=4x,1,0.5 --map=wrap --slo=p99<5ms --need=2x")
            .expect("reads");
        assert_eq!((found.scales, found.map, found.need), (vec![0.5, 1.0, 4.0], Some(Fit::Wrap), 2.0));
        assert_eq!(found.load, JobSource::File("db.trace".into()));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for wrong in [
            "",
            "a b",
            "a --scales=0",
            "a --scales=fast",
            "a --scales=nan",
            "a --scales=2000",
            "a --need=-1",
            "a --map=fold",
            "a --closed",
            "a --closed --model --scales=1",
            "a --closed --time=1s --scales=1",
            "a --model --iodepth=4",
            "a --bs=4k",
            "a --slo=p99",
            "a --precision=0",
        ] {
            assert!(words(wrong).is_err(), "{wrong}");
        }
    }
}
