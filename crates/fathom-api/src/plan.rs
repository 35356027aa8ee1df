//! A plan: the effects of jobs on this machine.

use fathom_local::changes::{self, Uses};
use fathom_run::plan;
use std::fmt;
use std::path::PathBuf;

/// Planned jobs. The plan is run as it is: later changes to options or variables have no effect on it.
#[derive(Clone, PartialEq)]
pub struct Plan {
    pub(crate) plan: plan::Plan,
}

/// A file or device of this machine that a job uses.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Target {
    /// The name of the job.
    pub job: String,
    /// The file or device.
    pub path: PathBuf,
    /// It exists.
    pub exists: bool,
    /// True if the job writes or trims it, or extends an existing file before reading it.
    pub is_changed: bool,
    /// True if the job removes it at its end or between passes.
    pub is_removed: bool,
    /// Other users of it, as a phrase that follows "is in use: ", if it exists and would be changed. The run
    /// checks again before it writes, and refuses.
    pub used_by: Option<String>,
}

/// Shows only the names, as for jobs.
impl fmt::Debug for Plan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.plan.workers.iter().map(|worker| worker.name.as_str()).collect();
        formatter.debug_tuple("Plan").field(&names).finish()
    }
}

impl Plan {
    pub(crate) fn of(plan: plan::Plan) -> Plan {
        Plan { plan }
    }

    /// The total number of clones of all jobs: each is a process or a thread.
    pub fn clones(&self) -> usize {
        self.plan.workers.len()
    }

    /// The files and devices of the jobs. Jobs with data on servers, or without data, have none. File sizes are
    /// looked up, but nothing is opened.
    pub fn targets(&self) -> Vec<Target> {
        let changes = changes::of(&self.plan);
        let mut uses = Uses::default();
        uses.look(&changes);
        let mut targets: Vec<Target> = Vec::new();
        for (worker, changes) in self.plan.workers.iter().zip(changes) {
            for change in changes {
                let is_changed = change.writes || change.is_longer;
                let same = |target: &&mut Target| target.job == worker.name && target.path == change.path;
                // Clones of a job share files, so each file is listed once per job.
                if let Some(target) = targets.iter_mut().find(same) {
                    target.is_changed |= is_changed;
                    continue;
                }
                targets.push(Target {
                    job: worker.name.clone(),
                    exists: change.path.exists(),
                    is_changed,
                    is_removed: change.is_removed,
                    used_by: uses.of(&change.path),
                    path: change.path,
                });
            }
        }
        targets
    }
}
