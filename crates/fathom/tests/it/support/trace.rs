//! System calls of a run, as seen by strace.

use super::program::{self, Finished, Launch};
use super::{scratch, skip};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

/// The calls of all processes and threads of a run.
pub(crate) struct Trace {
    /// One call per entry; interrupted calls are joined again.
    pub(crate) calls: Vec<String>,
    /// The thread of each call.
    callers: Vec<u32>,
    /// Outcome of the run.
    pub(crate) finished: Finished,
}

impl Trace {
    /// Runs the program under test on a job and records the given calls.
    pub(crate) fn of(directory: &Path, calls: &str, words: &str) -> Result<Trace, String> {
        skip::tool("strace")?;
        let logs = scratch();
        let log = logs.path().join("calls");
        let finished = Launch::of(Path::new("strace"), directory)
            .words("-f -y -qq -o")
            .argument(&log)
            .argument(format!("--trace={calls}"))
            .argument(program::path())
            .words(words)
            .timeout(Duration::from_secs(120))
            .run();
        if finished.stderr.contains("ptrace") && finished.code() != 0 {
            return Err(format!("strace: {}", finished.stderr.trim()));
        }
        let text = std::fs::read_to_string(&log).map_err(|error| format!("strace's log: {error}"))?;
        let (callers, calls) = whole_calls(&text).into_iter().unzip();
        Ok(Trace { calls, callers, finished })
    }

    /// Calls of that name on a file whose path ends in `file`.
    pub(crate) fn on<'a>(&'a self, name: &'a str, file: &'a str) -> impl Iterator<Item = &'a str> {
        let start = format!("{name}(");
        let marker = format!("{file}>");
        self.calls
            .iter()
            .map(String::as_str)
            .filter(move |call| call.starts_with(&start) && call.contains(&marker))
    }

    /// The threads with a call of that name on a file whose name has this suffix.
    pub(crate) fn callers(&self, name: &str, file: &str) -> BTreeSet<u32> {
        let start = format!("{name}(");
        let marker = format!("{file}>");
        let all = self.callers.iter().zip(&self.calls);
        all.filter(|(_, call)| call.starts_with(&start) && call.contains(&marker))
            .map(|(&pid, _)| pid)
            .collect()
    }

    /// Number of calls of that name.
    pub(crate) fn count(&self, name: &str) -> usize {
        let start = format!("{name}(");
        self.calls.iter().filter(|call| call.starts_with(&start)).count()
    }
}

/// Joins `pread64(3, <unfinished ...>` with `<... pread64 resumed>...` of the same process.
fn whole_calls(log: &str) -> Vec<(u32, String)> {
    let mut open: BTreeMap<u32, &str> = BTreeMap::new();
    let mut calls = Vec::new();
    for (pid, call) in log.lines().filter_map(|line| line.split_once(char::is_whitespace)) {
        let Ok(pid) = pid.parse() else { continue };
        let call = call.trim_start();
        if let Some(start) = call.strip_suffix("<unfinished ...>") {
            open.insert(pid, start);
        } else if let Some((_, end)) = call.split_once("resumed>") {
            calls.push((pid, format!("{}{end}", open.remove(&pid).unwrap_or_default())));
        } else {
            calls.push((pid, call.to_string()));
        }
    }
    // A call that never returned still counts.
    calls.extend(open.into_iter().map(|(pid, start)| (pid, start.to_string())));
    calls
}

#[test]
fn interrupted_calls_are_joined() {
    let log = "12 pread64(3</f>, <unfinished ...>\n13  close(3) = 0\n12 <... pread64 resumed>\"\"..., 4096, 0) = 4096\n";
    let expected = [(13, "close(3) = 0"), (12, "pread64(3</f>, \"\"..., 4096, 0) = 4096")];
    assert_eq!(whole_calls(log), expected.map(|(pid, call)| (pid, call.to_string())));
}
