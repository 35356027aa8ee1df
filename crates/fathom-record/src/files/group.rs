//! The processes of a control group.

use std::fs;
use std::path::{Path, PathBuf};

/// Where control groups are mounted.
const MOUNT: &str = "/sys/fs/cgroup";

/// The directory of a control group: a path, or its name below the mount.
pub(crate) fn find(path: &Path) -> Result<PathBuf, String> {
    let name = path.strip_prefix("/").unwrap_or(path);
    // With both versions of control groups, systemd mounts the second one below the first.
    let mounts = [Path::new(MOUNT).to_owned(), Path::new(MOUNT).join("unified")];
    for directory in [path.to_owned()].into_iter().chain(mounts.map(|mount| mount.join(name))) {
        if directory.join("cgroup.procs").exists() {
            return Ok(directory);
        }
    }
    let why =
        match Path::new(MOUNT).join("cgroup.procs").exists() || Path::new(MOUNT).join("unified").exists() {
            true => "systemd-cgls prints those that there are",
            false => "no control groups are mounted at /sys/fs/cgroup: mount -t cgroup2 none /sys/fs/cgroup",
        };
    Err(format!("--cgroup={}: there is no such control group; {why}", path.display()))
}

/// The processes of a control group and of those below it.
pub(crate) fn processes(directory: &Path) -> Vec<u32> {
    let text = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    // Processes of another pid namespace are 0.
    let mut found: Vec<u32> =
        text.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid != 0).collect();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(processes(&entry.path()));
        }
    }
    found
}
