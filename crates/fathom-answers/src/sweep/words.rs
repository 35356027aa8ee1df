//! The arguments of the command.

use super::file_systems::{self, OfKind};
use super::labels::Label;
use super::plan;
use super::variation::Variation;
use crate::base_job::JobSource;
use crate::measures::FigureOf;
use crate::table::{FORMATS, Format};
use fathom_command::{Failure, arguments};
use fathom_spec::registry::find_job_option;
use lexopt::Arg::{Long, Value};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The request: a sweep to run or a file to print.
#[derive(Debug, PartialEq)]
pub(super) enum Job {
    /// A job, or a results file.
    Given(JobSource),
    /// A results file whose table is to be printed.
    Results(PathBuf),
}

/// The parsed arguments.
#[derive(Debug)]
pub(super) struct SweepOptions {
    pub(super) job: Job,
    pub(super) variations: Vec<Variation>,
    /// Number of repeats; `None` if it was not given, so that the default or the number in an existing sweep
    /// applies.
    pub(super) repeats: Option<u32>,
    pub(super) seed: Option<u64>,
    pub(super) pause: Duration,
    pub(super) precondition: Option<PathBuf>,
    pub(super) preconditions_each: bool,
    pub(super) output: Option<PathBuf>,
    /// The store for the results; without a name, the default one.
    pub(super) history: Option<Option<OsString>>,
    pub(super) is_dry_run: bool,
    /// The figures to show; if empty, figures that suit the job.
    pub(super) figures: Vec<FigureOf>,
    pub(super) labels: Vec<Label>,
    pub(super) has_no_intervals: bool,
    pub(super) format: Format,
    /// Options for the target of file systems, if they vary.
    pub(super) file_systems: file_systems::GivenVolume,
    /// A given option that applies only to runs, for a message.
    pub(super) concerns_runs: Option<&'static str>,
}

impl SweepOptions {
    /// True with `--fs`.
    pub(super) fn varies_file_systems(&self) -> bool {
        self.variations.iter().any(|variation| variation.name == file_systems::DIMENSION)
    }

    fn read_file_systems(&mut self, name: &str, parser: &mut lexopt::Parser) -> Result<(), Failure> {
        let option = format!("--{name}");
        match name {
            "fs" => {
                let variation = file_systems::variation(&arguments::text(parser, &option)?)?;
                plan::vary(&mut self.variations, variation)?;
            }
            "device" => self.file_systems.device = Some(PathBuf::from(parser.value()?)),
            "destroy" => self.file_systems.destroy = Some(PathBuf::from(parser.value()?)),
            "device-size" => self.file_systems.device_size = Some(arguments::size(parser, &option)?),
            _ => {
                let own = OfKind::parse(&option, &arguments::text(parser, &option)?)?;
                match name {
                    "mkfs-options" => self.file_systems.mkfs_options.push(own),
                    _ => self.file_systems.mount_options.push(own),
                }
            }
        }
        Ok(())
    }
}

/// Options that apply only to runs.
const OF_RUNS: [&str; 16] = [
    "vary",
    "fs",
    "device",
    "destroy",
    "device-size",
    "mkfs-options",
    "mount-options",
    "repeats",
    "seed",
    "pause",
    "precondition",
    "precondition-each",
    "output",
    "history",
    "dry-run",
    "show-jobs",
];

/// Parses them.
pub(super) fn read(words: &[OsString]) -> Result<SweepOptions, Failure> {
    let mut parts = words.splitn(2, |word| word == "--");
    let own = parts.next().unwrap_or_default();
    let job_words = parts.next();
    let mut options = SweepOptions {
        job: Job::Given(JobSource::Words(Vec::new())),
        variations: Vec::new(),
        repeats: None,
        seed: None,
        pause: Duration::ZERO,
        precondition: None,
        preconditions_each: false,
        output: None,
        history: None,
        is_dry_run: false,
        figures: Vec::new(),
        labels: Vec::new(),
        has_no_intervals: false,
        format: Format::Text,
        file_systems: file_systems::GivenVolume::default(),
        concerns_runs: None,
    };
    let mut table = None;
    let files = read_own(own, &mut options, &mut table)?;
    if let Some(path) = table {
        if job_words.is_some() || !files.is_empty() {
            return Err(Failure::new("--table takes only a results file, without a job"));
        }
        options.job = Job::Results(path);
        return Ok(options);
    }
    let is_crowded = files.len() > 1 && job_words.is_none();
    let option = files.iter().find_map(|file| file.to_str().filter(|word| word.contains('=')));
    if let Some(word) = option.filter(|_| is_crowded) {
        return Err(Failure::new(format!(
            "`{word}`: write --vary={word} to vary an option; other options of the job belong in its file"
        )));
    }
    options.job = Job::Given(JobSource::of(files, job_words, "sweep")?);
    if !options.varies_file_systems() && options.file_systems != file_systems::GivenVolume::default() {
        return Err(Failure::new(
            "--device, --destroy, --device-size, --mkfs-options and --mount-options need --fs=LIST, as in --fs=ext4,xfs,none",
        ));
    }
    if options.preconditions_each && options.precondition.is_none() {
        return Err(Failure::new("--precondition-each needs --precondition=JOBFILE"));
    }
    Ok(options)
}

fn read_own(
    words: &[OsString],
    options: &mut SweepOptions,
    table: &mut Option<PathBuf>,
) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut parser = lexopt::Parser::from_args(words.iter().cloned());
    while let Some(argument) = parser.next()? {
        if let Long(name) = argument {
            let found = OF_RUNS.iter().find(|own| **own == name);
            options.concerns_runs = options.concerns_runs.or(found.copied());
        }
        match argument {
            Long("vary") => {
                let variation = Variation::parse(&arguments::text(&mut parser, "--vary")?)?;
                if variation.name == file_systems::DIMENSION {
                    let values = variation.values.join(",");
                    return Err(Failure::new(format!(
                        "--vary=fs: write --fs={values} to vary the file system"
                    )));
                }
                plan::vary(&mut options.variations, variation)?;
            }
            Long(name @ ("fs" | "device" | "destroy" | "device-size" | "mkfs-options" | "mount-options")) => {
                let name = name.to_owned();
                options.read_file_systems(&name, &mut parser)?;
            }
            Long("repeats") => {
                let repeats = arguments::number(&mut parser, "--repeats", 1)?;
                let most = u32::try_from(repeats).ok().filter(|repeats| *repeats <= 1_000);
                options.repeats = Some(most.ok_or_else(|| Failure::new("--repeats: at most 1000"))?);
            }
            Long("seed") => options.seed = Some(arguments::number(&mut parser, "--seed", 0)?),
            Long("pause") => {
                let milliseconds = arguments::milliseconds(&mut parser, "--pause")?;
                options.pause = Duration::from_millis(milliseconds.min(1e12) as u64);
            }
            Long("precondition") => options.precondition = Some(PathBuf::from(parser.value()?)),
            Long("precondition-each") => options.preconditions_each = true,
            Long("output") => options.output = Some(PathBuf::from(parser.value()?)),
            Long("history") => options.history = Some(parser.optional_value()),
            Long("dry-run" | "show-jobs") => options.is_dry_run = true,
            Long("table") => *table = Some(PathBuf::from(parser.value()?)),
            Long("figures") => {
                let list = arguments::text(&mut parser, "--figures")?;
                options.figures = list.split(',').map(FigureOf::parse).collect::<Result<_, _>>()?;
            }
            Long("label") => options.labels.push(Label::parse(&arguments::text(&mut parser, "--label")?)?),
            Long("no-intervals") => options.has_no_intervals = true,
            Long("format") => options.format = arguments::choice(&mut parser, "--format", &FORMATS)?,
            Value(file) => files.push(PathBuf::from(file)),
            Long(name) if find_job_option(name).is_some() => {
                return Err(Failure::new(format!(
                    "--{name} is a job option: write the job after --, as in fathom sweep --vary=iodepth=1,4 -- --name=job \
                     --rw=randread, or in a file"
                )));
            }
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(words: &[&str]) -> Result<SweepOptions, Failure> {
        read(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn a_file_or_words() {
        let options = read_words(&["job.fio", "--vary=bs=4k,8k", "--repeats", "5"]).expect("reads");
        assert_eq!((options.job, options.repeats), (Job::Given(JobSource::File("job.fio".into())), Some(5)));
        let options = read_words(&["--vary", "bs=4k", "--", "--name=a", "--", "x"]).expect("reads");
        assert_eq!(
            options.job,
            Job::Given(JobSource::Words(vec!["--name=a".into(), "--".into(), "x".into()]))
        );
        for wrong in [
            &[][..],
            &["a", "b"],
            &["a", "--", "--name=b"],
            &["--vary=bs=4k", "--"],
            &["a", "--vary=bs=4k", "--vary=blocksize=8k"],
            &["a", "--repeats=0"],
            &["a", "--precondition-each"],
            &["--table=x", "a"],
            &["a", "--figures=speed"],
            &["a", "--device=/dev/sdz"],
            &["a", "--fs=ext4", "--fs=xfs"],
            &["a", "--fs=ntfs"],
            &["a", "--fs=ext4", "--mount-options=noatime"],
        ] {
            assert!(read_words(wrong).is_err(), "{wrong:?}");
        }
    }
}
