//! Limits of this process: the limits of `ulimit`, of its control groups, and of the kernel.

use std::fs;
use std::path::{Path, PathBuf};

/// A per-process or per-user limit (getrlimit(2)).
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

/// The soft and the hard limit; `None` for unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The current limit.
    pub soft: Option<u64>,
    /// Maximum to which unprivileged users can raise the soft limit.
    pub hard: Option<u64>,
}

impl Limit {
    /// Reads the limit of this process.
    pub fn of(resource: Resource) -> Limit {
        let number = match resource {
            Resource::Processes => libc::RLIMIT_NPROC,
            Resource::OpenFiles => libc::RLIMIT_NOFILE,
            Resource::AddressSpace => libc::RLIMIT_AS,
            Resource::LockedMemory => libc::RLIMIT_MEMLOCK,
        };
        let mut raw = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
        // SAFETY: `raw` is valid for the whole call; if the call fails, it says that there is no limit.
        unsafe { libc::getrlimit(number, &mut raw) };
        let bounded = |value| (value != libc::RLIM_INFINITY).then_some(value);
        Limit { soft: bounded(raw.rlim_cur), hard: bounded(raw.rlim_max) }
    }
}

/// The tightest limit of one kind among this process's control group and its ancestors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupLimit {
    /// The group with the limit, as a path below the root of the hierarchy.
    pub group: String,
    /// The limit.
    pub limit: u64,
    /// Current usage.
    pub used: u64,
}

/// Returns the limit on processes and threads (`pids.max`) with the least headroom.
pub fn group_processes() -> Option<GroupLimit> {
    nearest("pids", "pids.max", "pids.current")
}

/// Returns the memory limit with the least headroom (`memory.max`, or `memory.limit_in_bytes` of version 1).
pub fn group_memory() -> Option<GroupLimit> {
    nearest("memory", "memory.max", "memory.current")
        .or_else(|| nearest("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"))
}

/// Returns the number of times that the OOM killer has killed a process of this group or of a descendant.
pub fn group_memory_kills() -> u64 {
    let count = |(directory, _): (PathBuf, String)| {
        let text = ["memory.events", "memory.oom_control"]
            .iter()
            .find_map(|file| fs::read_to_string(directory.join(file)).ok())?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill "))?.trim().parse::<u64>().ok()
    };
    groups("memory").into_iter().next().and_then(count).unwrap_or(0)
}

/// Reads a number from a kernel file, such as the files below `/proc/sys`.
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

/// Returns the directories of this thread's group and its ancestors, innermost first, in the hierarchy with the
/// controller, each with the name of the group.
fn groups(controller: &str) -> Vec<(PathBuf, String)> {
    let found = memberships();
    let of_version_1 = found.iter().find(|own| own.controllers.iter().any(|name| name == controller));
    let own = of_version_1.or_else(|| found.iter().find(|own| own.controllers.is_empty()));
    own.map(|own| own.ancestors.clone()).unwrap_or_default()
}

/// A thread's group in one control group hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Controllers of the hierarchy; empty for version 2.
    pub controllers: Vec<String>,
    /// The group and its ancestors, innermost first: the directory of each, and its name below the mount.
    pub ancestors: Vec<(PathBuf, String)>,
}

/// Returns the groups of the calling thread in all mounted hierarchies.
pub fn memberships() -> Vec<Membership> {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    memberships_in(&text("/proc/thread-self/cgroup"), &text("/proc/thread-self/mountinfo"))
}

/// Parses the lines of proc_pid_cgroup(5) and proc_pid_mountinfo(5).
pub fn memberships_in(memberships: &str, mounts: &str) -> Vec<Membership> {
    let hierarchies: Vec<Hierarchy<'_>> = lines_with(mounts, " - cgroup").filter_map(hierarchy).collect();
    let of_line = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let controllers: Vec<String> =
            controllers.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let is_it = |found: &&Hierarchy<'_>| match found.options {
            None => controllers.is_empty(),
            Some(options) => controllers.iter().any(|name| options.split(',').any(|option| option == *name)),
        };
        let Hierarchy { mounted, root, .. } = *hierarchies.iter().find(is_it)?;
        // If a group is outside of the mount, only the mounted group is visible.
        let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
        let group = |part: &Path| (Path::new(mounted).join(part), format!("/{}", part.display()));
        Some(Membership { controllers, ancestors: below.ancestors().map(group).collect() })
    };
    memberships.lines().filter_map(of_line).collect()
}

/// Returns the lines that contain this text. One search over the whole text is cheaper than one per line.
fn lines_with<'a>(text: &'a str, wanted: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(wanted).map(|(place, _)| {
        let start = text[..place].rfind('\n').map_or(0, |end| end + 1);
        text[start..].lines().next().unwrap_or_default()
    })
}

/// A mounted control group hierarchy.
struct Hierarchy<'a> {
    /// Mount options, including the controllers; `None` for version 2, which has all other controllers.
    options: Option<&'a str>,
    mounted: &'a str,
    /// The group at the root of the mount.
    root: &'a str,
}

/// Returns the hierarchy that a line of proc_pid_mountinfo(5) mounts.
fn hierarchy(line: &str) -> Option<Hierarchy<'_>> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, mounted) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let options = match kind.next()? {
        "cgroup2" => None,
        "cgroup" => Some(kind.nth(1)?),
        _ => return None,
    };
    Some(Hierarchy { options, mounted, root })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_control_groups_are_found() {
        let mounts =
            "1 2 0:1 / /cg/pids rw - cgroup cgroup rw,pids\n1 2 0:2 /a /cg/all rw - cgroup2 cgroup2 rw\n";
        let found = |text| {
            let found = memberships_in(text, mounts);
            found.into_iter().map(|own| (own.controllers, own.ancestors)).collect::<Vec<_>>()
        };
        let group = |directory: &str, name: &str| (PathBuf::from(directory), name.to_owned());
        let of_pids = vec![group("/cg/pids/user", "/user"), group("/cg/pids/", "/")];
        assert_eq!(found("12:pids:/user\n3:cpu,cpuacct:/\n"), [(vec!["pids".to_owned()], of_pids)]);
        let all = vec![group("/cg/all/b:c", "/b:c"), group("/cg/all/", "/")];
        assert_eq!(found("0::/a/b:c\n"), [(Vec::new(), all)]);
        assert_eq!(found("nonsense\n\n"), []);
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
