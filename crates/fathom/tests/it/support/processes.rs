//! Processes as shown by `/proc`.

use std::process::{Child, Command, Stdio};

/// Sends a signal, named as for `kill`. A process that no longer exists is not an error.
pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args(["-s", name, &pid.to_string()]).stderr(Stdio::null()).status();
    status.expect("kill(1) can be run");
}

/// Sends a signal and waits until the process has handled it, because two pending signals are merged into one.
#[track_caller]
pub(crate) fn signal_and_see(pid: u32, name: &str) {
    signal(pid, name);
    super::wait_until("the signal arrives", || {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mut pending = status.lines().filter_map(|line| {
            line.strip_prefix("SigPnd:").or_else(|| line.strip_prefix("ShdPnd:")).map(str::trim)
        });
        pending.all(|mask| mask.bytes().all(|digit| digit == b'0'))
    });
}

/// Kills a process and all its descendants.
pub(crate) fn kill_tree(pid: u32) {
    // The list is made first because children of a dead process are reparented.
    let all = descendants(pid);
    signal(pid, "KILL");
    for child in all {
        signal(child, "KILL");
    }
}

/// True while a process exists and has not ended; an ended process may still wait to be reaped.
pub(crate) fn runs(pid: u32) -> bool {
    state(pid).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// The state letter of a process.
pub(crate) fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

/// The number of voluntary sleeps of a process's tasks. A job with `rate_iops` sleeps once per I/O, so this
/// shows its progress from outside.
pub(crate) fn sleeps(pid: u32) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks
        .filter_map(|task| {
            let status = std::fs::read_to_string(task.path().join("status")).ok()?;
            let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            count.trim().parse::<u64>().ok()
        })
        .sum()
}

/// All descendants of `pid`, parents before their children.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let table = parents();
    let mut found = Vec::new();
    let mut front = vec![pid];
    while let Some(parent) = front.pop() {
        let children: Vec<u32> =
            table.iter().filter(|&&(_, above)| above == parent).map(|&(child, _)| child).collect();
        front.extend(&children);
        found.extend(children);
    }
    found
}

/// Every process with its parent.
fn parents() -> Vec<(u32, u32)> {
    let entries = std::fs::read_dir("/proc").expect("/proc is mounted");
    entries
        .filter_map(|entry| {
            let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // The name in parentheses may contain anything, so fields are counted from its end: state, parent, ...
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect()
}

/// Shell loops that keep all processors busy until drop.
pub(crate) struct OtherWork(Vec<Child>);

impl OtherWork {
    /// Three for each processor.
    pub(crate) fn start() -> OtherWork {
        // Separate sessions, because kernels with CONFIG_SCHED_AUTOGROUP divide processors among sessions.
        let start = |processor: usize| {
            let mut command = Command::new("setsid");
            // The load must not outlive the test, even if the test is killed.
            let work = "while [ -d /proc/$0 ]; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done";
            let own_pid = std::process::id().to_string();
            command.args(["taskset", "-c", &processor.to_string(), "sh", "-c", work, &own_pid]);
            command.spawn().expect("setsid(1) can be run")
        };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        OtherWork((0..3 * processors).map(|index| start(index / 3)).collect())
    }
}

impl Drop for OtherWork {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
