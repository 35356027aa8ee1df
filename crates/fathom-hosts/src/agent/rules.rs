//! What an agent allows. An agent that was started through a shell acts for a user who has access to the host
//! anyway, so it allows everything. An agent that listens acts for every holder of its keys and allows only
//! what its options permit.

use fathom_engines::client_files;
use fathom_local::refusals::{
    has_peers, is_among, is_device, leads_to, refusals, refusals_of_peers, runs_programs,
};
use fathom_run::files::names;
use fathom_run::plan::{Plan, WorkerPlan};
use fathom_spec::definition::Names;
use fathom_spec::engines::StorageKind;
use fathom_spec::{JobSpec, RunSpec};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The permissions of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// True if everything is allowed.
    pub all: bool,
    /// Files, and directories of files, that jobs may use.
    pub paths: Vec<PathBuf>,
    /// Devices that jobs may use.
    pub devices: Vec<PathBuf>,
    /// True if jobs may run commands and load engines.
    pub commands: bool,
    /// True if jobs may talk to servers and other hosts.
    pub network: bool,
}

impl Rules {
    /// No restrictions.
    pub fn everything() -> Rules {
        Rules { all: true, ..Rules::default() }
    }

    /// Whether jobs may run programs of this machine.
    pub fn may_run_programs(&self) -> bool {
        self.all || self.commands
    }

    /// Checks the files that the options of a run name; the error contains lines for the user. Such files are
    /// read during planning, so this check comes before it.
    pub fn check_options(&self, spec: &RunSpec) -> Result<(), Vec<String>> {
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
        told(lines)
    }

    /// Checks the targets of a run, and other files that it would write; the error contains lines for the user.
    pub fn check_plan(&self, plan: &Plan) -> Result<(), Vec<String>> {
        if self.all {
            return Ok(());
        }
        let workers = plan.workers.iter();
        told(workers.flat_map(|worker| self.refusals_of_worker(worker, plan.job_of(worker))).collect())
    }

    fn refusals_of_options(&self, job: &JobSpec) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.commands {
            lines.extend(refusals(job, Names::Program, "the agent was started without --allow-commands"));
            lines.extend(runs_programs(job).then(|| {
                format!(
                    "job {}: an engine that runs or loads programs is refused: the agent was started without \
                     --allow-commands",
                    job.name
                )
            }));
        }
        let only_targets = "an agent that listens only uses the targets of its jobs, no other files";
        lines.extend(refusals(job, Names::File, only_targets));
        lines.extend(refusals(
            job,
            Names::Setting,
            "an agent that listens does not change its machine's settings",
        ));
        for (option, path) in client_files(job) {
            let refused = self.refusal_of_path(&path);
            lines.extend(refused.map(|reason| format!("job {}: {option}=: {reason}", job.name)));
        }
        lines.into_iter().map(|line| format!("fathom: {line}")).collect()
    }

    fn refusals_of_worker(&self, worker: &WorkerPlan, job: &JobSpec) -> Vec<String> {
        let verify = worker.verify.as_ref();
        let states = verify.and_then(|verify| verify.state_to_save.as_ref());
        let dumps = verify.filter(|verify| verify.dumps).map(|verify| &verify.miscompare_file);
        let beside = states.into_iter().chain(dumps).filter_map(|path| self.refusal_of_path(path));
        let beside = beside.map(|reason| format!("fathom: job {}: {reason}", worker.name));
        self.refusals_of_targets(worker, job).into_iter().chain(beside).collect()
    }

    fn refusals_of_targets(&self, worker: &WorkerPlan, job: &JobSpec) -> Vec<String> {
        match worker.storage {
            StorageKind::None if has_peers(worker) => {
                let refusal_of_path = |path: &Path| self.refusal_of_path(path);
                refusals_of_peers((worker, job), self.network, refusal_of_path, "the agent")
                    .into_iter()
                    .map(|line| format!("fathom: {line}"))
                    .collect()
            }
            StorageKind::None => Vec::new(),
            // A job that is named after a device works on that device, so the files themselves are checked, not
            // only their names.
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

    /// Why a path is refused. The target after resolving symbolic links and dots decides; the reason reveals
    /// neither the target nor whether it exists.
    fn refusal_of_path(&self, path: &Path) -> Option<String> {
        let refused = |option: &str| {
            Some(format!("{} is refused: the agent was not started with {option} for it", path.display()))
        };
        let Some(real) = leads_to(path) else {
            return refused("--allow-path=");
        };
        let (allowed, option) = match is_device(&real) {
            true => (&self.devices, "--allow-device="),
            false => (&self.paths, "--allow-path="),
        };
        if is_among(&real, allowed, is_device(&real)) { None } else { refused(option) }
    }

    /// Reads a file, if that is allowed. The opened file is checked, because its name may have been reassigned
    /// since an earlier check.
    pub fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if self.all {
            return std::fs::read(path);
        }
        let refused = || io::Error::new(io::ErrorKind::PermissionDenied, "the agent does not allow it");
        // The name is checked first, because opening some devices has effects.
        if self.refusal_of_path(path).is_some() {
            return Err(refused());
        }
        // Opening is non-blocking, because opening a pipe would block.
        let mut options = std::fs::OpenOptions::new();
        let opened = options.read(true).custom_flags(libc::O_NONBLOCK).open(path);
        let mut opened = opened.map_err(|_| refused())?;
        let real = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        if !opened.metadata()?.is_file() || !real.is_ok_and(|real| is_among(&real, &self.paths, false)) {
            return Err(refused());
        }
        let mut bytes = Vec::new();
        opened.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// True if a path may be examined.
    pub(super) fn allows(&self, path: &Path) -> bool {
        self.all || self.refusal_of_path(path).is_none()
    }
}

fn told(mut lines: Vec<String>) -> Result<(), Vec<String>> {
    lines.dedup();
    if lines.is_empty() { Ok(()) } else { Err(lines) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_a_path_and_other_things_below_dev_are_devices() {
        let Ok(directory) = tempfile::tempdir_in("/dev/shm") else {
            return fathom_skip::record("there is no /dev/shm");
        };
        let rules = Rules { paths: vec![directory.path().to_owned()], ..Rules::default() };
        assert_eq!(rules.refusal_of_path(&directory.path().join("new")), None);
        let rules = Rules { paths: vec!["/dev".into()], ..Rules::default() };
        assert!(
            rules
                .refusal_of_path(Path::new("/dev/null"))
                .is_some_and(|line| line.contains("--allow-device="))
        );
    }

    #[test]
    fn a_file_is_read_only_where_it_is_allowed() {
        let directory = tempfile::tempdir().expect("a directory");
        let (inside, outside) = (directory.path().join("inside"), directory.path().join("outside"));
        std::fs::create_dir(&inside).expect("a directory");
        std::fs::write(inside.join("own"), "own").expect("written");
        std::fs::write(&outside, "secret").expect("written");
        std::os::unix::fs::symlink(&outside, inside.join("link")).expect("a link");
        let rules = Rules { paths: vec![inside.clone()], ..Rules::default() };
        assert_eq!(rules.read(&inside.join("own")).expect("allowed"), b"own");
        // The refusal does not reveal whether the file exists.
        let refusals: Vec<String> =
            [outside.clone(), inside.join("link"), directory.path().join("none"), inside]
                .iter()
                .map(|path| rules.read(path).expect_err("refused").to_string())
                .collect();
        assert!(refusals.iter().all(|refusal| *refusal == refusals[0]), "{refusals:?}");
        assert_eq!(Rules::everything().read(&outside).expect("allowed"), b"secret");
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
