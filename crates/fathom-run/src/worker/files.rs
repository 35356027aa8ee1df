//! Prepares the files of a worker before the start gate.

use super::{GivenUp, WorkerContext, holes};
use crate::cause::Cause;
use crate::files::open::OpenFiles;
use crate::files::{self, FileEntry, FileError, FileKind, layout};
use crate::message::Message;
use crate::plan::WorkerPlan;
use crate::plan::model::files::Names;
use crate::region::Stage;
use crate::storage::Storage;
use crate::storage::files::scheduler;
use fathom_spec::engines::StorageKind;
use fathom_sys::process;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// Lays out a worker's files before it starts; runs in the layout process of all workers. A failure is reported
/// and stored as the job's error.
pub(crate) fn lay_out(context: &WorkerContext<'_>) {
    let (plan, block) = (context.worker_plan(), context.block());
    let mut storage = storage_of(context);
    block.set_stage(Stage::SettingUp);
    let done = files::resolve(&*storage, plan).and_then(|entries| {
        // With `split`, a file without bytes for this worker is used by other workers.
        let has_all = plan.files.part.share.is_none();
        for entry in entries.iter().filter(|entry| entry.size == 0 && has_all) {
            context.messages.send(&Message::Output(format!("fio: file {} may be ignored", entry.name())));
        }
        // Files that this job verifies may still have to be written by an earlier job of this run, so they are
        // examined when the worker opens them.
        match plan.keeps_data() && !plan.files.layout.is_all {
            true => Ok(()),
            false => prepare(context, &mut *storage, &entries),
        }
    });
    if block.should_stop() {
        process::exit_now(0);
    }
    if let Err(error) = done {
        report(context, &error);
    }
    block.set_stage(Stage::NotStarted);
}

/// Opens the files of a worker, and lays them out if the layout process does not. A failure is reported and
/// stored as the job's error.
pub(super) fn open(context: &WorkerContext<'_>) -> Result<OpenFiles, GivenUp> {
    let plan = context.worker_plan();
    let mut storage = storage_of(context);
    let opened = files::resolve(&*storage, plan).and_then(|mut entries| {
        note_what_is_beyond(context, &entries);
        if plan.files.layout.by_worker || plan.keeps_data() {
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

/// Reports devices that are smaller than the requested size, once for all clones.
fn note_what_is_beyond(context: &WorkerContext<'_>, entries: &[FileEntry]) {
    let plan = context.worker_plan();
    let fills = plan.files.layout.fills_device;
    for entry in entries.iter().filter(|entry| entry.beyond_end > 0 && plan.subjob == 0 && !fills) {
        context.messages.send(&Message::Output(format!(
            "fathom: job {}: {} ends {} bytes before what offset= and size= ask for; what exists is used",
            plan.name,
            entry.name(),
            entry.beyond_end
        )));
    }
}

/// `ioscheduler`: sets the scheduler of the devices below the job's files.
fn switch_scheduler(context: &WorkerContext<'_>, files: &OpenFiles) -> Result<(), GivenUp> {
    let Some(scheduler) = &context.worker_plan().files.scheduler else { return Ok(()) };
    match scheduler::switch(&files.devices, scheduler) {
        Ok(0) => {
            let name = &context.worker_plan().name;
            context.messages.send(&Message::Output(format!(
                "fathom: job {name}: ioscheduler has no effect: no block device with a choice of schedulers is below its files"
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

/// The paths of a worker's files, by number.
pub(crate) fn paths(context: &WorkerContext<'_>) -> Vec<PathBuf> {
    let entries = files::resolve(&*storage_of(context), context.worker_plan()).unwrap_or_default();
    entries.into_iter().map(|entry| entry.path).collect()
}

fn storage_of(context: &WorkerContext<'_>) -> Box<dyn Storage> {
    (context.engine.storage)(context.plan.job_of(context.worker_plan()))
}

/// Creates and fills missing files and reports that; stops when the worker is told to stop.
fn prepare(
    context: &WorkerContext<'_>,
    storage: &mut dyn Storage,
    entries: &[FileEntry],
) -> Result<(), FileError> {
    let plan = context.worker_plan();
    let stopped = || context.block().should_stop();
    let surprises = if context.plan.readonly { Vec::new() } else { surprises(plan, entries) };
    let announce = |files, bytes| {
        context.messages.send(&Message::LayingOut { job: plan.name.clone(), files, bytes });
    };
    let prepared =
        layout::prepare_unless(&mut *storage, &stopped, plan, entries, context.plan.readonly, announce);
    let remarks = storage.take_remarks();
    let told = if prepared.is_ok() { surprises } else { Vec::new() };
    remarks.into_iter().chain(told).for_each(|line| context.messages.send(&Message::Error(line)));
    prepared
}

/// Maximum number of files and directories listed per job.
const MOST_NAMED: usize = 3;

/// Describes effects of the layout that may be due to a mistyped name or size: files that a job only reads are
/// extended, and missing directories are created.
fn surprises(plan: &WorkerPlan, entries: &[FileEntry]) -> Vec<String> {
    let lays_out = plan.files.layout.creates && plan.replay.is_none() && !plan.keeps_data();
    if plan.storage != StorageKind::Files || !lays_out {
        return Vec::new();
    }
    let laid_out = !plan.files.layout.happens_at_open && !plan.files.part.appends;
    let reads_only = laid_out && !plan.changes_data();
    let is_longer = |entry: &&FileEntry| {
        reads_only && entry.kind == FileKind::Regular && entry.present_size.is_some() && entry.is_short()
    };
    let longer = entries.iter().filter(is_longer).map(|entry| {
        format!(
            "{} has {} bytes and is extended to {} bytes, although the job only reads it: size= asks for \
            that; allow_file_create=0 or --readonly refuses it",
            entry.path.display(),
            entry.present_size.unwrap_or(0),
            entry.wanted_size()
        )
    });
    // Creating a tree with all its directories is expected, so it is not reported.
    let has_tree = matches!(&plan.files.names.names, Names::Numbered { tree: Some(_), .. });
    let is_made = |entry: &&FileEntry| !has_tree && entry.kind.can_be_made() && entry.present_size.is_none();
    let mut missing: Vec<&Path> =
        entries.iter().filter(is_made).filter_map(|entry| missing_directory(&entry.path)).collect();
    missing.sort_unstable();
    missing.dedup();
    let made = missing.into_iter().map(|path: &Path| {
        let path: PathBuf = path.components().collect();
        format!("{} does not exist; the directory is created", path.display())
    });
    let mut lines: Vec<String> = longer.chain(made).collect();
    let more = lines.len().saturating_sub(MOST_NAMED);
    lines.truncate(MOST_NAMED);
    if more > 0 {
        lines.push(format!("the same holds for {more} more"));
    }
    lines.into_iter().map(|line| format!("fathom: job {}: {line}", plan.name)).collect()
}

/// The first missing directory of a path.
fn missing_directory(path: &Path) -> Option<&Path> {
    let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    above.take_while(|above| !above.exists()).last()
}

/// Reports why files cannot be used, and stores it as the job's error.
pub(super) fn report(context: &WorkerContext<'_>, error: &FileError) -> GivenUp {
    if let Some(message) = &error.message {
        context.messages.send(&Message::Error(message.clone()));
    }
    context.fail_with_files(error)
}
