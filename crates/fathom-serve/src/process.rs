//! Processes that outlive their parent, identified by number and start time, because numbers are reused.

use serde::{Deserialize, Serialize};

/// A process of this machine since its last boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pid: u32,
    /// Start time in clock ticks since boot.
    start: u64,
    /// The kernel's boot ID.
    boot: String,
}

impl Process {
    /// Returns the calling process.
    pub(crate) fn this() -> Option<Process> {
        let pid = std::process::id();
        Some(Process { pid, start: look(pid)?.start, boot: boot()? })
    }

    /// True while the process exists and has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        let same = |found: &ProcessStat| found.start == self.start && !found.has_ended;
        look(self.pid).as_ref().is_some_and(same) && boot().as_ref() == Some(&self.boot)
    }

    /// Sends a signal if the process is alive; returns true on success.
    pub(crate) fn signal(&self, signal: i32) -> bool {
        let is_alive = self.is_alive();
        if is_alive {
            fathom_sys::process::kill(self.pid, signal);
        }
        is_alive
    }
}

struct ProcessStat {
    start: u64,
    /// True for a zombie, for which its parent has not waited yet.
    has_ended: bool,
}

fn look(pid: u32) -> Option<ProcessStat> {
    read_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parses a line of stat. The program's name may contain any character, so fields are counted from the name's
/// end.
fn read_stat(text: &str) -> Option<ProcessStat> {
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    // The state is field 3 and the start time field 22 of the line.
    let start = fields.nth(18)?.parse().ok()?;
    Some(ProcessStat { start, has_ended: matches!(state, "Z" | "X" | "x") })
}

fn boot() -> Option<String> {
    Some(std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_used_again_is_another_process() {
        let this = Process::this().expect("this process");
        assert!(this.is_alive());
        assert!(!Process { start: this.start + 1, ..this.clone() }.is_alive());
        assert!(!Process { boot: "another".to_owned(), ..this }.is_alive());
    }

    #[test]
    fn ended_processes_are_seen() {
        let mut child = std::process::Command::new("true").spawn().expect("true runs");
        let start = std::time::Instant::now();
        while look(child.id()).is_some_and(|found| !found.has_ended) {
            assert!(start.elapsed().as_secs() < 60, "it does not end");
        }
        assert!(look(child.id()).is_some_and(|found| found.has_ended), "it was not waited for yet");
        assert!(child.wait().is_ok());
        let line = "7 (a ) Z b) S 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0";
        assert_eq!(read_stat(line).map(|found| (found.start, found.has_ended)), Some((4242, false)));
    }
}
