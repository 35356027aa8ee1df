//! Forecast of the effects of jobs: their targets, the amounts read and written, and the duration.

use crate::allowed::{destroyed, name_of_device};
use crate::made::{AllMade, Made};
use fathom_local::changes::{self, Change, Uses, is_device_node};
use fathom_run::files::names;
use fathom_run::plan::{Plan, WorkerPlan};
use fathom_spec::engines::StorageKind;
use fathom_spec::value::SizeSpec;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Maximum number of targets in the list.
const MOST_TARGETS: usize = 200;

/// The forecast of a request.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Forecast {
    pub(crate) targets: Vec<TargetForecast>,
    /// Number of targets that are left out of the list.
    pub(crate) further_targets: usize,
    pub(crate) jobs: Vec<ForecastJob>,
    /// Maximum number of bytes read; `None` if only time or the targets end the run.
    pub(crate) reads_at_most: Option<u64>,
    pub(crate) writes_at_most: Option<u64>,
    /// Number of bytes of files that are laid out first.
    pub(crate) makes: u64,
    /// Maximum duration in seconds; `None` if only an amount ends the run.
    pub(crate) seconds_at_most: Option<f64>,
    /// Names that users must type as confirmation.
    pub(crate) to_confirm: Vec<String>,
}

/// A target of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct TargetForecast {
    pub(crate) path: String,
    pub(crate) kind: &'static str,
    /// Size of the target in bytes.
    pub(crate) size: Option<u64>,
    pub(crate) model: Option<String>,
    /// Use by others, as a phrase that follows "is in use: ".
    pub(crate) in_use: Option<String>,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) is_removed: bool,
    /// True if the target exists and is extended before the run.
    pub(crate) is_longer: bool,
    /// True if the target's content would be lost, and no run in this results directory created it.
    pub(crate) is_destroyed: bool,
    pub(crate) jobs: Vec<String>,
}

/// The description of a job in one line.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ForecastJob {
    pub(crate) name: String,
    pub(crate) engine: String,
    pub(crate) pattern: String,
    pub(crate) clones: usize,
    pub(crate) depth: u32,
    pub(crate) stage: u32,
}

/// Forecasts the effects of a plan. `made` lists the files that earlier runs created.
pub(crate) fn of(plan: &Plan, made: &AllMade) -> Forecast {
    with_uses(plan, made, &mut Uses::default())
}

fn with_uses(plan: &Plan, made: &AllMade, uses: &mut Uses) -> Forecast {
    let changes = changes::of(plan);
    uses.look(&changes);
    let mut forecast = Forecast {
        reads_at_most: Some(0),
        writes_at_most: Some(0),
        seconds_at_most: Some(0.0),
        ..Forecast::default()
    };
    let mut targets: BTreeMap<String, TargetForecast> = BTreeMap::new();
    let mut stages: BTreeMap<u32, Option<f64>> = BTreeMap::new();
    for (worker, changes) in plan.workers.iter().zip(&changes) {
        if worker.background.is_some() {
            continue;
        }
        for target in targets_of(plan, worker, changes, made, uses) {
            add(&mut targets, target);
        }
        let (amount, new) = amounts(worker);
        forecast.makes = forecast.makes.saturating_add(new);
        let sum = |sum: Option<u64>, takes_part: bool| match takes_part {
            true => sum.zip(amount).map(|(sum, amount)| sum.saturating_add(amount)),
            false => sum,
        };
        forecast.reads_at_most = sum(forecast.reads_at_most, worker.reads_data());
        forecast.writes_at_most = sum(forecast.writes_at_most, worker.changes_data());
        let time = worker.time.expected().as_secs_f64();
        let time = (!worker.time.runtime.is_zero()).then_some(time);
        let stage = stages.entry(worker.stage).or_insert(Some(0.0));
        *stage = stage.zip(time).map(|(one, other)| one.max(other));
    }
    forecast.seconds_at_most = stages.values().copied().sum();
    forecast.jobs = jobs_of(plan);
    forecast.to_confirm =
        targets.values().filter(|one| one.is_destroyed).map(|one| one.path.clone()).collect();
    forecast.further_targets = targets.len().saturating_sub(MOST_TARGETS);
    forecast.targets = targets.into_values().take(MOST_TARGETS).collect();
    forecast
}

/// Forecasts the effects of several plans that run one after the other: the targets of all plans, with times
/// and amounts of a single one.
pub(crate) fn of_all(plans: &[Plan], made: &AllMade) -> Forecast {
    let mut uses = Uses::default();
    let mut all = plans.first().map_or_else(Forecast::default, |plan| with_uses(plan, made, &mut uses));
    let mut targets: BTreeMap<String, TargetForecast> = BTreeMap::new();
    for plan in plans {
        let one = with_uses(plan, made, &mut uses);
        one.targets.into_iter().for_each(|target| add(&mut targets, target));
        all.to_confirm.extend(one.to_confirm);
    }
    all.to_confirm.sort();
    all.to_confirm.dedup();
    all.targets = targets.into_values().take(MOST_TARGETS).collect();
    all
}

/// Returns the files that do not exist and that the run may create.
pub(crate) fn to_make(plans: &[Plan]) -> Vec<PathBuf> {
    let workers = plans.iter().flat_map(|plan| &plan.workers);
    let of_files =
        workers.filter(|worker| worker.storage == StorageKind::Files && worker.files.layout.creates);
    let paths = of_files.flat_map(|worker| names::paths(&worker.files.names));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| !path.exists()).filter_map(|path| std::path::absolute(path).ok()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Returns the files made by earlier runs that this one changes.
pub(crate) fn to_remake(plans: &[Plan], made: &AllMade) -> Vec<Made> {
    let changes = plans.iter().flat_map(changes::of).flatten().filter(Change::is_any);
    let mut paths: Vec<PathBuf> = changes.map(|change| change.path).collect();
    paths.sort();
    paths.dedup();
    paths.iter().filter_map(|path| Made::of(path)).filter(|file| made.contains(file)).collect()
}

fn add(targets: &mut BTreeMap<String, TargetForecast>, target: TargetForecast) {
    match targets.get_mut(&target.path) {
        Some(own) => {
            own.reads |= target.reads;
            own.writes |= target.writes;
            own.is_removed |= target.is_removed;
            own.is_longer |= target.is_longer;
            own.is_destroyed |= target.is_destroyed;
            own.in_use = own.in_use.take().or(target.in_use);
            let new = target.jobs.into_iter().filter(|name| !own.jobs.contains(name)).collect::<Vec<_>>();
            own.jobs.extend(new);
        }
        None => drop(targets.insert(target.path.clone(), target)),
    }
}

fn jobs_of(plan: &Plan) -> Vec<ForecastJob> {
    let of_job = |(index, job): (usize, &fathom_spec::JobSpec)| {
        let mut workers = plan.workers.iter().filter(|worker| worker.job == index);
        let first = workers.next()?;
        Some(ForecastJob {
            name: job.name.clone(),
            engine: first.engine.clone(),
            pattern: job.io_type.rw.rw.to_string(),
            clones: 1 + workers.count(),
            depth: first.depth,
            stage: first.stage,
        })
    };
    plan.jobs.iter().enumerate().filter_map(of_job).collect()
}

fn targets_of(
    plan: &Plan,
    worker: &WorkerPlan,
    changes: &[Change],
    made: &AllMade,
    uses: &Uses,
) -> Vec<TargetForecast> {
    let (reads, writes) = (worker.reads_data(), worker.changes_data());
    let jobs = vec![worker.name.clone()];
    let lost = destroyed(plan, worker);
    let elsewhere = |path: String, kind| TargetForecast {
        is_destroyed: lost.contains(&path),
        path,
        kind,
        size: None,
        model: None,
        in_use: None,
        reads,
        writes,
        is_removed: false,
        is_longer: false,
        jobs: jobs.clone(),
    };
    let planned =
        || names::planned_paths(&worker.files.names).into_iter().map(|path| path.display().to_string());
    match worker.storage {
        StorageKind::None => Vec::new(),
        StorageKind::Volume if lost.is_empty() => {
            planned().map(|path| elsewhere(path, "volume of a server")).collect()
        }
        StorageKind::Volume => {
            lost.iter().map(|name| elsewhere(name.clone(), "volume of a server")).collect()
        }
        StorageKind::Server => {
            let is_removed = worker.files.are_removed || worker.files.are_renewed;
            planned().map(|path| TargetForecast { is_removed, ..elsewhere(path, "on a server") }).collect()
        }
        StorageKind::Files => {
            changes.iter().map(|change| of_path(change, reads, &jobs, made, uses)).collect()
        }
    }
}

fn of_path(change: &Change, reads: bool, jobs: &[String], made: &AllMade, uses: &Uses) -> TargetForecast {
    let path = &change.path;
    let mut target = TargetForecast {
        path: path.display().to_string(),
        kind: "new file",
        size: None,
        model: None,
        in_use: uses.of(path),
        reads,
        writes: change.writes,
        is_removed: change.is_removed,
        is_longer: change.is_longer,
        is_destroyed: false,
        jobs: jobs.to_vec(),
    };
    let Ok(found) = fs::metadata(path) else { return target };
    if is_device_node(path) {
        let (size, model) = of_device(found.rdev());
        (target.kind, target.size, target.model) = ("device", size, model);
        target.path = name_of_device(path);
        target.is_destroyed = change.writes;
        return target;
    }
    if found.is_dir() {
        // A metadata job removes the directory that is its target if it is empty.
        target.kind = "directory";
        return target;
    }
    (target.kind, target.size) = ("file", Some(found.len()));
    let is_ours = Made::of(path).is_some_and(|file| made.contains(&file));
    target.is_destroyed = change.is_any() && found.len() > 0 && !is_ours;
    target
}

/// Reads the size in bytes and the model of a block device from sysfs.
fn of_device(number: u64) -> (Option<u64>, Option<String>) {
    let (major, minor) = (libc::major(number), libc::minor(number));
    let directory = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let read = |name: &str| fs::read_to_string(directory.join(name)).ok();
    let sectors: Option<u64> = read("size").and_then(|text| text.trim().parse().ok());
    // A partition has no model, so that of its disk is read.
    let model = read("device/model").or_else(|| read("../device/model"));
    let model = model.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    (sectors.map(|sectors| sectors.saturating_mul(512)), model)
}

/// Returns the maximum number of bytes that a worker moves, if an amount ends it, and the number of bytes laid
/// out for it first.
fn amounts(worker: &WorkerPlan) -> (Option<u64>, u64) {
    if !worker.has_storage() || worker.storage != StorageKind::Files {
        let bytes = match (worker.amounts.io_size, worker.amounts.size) {
            (Some(SizeSpec::Bytes(bytes)), _) | (None, Some(SizeSpec::Bytes(bytes))) => Some(bytes),
            _ => None,
        };
        return (bytes.filter(|_| !worker.time.time_based).map(|bytes| times(bytes, worker)), 0);
    }
    let paths = names::paths(&worker.files.names);
    let wanted = match (worker.files.part.lengths, worker.amounts.size) {
        (Some(lengths), _) => Some(lengths.max.saturating_mul(paths.len() as u64)),
        (None, Some(SizeSpec::Bytes(bytes))) => Some(bytes),
        (None, _) => None,
    };
    let there: u64 = paths.iter().map(|path| size_of(path)).fold(0, u64::saturating_add);
    let is_file = !paths.iter().any(|path| is_device_node(path));
    let made = match wanted {
        Some(wanted) if is_file && worker.files.layout.creates => wanted.saturating_sub(there),
        _ => 0,
    };
    let bytes = match worker.amounts.io_size {
        Some(SizeSpec::Bytes(bytes)) => Some(bytes),
        _ => wanted.or(Some(there).filter(|there| *there > 0)),
    };
    (bytes.filter(|_| !worker.time.time_based).map(|bytes| times(bytes, worker)), made)
}

fn times(bytes: u64, worker: &WorkerPlan) -> u64 {
    bytes.saturating_mul(worker.budget.loops.max(1))
}

fn size_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| match is_device_node(path) {
        true => of_device(found.rdev()).0.unwrap_or(0),
        false => found.len(),
    })
}
