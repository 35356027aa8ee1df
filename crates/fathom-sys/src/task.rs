//! Reads the state of another thread from `/proc`, which affects neither the thread nor the resources for which
//! it waits.

use serde::{Deserialize, Serialize};
use std::fs;

/// Execution state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskState {
    /// Running or runnable.
    Runnable,
    /// Stopped by a signal or a debugger.
    Stopped,
    /// Waiting.
    Waiting,
}

/// A snapshot of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its state.
    pub state: TaskState,
    /// The thread's CPU time in kernel ticks.
    pub used_ticks: u64,
    /// The thread's scheduling statistics; `None` if the kernel does not provide them (it does with
    /// `CONFIG_SCHED_INFO`).
    pub turns: Option<Turns>,
}

/// Scheduling statistics of a thread since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// Time for which it ran on a processor, in ns.
    pub ran_ns: u64,
    /// Time for which it was runnable without a processor, in ns. A wait is counted when it ends.
    pub waited_ns: u64,
    /// Number of time slices.
    pub count: u64,
}

impl Task {
    /// Reads the current state of a process's thread; `None` if the thread has ended.
    pub fn look(process: u32, thread: u32) -> Option<Task> {
        let text = |file: &str| fs::read_to_string(format!("/proc/{process}/task/{thread}/{file}")).ok();
        let task = Task::parse(&text("stat")?)?;
        Some(Task { turns: text("schedstat").and_then(|line| Turns::parse(&line)), ..task })
    }

    /// Parses a line `id (name) state ...`, with user and system time in the 14th and 15th field
    /// (proc_pid_stat(5)). The name may contain any character.
    fn parse(line: &str) -> Option<Task> {
        let (_, rest) = line.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
        let state = match *fields.first()? {
            "R" => TaskState::Runnable,
            "T" | "t" => TaskState::Stopped,
            _ => TaskState::Waiting,
        };
        Some(Task { state, used_ticks: ticks(11)?.saturating_add(ticks(12)?), turns: None })
    }
}

impl Turns {
    /// Parses a line `ran waited turns` (Documentation/scheduler/sched-stats.rst).
    fn parse(line: &str) -> Option<Turns> {
        let mut fields = line.split_whitespace().map(|field| field.parse::<u64>().ok());
        Some(Turns { ran_ns: fields.next()??, waited_ns: fields.next()??, count: fields.next()?? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_read() {
        let line = "12 (a) R (b) D 1 2 3 4 5 6 7 8 9 10 30 12 0 0 20 0 1 0 1 2 3\n";
        assert_eq!(Task::parse(line), Some(Task { state: TaskState::Waiting, used_ticks: 42, turns: None }));
        for broken in ["", "12 (a)", "12 (a) R", "12 (a) R 1 2 3 4 5 6 7 8 9 10 x y"] {
            assert_eq!(Task::parse(broken), None, "{broken}");
        }
        let turns = Turns { ran_ns: 5, waited_ns: 6, count: 7 };
        assert_eq!(Turns::parse("5 6 7\n"), Some(turns));
        assert_eq!((Turns::parse("5 6"), Turns::parse("5 6 x")), (None, None));
    }

    #[test]
    fn this_thread_runs() {
        let own = Task::look(std::process::id(), crate::process::own_thread_id()).expect("it is there");
        assert_eq!(own.state, TaskState::Runnable);
    }
}
