//! `fathom rehearse`: plays a recorded load on another device at multiples of its rate, and finds the highest
//! multiple that the device carries.

pub(crate) mod answer;
mod load;
mod next;
pub(crate) mod output;
pub(crate) mod plan;
mod production;
pub(crate) mod record;
mod runs;
mod target;
mod words;

use crate::base_job::{self, BaseJob, JobSource};
use crate::columns;
use crate::device::refused;
use crate::figures;
use crate::job_text;
use crate::keeper::Keeper;
use crate::loads::objective::Objective;
use crate::loads::series;
use crate::model;
use crate::results_file;
use crate::running::{Messages, as_option, chance, status_of_signal};
use crate::table::{Format, print_as};
use crate::{Command, Runner};
use fathom_command::{Failure, Streams};
use fathom_spec::RunSpec;
use fathom_stats::Direction;
use fathom_trace::Fit;
use fathom_trace::Mapping;
use fathom_workload::model::{Model, Scaling};
use output::Shown;
use plan::{FORM, RehearsalPlan, Source};
use production::Trace;
use record::RecordedRehearsal;
use std::ffi::OsString;
use std::path::Path;
use target::Target;
use words::RehearseOptions;

pub(crate) const COMMAND: Command = Command {
    name: "rehearse",
    arguments: "TRACE --on=DEVICE",
    summary: "Will this device carry that load, and how often?",
    help: "\
Usage: fathom rehearse TRACE --on=TARGET [options]
       fathom rehearse JOBFILE --on=TARGET [options]
       fathom rehearse RESULTS.rehearse.jsonl [--format=json]

Plays a recorded load on another device or file, at 1, 2, 4 ... times its rate
in an open loop, and finds the highest multiple at which the limits are met,
or, without limits, at which the device keeps up. TRACE is as in fathom
characterize; jobs need rates. A crash or Ctrl-C loses at most one run: the
same command resumes.

      --slo=LIMITS      as in p99<5ms or read:p99.9<2ms,write:mean<1ms
      --destroy=TARGET  the target again, if the load writes: its content is lost
      --fill            first write the part of the target that is used
      --map=scale|wrap  fit a load that is larger than the target
      --scales=1,2,4    these multiples instead of a search
      --closed          I/Os wait for those that they followed
      --model           a model of the trace instead of its I/Os
      --need=1          exit status 2 unless it carries this multiple
      More: --time --ioengine --iodepth --precision --most-runs --seed
      --output --history --dry-run --format=text|json (docs/rehearse.md)

Exit: 0 the target carries it, 2 it does not, 1 there is no answer.
",
    run,
};

/// The writes of `--fill`, and their length.
const FILL: &str = "rw=write\niodepth=8\nioengine=io_uring\ndirect=1\nend_fsync=1\n";
const FILL_LENGTH: u64 = 1 << 20;
/// Length of the writes that fill less than that.
const SMALL_LENGTH: u64 = 4096;

fn run(words: &[OsString], streams: &mut Streams<'_>, runner: &mut dyn Runner) -> Result<u8, Failure> {
    let options = words::read(words)?;
    if let JobSource::File(path) = &options.load
        && results_file::is_results::<RecordedRehearsal>(path)
    {
        return print_again(path, &options, streams);
    }
    if runner.runs_elsewhere() {
        return Err(Failure::new("rehearse plays a load on a device of this machine; leave out --hosts"));
    }
    let Some(on) = &options.on else {
        return Err(Failure::new(
            "no target given; name the device or file on which the load is played: --on=/dev/sdz",
        ));
    };
    let prepared = prepare(&options, on, runner)?;
    let plan = &prepared.plan;
    let path =
        options.output.clone().unwrap_or_else(|| options.load.default_output(&prepared.name, "rehearse"));
    if options.is_dry_run {
        streams.out.write_all(dry_run(plan, &path, runner)?.as_bytes())?;
        return Ok(0);
    }
    let keeper = Keeper::asked(options.history.as_ref())?;
    let mut recorder = record::open(&path, plan, options.seed.is_some())?;
    if options.fills
        && recorder.recorded().runs.is_empty()
        && let Some(status) = fill(&prepared, streams, runner)?
    {
        return Ok(status);
    }
    let stopped = series::execute(&mut recorder, &options.objectives, streams, runner)?;
    let recorded = recorder.into_recorded();
    // The answer is printed even if this failed.
    let kept = keeper.map_or(Ok(()), |keeper| keeper.add_runs_of(&recorded, &path));
    let code = print(&options, &recorded, &options.objectives, streams)?;
    kept?;
    Ok(stopped.unwrap_or(code))
}

/// A plan and what is needed besides it.
struct Prepared {
    plan: RehearsalPlan,
    /// Name for the results file.
    name: String,
    /// Bytes of the target that the load uses, from its start.
    used: u64,
}

fn prepare(options: &RehearseOptions, on: &Path, runner: &dyn Runner) -> Result<Prepared, Failure> {
    let trace = match &options.load {
        JobSource::File(path) if path == Path::new("-") => {
            return Err(Failure::new(
                "a rehearsal reads its load in every run, so standard input will not do; name a file",
            ));
        }

        JobSource::File(path) => production::read(path)?.map(|trace| (path.as_path(), trace)),
        JobSource::Words(_) => None,
    };
    let prepared = match trace {
        Some((path, trace)) if options.is_model => of_model(options, path, &trace, on, runner)?,
        Some((path, trace)) => of_trace(options, path, trace, on, runner)?,
        None => of_jobs(options, on, runner)?,
    };
    // Jobs that cannot run are refused before the first run starts.
    let plan = &prepared.plan;
    let spec = base_job::read(&plan.job, false, runner)?;
    if plan.source == Source::Jobs {
        load::check_rates(&spec)?;
    }
    runs::spec_at(plan, plan.scales.first().copied().unwrap_or(1.0), 0, runner)?;
    Ok(prepared)
}

/// Replays the trace.
fn of_trace(
    options: &RehearseOptions,
    path: &Path,
    trace: Trace,
    on: &Path,
    runner: &dyn Runner,
) -> Result<Prepared, Failure> {
    let directions = &trace.scan.directions;
    let writes = directions[Direction::Write].ios + directions[Direction::Trim].ios > 0;
    let target = target::examine(on, options.destroy.as_deref(), writes || options.fills, runner)?;
    let capacity = target::capacity(target.bytes);
    let fit = options.map.unwrap_or(Fit::Wrap);
    let mut mapping = Mapping::new(fit, capacity);
    mapping.lay_out(trace.scan.extents());
    if options.map.is_none() && mapping.needed() > capacity {
        let ways = "--map=scale brings the places closer together, --map=wrap begins again at its start";
        return Err(target::too_small(on, capacity, mapping.needed(), ways));
    }
    // Trims are shortened, and have no buffers.
    let largest = u64::from(directions[Direction::Read].largest.max(directions[Direction::Write].largest));
    if largest > capacity {
        let (largest, capacity) = (figures::size(largest), figures::size(capacity));
        return Err(refused(
            on,
            &format!(
                "the largest I/O of the load has {largest}, and it has {capacity}; name a larger target"
            ),
        ));
    }
    let word = if fit == Fit::Scale { "scale" } else { "wrap" };
    let (trace_name, target_name) = (named(path)?, named(&target.path)?);
    let job = load::of_trace(&load::Replayed {
        trace: &trace_name,
        target: &target_name,
        map: format!("{word}:{capacity}"),
        depends: options.is_closed,
        engine: options.engine.as_deref().unwrap_or("io_uring"),
        depth: options.depth,
        largest,
    });
    let used = if fit == Fit::Scale { capacity } else { mapping.needed().min(capacity) };
    let source = if options.is_closed { Source::Dependencies } else { Source::Replay };

    let mut plan = plan_of(options, path.display().to_string(), source, &target)?;
    plan.job = job;
    plan.time_ms = options.time_ms;

    plan.production = Some(trace.production);
    Ok(Prepared { plan, name: String::new(), used })
}

/// Runs a model of the trace.
fn of_model(
    options: &RehearseOptions,
    path: &Path,
    trace: &Trace,
    on: &Path,
    runner: &dyn Runner,
) -> Result<Prepared, Failure> {
    let Some(characterized) = trace.characterized.as_ref().filter(|found| found.files.is_none()) else {
        return Err(Failure::new(format!(
            "{}: --model needs a block trace; leave it out to replay this log",
            path.display()
        )));
    };
    let mut model = Model::of(&characterized.profile, &Scaling::default());
    let target = target::examine(on, options.destroy.as_deref(), model.writes() || options.fills, runner)?;
    let capacity = target::capacity(target.bytes);
    match options.map {
        Some(Fit::Scale) => {
            let scaling = Scaling { size: Some(capacity), ..Scaling::default() };
            model = Model::of(&characterized.profile, &scaling);
        }
        Some(Fit::Wrap) => {
            return Err(Failure::new("--map=wrap: a model has areas, which can only be scaled: --map=scale"));
        }
        None if model.size > capacity => {
            let ways = "--map=scale makes the areas of the model smaller";
            return Err(target::too_small(on, capacity, model.size, ways));
        }
        None => {}
    }
    if model.jobs.is_empty() {
        return Err(Failure::new(format!("{}: it has no requests with data to model", path.display())));
    }
    let text = model.job_file(&[], &named(&target.path)?);
    let spec = base_job::read(&text, false, runner)?;
    let mut plan = plan_of(options, model::title(path), Source::Jobs, &target)?;
    plan.job = load::of_jobs(&job_text::sections(&spec), &named(&target.path)?);
    plan.time_ms = options.time_ms;
    plan.production = Some(trace.production.clone());
    Ok(Prepared { plan, name: String::new(), used: model.size.min(capacity) })
}

/// Runs jobs with rates.
fn of_jobs(options: &RehearseOptions, on: &Path, runner: &dyn Runner) -> Result<Prepared, Failure> {
    let only_for_traces = [
        ("--closed", options.is_closed),
        ("--model", options.is_model),
        ("--map", options.map.is_some()),
        ("--ioengine", options.engine.is_some()),
        ("--iodepth", options.depth.is_some()),
    ];
    if let Some((option, _)) = only_for_traces.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::new(format!(
            "{option} is for traces, and this is a job; change its own options instead"
        )));
    }
    let base = BaseJob::from(&options.load, "rehearse", runner)?;
    let text = job_text::text(&base.sections);
    let spec = base_job::read(&text, false, runner)?;
    let writes = spec.jobs.iter().any(|job| job.io_type.rw.rw.writes() || job.io_type.rw.rw.trims());
    if writes && base.readonly {
        return Err(Failure::new(
            "--readonly: these jobs write; rehearse jobs that only read, or leave it out",
        ));
    }
    let target = target::examine(on, options.destroy.as_deref(), writes || options.fills, runner)?;
    let load = match &options.load {
        JobSource::File(path) => path.display().to_string(),
        JobSource::Words(_) => base.first_job(),
    };
    let mut plan = plan_of(options, load, Source::Jobs, &target)?;
    plan.job = load::of_jobs(&base.sections, &named(&target.path)?);
    plan.time_ms = options.time_ms;
    let capacity = target::capacity(target.bytes);
    let used = used_by(&base_job::read(&plan.job, false, runner)?, runner)?
        .map_or(capacity, |end| end.min(capacity));
    Ok(Prepared { used, plan, name: base.first_job() })
}

/// The end of the part of the target that jobs use; `None` if it depends on the target's size.
fn used_by(spec: &RunSpec, runner: &dyn Runner) -> Result<Option<u64>, Failure> {
    let clones = runner.targets(spec)?;
    let ends = clones.iter().map(|clone| clone.offset?.checked_add(clone.bytes?));
    Ok(ends.collect::<Option<Vec<u64>>>().and_then(|ends| ends.into_iter().max()))
}

fn plan_of(
    options: &RehearseOptions,
    load: String,
    source: Source,
    target: &Target,
) -> Result<RehearsalPlan, Failure> {
    Ok(RehearsalPlan {
        form: FORM,
        version: fathom_spec::VERSION.to_owned(),
        load,
        source,
        production: None,
        target: named(&target.path)?,
        target_bytes: target.bytes,
        job: String::new(),
        time_ms: None,
        scales: options.scales.clone(),
        objectives: options.objectives.iter().map(|limit| limit.text.clone()).collect(),
        precision: options.precision,
        most_runs: options.most_runs,
        seed: options.seed.unwrap_or_else(chance),
    })
}

/// A path as text for a job file.
fn named(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().ok_or_else(|| Failure::new(format!("{path:?} is not valid UTF-8")))?;
    Ok(text.to_owned())
}

/// Writes the used part of the target once. Returns the exit status if a signal ended it.
fn fill(
    prepared: &Prepared,
    streams: &mut Streams<'_>,
    runner: &mut dyn Runner,
) -> Result<Option<u8>, Failure> {
    let Prepared { plan, used, .. } = prepared;
    let length = if *used < FILL_LENGTH { SMALL_LENGTH } else { FILL_LENGTH };
    let size = used.next_multiple_of(length).min(target::capacity(plan.target_bytes));
    writeln!(streams.err, "writing {} of {}", figures::size(size), plan.target)?;

    let job =
        format!("[fill]\nfilename={}\nsize={size}\nbs={length}\n{FILL}", as_option(Path::new(&plan.target)));
    let mut messages = Messages::default();
    let ended = runner.run(&base_job::read(&job, false, runner)?, &mut messages)?;
    messages.0.iter().for_each(|line| {
        let _ = writeln!(streams.err, "{line}");
    });
    match (ended.signal, ended.failed_jobs) {
        (Some(signal), _) => Ok(Some(status_of_signal(signal))),
        (None, 0) => Ok(None),
        (None, _) => {
            Err(Failure::new(format!("{}: it could not be filled, see the messages above", plan.target)))
        }
    }
}

fn dry_run(plan: &RehearsalPlan, path: &Path, runner: &dyn Runner) -> Result<String, Failure> {
    let scales = match plan.scales.is_empty() {
        true => "found by doubling and bisection".to_owned(),
        false => plan.scales.iter().map(|scale| record::scale_word(*scale)).collect::<Vec<_>>().join(", "),
    };
    let recorded = plan.production.as_ref().filter(|_| plan.source != Source::Jobs);
    let length_ns = plan.time_ms.map(|time| time as f64 * 1e6);
    let length_ns = length_ns.or_else(|| recorded.map(|production| production.seconds * 1e9));
    let length = length_ns.map_or_else(
        || "of the length that the jobs have".to_owned(),
        |ns| format!("of {} at 1x", figures::duration(ns)),
    );
    let scale = plan.scales.first().copied().unwrap_or(1.0);
    let spec = base_job::read(&plan.job, false, runner)?;
    Ok(format!(
        "scales: {scales}; at most {} each, {length}; results in {}\n\n# at {}\n{}",
        fathom_stats::counted(plan.most_runs, "run"),
        path.display(),
        record::scale_word(scale),
        load::at_scale(plan, scale, 0, &spec)
    ))
}

fn print_again(path: &Path, options: &RehearseOptions, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    if let Some(option) = options.concerns_runs {
        return Err(Failure::new(format!(
            "{}: this is a results file, so only its answers are printed; --{option} has no effect",
            path.display()
        )));
    }
    let recorded: RecordedRehearsal = results_file::read(path)?;
    let objectives = objectives_of(&recorded, &options.objectives)?;
    print(options, &recorded, &objectives, streams)
}

/// Evaluates a results file, for a page.
pub(crate) fn shown(recorded: &RecordedRehearsal) -> Result<Shown<'_>, Failure> {
    let objectives = objectives_of(recorded, &[])?;
    Ok(Shown { recorded, rehearsed: answer::answer(recorded, &objectives), objectives })
}

/// The limits that were given now; without any, those of the plan.
fn objectives_of(recorded: &RecordedRehearsal, given: &[Objective]) -> Result<Vec<Objective>, Failure> {
    match given.is_empty() {
        false => Ok(given.to_vec()),
        true => recorded.plan.objectives.iter().map(|text| Objective::parse(text)).collect(),
    }
}

/// Prints the answers; returns the exit status.
fn print(
    options: &RehearseOptions,
    recorded: &RecordedRehearsal,
    objectives: &[Objective],
    streams: &mut Streams<'_>,
) -> Result<u8, Failure> {
    let rehearsed = answer::answer(recorded, objectives);
    let shown = Shown { recorded, rehearsed, objectives: objectives.to_vec() };
    let text = match options.format {
        Format::Json => output::json(&shown, options.need),
        _ => output::text(&shown, columns::of_terminal()),
    };
    print_as(options.format, streams, &text)?;
    let has_answer = shown.rehearsed.highest.is_some();
    Ok(match shown.rehearsed.carries(options.need) {
        Some(true) => 0,
        Some(false) => 2,
        // A run with dependencies and without limits has no limit that could be missed.
        None if !has_answer && !shown.rehearsed.steps.is_empty() => 0,
        None => 1,
    })
}
