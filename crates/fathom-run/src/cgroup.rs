//! Control groups of jobs: created before the run, joined by the clones, removed after it. In version 1 the hierarchy of the
//! controller `blkio` is used; without it, the single hierarchy of version 2, whose controller is called `io`. The kernel's
//! documentation is cgroup-v1/blkio-controller.rst and cgroup-v2.rst.

use crate::plan::WorkerPlan;
use fathom_errors::plain;
use fathom_sys::Errno;
use std::io;
use std::path::{Path, PathBuf};

/// A mounted hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hierarchy {
    root: PathBuf,
    is_v2: bool,
}

/// Why a group cannot be used.
#[derive(Debug)]
pub(crate) struct GroupError {
    pub(crate) errno: Errno,
    pub(crate) message: String,
}

impl GroupError {
    fn new(error: &io::Error, message: String) -> GroupError {
        GroupError { errno: Errno(error.raw_os_error().unwrap_or(libc::EIO)), message }
    }
}

/// The directories that a run has created.
#[derive(Debug, Default)]
pub(crate) struct MadeGroups(Vec<PathBuf>);

impl MadeGroups {
    /// Creates the group of a worker's job, unless it exists, and sets its weight.
    pub(crate) fn make(&mut self, worker: &WorkerPlan) -> Result<(), GroupError> {
        let Some(group) = &worker.placement.control_group else { return Ok(()) };
        let hierarchy = hierarchy(worker)?;
        let directory = group_directory(&hierarchy, &group.name, worker)?;
        let mut missing: Vec<&Path> =
            directory.ancestors().take_while(|part| *part != hierarchy.root && !part.exists()).collect();
        while let Some(part) = missing.pop() {
            std::fs::create_dir(part).map_err(|error| {
                let text = format!(
                    "fathom: job {}: the control group {} cannot be made: {error}",
                    worker.name,
                    part.display(),
                    error = plain(&error)
                );
                GroupError::new(&error, text)
            })?;
            if !group.stays {
                self.0.push(part.to_owned());
            }
        }
        match group.weight {
            Some(weight) => set_weight(&hierarchy, &directory, weight, worker),
            None => Ok(()),
        }
    }

    /// Removes the created directories, inner ones first. Groups that still hold processes are kept.
    pub(crate) fn remove(&mut self) -> Vec<(PathBuf, io::Error)> {
        let removals = self.0.drain(..).rev().map(|path| (std::fs::remove_dir(&path), path));
        removals.filter_map(|(result, path)| result.err().map(|error| (path, error))).collect()
    }
}

/// Moves the calling thread into the worker's group. Version 2 moves the thread's whole process, because its
/// groups hold processes rather than threads.
pub(crate) fn join(worker: &WorkerPlan) -> Result<(), GroupError> {
    let Some(group) = &worker.placement.control_group else { return Ok(()) };
    let hierarchy = hierarchy(worker)?;
    let members = if hierarchy.is_v2 { "cgroup.procs" } else { "tasks" };
    let path = group_directory(&hierarchy, &group.name, worker)?.join(members);
    // PID 0 stands for the calling process.
    std::fs::write(&path, "0").map_err(|error| {
        GroupError::new(
            &error,
            format!(
                "fathom: job {}: {} cannot be written: {error}",
                worker.name,
                path.display(),
                error = plain(&error)
            ),
        )
    })
}

fn group_directory(hierarchy: &Hierarchy, name: &str, worker: &WorkerPlan) -> Result<PathBuf, GroupError> {
    let relative = Path::new(name.trim_start_matches('/'));
    let leads_out = relative.components().any(|part| !matches!(part, std::path::Component::Normal(_)));
    if relative.as_os_str().is_empty() || leads_out {
        return Err(GroupError {
            errno: Errno(libc::EINVAL),
            message: format!("fathom: job {}: cgroup={name} is not a name of a control group", worker.name),
        });
    }
    Ok(hierarchy.root.join(relative))
}

fn hierarchy(worker: &WorkerPlan) -> Result<Hierarchy, GroupError> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    find(&mounts).ok_or_else(|| GroupError {
        errno: Errno(libc::ENOENT),
        message: format!(
            "fathom: job {}: cgroup= needs a mounted hierarchy of control groups: cgroup2, or cgroup with blkio",
            worker.name
        ),
    })
}

/// Finds the control group hierarchy in a list of mounts in the format of /proc/self/mounts.
fn find(mounts: &str) -> Option<Hierarchy> {
    let of_kind = |kind: &'static str| {
        mounts.lines().filter_map(move |line| {
            let fields: Vec<&str> = line.split(' ').collect();
            (fields.len() >= 4 && fields[2] == kind).then(|| (PathBuf::from(fields[1]), fields[3].to_owned()))
        })
    };
    let blkio = of_kind("cgroup").find(|(_, options)| options.split(',').any(|option| option == "blkio"));
    let v1 = blkio.map(|(root, _)| Hierarchy { root, is_v2: false });
    v1.or_else(|| of_kind("cgroup2").next().map(|(root, _)| Hierarchy { root, is_v2: true }))
}

fn set_weight(
    hierarchy: &Hierarchy,
    directory: &Path,
    weight: u32,
    worker: &WorkerPlan,
) -> Result<(), GroupError> {
    let names: &[&str] = if hierarchy.is_v2 {
        enable_io(hierarchy, directory);
        &["io.weight", "io.bfq.weight"]
    } else {
        &["blkio.weight", "blkio.bfq.weight"]
    };
    let Some(path) = names.iter().map(|name| directory.join(name)).find(|path| path.exists()) else {
        return Err(GroupError {
            errno: Errno(libc::EOPNOTSUPP),
            message: format!(
                "fathom: job {}: cgroup_weight needs {} in {}, which comes with an I/O scheduler or \
                controller that heeds weights (bfq, io.cost)",
                worker.name,
                names.join(" or "),
                directory.display()
            ),
        });
    };
    std::fs::write(&path, weight.to_string()).map_err(|error| {
        GroupError::new(
            &error,
            format!(
                "fathom: job {}: {} cannot be written: {error}",
                worker.name,
                path.display(),
                error = plain(&error)
            ),
        )
    })
}

/// Enables the controller in every group above the directory. Failures are ignored here: the caller then
/// reports that the weight file is missing.
fn enable_io(hierarchy: &Hierarchy, directory: &Path) {
    let above: Vec<&Path> =
        directory.ancestors().skip(1).take_while(|part| part.starts_with(&hierarchy.root)).collect();
    for part in above.into_iter().rev() {
        let _ = std::fs::write(part.join("cgroup.subtree_control"), "+io");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "cgroup /sys/fs/cgroup/cpu cgroup rw,relatime,cpu 0 0\ncgroup /sys/fs/cgroup/blkio cgroup rw,blkio 0 0\n";
    const V2: &str = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n";

    #[test]
    fn version_1_with_blkio_comes_first() {
        let root = |mounts: &str| find(mounts).map(|found| (found.root, found.is_v2));
        assert_eq!(root(V1), Some(("/sys/fs/cgroup/blkio".into(), false)));
        assert_eq!(root(V2), Some(("/sys/fs/cgroup".into(), true)));
        assert_eq!(root(&format!("{V2}{V1}")), Some(("/sys/fs/cgroup/blkio".into(), false)));
        assert_eq!(root("proc /proc proc rw 0 0"), None);
    }
}
