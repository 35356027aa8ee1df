//! The limits under which this process runs: those of `ulimit`, of its control groups, and of the kernel.

use std::fs;
use std::path::{Path, PathBuf};

/// A limit that the kernel keeps per process or user (getrlimit(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Processes and threads of the user (`ulimit -u`).
    Processes,
    /// Open files of the process (`ulimit -n`).
    OpenFiles,
    /// Bytes of address space of the process (`ulimit -v`).
    AddressSpace,
    /// Bytes of locked memory (`ulimit -l`).
    LockedMemory,
}

/// The soft and the hard limit; `None` for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What holds now.
    pub soft: Option<u64>,
    /// What it may be raised to without privileges.
    pub hard: Option<u64>,
}

impl Limit {
    /// The limit of this process.
    pub fn of(resource: Resource) -> Limit {
        let number = match resource {
            Resource::Processes => libc::RLIMIT_NPROC,
            Resource::OpenFiles => libc::RLIMIT_NOFILE,
            Resource::AddressSpace => libc::RLIMIT_AS,
            Resource::LockedMemory => libc::RLIMIT_MEMLOCK,
        };
        let mut raw = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: `raw` is valid for the whole call; where the call fails it says that there is no limit.
        unsafe { libc::getrlimit(number, &mut raw) };
        let bounded = |value| (value != libc::RLIM_INFINITY).then_some(value);
        Limit { soft: bounded(raw.rlim_cur), hard: bounded(raw.rlim_max) }
    }
}

/// The tightest limit of a kind among this process's control group and those above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLimit {
    /// The group that has it, as a path below the root of the hierarchy.
    pub group: String,
    /// The limit.
    pub limit: u64,
    /// What is used of it now.
    pub used: u64,
}

/// The limit on processes and threads (`pids.max`) that is nearest to being reached.
pub fn group_processes() -> Option<GroupLimit> {
    nearest("pids", "pids.max", "pids.current")
}

/// The limit on memory that is nearest to being reached (`memory.max`, or `memory.limit_in_bytes` of version 1).
pub fn group_memory() -> Option<GroupLimit> {
    nearest("memory", "memory.max", "memory.current")
        .or_else(|| nearest("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"))
}

/// How often the kernel has killed a process of this group, or of one below it, for want of memory.
pub fn group_memory_kills() -> u64 {
    let count = |(directory, _): (PathBuf, String)| {
        let text = ["memory.events", "memory.oom_control"]
            .iter()
            .find_map(|file| fs::read_to_string(directory.join(file)).ok())?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse::<u64>().ok()
    };
    groups("memory").into_iter().next().and_then(count).unwrap_or(0)
}

/// A number that the kernel shows in a file, such as those below `/proc/sys`.
pub fn kernel_number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.split_whitespace().next()?.parse().ok()
}

fn nearest(controller: &str, limit_file: &str, used_file: &str) -> Option<GroupLimit> {
    groups(controller)
        .into_iter()
        .filter_map(|(directory, group)| {
            let read = |file: &str| fs::read_to_string(directory.join(file)).ok()?.trim().parse::<u64>().ok();
            let limit = read(limit_file)?;
            Some(GroupLimit { group, limit, used: read(used_file)? })
        })
        .min_by_key(|found| found.limit.saturating_sub(found.used))
}

/// Directories of the group of this process and of those above it, in the hierarchy that has the controller: a directory
/// each, and the name of the group.
fn groups(controller: &str) -> Vec<(PathBuf, String)> {
    let Ok(text) = fs::read_to_string("/proc/self/cgroup") else { return Vec::new() };
    let Some((root, group)) = hierarchy(&text, controller) else { return Vec::new() };
    Path::new(&group)
        .ancestors()
        .map(|ancestor| {
            let below_root = ancestor.strip_prefix("/").unwrap_or(ancestor);
            (root.join(below_root), ancestor.display().to_string())
        })
        .collect()
}

/// Where the hierarchy of a controller is mounted, and the group in it, by the lines `number:controllers:group` of
/// `/proc/self/cgroup` (cgroups(7)). The usual places are taken for granted.
fn hierarchy(text: &str, controller: &str) -> Option<(PathBuf, String)> {
    let lines = || text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let of_version_1 = lines()
        .find(|(controllers, _)| controllers.split(',').any(|name| name == controller))
        .map(|(_, group)| (Path::new("/sys/fs/cgroup").join(controller), group.to_owned()));
    of_version_1.or_else(|| {
        let (_, group) = lines().find(|(controllers, _)| controllers.is_empty())?;
        let unified = Path::new("/sys/fs/cgroup/unified");
        let root = if unified.exists() { unified } else { Path::new("/sys/fs/cgroup") };
        Some((root.to_path_buf(), group.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_control_groups_are_found() {
        let mixed = "12:pids:/user/a\n3:cpu,cpuacct:/\n0::/init.scope\n";
        let found = |text, controller| hierarchy(text, controller).map(|(_, group)| group);
        assert_eq!(hierarchy(mixed, "pids"), Some(("/sys/fs/cgroup/pids".into(), "/user/a".into())));
        assert_eq!(found(mixed, "memory"), Some("/init.scope".into()));
        assert_eq!(found("0::/a:b/c\n", "pids"), Some("/a:b/c".into()));
        assert_eq!(found("", "pids"), None);
        assert_eq!(found("nonsense\n", "pids"), None);
    }

    #[test]
    fn limits_are_as_the_shell_says() {
        let shell = std::process::Command::new("sh").args(["-c", "ulimit -n; ulimit -Hn"]).output();
        let text = String::from_utf8(shell.expect("a shell runs").stdout).expect("text");
        let expected: Vec<Option<u64>> = text.lines().map(|line| line.parse().ok()).collect();
        let found = Limit::of(Resource::OpenFiles);
        assert_eq!(vec![found.soft, found.hard], expected);
    }
}
