//! The files of a worker, before the start gate.

use super::{GivenUp, WorkerContext, holes};
use crate::cause::Cause;
use crate::files::open::OpenFiles;
use crate::files::{self, FileEntry, FileError, layout};
use crate::message::Message;
use crate::region::Stage;
use crate::storage::Storage;
use crate::storage::files::scheduler;
use fathom_sys::process;
use std::sync::atomic::Ordering::Relaxed;

/// Lays the files of a worker out before it runs; runs in the process that does so for all. What fails is reported and stored.
pub(crate) fn lay_out(context: &WorkerContext<'_>) {
    let (plan, block) = (context.worker_plan(), context.block());
    let mut storage = storage_of(context);
    block.set_stage(Stage::SettingUp);
    let done = files::resolve(&*storage, plan).and_then(|entries| {
        for entry in entries.iter().filter(|entry| entry.size == 0) {
            context.messages.send(&Message::Output(format!("fio: file {} may be ignored", entry.name())));
        }
        prepare(context, &mut *storage, &entries)
    });
    if block.should_stop() {
        process::exit_now(0);
    }
    if let Err(error) = done {
        report(context, &error);
    }
    block.set_stage(Stage::NotStarted);
}

/// Opens the files of a worker, and lays them out if that is its own business. What fails is reported and stored.
pub(super) fn open(context: &WorkerContext<'_>) -> Result<OpenFiles, GivenUp> {
    let plan = context.worker_plan();
    let mut storage = storage_of(context);
    let opened = files::resolve(&*storage, plan).and_then(|mut entries| {
        if plan.files.layout.by_worker {
            prepare(context, &mut *storage, &entries)?;
        }
        files::end_where_filled(&*storage, plan, &mut entries);
        OpenFiles::open(plan, storage, &entries)
    });
    let mut files = match opened {
        Ok(files) => files,
        Err(_) if context.block().should_stop() => return Err(GivenUp),
        Err(error) => return Err(report(context, &error)),
    };
    switch_scheduler(context, &files)?;
    if plan.files.layout.pre_reads {
        context.set_stage(Stage::PreReading);
        if let Err(error) = files.read_into_cache(plan, || context.block().should_stop()) {
            return Err(report(context, &error));
        }
    }
    let block = context.block();
    block.open_files.store(files.open_count() as u32, Relaxed);
    holes::look(&files, &block.holes);
    for (place, device) in block.devices.iter().zip(&files.devices) {
        place.store(*device, Relaxed);
    }
    Ok(files)
}

/// `ioscheduler`: whatever the job's files lie on.
fn switch_scheduler(context: &WorkerContext<'_>, files: &OpenFiles) -> Result<(), GivenUp> {
    let Some(scheduler) = &context.worker_plan().files.scheduler else { return Ok(()) };
    match scheduler::switch(&files.devices, scheduler) {
        Ok(0) => {
            let name = &context.worker_plan().name;
            context.messages.send(&Message::Output(format!(
                "fathom: job {name}: ioscheduler has no effect: no block device with a choice of schedulers lies below its files"
            )));
            Ok(())
        }
        Ok(_) => Ok(()),
        Err(errno) => {
            context.messages.send(&Message::Error(format!(
                "fio: unable to set io scheduler to {scheduler}\nfathom: /sys/block/*/queue/scheduler lists what a device offers; \
                 setting one needs root"
            )));
            Err(context.fail(errno, Cause::SCHEDULER))
        }
    }
}

fn storage_of(context: &WorkerContext<'_>) -> Box<dyn Storage> {
    (context.engine.storage)(context.plan.job_of(context.worker_plan()))
}

/// Creates and fills what is missing, says so, and leaves off when the worker is to stop.
fn prepare(
    context: &WorkerContext<'_>,
    storage: &mut dyn Storage,
    entries: &[FileEntry],
) -> Result<(), FileError> {
    let plan = context.worker_plan();
    let stopped = || context.block().should_stop();
    let announce = |files, bytes| {
        context.messages.send(&Message::LayingOut { job: plan.name.clone(), files, bytes });
    };
    let prepared =
        layout::prepare_unless(&mut *storage, &stopped, plan, entries, context.plan.readonly, announce);
    storage.take_remarks().into_iter().for_each(|line| context.messages.send(&Message::Error(line)));
    prepared
}

/// Stores and reports why files cannot be used.
pub(super) fn report(context: &WorkerContext<'_>, error: &FileError) -> GivenUp {
    if let Some(message) = &error.message {
        context.messages.send(&Message::Error(message.clone()));
    }
    context.fail_with_files(error)
}
