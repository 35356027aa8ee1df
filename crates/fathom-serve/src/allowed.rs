//! What jobs may touch: the targets that the server was started for, and nothing beside them.

use fathom_hosts::agent::rules::{COMMANDS, MACHINE, leads_to};
use fathom_run::files::names;
use fathom_run::plan::model::files::Names;
use fathom_run::plan::{Plan, WorkerPlan};
use fathom_run::storage::files::use_of;
use fathom_spec::engines::StorageKind;
use fathom_spec::{JobSpec, RunSpec};
use serde::{Deserialize, Serialize};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Options that name files beside the targets of a job.
const FILES: &[&str] = &[
    "read_iolog",
    "write_iolog",
    "merge_blktrace_file",
    "replay_redirect",
    "verify_state_load",
    "verify_ledger",
    "opendir",
    "dp_scheme",
    "mem",
];

/// Files of a run.
const MOST_FILES: u64 = 100_000;

/// What jobs may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Allowed {
    /// Directories whose files they may use, and files.
    pub(crate) paths: Vec<PathBuf>,
    /// Devices that they may use.
    pub(crate) devices: Vec<PathBuf>,
    /// Run commands and load engines.
    pub(crate) commands: bool,
    /// Talk to servers and other hosts.
    pub(crate) network: bool,
    /// Where runs are kept: of it only the folder `targets` may be used, whatever else is allowed.
    pub(crate) results: PathBuf,
    /// Files without a name that the process made itself in one of `paths`, as `quick` does.
    #[serde(skip)]
    pub(crate) unnamed: bool,
}

impl Allowed {
    /// Plans jobs that are allowed; otherwise lines for the user. Options come first: planning reads files that some of them name.
    pub(crate) fn plan(&self, spec: &RunSpec, folder: Option<&Path>) -> Result<Plan, Vec<String>> {
        let lines: Vec<String> = spec.jobs.iter().flat_map(|job| self.refusals_of_options(job)).collect();
        if !lines.is_empty() {
            return Err(lines);
        }
        let plan = Plan::new(spec, fathom_engines::definition_of).map_err(|text| vec![text])?;
        let files = plan.workers.iter().map(|worker| number_of(&worker.files.names.names));
        let files = files.fold(0, u64::saturating_add);
        if files > MOST_FILES {
            return Err(vec![format!(
                "{files} files are too many for a page, which looks at each; {MOST_FILES} are the limit, fathom itself has none"
            )]);
        }
        let mut lines: Vec<String> =
            plan.workers.iter().flat_map(|worker| self.refusals_of_worker(worker, folder)).collect();
        if let Some(path) = &plan.bandwidth_log {
            lines.extend(self.refusal_of_log(path, folder));
        }
        lines.dedup();
        if lines.is_empty() { Ok(plan) } else { Err(lines) }
    }

    fn refusals_of_options(&self, job: &JobSpec) -> Vec<String> {
        let refused = |names: &[&str], what: &str| -> Vec<String> {
            let set = names.iter().filter(|name| job.is_set(name));
            set.map(|name| format!("job {}: {name}= is refused: {what}", job.name)).collect()
        };
        let mut lines = Vec::new();
        if !self.commands {
            lines.extend(refused(COMMANDS, "the server was started without --allow-commands"));
            let engine = &job.engine.ioengine;
            let is_command = engine.name == "exec" || engine.external.is_some();
            lines.extend(is_command.then(|| {
                format!(
                    "job {}: an engine that runs or loads programs is refused: the server was started without --allow-commands",
                    job.name
                )
            }));
        }
        lines.extend(refused(FILES, "the server uses no files but the targets of its jobs"));
        lines.extend(refused(MACHINE, "the server does not change its machine"));
        lines
    }

    fn refusals_of_worker(&self, worker: &WorkerPlan, folder: Option<&Path>) -> Vec<String> {
        let mut lines: Vec<String> = match worker.storage {
            StorageKind::None => Vec::new(),
            // A job named after a device works on it, so files are looked at, not only names.
            StorageKind::Files => names::paths(&worker.files.names)
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

    /// Logs and states lie in the folder of their run, or where targets may.
    fn refusal_of_log(&self, path: &Path, folder: Option<&Path>) -> Option<String> {
        let real = leads_to(path);
        let is_in_folder =
            real.as_ref().zip(folder).is_some_and(|(real, folder)| real.parent() == Some(folder));
        if is_in_folder { None } else { self.refusal_of_path(path) }
    }

    /// Why a path is refused. What counts is where it leads, past symbolic links and dots.
    pub(crate) fn refusal_of_path(&self, path: &Path) -> Option<String> {
        let unnamed = if self.unnamed { unnamed(path) } else { None };
        let Some(real) = unnamed.or_else(|| leads_to(path)) else {
            return Some(format!("{} is refused: its directory cannot be found", path.display()));
        };
        // A device node may lie anywhere.
        let is_device = real.starts_with("/dev") || is_device(&real);
        let (allowed, option) = match is_device {
            true => (&self.devices, "--allow-device"),
            false => (&self.paths, "--allow-path"),
        };
        if !is_device && real.starts_with(&self.results) && !real.starts_with(self.results.join("targets")) {
            return Some(format!("{} is refused: runs are kept there", path.display()));
        }
        let is_allowed = allowed.iter().any(|own| match own.canonicalize() {
            Ok(own) if is_device => real == own,
            Ok(own) => real.starts_with(own),
            Err(_) => false,
        });
        (!is_allowed).then(|| {
            format!(
                "{} is refused: the server was not started with {option}={}",
                path.display(),
                real.display()
            )
        })
    }

    /// Devices and volumes that a plan would overwrite and whose names are not among `confirmed`, and devices in use: lines for
    /// the user.
    pub(crate) fn check_devices(plan: &Plan, confirmed: &[String]) -> Vec<String> {
        let mut lines = Vec::new();
        for worker in plan.workers.iter().filter(|worker| worker.changes_data()) {
            for name in destroyed(worker) {
                if !confirmed.contains(&name) {
                    lines.push(format!(
                        "job {}: all data on {name} could be lost, and its name was not typed to confirm that",
                        worker.name
                    ));
                }
                if let Some(used) = use_of(Path::new(&name)).filter(|_| worker.storage == StorageKind::Files)
                {
                    lines.push(format!("job {}: {name} is in use: {used}", worker.name));
                }
            }
        }
        lines.dedup();
        lines
    }
}

/// Files of a clone, which need not be made for that.
fn number_of(names: &Names) -> u64 {
    match names {
        Names::Listed(names) => names.len() as u64,
        Names::Numbered { count, .. } => *count as u64,
    }
}

/// Where a file of this process without a name lies.
fn unnamed(path: &Path) -> Option<PathBuf> {
    path.strip_prefix("/proc/self/fd").ok()?;
    let link = std::fs::read_link(path).ok()?;
    link.to_str()?.strip_suffix(" (deleted)").map(PathBuf::from)
}

/// Devices and volumes that a worker works on, by the names that confirm it.
pub(crate) fn destroyed(worker: &WorkerPlan) -> Vec<String> {
    let told = |path: &PathBuf| path.display().to_string();
    match worker.storage {
        StorageKind::Files => {
            names::paths(&worker.files.names).iter().filter(|path| is_device(path)).map(told).collect()
        }
        StorageKind::Volume => {
            let named = names::planned_paths(&worker.files.names).iter().map(told).next();
            vec![named.filter(|name| !name.is_empty()).unwrap_or_else(|| worker.name.clone())]
        }
        StorageKind::Server | StorageKind::None => Vec::new(),
    }
}

/// True for block and character devices that hold data, wherever their node lies.
pub(crate) fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| {
        let kind = metadata.file_type();
        kind.is_block_device() || kind.is_char_device()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::definition::{Kind, Status};
    use fathom_spec::{engines, registry};

    /// Options with text of their own that name no file which is opened here.
    const HARMLESS: &[&str] = &[
        // What they name is looked at as the targets and logs of the plan.
        "filename",
        // One that is loaded is refused.
        "ioengine",
        "directory",
        "filename_format",
        "write_bw_log",
        "write_lat_log",
        "write_iops_log",
        "write_hist_log",
        // They read files through the source of the parser, which refuses that.
        "buffer_pattern",
        "verify_pattern",
        // Words and numbers.
        "bssplit",
        "name",
        "description",
        "plids",
        "ignore_error",
        "log_compression_cpus",
        "replay_skip",
        "wait_for",
        "comm",
        "cpus_allowed",
        "numa_cpu_nodes",
        "numa_mem_policy",
        "verify_async_cpus",
        "cmdprio_bssplit",
        "host",
        "profile",
    ];

    #[test]
    fn every_option_with_text_is_either_looked_at_or_harmless() {
        for option in registry::job_options() {
            let is_text =
                matches!(option.kind, Kind::Text | Kind::OptionalText) && option.status == Status::Built;
            let known = [COMMANDS, FILES, MACHINE, HARMLESS].concat();
            assert!(!is_text || known.contains(&option.name), "{}: may it name a file?", option.name);
        }
        // Engines that need no permission have no options with texts.
        for engine in engines::ALL.iter().filter(|engine| engine.built) {
            if matches!(engine.storage, StorageKind::Files | StorageKind::None) && engine.name != "exec" {
                for option in engine.options.iter().filter(|option| option.kind == Kind::Text) {
                    assert!(
                        HARMLESS.contains(&option.name)
                            || FILES.contains(&option.name)
                            || option.status != Status::Built,
                        "{}: {}",
                        engine.name,
                        option.name
                    );
                }
            }
        }
    }

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
