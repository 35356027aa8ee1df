//! Turns a job and the varied options into a checked plan: the job file of every cell is parsed before the
//! first run.

use super::file_systems::{self, Volume, place};
use super::plan::{self, FORM, SweepPlan};
use super::variation::Variation;
use super::words::SweepOptions;
use crate::Runner;
use crate::base_job::{BaseJob, read};
use crate::job_text;
use crate::measures::FigureOf;
use crate::running::chance;
use fathom_command::Failure;
use fathom_spec::options::verification::VerifyMethod;
use fathom_spec::{JobSpec, RunSpec};
use fathom_stats::counted;
use std::path::Path;

/// The plan of a sweep, with all cells parsed.
pub(super) fn plan(
    options: &SweepOptions,
    base: &BaseJob,
    runner: &dyn Runner,
) -> Result<SweepPlan, Failure> {
    let cells = plan::cells(&options.variations)?;
    let precondition = match &options.precondition {
        Some(path) => {
            let found = BaseJob::of_file(path, "sweep", runner)
                .map_err(|failure| Failure::new(format!("--precondition={}: {failure}", path.display())))?;
            Some(job_text::text(&found.sections))
        }
        None => None,
    };
    let seed = options.seed.unwrap_or_else(chance);
    let repeats = options.repeats.unwrap_or(plan::USUAL_REPEATS);
    let plan = SweepPlan {
        form: FORM,
        version: fathom_spec::VERSION.to_owned(),
        first_job: base.first_job(),
        job: job_text::text(&base.sections),
        vary: options.variations.clone(),
        repeats,
        seed,
        pause_ms: options.pause.as_millis() as u64,
        precondition,
        precondition_each: options.preconditions_each,
        readonly: base.readonly,
        order: plan::order(cells, repeats, seed),
        labels: Vec::new(),
        volume: volume(options, base, runner)?,
    };
    let mut jobs = Vec::new();
    for cell in 0..cells {
        jobs.extend(checked(&plan, cell, runner)?.jobs);
    }
    if plan.precondition.is_some() && plan.volume.is_some() {
        check_precondition(&plan, runner)?;
    }
    // Such a figure is refused now instead of after hours of runs.
    let is_never = |figure: &&FigureOf| {
        figure.direction.is_some_and(|direction| !jobs.iter().any(|job| may_do(job, direction)))
    };
    match options.figures.iter().find(is_never) {
        Some(figure) => {
            Err(Failure::new(format!("--figures: no job will have the figure `{figure}`; leave it out")))
        }
        None => Ok(plan),
    }
}

/// Examines the target of the file systems, if they vary; the jobs must leave the location of their files to
/// the sweep.
fn volume(options: &SweepOptions, base: &BaseJob, runner: &dyn Runner) -> Result<Option<Volume>, Failure> {
    let Some(variation) =
        options.variations.iter().find(|variation| variation.name == file_systems::DIMENSION)
    else {
        return Ok(None);
    };
    if base.readonly {
        return Err(Failure::new(
            "--readonly forbids writing, but --fs makes file systems; leave one of them out",
        ));
    }
    options.variations.iter().try_for_each(|variation| place::check_variation(&variation.name))?;
    let spec = read(&job_text::text(&base.sections), false, runner)?;
    place::check_jobs(&spec, variation.values.iter().any(|value| value == file_systems::NONE))?;
    Volume::plan(&options.file_systems, &variation.values, runner).map(Some)
}

/// A directory for checks. Any existing one serves, because the mount point does not exist until it is used.
const ANY_DIRECTORY: &str = "/";

/// Parses the jobs of a cell and determines their targets.
fn checked(plan: &SweepPlan, cell: usize, runner: &dyn Runner) -> Result<RunSpec, Failure> {
    let Some((volume, kind)) = plan.file_system_of(cell) else { return spec_of(plan, cell, runner) };
    let text = job_at(plan, cell, &volume.device, ANY_DIRECTORY);
    let spec = read(&text, plan.readonly, runner).map_err(|failure| with_name(plan, cell, failure))?;
    place::check_targets(&spec, kind, volume, ANY_DIRECTORY, runner)
        .map_err(|failure| with_name(plan, cell, failure))?;
    Ok(spec)
}

/// Number of files of a cell.
pub(super) fn files_of(plan: &SweepPlan, cell: usize, runner: &dyn Runner) -> Result<usize, Failure> {
    let device = plan.volume.as_ref().map_or(Path::new(""), |volume| &volume.device);
    let spec = read(&job_at(plan, cell, device, ANY_DIRECTORY), plan.readonly, runner)?;
    Ok(place::files(&runner.targets(&spec)?))
}

/// Checks that the jobs of `--precondition` also stay on the device.
fn check_precondition(plan: &SweepPlan, runner: &dyn Runner) -> Result<(), Failure> {
    let named = |failure: Failure| Failure::new(format!("--precondition: {failure}"));
    let (Some(text), Some(volume)) = (&plan.precondition, &plan.volume) else { return Ok(()) };
    place::check_jobs(&read(text, false, runner)?, true).map_err(named)?;
    let mut kinds: Vec<&str> = match plan.precondition_each {
        true => (0..plan.cells()).filter_map(|cell| Some(plan.file_system_of(cell)?.1)).collect(),
        // Such a precondition runs once, before any file system is made.
        false => vec![file_systems::NONE],
    };
    kinds.dedup();
    for kind in kinds {
        let text = precondition_at(text, kind, &volume.device, ANY_DIRECTORY);
        let spec = read(&text, false, runner).map_err(named)?;
        place::check_targets(&spec, kind, volume, ANY_DIRECTORY, runner).map_err(named)?;
    }
    Ok(())
}

fn with_name(plan: &SweepPlan, cell: usize, failure: Failure) -> Failure {
    match plan.name_of(cell) {
        name if name.is_empty() => failure,
        name => Failure::new(format!("with {name}: {failure}")),
    }
}

/// False if a job certainly does no I/O in a direction. A replayed log may contain any direction, and a job
/// that verifies also reads.
pub(super) fn may_do(job: &JobSpec, direction: &str) -> bool {
    let rw = job.io_type.rw.rw;
    let is_open = job.replay.read_iolog.is_some() || job.verification.verify != VerifyMethod::None;
    match direction {
        "read" => rw.reads() || is_open,
        "write" => rw.writes() || is_open,
        "trim" => rw.trims() || is_open,
        _ => true,
    }
}

/// Parses the jobs of a cell.
pub(super) fn spec_of(plan: &SweepPlan, cell: usize, runner: &dyn Runner) -> Result<RunSpec, Failure> {
    read(&job_of(plan, cell), plan.readonly, runner).map_err(|failure| with_name(plan, cell, failure))
}

/// Parses the jobs of a cell for a device or its mounted file system. The targets are checked again.
pub(super) fn spec_on(
    plan: &SweepPlan,
    cell: usize,
    device: &Path,
    runner: &dyn Runner,
) -> Result<RunSpec, Failure> {
    let Some((volume, kind)) = plan.file_system_of(cell) else { return spec_of(plan, cell, runner) };
    let spec = read(&job_at(plan, cell, device, place::MOUNT), false, runner)
        .map_err(|failure| with_name(plan, cell, failure))?;
    let volume = Volume { device: device.to_owned(), ..volume.clone() };
    place::check_targets(&spec, kind, &volume, place::MOUNT, runner)?;
    Ok(spec)
}

/// Parses the jobs of the precondition.
pub(super) fn precondition_of(plan: &SweepPlan, runner: &dyn Runner) -> Result<Option<RunSpec>, Failure> {
    plan.precondition.as_ref().map(|text| read(text, false, runner)).transpose()
}

/// Parses the jobs of the precondition for a device or its mounted file system.
pub(super) fn precondition_on(
    text: &str,
    kind: &str,
    device: &Path,
    runner: &dyn Runner,
) -> Result<RunSpec, Failure> {
    read(&precondition_at(text, kind, device, place::MOUNT), false, runner)
}

fn precondition_at(text: &str, kind: &str, device: &Path, mount: &str) -> String {
    let mut sections = job_text::read(text);
    place::put(&mut sections, kind, device, mount);
    job_text::text(&sections)
}

/// The job file of a cell. The value of a varied option is replaced in every section that has it; an option
/// that no section has is added to every job.
pub(super) fn job_of(plan: &SweepPlan, cell: usize) -> String {
    let device = plan.volume.as_ref().map_or(Path::new(""), |volume| &volume.device);
    job_at(plan, cell, device, place::MOUNT)
}

fn job_at(plan: &SweepPlan, cell: usize, device: &Path, mount: &str) -> String {
    let mut sections = job_text::read(&plan.job);
    for (name, value) in plan.values_of(cell) {
        match plan.volume.is_some() && name == file_systems::DIMENSION {
            true => place::put(&mut sections, value, device, mount),
            false => job_text::put(&mut sections, name, value),
        }
    }
    job_text::text(&sections)
}

/// The plan as text, with the job file of every cell and the number of finished runs of an existing sweep.
pub(super) fn show(plan: &SweepPlan, path: &Path, done: Option<usize>) -> String {
    let list: Vec<String> =
        plan.vary.iter().map(|Variation { name, values }| format!("{name} ({})", values.join(" "))).collect();
    let cells = plan.cells();
    let mut text = format!("{}, {}", counted(cells, "cell"), counted(cells * plan.repeats as usize, "run"));
    if !list.is_empty() {
        text.push_str(&format!(", varying {}", list.join(" and ")));
    }
    text.push_str(&format!("; results in {}", path.display()));
    text.push_str(
        &done.map_or_else(String::new, |done| format!(", which have {} so far", counted(done, "run"))),
    );
    text.push('\n');
    for line in plan.volume.iter().flat_map(Volume::remarks) {
        text.push_str(&line);
        text.push('\n');
    }
    if let Some(job) = &plan.precondition {
        let when = if plan.precondition_each { "each run" } else { "the first run" };
        text.push_str(&format!("\n# before {when}\n{job}"));
    }
    for cell in 0..cells {
        text.push_str(&format!("\n# cell {}: {}\n{}", cell + 1, plan.name_of(cell), job_of(plan, cell)));
    }
    text.push_str(&format!("\nOrder of runs by seed {}:\n", plan.seed));
    for (round, order) in plan.order.iter().enumerate() {
        let cells: Vec<String> = order.iter().map(|cell| (cell + 1).to_string()).collect();
        text.push_str(&format!("  round {}: {}\n", round + 1, cells.join(" ")));
    }
    text
}
