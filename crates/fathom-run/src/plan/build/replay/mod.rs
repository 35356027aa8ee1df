//! Replaying recorded I/O: from a job's log to the plans of its clones. Planning scans each log once, in
//! constant memory, and keeps a summary: files, directions, largest blocks. A source that cannot be read twice
//! (standard input, sockets, pipes) is copied into an unnamed file first. The run reads the log again, see
//! `worker::replay`.

mod merge;

use crate::plan::PlanError;
use crate::plan::model::replay::{Failure, LogSource, ReplayPlan};
use crate::replay::{self as source, CopyError};
use fathom_spec::JobSpec;
use fathom_spec::value::{ReplayMap, split_file_names};
use fathom_stats::Direction;
use fathom_sys::Errno;
use fathom_sys::block_device::device_path;
use fathom_trace::dependencies::Completions;
use fathom_trace::reader::Reader;
use fathom_trace::scan::{Scan, scan};
use fathom_trace::{FileName, Fit, Mapping, Rules, Skip, TraceError};
use merge::merge_traces;
use std::collections::HashMap;
use std::path::PathBuf;
use thiserror::Error;

/// Plans replays; caches copies and scans, because clones share their logs.
#[derive(Default)]
pub(super) struct ReplayPlanner {
    copies: HashMap<String, Result<LogSource, CopyError>>,
}

/// A device that occurs in a trace but not on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "fio: did not find replay device(s)\nfathom: this machine has no block device {major}:{minor}; replay_redirect= names \
     another target"
)]
struct NoDevice {
    major: u32,
    minor: u32,
}

/// A target of a trace that does not exist on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
enum NoTarget {
    #[error(transparent)]
    Device(#[from] NoDevice),
    #[error(
        "fathom: the trace is of `{0}`, a volume of another system; replay_redirect= names the target of the replay"
    )]
    Volume(String),
}

/// A log and its targets.
pub(super) struct Log {
    /// The replay's plan.
    pub(super) plan: ReplayPlan,
    /// The files that replace those of the log, indexed by file number.
    pub(super) files: Vec<PathBuf>,
}

impl ReplayPlanner {
    /// The replays of a job, assigned to its clones in turn; none for a job without a log.
    pub(super) fn plans(&mut self, job: &JobSpec, readonly: bool) -> Result<Vec<Log>, PlanError> {
        let Some(list) = &job.replay.read_iolog else { return Ok(Vec::new()) };
        let names = split_file_names(list);
        let rules = rules(job);
        let used = names.len().min(job.job_description.numjobs as usize);
        if let Some(merged) = merge_traces(job, &names)? {
            let name = merged.path.display().to_string();
            let mut log = self.log(&job.name, &name, &rules, readonly);
            log.plan.warnings.splice(0..0, merged.warnings);
            return Ok(vec![log]);
        }
        Ok(names[..used].iter().map(|name| self.log(&job.name, name, &rules, readonly)).collect())
    }

    fn log(&mut self, job: &str, name: &str, rules: &Rules, readonly: bool) -> Log {
        let plan = ReplayPlan {
            name: if name == "-" { "standard input".to_owned() } else { name.to_owned() },
            source: LogSource::File(PathBuf::from(name)),
            rules: rules.clone(),
            scan: Scan::default(),
            warnings: Vec::new(),
            failure: None,
        };
        let mut log = Log { plan, files: Vec::new() };
        if let Err(failure) = self.look_through(job, name, readonly, &mut log) {
            // Warnings about a log that cannot be replayed are printed here, because they would not be shown
            // otherwise.
            let lines: Vec<String> = log.plan.warnings.drain(..).chain([failure.message]).collect();
            log.plan.failure = Some(Failure { message: lines.join("\n"), ..failure });
        }
        log
    }

    fn look_through(&mut self, job: &str, name: &str, readonly: bool, log: &mut Log) -> Result<(), Failure> {
        let plan = &mut log.plan;
        if source::is_stream(name) {
            let copy = self.copies.entry(name.to_owned()).or_insert_with(|| source::keep_copy(name));
            plan.source = match copy {
                Ok(source) => source.clone(),
                Err(error) => return Err(Failure::invalid(error.to_string())),
            };
        }
        if let Some(mapping) = plan.rules.mapping.take() {
            plan.rules.mapping = Some(laid_out(plan, mapping)?);
        }
        let mut sum = scan_log(plan)?;
        if readonly && (sum.directions[Direction::Write].ios > 0 || sum.directions[Direction::Trim].ios > 0) {
            for (direction, word) in [(Direction::Write, "writes"), (Direction::Trim, "trims")] {
                let count = sum.directions[direction].ios;
                if count > 0 {
                    let text = format!("fio: {job} skips replay of {count} {word} due to read-only");
                    plan.warnings.push(text);
                }
            }
            (plan.rules.skip.write, plan.rules.skip.trim) = (true, true);
            sum = scan_log(&mut ReplayPlan { warnings: Vec::new(), ..plan.clone() })?;
        }
        log.files = files(&sum).map_err(|error| Failure::invalid(error.to_string()))?;
        plan.scan = sum;
        if plan.scan.entries() == 0 {
            let text = format!("fathom: {}: there is no I/O in it to replay", plan.name);
            return Err(Failure::invalid(text));
        }
        check_completions(plan)
    }
}

/// Lays out the files of a log in its target.
fn laid_out(plan: &ReplayPlan, mut mapping: Mapping) -> Result<Mapping, Failure> {
    let rules = Rules { redirect: None, mapping: None, ..plan.rules.clone() };
    let unmapped = scan_log(&mut ReplayPlan { warnings: Vec::new(), rules, ..plan.clone() })?;
    mapping.lay_out(unmapped.extents());
    Ok(mapping)
}

/// Dependencies exist only in a log with completions. Reports requests without one.
fn check_completions(plan: &mut ReplayPlan) -> Result<(), Failure> {
    let Completions { known, missing } = plan.scan.completions;
    if plan.rules.keeps_dependencies && known == 0 {
        return Err(Failure::invalid(format!(
            "fathom: {}: the log lists when I/Os arrived and not when they completed, and replay_dependencies=1 waits for the \
             completions of the trace: leave the option out, or record the load with fathom record",
            plan.name
        )));
    }
    if missing > 0 {
        plan.warnings.push(format!(
            "fathom: {}: {missing} of {} I/Os have no completion in the trace, so nothing waits for them",
            plan.name,
            known + missing
        ));
    }
    Ok(())
}

/// Scans the log of a plan; problems are added to the warnings.
fn scan_log(plan: &mut ReplayPlan) -> Result<Scan, Failure> {
    let reader = source::open(&plan.source).map_err(|error| cannot_open(&plan.name, error.into()))?;
    let found = Reader::new(reader, plan.rules.clone()).and_then(scan);
    let (sum, complaints) = found.map_err(|error| unreadable(&plan.name, &error))?;
    let more = complaints.count - complaints.first.len() as u64;
    plan.warnings.extend(complaints.first);
    if more > 0 {
        plan.warnings.push(format!("fathom: {}: {more} more lines or records are left out", plan.name));
    }
    Ok(sum)
}

fn rules(job: &JobSpec) -> Rules {
    let options = &job.replay;
    let skip = options.replay_skip.unwrap_or_default();
    Rules {
        keeps_time: !options.replay_no_stall,
        speed_percent: options.replay_time_scale,
        offset_divisor: u64::from(options.replay_scale.max(1)),
        alignment: options.replay_align.map_or(1, |alignment| u64::from(alignment.0)),
        skip: Skip { read: skip.read, write: skip.write, trim: skip.trim, sync: skip.sync },
        redirect: options.replay_redirect.clone().filter(|path| !path.is_empty()),
        mapping: options.replay_map.map(|map| match map {
            ReplayMap::Scale(bytes) => Mapping::new(Fit::Scale, bytes),
            ReplayMap::Wrap(bytes) => Mapping::new(Fit::Wrap, bytes),
        }),
        keeps_dependencies: options.replay_dependencies,
    }
}

fn cannot_open(name: &str, errno: Errno) -> Failure {
    let ours = format!("fathom: {name}: the log cannot be read: {errno}");
    match errno.0 {
        libc::EISDIR => Failure {
            errno: errno.0,
            is_of_reading: true,
            message: format!("read blktrace: {errno}\nfio: unable to read iolog\n{ours}"),
        },
        _ => Failure::invalid(format!("fopen read iolog: {errno}\n{ours}")),
    }
}

fn unreadable(name: &str, error: &TraceError) -> Failure {
    match error {
        TraceError::Io(error) => {
            let errno = error.raw_os_error().map_or(Errno(libc::EIO), Errno);
            let message = format!("fio: unable to read iolog\nfathom: {name}: {errno}");
            Failure { errno: errno.0, is_of_reading: true, message }
        }
        TraceError::Empty => {
            Failure::invalid(format!("fio: unable to read iolog\nfathom: {name}: the file is empty"))
        }
        TraceError::OldVersion => Failure::invalid(format!(
            "fio: iolog version 1 is no longer supported\nfathom: {name}: it begins neither with `fio version 3 iolog` nor as any \
             block trace that fathom reads does"
        )),
        TraceError::Broken(text) => Failure::invalid(format!("fathom: {name}: {text}")),
    }
}

/// The paths of the files of a log.
fn files(sum: &Scan) -> Result<Vec<PathBuf>, NoTarget> {
    let path = |name: &FileName| match name {
        FileName::Path(path) => Ok(PathBuf::from(path)),
        FileName::Device(device) => device_path(device.major, device.minor)
            .ok_or(NoDevice { major: device.major, minor: device.minor }.into()),
        FileName::Volume(name) => Err(NoTarget::Volume(name.clone())),
    };
    sum.files.iter().map(|file| path(&file.name)).collect()
}
