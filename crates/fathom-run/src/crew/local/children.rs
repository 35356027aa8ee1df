//! Child processes: their messages and how they ended.

use super::{LocalCrew, LogWriter};
use crate::crew::{Event, Lost, Stage};
use crate::exhausted;
use fathom_stats::report::CpuReport;
use fathom_sys::clock::monotonic_ns;
use fathom_sys::limits::{self, Limit, Resource};
use fathom_sys::process::{self, Ended};
use fathom_sys::usage::Usage;

impl LocalCrew<'_> {
    /// All messages received so far.
    pub(super) fn take_messages(&mut self, events: &mut Vec<Event>) {
        events.extend(self.receiver.drain().into_iter().map(Event::Said));
    }

    /// Reaps all children that have ended.
    pub(super) fn reap(&mut self, events: &mut Vec<Event>) {
        self.note_stops();
        while let Some((pid, ended, usage)) = process::reap_one() {
            if self.layout == Some(pid) {
                self.layout = None;
                events.push(Event::LayoutEnded(ended));
            } else if self.log_writer == LogWriter::Running(pid) {
                events.extend(self.log_writer_ended(ended));
            } else if self.layer_process == Some(pid) {
                self.layers_ended();
            } else {
                self.process_ended(pid, ended, usage, events);
            }
        }
    }

    /// Records which workers were stopped or continued. A process with several threads runs several workers, so
    /// all of them are affected.
    fn note_stops(&mut self) {
        while let Some((pid, stop)) = process::take_stop() {
            let now_ns = monotonic_ns();
            let mut jobs: Vec<String> = Vec::new();
            for (member, worker) in self.members.iter().zip(&self.plan.workers) {
                if member.process == Some(pid) && !jobs.contains(&worker.name) {
                    jobs.push(worker.name.clone());
                }
            }
            if !jobs.is_empty() {
                self.stops.note(pid, jobs, stop, now_ns);
            }
        }
    }

    /// Handles the end of a child: the process of one worker, the process of several worker threads, or any
    /// other child.
    fn process_ended(&mut self, pid: u32, ended: Ended, usage: Usage, events: &mut Vec<Event>) {
        let mut was_running = false;
        for worker in 0..self.members.len() {
            let member = &mut self.members[worker];
            if member.process != Some(pid) {
                continue;
            }
            self.stops.end(pid, monotonic_ns());
            // The kernel may assign the process ID to another process now that this one has been reaped.
            member.process = None;
            if std::mem::take(&mut member.is_running) {
                was_running = true;
                let is_done = self.region.worker(worker).stage() == Stage::Ended;
                let lost = (!is_done).then(|| self.lost(ended, usage));
                events.push(Event::Ended { worker, lost });
            }
        }
        if !was_running {
            events.push(Event::OtherEnded { process: pid, ended });
        }
    }

    fn lost(&mut self, ended: Ended, usage: Usage) -> Lost {
        let without_memory = match ended {
            Ended::Killed(signal) => self.memory_ran_out(signal),
            Ended::Exited(_) => None,
        };
        let cpu = CpuReport {
            user_us: usage.user_us,
            system_us: usage.system_us,
            context_switches: usage.context_switches,
            major_faults: usage.major_faults,
            minor_faults: usage.minor_faults,
        };
        Lost { ended, cpu, without_memory }
    }

    /// Returns the likely memory shortage behind a fatal signal: programs abort when an allocation fails, and
    /// the kernel kills processes of a control group that has reached its memory limit.
    fn memory_ran_out(&mut self, signal: i32) -> Option<String> {
        let kills = limits::group_memory_kills();
        let killed_by_group = kills > std::mem::replace(&mut self.memory_kills, kills);
        let is_limited = Limit::of(Resource::AddressSpace).soft.is_some();
        match signal {
            libc::SIGABRT if is_limited => {
                Some(format!("it could not allocate memory: {}", exhausted::memory()))
            }
            libc::SIGKILL if killed_by_group => Some(format!("out of memory: {}", exhausted::memory())),
            _ => None,
        }
    }

    /// Threads share a process, so the end of a single thread is visible only in its worker block.
    pub(super) fn collect_ended_threads(&mut self, events: &mut Vec<Event>) {
        for worker in 0..self.members.len() {
            let has_ended = self.members[worker].is_running
                && self.is_thread(worker)
                && self.region.worker(worker).stage() == Stage::Ended;
            if has_ended {
                self.members[worker].is_running = false;
                events.push(Event::Ended { worker, lost: None });
            }
        }
    }
}
