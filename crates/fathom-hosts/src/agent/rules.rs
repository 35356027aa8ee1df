//! What an agent allows. One that is reached by a shell acts for somebody who may do anything there; one that listens acts for
//! whoever has its keys, and allows what its start allowed.

use fathom_run::files::names;
use fathom_run::plan::{Plan, WorkerPlan};
use fathom_spec::engines::{self, StorageKind, net};
use fathom_spec::{JobSpec, RunSpec};
use std::path::{Path, PathBuf};

/// What jobs may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Everything.
    pub all: bool,
    /// Directories whose files they may use, and files.
    pub paths: Vec<PathBuf>,
    /// Devices that they may use.
    pub devices: Vec<PathBuf>,
    /// Run commands and load engines.
    pub commands: bool,
    /// Talk to servers and other hosts.
    pub network: bool,
}

/// Options that run commands.
pub const COMMANDS: &[&str] = &["exec_prerun", "exec_postrun"];
/// Options that name files beside the targets of a job.
pub const FILES: &[&str] = &[
    "read_iolog",
    "write_iolog",
    "merge_blktrace_file",
    "replay_redirect",
    "verify_state_load",
    "verify_ledger",
    "opendir",
    "mem",
    "donorname",
    "dp_scheme",
];
/// Options that change the machine.
pub const MACHINE: &[&str] = &["ioscheduler", "cgroup", "cgroup_weight", "uid", "gid"];

impl Rules {
    /// No limits.
    pub fn everything() -> Rules {
        Rules { all: true, ..Rules::default() }
    }

    /// Whether a run is allowed; otherwise lines for the user.
    pub fn check(&self, spec: &RunSpec, plan: &Plan) -> Result<(), Vec<String>> {
        if self.all {
            return Ok(());
        }
        let mut lines: Vec<String> = Vec::new();
        if spec.program.trigger_remote.is_some() && !self.commands {
            lines.push(
                "fathom: --trigger-remote= is refused: the agent was started without --allow-commands"
                    .to_owned(),
            );
        }
        if let Some(directory) = &spec.program.aux_path {
            lines.extend(
                self.refusal_of_path(directory).map(|reason| format!("fathom: --aux-path: {reason}")),
            );
        }
        for job in &spec.jobs {
            lines.extend(self.refusals_of_options(job));
        }
        for worker in &plan.workers {
            lines.extend(self.refusals_of_worker(worker, plan.job_of(worker)));
        }
        lines.dedup();
        if lines.is_empty() { Ok(()) } else { Err(lines) }
    }

    fn refusals_of_options(&self, job: &JobSpec) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.commands {
            lines.extend(refusals(job, COMMANDS, "the agent was started without --allow-commands"));
            lines.extend(runs_programs(job).then(|| {
                format!(
                    "job {}: an engine that runs or loads programs is refused: the agent was started without \
                     --allow-commands",
                    job.name
                )
            }));
        }
        lines.extend(refusals(job, FILES, "an agent that listens uses no files but the targets of its jobs"));
        lines.extend(refusals(job, MACHINE, "an agent that listens does not change its machine"));
        lines.into_iter().map(|line| format!("fathom: {line}")).collect()
    }

    fn refusals_of_worker(&self, worker: &WorkerPlan, job: &JobSpec) -> Vec<String> {
        match worker.storage {
            StorageKind::None if has_peers(worker) => {
                let refusal_of_path = |path: &Path| self.refusal_of_path(path);
                refusals_of_peers((worker, job), self.network, refusal_of_path, "the agent")
                    .into_iter()
                    .map(|line| format!("fathom: {line}"))
                    .collect()
            }
            StorageKind::None => Vec::new(),
            // A job named after a device works on it, so files are looked at, not only names.
            StorageKind::Files => names::leading_paths(&worker.files.names)
                .iter()
                .filter_map(|path| self.refusal_of_path(path))
                .map(|reason| format!("fathom: job {}: {reason}", worker.name))
                .collect(),
            _ if self.network => Vec::new(),
            _ => vec![format!(
                "fathom: job {}: ioengine={} talks to a server: the agent was started without --allow-network",
                worker.name, worker.engine
            )],
        }
    }

    /// Why a path is refused. What counts is where it leads, past symbolic links and dots.
    fn refusal_of_path(&self, path: &Path) -> Option<String> {
        let Some(real) = leads_to(path) else {
            return Some(format!("{} is refused: its directory cannot be found", path.display()));
        };
        let is_device = real.starts_with("/dev");
        refusal_of_place(path, &real, is_device, (&self.paths, &self.devices), "agent")
    }
}

/// Lines on these options, where a job sets them, and why it may not.
pub fn refusals(job: &JobSpec, names: &[&str], what: &str) -> Vec<String> {
    let set = names.iter().filter(|name| job.is_set(name));
    set.map(|name| format!("job {}: {name}= is refused: {what}", job.name)).collect()
}

/// True for a worker whose engine sends to others, or receives from them.
pub fn has_peers(worker: &WorkerPlan) -> bool {
    engines::find(&worker.engine).is_some_and(|engine| engine.has_peers)
}

/// Lines on a worker with peers, and why it may not reach them. A socket of this machine lies at a path, which must be allowed as
/// well: who talks to programs here, or waits for them, uses a file.
pub fn refusals_of_peers(
    (worker, job): (&WorkerPlan, &JobSpec),
    is_allowed: bool,
    refusal_of_path: impl Fn(&Path) -> Option<String>,
    who: &str,
) -> Vec<String> {
    if !is_allowed {
        let (name, engine) = (&worker.name, &worker.engine);
        return vec![format!(
            "job {name}: ioengine={engine} connects to others: {who} was started without --allow-network"
        )];
    }
    let refused = net::socket_path(job).and_then(|path| refusal_of_path(&path));
    refused.map(|reason| format!("job {}: {reason}", worker.name)).into_iter().collect()
}

/// True for an engine that runs programs, or is one that is loaded.
pub fn runs_programs(job: &JobSpec) -> bool {
    job.engine.ioengine.name == "exec" || job.engine.ioengine.external.is_some()
}

/// Why a path that leads to `real` is refused by `who`, unless that lies below one of these paths, or is one of these devices.
pub fn refusal_of_place(
    path: &Path,
    real: &Path,
    is_device: bool,
    (paths, devices): (&[PathBuf], &[PathBuf]),
    who: &str,
) -> Option<String> {
    let (allowed, option) = match is_device {
        true => (devices, "--allow-device"),
        false => (paths, "--allow-path"),
    };
    let is_allowed = allowed.iter().any(|own| match own.canonicalize() {
        Ok(own) if is_device => real == own,
        Ok(own) => real.starts_with(own),
        Err(_) => false,
    });
    (!is_allowed).then(|| {
        format!("{} is refused: the {who} was not started with {option}={}", path.display(), real.display())
    })
}

/// Where a path leads, also if its last part is still to be made.
pub fn leads_to(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = path.canonicalize() {
        return Some(real);
    }
    // A link to nothing would be made where it points to.
    if path.is_symlink() {
        return None;
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(parent.canonicalize().ok()?.join(path.file_name()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::registry;

    #[test]
    fn what_is_refused_is_an_option() {
        for name in COMMANDS.iter().chain(FILES).chain(MACHINE) {
            let is_private = engines::ALL.iter().any(|engine| engine.option(name).is_some());
            assert!(is_private || registry::job_options().any(|option| option.name == *name), "{name}");
        }
    }

    #[test]
    fn a_path_is_where_it_leads() {
        let directory = tempfile::tempdir().expect("a directory");
        let inside = directory.path().join("inside");
        std::fs::create_dir(&inside).expect("a directory");
        std::os::unix::fs::symlink(directory.path(), inside.join("out")).expect("a link");
        std::os::unix::fs::symlink(directory.path().join("new"), inside.join("dangling")).expect("a link");
        let rules = Rules { paths: vec![inside.clone()], ..Rules::default() };
        let is_allowed = |path: PathBuf| rules.refusal_of_path(&path).is_none();
        assert!(is_allowed(inside.join("new")) && is_allowed(inside.join("../inside/new")));
        for path in ["out/new", "dangling", "../new", "out/inside/../new", "missing/new", "../inside-too"] {
            assert!(!is_allowed(inside.join(path)), "{path}");
        }
    }
}
