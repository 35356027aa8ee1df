//! `fathom curve`: finds out how much load the storage can take: response times at each offered load, the knee,
//! and the highest rate that meets a limit.

pub(crate) mod answer;

mod load;
mod next;
pub(crate) mod output;
mod plan;
pub(crate) mod record;
mod runs;

mod words;

use crate::bars::Ink;
use crate::base_job::{self, BaseJob, JobSource};
use crate::columns;
use crate::keeper::Keeper;
use crate::loads::objective::Objective;
use crate::loads::precision::LEAST_RUNS;
use crate::loads::series;
use crate::results_file;
use crate::running::chance;
use crate::table::{Format, print_as};
use crate::{Command, Runner, job_text};
use fathom_command::{Failure, Streams};
use fathom_spec::RunSpec;
use fathom_stats::counted;
use load::Load;
use output::Shown;
use plan::{CurvePlan, FORM};
use record::RecordedCurve;
use std::ffi::OsString;
use std::path::Path;
use words::CurveOptions;

pub(crate) const COMMAND: Command = Command {
    name: "curve",
    arguments: "JOB --slo=p99<2ms",
    summary: "How much load does it take? Response time by rate",
    help: "\
Usage: fathom curve JOBFILE [OPTION...]
       fathom curve [OPTION...] -- --name=JOB --rw=randread ...
       fathom curve [OPTION...] RESULTS.curve.jsonl

Offers a job more and more load, in an open loop: I/Os are due whether or not the storage keeps up, and response times count from
then. Shows throughput and response time by load, the knee, and the highest rate that keeps to the limits of --slo. Each finished
run is appended to one results file and synced; after Ctrl-C or a crash, the same command resumes. The last form prints such a file
again; fathom report makes a page of it.

Load
  --rates=LIST       I/Os per second of all jobs together, as in 500,1k,2k; default: ten steps up to the rate of the jobs
                     without a limit, which is measured first
  --slo=LIMITS       find the highest rate that meets these, as in p99<2ms or read:p99.9<5ms,write:mean<1ms; with --rates, from
                     these rates, otherwise by bisection
  --process=PROCESS  arrivals as in rate_process: poisson (default), linear, onoff:BUSY:IDLE, gamma:CV,
                     steps:LENGTH:WEIGHT/WEIGHT/...
  --vary=NAME=A,B    a curve for each value of a job option

Runs
  --time=TIME        length of a run (default 5s)
  --ramp=TIME        before it, not counted (default 500ms)
  --precision=PERCENT  repeat a load until half of the 95 % interval of its p99 is at most this (default 10)
  --most-runs=N      but not more often than this (default 5)
  --seed=N           seed of the order of runs and of the arrivals; default random, and recorded
  --output=FILE      results file; default NAME.curve.jsonl in the current directory
  --history[=STORE]  add the runs to this store of fathom history when the command ends
  --dry-run          print the plan and the first job file, and run nothing

Output
  --format=text|markdown|csv|json  default text
",
    run,
};

fn run(words: &[OsString], streams: &mut Streams<'_>, runner: &mut dyn Runner) -> Result<u8, Failure> {
    let options = words::read(words)?;
    if let JobSource::File(path) = &options.job
        && results_file::is_results::<RecordedCurve>(path)
    {
        return print_again(path, &options, streams);
    }
    let base = BaseJob::from(&options.job, "curve", runner)?;
    let plan = plan_of(&options, &base, runner)?;
    let path = options.output.clone().unwrap_or_else(|| options.job.default_output(&plan.first_job, "curve"));
    if options.is_dry_run {
        streams.out.write_all(dry_run(&plan, &path, runner)?.as_bytes())?;
        return Ok(0);
    }
    if !options.has_intervals() {
        let _ = writeln!(streams.err, "note: fewer than {} runs per load give no interval", LEAST_RUNS);
    }
    let keeper = Keeper::asked(options.history.as_ref())?;
    let mut recorder = record::open(&path, &plan, options.seed.is_some())?;
    let stopped = series::execute(&mut recorder, &options.objectives, streams, runner)?;
    let recorded = recorder.into_recorded();
    // The curves are printed even if this failed.
    let kept = keeper.map_or(Ok(()), |keeper| keeper.add_runs_of(&recorded, &path));
    let code = print(&options, &recorded, &options.objectives, streams)?;
    kept?;
    Ok(stopped.unwrap_or(code))
}

fn plan_of(options: &CurveOptions, base: &BaseJob, runner: &dyn Runner) -> Result<CurvePlan, Failure> {
    let plan = CurvePlan {
        form: FORM,
        version: fathom_spec::VERSION.to_owned(),
        first_job: base.first_job(),
        job: job_text::text(&base.sections),
        vary: options.vary.clone(),
        rates: options.rates.clone(),
        searches: options.rates.is_empty() && !options.objectives.is_empty(),
        objectives: options.objectives.iter().map(|limit| limit.text.clone()).collect(),
        process: options.process.clone(),
        time_ms: options.time_ms,
        ramp_ms: options.ramp_ms,
        precision: options.precision,
        most_runs: options.most_runs,
        seed: options.seed.unwrap_or_else(chance),
        readonly: base.readonly,
    };
    // Loads that cannot run are refused before the first run starts.
    for curve in 0..plan.curves() {
        spec_at(&plan, curve, Load::Closed, 0, runner)?;
        let rate = plan.rates.first().copied().unwrap_or(100_000.0);
        spec_at(&plan, curve, Load::Offered(rate), 0, runner)?;
    }
    Ok(plan)
}

/// The jobs of a curve at one load, in one of its runs.
fn spec_at(
    plan: &CurvePlan,
    curve: usize,
    load: Load,
    number: usize,
    runner: &dyn Runner,
) -> Result<RunSpec, Failure> {
    let named = |failure: Failure| match plan.name_of(curve) {
        name if name.is_empty() => failure,
        name => Failure::new(format!("with {name}: {failure}")),
    };
    let spec = base_job::read(&job_text::text(&load::with_values(plan, curve)), plan.readonly, runner)
        .map_err(named)?;
    let text = load::job_file(plan, curve, load, number, &spec).map_err(named)?;
    base_job::read(&text, plan.readonly, runner).map_err(named)
}

fn dry_run(plan: &CurvePlan, path: &Path, runner: &dyn Runner) -> Result<String, Failure> {
    let loads = match (plan.rates.is_empty(), plan.searches) {
        (false, _) => {
            let rates: Vec<String> = plan.rates.iter().map(ToString::to_string).collect();
            format!("{} I/Os a second", rates.join(", "))
        }
        (true, true) => "found by bisection, after a run without a limit".to_owned(),
        (true, false) => "ten steps up to what a run without a limit reaches".to_owned(),
    };
    let mut text = format!(
        "{}; loads: {loads}; at most {} of {} ms each; results in {}\n",
        counted(plan.curves(), "curve"),
        counted(plan.most_runs, "run"),
        plan.time_ms,
        path.display()
    );
    let rate = plan.rates.first().copied().unwrap_or(1000.0);
    for curve in 0..plan.curves() {
        let spec = base_job::read(&job_text::text(&load::with_values(plan, curve)), plan.readonly, runner)?;
        let file = load::job_file(plan, curve, Load::Offered(rate), 0, &spec)?;
        text.push_str(&format!("\n# {} at {rate} I/Os per second\n{file}", plan.name_of(curve)));
    }
    Ok(text)
}

fn print_again(path: &Path, options: &CurveOptions, streams: &mut Streams<'_>) -> Result<u8, Failure> {
    if let Some(option) = options.concerns_runs {
        return Err(Failure::new(format!(
            "{}: this is a results file, so only its curves are printed; --{option} has no effect",
            path.display()
        )));
    }
    let recorded: RecordedCurve = results_file::read(path)?;
    let objectives = objectives_of(&recorded, &options.objectives)?;
    print(options, &recorded, &objectives, streams)
}

/// Evaluates the curves of a results file, for a page.
pub(crate) fn shown(recorded: &RecordedCurve) -> Result<Shown<'_>, Failure> {
    let objectives = objectives_of(recorded, &[])?;
    Ok(Shown { recorded, curves: answer::curves(recorded, &objectives), objectives })
}

/// The limits that were given now; without any, those of the plan.
fn objectives_of(recorded: &RecordedCurve, given: &[Objective]) -> Result<Vec<Objective>, Failure> {
    match given.is_empty() {
        false => Ok(given.to_vec()),
        true => recorded.plan.objectives.iter().map(|text| Objective::parse(text)).collect(),
    }
}

/// Prints the curves; returns 1 if a run failed.
fn print(
    options: &CurveOptions,
    recorded: &RecordedCurve,
    objectives: &[Objective],
    streams: &mut Streams<'_>,
) -> Result<u8, Failure> {
    let curves = answer::curves(recorded, objectives);
    let shown = Shown { recorded, curves, objectives: objectives.to_vec() };
    let text = match options.format {
        Format::Text => output::text(&shown, Ink::of_environment(), columns::of_terminal()),
        Format::Markdown => output::markdown(&shown),
        Format::Csv => output::csv(&shown),
        Format::Json => output::json(&shown),
    };
    print_as(options.format, streams, &text)?;
    Ok(u8::from(recorded.failed_runs() > 0))
}
