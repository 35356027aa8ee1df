//! The access of jobs: only the targets for which the server was started.

use fathom_engines::client_files;
use fathom_local::changes::{self, Uses, is_device_node};
use fathom_local::refusals::{
    has_peers, is_device, leads_to, refusal_of_place, refusals, refusals_of_peers, runs_programs,
};
use fathom_run::files::names;
use fathom_run::plan::model::files::Names as FileNames;
use fathom_run::plan::{Plan, WorkerPlan};
use fathom_spec::definition::Names;
use fathom_spec::engines::StorageKind;
use fathom_spec::{JobSpec, RunSpec};
use serde::{Deserialize, Serialize};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The reason why runs may not use a path.
#[derive(Debug, Error)]
enum RefusedPath {
    #[error("{} is refused: its directory cannot be found", .0.display())]
    NoDirectory(PathBuf),
    #[error("{} is refused: runs are kept there", .0.display())]
    Results(PathBuf),
    /// The path is neither an allowed device nor below an allowed path; holds the message.
    #[error("{0}")]
    Elsewhere(String),
}

/// Maximum number of files of a run.
const MOST_FILES: u64 = 100_000;

/// Permissions of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Allowed {
    /// Allowed files, and directories whose files are all allowed.
    pub(crate) paths: Vec<PathBuf>,
    /// Allowed devices.
    pub(crate) devices: Vec<PathBuf>,
    /// Jobs may run commands and load engines.
    pub(crate) commands: bool,
    /// Jobs may connect to servers and other hosts.
    pub(crate) network: bool,
    /// The results directory. Only its folder `targets` may be used, even if a directory above it is allowed.
    pub(crate) results: PathBuf,
    /// True if unnamed files that the process itself created in one of `paths` are allowed, as `quick` needs.
    #[serde(skip)]
    pub(crate) unnamed: bool,
}

impl Allowed {
    /// Plans jobs that are allowed; otherwise returns lines for the user. Options are checked first, because
    /// planning reads files that some of them name.
    pub(crate) fn plan(&self, spec: &RunSpec, folder: Option<&Path>) -> Result<Plan, Vec<String>> {
        let lines: Vec<String> = spec.jobs.iter().flat_map(|job| self.refusals_of_options(job)).collect();
        if !lines.is_empty() {
            return Err(lines);
        }
        let plan = Plan::new(spec, fathom_engines::definition_of).map_err(|error| vec![error.to_string()])?;
        let files = plan.workers.iter().map(|worker| number_of(&worker.files.names.names));
        let files = files.fold(0, u64::saturating_add);
        if files > MOST_FILES {
            return Err(vec![format!(
                "{files} files are too many for this page, which checks each of them; the limit is {MOST_FILES}, and fathom run from a shell has none"
            )]);
        }
        let mut lines: Vec<String> = plan
            .workers
            .iter()
            .flat_map(|worker| self.refusals_of_worker(worker, plan.job_of(worker), folder))
            .collect();
        if let Some(path) = &plan.bandwidth_log {
            lines.extend(self.refusal_of_log(path, folder));
        }
        lines.dedup();
        if lines.is_empty() { Ok(plan) } else { Err(lines) }
    }

    fn refusals_of_options(&self, job: &JobSpec) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.commands {
            lines.extend(refusals(job, Names::Program, "the server was started without --allow-commands"));
            // The files that these options name may be loaded as programs, or contain secrets that would leave
            // this machine.
            lines.extend(refusals(
                job,
                Names::ClientFile,
                "it names a file of this machine, and the server was started without --allow-commands",
            ));
            let uris = client_files(job).into_iter().filter(|(option, _)| *option == "uri");
            let refused = uris.filter_map(|(_, path)| self.place_of(&path).err());
            lines.extend(refused.map(|reason| format!("job {}: uri=: {reason}", job.name)));
            lines.extend(runs_programs(job).then(|| {
                format!(
                    "job {}: an engine that runs or loads programs is refused: the server was started without --allow-commands",
                    job.name
                )
            }));
        }
        lines.extend(refusals(
            job,
            Names::File,
            "the server only uses the targets of its jobs, no other files",
        ));
        lines.extend(refusals(job, Names::Setting, "the server does not change its machine's settings"));
        if job.file.allow_mounted_write {
            lines.push(format!(
                "job {}: allow_mounted_write= is refused: targets in use are not overwritten",
                job.name
            ));
        }
        lines
    }

    fn refusals_of_worker(&self, worker: &WorkerPlan, job: &JobSpec, folder: Option<&Path>) -> Vec<String> {
        let mut lines: Vec<String> = match worker.storage {
            StorageKind::None if has_peers(worker) => {
                let refusal_of_place =
                    |path: &Path| self.place_of(path).err().map(|refused| refused.to_string());
                refusals_of_peers((worker, job), self.network, refusal_of_place, "the server")
            }
            StorageKind::None => Vec::new(),
            // A job named after a device works on it, so the files themselves are checked, not only their
            // names.
            StorageKind::Files => names::leading_paths(&worker.files.names)
                .iter()
                .filter_map(|path| self.refusal_of_path(path))
                .map(|reason| format!("job {}: {reason}", worker.name))
                .collect(),
            _ if self.network => Vec::new(),
            _ => vec![format!(
                "job {}: ioengine={} talks to a server: this one was started without --allow-network",
                worker.name, worker.engine
            )],
        };
        let logs = worker.logs.iter().flat_map(|logs| &logs.paths);
        let verify = worker.verify.as_ref();
        let states = verify.and_then(|verify| verify.state_to_save.as_ref());
        let dumps = verify.filter(|verify| verify.dumps).map(|verify| &verify.miscompare_file);
        let beside = logs.chain(worker.triggered_state.as_ref()).chain(states).chain(dumps);
        lines.extend(beside.filter_map(|path| self.refusal_of_log(path, folder)));
        lines
    }

    /// Refuses logs and states outside of the folder of their run, where they could replace other files.
    fn refusal_of_log(&self, path: &Path, folder: Option<&Path>) -> Option<String> {
        let real = leads_to(path);
        let is_in_folder =
            real.as_ref().zip(folder).is_some_and(|(real, folder)| real.parent() == Some(folder));
        (!is_in_folder).then(|| {
            format!(
                "{} is refused: logs and states are kept in the folder of their run; give a name without a directory",
                path.display()
            )
        })
    }

    /// Returns the reason why a path is refused. The path is resolved first, with its symbolic links and dots.
    pub(crate) fn refusal_of_path(&self, path: &Path) -> Option<String> {
        let real = match self.place_of(path) {
            Ok(real) => real,
            Err(refused) => return Some(refused.to_string()),
        };
        let is_pipe = std::fs::metadata(&real).is_ok_and(|found| {
            let kind = found.file_type();
            kind.is_fifo() || kind.is_socket()
        });
        is_pipe.then(|| format!("{} is refused: pipes and sockets are not targets", path.display()))
    }

    /// Returns the real path of a file that may not exist yet, or the reason why it is refused.
    fn place_of(&self, path: &Path) -> Result<PathBuf, RefusedPath> {
        let unnamed = if self.unnamed { unnamed(path) } else { None };
        let Some(real) = unnamed.or_else(|| leads_to(path)) else {
            return Err(RefusedPath::NoDirectory(path.to_owned()));
        };
        // Devices are recognised by their type, because a device node may be in any directory.
        let is_device = is_device(&real) || is_device_node(&real);
        if !is_device && real.starts_with(&self.results) && !real.starts_with(self.results.join("targets")) {
            return Err(RefusedPath::Results(path.to_owned()));
        }
        let places = (&*self.paths, &*self.devices);
        match refusal_of_place(path, &real, is_device, places, "server") {
            Some(line) => Err(RefusedPath::Elsewhere(line)),
            None => Ok(real),
        }
    }

    /// Checks the targets of a plan; returns lines for the user about all targets in use that it would change,
    /// and about the devices, volumes and files on servers that it would overwrite and that are not named in
    /// `confirmed`.
    pub(crate) fn check_uses(plan: &Plan, confirmed: &[String]) -> Vec<String> {
        let changes = changes::of(plan);
        let mut uses = Uses::default();
        uses.look(&changes);
        let mut lines = Vec::new();
        for (worker, changes) in plan.workers.iter().zip(&changes) {
            let unconfirmed = destroyed(plan, worker).into_iter().filter(|name| !confirmed.contains(name));
            lines.extend(unconfirmed.map(|name| {
                format!(
                    "job {}: all data on {name} could be lost; type its name to confirm that",
                    worker.name
                )
            }));
            let changed = changes.iter().filter(|change| change.is_any());
            lines.extend(changed.filter_map(|change| {
                let used = uses.of(&change.path)?;
                Some(format!("job {}: {} is in use: {used}", worker.name, change.path.display()))
            }));
        }
        lines.dedup();
        lines
    }
}

/// Returns the number of files of a clone, without creating any.
fn number_of(names: &FileNames) -> u64 {
    match names {
        FileNames::Listed(names) => names.len() as u64,
        FileNames::Numbered { count, .. } => *count as u64,
    }
}

/// Returns the directory of an unnamed file of this process.
fn unnamed(path: &Path) -> Option<PathBuf> {
    path.strip_prefix("/proc/self/fd").ok()?;
    let link = std::fs::read_link(path).ok()?;
    link.to_str()?.strip_suffix(" (deleted)").map(PathBuf::from)
}

/// Returns the devices, volumes and files on servers that a worker overwrites or removes, under the names that
/// users must type as confirmation.
pub(crate) fn destroyed(plan: &Plan, worker: &WorkerPlan) -> Vec<String> {
    let told = |path: &PathBuf| path.display().to_string();
    let planned = || -> Vec<String> { names::planned_paths(&worker.files.names).iter().map(told).collect() };
    let writes = worker.changes_data();
    match worker.storage {
        StorageKind::Files if writes => names::paths(&worker.files.names)
            .iter()
            .filter(|path| is_device_node(path))
            .map(|path| name_of_device(path))
            .collect(),
        // An export is identified by its address, regardless of the file names of the job.
        StorageKind::Volume if writes => match plan.jobs.get(worker.job).and_then(address_of) {
            Some(address) => vec![address],
            None => match planned().into_iter().filter(|name| !name.is_empty()).collect::<Vec<String>>() {
                unnamed if unnamed.is_empty() => vec![worker.name.clone()],
                named => named,
            },
        },
        StorageKind::Server if writes || worker.files.are_removed || worker.files.are_renewed => planned(),
        _ => Vec::new(),
    }
}

/// Returns the address of a volume that is not among the file names of its job.
fn address_of(job: &JobSpec) -> Option<String> {
    if job.engine.ioengine.name == "nbd" { job.private.nbd.uri.clone() } else { None }
}

/// Returns the kernel's name of a device, because links to it may change.
pub(crate) fn name_of_device(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_where_it_leads() {
        let directory = tempfile::tempdir().expect("a directory");
        let inside = directory.path().join("inside");
        std::fs::create_dir(&inside).expect("a directory");
        std::os::unix::fs::symlink(directory.path(), inside.join("out")).expect("a link");
        std::os::unix::fs::symlink("/dev/null", inside.join("device")).expect("a link");
        let results = inside.join("results");
        std::fs::create_dir_all(results.join("targets")).expect("directories");
        let allowed = Allowed { paths: vec![inside.clone()], results, ..Allowed::default() };
        let is_allowed = |path: PathBuf| allowed.refusal_of_path(&path).is_none();
        assert!(is_allowed(inside.join("new")) && is_allowed(inside.join("../inside/new")));
        assert!(is_allowed(inside.join("results/targets/new")));
        for path in
            ["results/lock", "results/runs", "out/new", "../new", "device", "missing/new", "../inside-too"]
        {
            assert!(!is_allowed(inside.join(path)), "{path}");
        }
    }
}
