//! Creates processes: one per worker, one for all threads of a batch, one for the layout.

use super::LocalCrew;
use crate::crew::Stage;
use crate::worker::WorkerContext;
use crate::worker::files;
use fathom_sys::process::{self, Fork};
use fathom_sys::{Errno, signal};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Upper limit on open files: fathom's processes need no more, and some programs started by jobs try to close
/// every descriptor up to the limit.
const MOST_OPEN_FILES: u64 = 1 << 20;

impl LocalCrew<'_> {
    /// Starts the process that examines and lays out the files of these workers, one after the other.
    pub(super) fn start_layout(&self, workers: &[usize]) -> Result<u32, Errno> {
        // SAFETY: the owner of a crew promises to have a single thread.
        match unsafe { process::fork() }? {
            Fork::Child => {
                become_child(&self.blocked_signals);
                for &index in workers {
                    let context = self.context(index);
                    guarded(&context, || files::lay_out(&context));
                }
                process::exit_now(0);
            }
            Fork::Parent(pid) => Ok(pid),
        }
    }

    /// Starts one worker as a process.
    pub(super) fn start_process(&self, index: usize) -> Result<u32, Errno> {
        // SAFETY: the owner of a crew promises to have a single thread.
        match unsafe { process::fork() }? {
            Fork::Child => {
                become_child(&self.blocked_signals);
                let context = self.context(index);
                guarded(&context, || (context.engine.run)(&context));
                process::exit_now(i32::from(context.region.worker(index).error().is_some()));
            }
            Fork::Parent(pid) => Ok(pid),
        }
    }

    /// Starts workers as threads of one process. They share its descriptor table: a library with threads,
    /// such as the C library's asynchronous I/O, knows files by number, and a number has to mean the same
    /// file everywhere.
    pub(super) fn start_threads(&self, indices: &[usize]) -> Result<u32, Errno> {
        // SAFETY: the owner of a crew promises to have a single thread.
        match unsafe { process::fork() }? {
            Fork::Child => {
                become_child(&self.blocked_signals);
                std::thread::scope(|scope| {
                    for &index in indices {
                        let context = self.context(index);
                        let work = move || guarded(&context, || (context.engine.run)(&context));
                        if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, work) {
                            let context = self.context(index);
                            context.fail_for_thread("to run in", &error);
                            context.set_stage(Stage::Ended);
                        }
                    }
                });
                process::exit_now(0);
            }
            Fork::Parent(pid) => Ok(pid),
        }
    }
}

/// Sets a child up: its own session, no terminal, signals left to the supervisor, killed with its parent.
pub(super) fn become_child(blocked_signals: &[i32]) {
    // The run works without the parent-death signal, so its failure is ignored.
    let _ = process::die_with_parent();
    if process::parent_is_gone() {
        process::exit_now(1);
    }
    process::new_session();
    // `killall` reaches workers too, but only the supervisor may stop them. Without SIGXFSZ, a write beyond
    // RLIMIT_FSIZE fails instead of killing the worker.
    for ignored in [libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGXFSZ] {
        signal::ignore(ignored);
    }
    signal::unblock(blocked_signals);
    // Jobs with many files, and clones that share a descriptor table, may need more descriptors than the soft
    // limit allows, so it is raised to the hard limit.
    fathom_sys::file::raise_open_file_limit(MOST_OPEN_FILES);
    // Closes the standard streams, so that readers of the program's output see its end even if this process
    // hangs.
    for stream in 0..=2 {
        process::detach_stream(stream);
    }
}

/// Runs a function in a child. A panic is reported as the job's error instead of a backtrace.
fn guarded(context: &WorkerContext<'_>, work: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
        context.end_with_defect(&*payload);
        context.region.worker(context.index).set_stage(Stage::Ended);
    }
}
