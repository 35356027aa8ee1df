//! `--debug`: a line for each event of a class, for whoever looks into a run. Runs without it pay nothing.

use super::WorkerContext;
use crate::message::Message;
use crate::region::Stage;
use crate::unit::Unit;
use fathom_spec::debug::DebugClass;
use std::sync::atomic::Ordering::Relaxed;

impl WorkerContext<'_> {
    /// Tells of an event, if its class is shown.
    pub(super) fn debug(&self, class: DebugClass, text: impl FnOnce() -> String) {
        if self.plan.debug.shows(class, self.worker_plan().thread_number) {
            let pid = self.block().pid.load(Relaxed);
            self.messages.send(&Message::Output(class.line(pid, &text())));
        }
    }

    /// Tells of a stage that was reached.
    pub(super) fn tell_stage(&self, stage: Stage) {
        let pid = self.block().pid.load(Relaxed);
        self.debug(DebugClass::Process, || format!("pid={pid}: runstate {stage:?}"));
    }
}

/// Lines about each I/O.
pub(super) struct IoLines<'a> {
    context: WorkerContext<'a>,
}

impl<'a> IoLines<'a> {
    /// Those of a worker, if they are shown.
    pub(super) fn of(context: &WorkerContext<'a>) -> Option<IoLines<'a>> {
        let is_shown = context.plan.debug.shows(DebugClass::Io, context.worker_plan().thread_number);
        is_shown.then_some(IoLines { context: *context })
    }

    /// An I/O was aimed, is described to the engine, and handed over.
    pub(super) fn begins(&self, unit: &Unit, file: &str) {
        ["fill", "prep", "queue"].iter().for_each(|step| self.line(step, unit, file));
    }

    /// An I/O has ended.
    pub(super) fn ended(&self, unit: &Unit, file: &str) {
        self.line("complete", unit, file);
    }

    fn line(&self, step: &str, unit: &Unit, file: &str) {
        let (offset, length, direction) = (unit.offset(), unit.length(), unit.operation() as u8);
        self.context.debug(DebugClass::Io, || {
            // The address tells units apart, as it does in fio's lines.
            format!("{step}: io_u {unit:p}: off={offset:#x},len={length:#x},ddir={direction},file={file}")
        });
    }
}
