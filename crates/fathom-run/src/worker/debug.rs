//! `--debug`: a line for each event of a class. Without `--debug`, this code costs nothing.

use super::{Worker, WorkerContext};
use crate::message::Message;
use crate::region::Stage;
use crate::unit::Unit;
use fathom_spec::debug::DebugClass;
use std::sync::atomic::Ordering::Relaxed;

impl WorkerContext<'_> {
    /// True if events of this class are shown.
    pub(super) fn shows(&self, class: DebugClass) -> bool {
        self.plan.debug.shows(class, self.worker_plan().thread_number)
    }

    /// Prints an event if its class is shown.
    pub(super) fn debug(&self, class: DebugClass, text: impl FnOnce() -> String) {
        if self.shows(class) {
            let pid = self.block().pid.load(Relaxed);
            self.messages.send(&Message::Output(class.line(pid, &text())));
        }
    }

    /// Prints the stage that was reached.
    pub(super) fn tell_stage(&self, stage: Stage) {
        let pid = self.block().pid.load(Relaxed);
        self.debug(DebugClass::Process, || format!("pid={pid}: runstate {stage:?}"));
    }
}

impl Worker<'_> {
    /// Prints, with `--debug=io`, that an I/O was prepared, queued, and submitted.
    pub(super) fn tell_of_begin(&self, unit: &Unit) {
        if self.logs_ios {
            ["fill", "prep", "queue"].iter().for_each(|step| self.report_io(step, unit));
        }
    }

    /// Prints, with `--debug=io`, that an I/O has completed.
    pub(super) fn tell_of_end(&self, unit: &Unit) {
        if self.logs_ios {
            self.report_io("complete", unit);
        }
    }

    #[cold]
    fn report_io(&self, step: &str, unit: &Unit) {
        let (offset, length, direction) = (unit.offset(), unit.length(), unit.operation() as u8);
        let file = &self.files.list[unit.file() as usize].name;
        self.context.debug(DebugClass::Io, || {
            // The unit's address identifies it, as in fio's lines.
            format!("{step}: io_u {unit:p}: off={offset:#x},len={length:#x},ddir={direction},file={file}")
        });
    }
}
