//! Programs that issued the requests, if the trace has names.

use fathom_trace::requests::Request;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Maximum number of processes that are counted separately.
const MOST_PROCESSES: usize = 8192;

/// The requests of all processes with one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Name of the program; empty for processes without a name.
    pub name: String,
    /// Number of processes.
    pub processes: u64,
    /// Number of requests: reads, writes, trims.
    pub requests: [u64; 3],
    /// Their bytes.
    pub bytes: [u64; 3],
    /// Number of flushes, and of writes that had to be durable.
    pub syncs: u64,
}

impl Program {
    /// Returns the number of requests of all kinds.
    pub fn all_requests(&self) -> u64 {
        self.requests.iter().sum()
    }

    fn add(&mut self, other: &Program) {
        self.processes += other.processes;
        self.syncs += other.syncs;
        self.requests.iter_mut().zip(other.requests).for_each(|(own, theirs)| *own += theirs);
        self.bytes.iter_mut().zip(other.bytes).for_each(|(own, theirs)| *own += theirs);
    }
}

/// Counts requests by process.
#[derive(Debug, Default)]
pub(crate) struct Census {
    processes: HashMap<u32, Program>,
    names: HashMap<u32, String>,
    others: Program,
}

impl Census {
    pub(crate) fn name(&mut self, process: u32, name: String) {
        if self.names.len() < MOST_PROCESSES || self.names.contains_key(&process) {
            self.names.insert(process, name);
        }
    }

    pub(crate) fn add(&mut self, request: &Request, is_sync: bool) {
        let is_new = !self.processes.contains_key(&request.process);
        let program = match is_new && self.processes.len() >= MOST_PROCESSES {
            true => &mut self.others,
            false => self
                .processes
                .entry(request.process)
                .or_insert_with(|| Program { processes: 1, ..Program::default() }),
        };
        program.syncs += u64::from(is_sync);
        if request.bytes > 0 {
            program.requests[request.direction as usize] += 1;
            program.bytes[request.direction as usize] += u64::from(request.bytes);
        }
    }

    /// Returns the programs, the busiest first; empty if the trace has no names of programs.
    pub(crate) fn finish(self) -> Vec<Program> {
        if self.names.is_empty() {
            return Vec::new();
        }
        let mut all: HashMap<String, Program> = HashMap::new();
        for (process, program) in self.processes {
            let name = self.names.get(&process).cloned().unwrap_or_default();
            all.entry(name.clone()).or_insert_with(|| Program { name, ..Program::default() }).add(&program);
        }
        all.entry(String::new()).or_default().add(&self.others);
        let mut all: Vec<Program> =
            all.into_values().filter(|program| program.all_requests() + program.syncs > 0).collect();
        all.sort_by(|a, b| b.all_requests().cmp(&a.all_requests()).then_with(|| a.name.cmp(&b.name)));
        all
    }
}
