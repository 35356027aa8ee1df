//! Prepares a worker up to the start gate.

use super::arena::{self, Arena};
use super::budget::Budget;
use super::features::Features;
use super::followers::block_errors::BlockErrors;
use super::followers::command_priority::CommandPriority;
use super::followers::issue_log::IssueLog;
use super::followers::latency_target::LatencySearch;
use super::followers::layers::LayerMarks;
use super::followers::logging::Recorder;
use super::gates::admission::Admission;
use super::gates::flow::Flow;
use super::gates::pace::Pace;
use super::gates::zones::ZonedWork;
use super::places::TargetPart;
use super::rules::Rules;
use super::slots::Slots;
use super::sources::ranges::Ranges;
use super::sources::syncs::SyncRules;
use super::sources::timed::Timed;
use super::sources::verifier::Verifier;
use super::{GivenUp, Recording, Worker, WorkerContext, commands, files, placement};
use crate::cause::{self, Cause};
use crate::engine::{Buffers, Engine, EngineType, Setup, SetupError};
use crate::files::FileEntry;
use crate::files::open::OpenFiles;
use crate::message::Message;
use crate::payload::Payload;
use crate::plan::WorkerPlan;
use crate::plan::model::amounts::Amounts;
use crate::plan::model::latency::LatencyPlan;
use crate::plan::model::targets::GeneratorKind;
use crate::random::{SeedUse, Seeds};
use crate::storage::OpenFile;
use crate::targets::{TargetRegion, Targets};
use fathom_spec::debug::DebugClass;
use fathom_spec::engines::EngineDef;
use fathom_spec::options::time::ClockSource;
use fathom_stats::samples::{SHORT_NS, WorkerSamples};
use fathom_stats::{Direction, PerDirection};
use fathom_sys::Errno;
use fathom_sys::clock::Clock;
use fathom_sys::memory::Mapping;
use fathom_sys::usage::Usage;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Brings a worker to the start gate. This function is compiled for each engine, so code that does not depend
/// on the engine is in other functions.
pub(super) fn set_up<'a, E: EngineType>(context: &WorkerContext<'a>) -> Result<Box<Worker<'a, E>>, GivenUp> {
    let plan = context.worker_plan();
    let definition = E::definition(context.engine.definition);
    let Ground { locked_memory, files, clock, arena, payload } = prepare_ground(context, definition)?;
    let buffers = arena.buffers();
    let mut engine: E = E::new(&setup_of(context, &files, &arena))
        .map_err(|error| engine_refused(context, definition, &error))?;
    let recording = take_in(context, &mut engine, definition);
    let Work { targets, budget, features } = prepare_work(context, &files, &arena, clock)?;
    let needs = features.needs();
    let refreshes_payload = plan.writes_data() && definition.moves_data() && !payload.is_static();
    let logs_ios = context.shows(DebugClass::Io);
    let heard_from_ns = if logs_ios { 0 } else { needs.ends_from_ns.unwrap_or(SHORT_NS) };
    let latency_limit_ns = plan.latency.limits_ns;
    let short_latency_ns = latency_limit_ns.map(|limit| limit.min(SHORT_NS).min(heard_from_ns));
    Ok(Box::new(Worker {
        context: *context,
        plan,
        block: context.block(),
        samples: &context.block().samples,
        clock,
        buffers,
        _arena: arena,
        _locked_memory: locked_memory,
        targets,
        refreshes_payload,
        payload,
        recording,
        usual_latency_ns: if recording.is_usual() { short_latency_ns } else { PerDirection::default() },
        short_latency_ns,
        rules: Rules::of(&plan.target_plan, needs.choice, budget.ios_left().is_some()),
        given: PerDirection::default(),
        places: files.list.iter().map(|file| TargetPart::of(plan, file, buffers.length())).collect(),
        budget,
        features,
        logs_ios,
        prepares_more: needs.preparation || refreshes_payload || logs_ios,
        follows_issue: needs.handing_over,
        latency_limit_ns,
        slots: Slots::new(context.region.units(context.index)),
        next_event: 0,
        usage_before: Usage::default(),
        usage_due_ns: 0,
        ramp: None,
        stopping: false,
        has_given_up_waiting: false,
        has_read_nothing: false,
        completions: Some(Box::default()),
        files,
        engine,
    }))
}

/// The parts of a worker that are set up before its engine: memory, files, and their content.
struct Ground {
    locked_memory: Option<Mapping>,
    files: OpenFiles,
    clock: Clock,
    arena: Arena,
    payload: Payload,
}

fn prepare_ground(context: &WorkerContext<'_>, definition: &EngineDef) -> Result<Ground, GivenUp> {
    let plan = context.worker_plan();
    placement::apply(context)?;
    commands::before(context)?;
    let locked_memory = arena::lock_memory(context)?;
    let files = files_of(context, definition)?;
    let clock = chosen_clock(plan, context.clock);
    let arena = Arena::of(context, definition.moves_data())?;
    let mut payload = content(context, &plan.seeds, &files)?;
    if definition.moves_data() && plan.writes_data() {
        fill_buffers(&mut payload, arena.buffers());
    }
    Ok(Ground { locked_memory, files, clock, arena, payload })
}

/// The work of a worker, which is determined once its engine is set up.
struct Work<'a> {
    targets: Targets,
    budget: Budget,
    features: Features<'a>,
}

fn prepare_work<'a>(
    context: &WorkerContext<'a>,
    files: &OpenFiles,
    arena: &Arena,
    clock: Clock,
) -> Result<Work<'a>, GivenUp> {
    let plan = context.worker_plan();
    let regions = regions(plan, files);
    let mut targets = Targets::new(plan.target_plan.clone(), &regions, plan.seeds.clone());
    let (timed, pace) = (Timed::of(context, clock)?, Pace::of(plan, clock));
    // These features delay one direction while another is issued, or need an I/O of a particular direction, so
    // directions cannot be drawn ahead.
    if timed.is_some() || pace.is_some() || plan.zones.is_some() {
        targets.draw_directions_one_by_one();
    }
    report_set_up(context, files, arena, &regions);
    let verifier = Verifier::of(context, &plan.seeds, &targets, files)?;
    let budget = budget(context, files, &regions)?;
    let features = Features {
        timed: timed.map(Box::new),
        issue_log: IssueLog::of(context, clock).map(Box::new),
        pace: pace.map(Box::new),
        syncs: SyncRules::of(&plan.syncs, files.list.len()).map(Box::new),
        ranges: Ranges::of(plan).map(Box::new),
        verifier: verifier.map(Box::new),
        command_priority: CommandPriority::of(context, &plan.seeds).map(Box::new),
        block_errors: BlockErrors::of(context, files)?.map(Box::new),
        flow: Flow::of(context, clock).map(Box::new),
        admission: Admission::of(context, files.list.len()).map(Box::new),
        log: Recorder::of(context, clock).map(Box::new),
        layers: LayerMarks::of(context, clock).map(Box::new),
        latency_search: plan.latency.search.map(|wanted| Box::new(LatencySearch::new(wanted, plan.depth))),
        zones: ZonedWork::of(context, files)?,
    };
    Ok(Work { targets, budget, features })
}

/// Input for setting up the engine.
fn setup_of<'a>(context: &WorkerContext<'a>, files: &'a OpenFiles, arena: &Arena) -> Setup<'a> {
    let plan = context.worker_plan();
    Setup {
        job: context.plan.job_of(plan),
        definition: context.engine.definition,
        open: context.engine.open,
        files: &files.list,
        storage: files.storage(),
        reads: plan.reads_data(),
        writes: plan.writes_data(),
        clone: plan.subjob,
        depth: plan.depth,
        buffers: arena.buffers(),
        shares_descriptors: false,
    }
}

/// Sets the amount of work and reports it to the supervisor.
fn budget(
    context: &WorkerContext<'_>,
    files: &OpenFiles,
    regions: &[TargetRegion],
) -> Result<Budget, GivenUp> {
    let plan = context.worker_plan();
    let in_bytes = match plan.metadata {
        // The number of metadata operations does not depend on the size of files.
        Some(_) => Some(Amounts { size: None, ..plan.amounts.clone() }),
        None => files.zone_size().map(|zone_size| plan.amounts.in_bytes(zone_size)),
    };
    let amounts = in_bytes.as_ref().unwrap_or(&plan.amounts);
    let budget = Budget::new(plan, amounts, bytes_of_a_pass(context, regions)?);
    let goal_bytes = plan.replay.as_ref().map_or_else(|| budget.goal_bytes(), |replay| replay.scan.bytes());
    context.block().goal_bytes.store(goal_bytes, Relaxed);
    Ok(budget)
}

/// Sets up the files and prints the note on the queue depth: after the files exist, or before a job lays them
/// out itself.
fn files_of(context: &WorkerContext<'_>, definition: &EngineDef) -> Result<OpenFiles, GivenUp> {
    let lays_out = context.worker_plan().files.layout.by_worker;
    if lays_out {
        report_depth(context, definition);
    }
    let files = files::open(context)?;
    if !lays_out {
        report_depth(context, definition);
    }
    Ok(files)
}

/// Prints a note if the engine does not support the queue depth.
fn report_depth(context: &WorkerContext<'_>, definition: &EngineDef) {
    let is_capped = context.worker_plan().queue.is_deep && definition.synchronous;
    if is_capped {
        context.messages.send(&Message::Output(
            "note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1".to_owned(),
        ));
    }
}

/// The part of each file that the job uses.
fn regions(plan: &WorkerPlan, files: &OpenFiles) -> Vec<TargetRegion> {
    // A metadata operation is done once per file, regardless of the file's length.
    let longest = plan.metadata.map_or(u64::MAX, |_| plan.target_plan.smallest_length());
    let region = |(file, entry): (&OpenFile, &FileEntry)| TargetRegion {
        name: file.name.clone(),
        start: file.start,
        size: file.size.min(longest),
        file_size: entry.whole_size(),
    };
    files.list.iter().zip(files.entries()).map(region).collect()
}

/// Reports why the engine could not be set up, and stores it as the job's error.
fn engine_refused(context: &WorkerContext<'_>, definition: &EngineDef, error: &SetupError) -> GivenUp {
    if !error.advice.is_empty() {
        let name = &context.worker_plan().name;
        context.messages.send(&Message::Error(format!("fathom: job {name}: {}", error.advice)));
    }
    let line = cause::line_of_engine(definition.name, error.call, error.errno);
    context.fail_in_words(error.errno, &line)
}

/// Prints the engine's messages, and determines which latencies of its I/Os can be recorded.
fn take_in(context: &WorkerContext<'_>, engine: &mut dyn Engine, definition: &EngineDef) -> Recording {
    pass_on_remarks(context, engine);
    context.block().set_features(&engine.features());
    recording(context.worker_plan(), engine, definition, &context.block().samples)
}

/// Prints the engine's messages.
pub(super) fn pass_on_remarks(context: &WorkerContext<'_>, engine: &mut dyn Engine) {
    engine.remarks().into_iter().for_each(|line| context.messages.send(&Message::Output(line)));
}

/// The job's start delay, possibly drawn from a range.
pub(super) fn start_delay(context: &WorkerContext<'_>) -> Duration {
    let (low, high) = context.worker_plan().time.start_delay;
    if high <= low {
        return low;
    }
    let mut generator = context.worker_plan().seeds.generator(SeedUse::StartDelay);
    low + Duration::from_micros(generator.below((high - low).as_micros() as u64 + 1))
}

fn chosen_clock(plan: &WorkerPlan, calibrated: Clock) -> Clock {
    match plan.time.clock {
        Some(ClockSource::GetTimeOfDay) => Clock::time_of_day(),
        Some(ClockSource::ClockGetTime) => Clock::monotonic(),
        Some(ClockSource::Cpu) | None => calibrated,
    }
}

/// Bytes of one pass over the files; fails if the job's sequence of offsets is impossible in them.
fn bytes_of_a_pass(context: &WorkerContext<'_>, regions: &[TargetRegion]) -> Result<u64, GivenUp> {
    let plan = &context.worker_plan().target_plan;
    if let Err(reason) = plan.check(regions) {
        context
            .messages
            .send(&Message::Error(format!("fathom: job {}: {reason}", context.worker_plan().name)));
        return Err(context.fail(Errno(libc::EINVAL), Cause::PASS));
    }
    Ok(regions.iter().map(|region| plan.pass_bytes(region.size)).fold(0, u64::saturating_add))
}

/// Prints notes on the setup and its `--debug` lines.
fn report_set_up(context: &WorkerContext<'_>, files: &OpenFiles, arena: &Arena, regions: &[TargetRegion]) {
    report_wide_files(context, regions);
    let depth = context.worker_plan().depth;
    context.debug(DebugClass::Io, || format!("load ioengine {}", context.worker_plan().engine));
    context.debug(DebugClass::Memory, || format!("{depth} buffers of {} bytes", arena.buffers().stride()));
    for file in &files.list {
        let how = if file.handle.is_open() { "open" } else { "not open yet" };
        context.debug(DebugClass::File, || {
            format!("file {}: {how}, {} bytes from {:#x}", file.name, file.size, file.start)
        });
    }
}

/// Reports files with more blocks than 32-bit random numbers can address.
fn report_wide_files(context: &WorkerContext<'_>, regions: &[TargetRegion]) {
    let plan = &context.worker_plan().target_plan;
    for name in plan.beyond_32_bits(regions) {
        let what = match plan.generator {
            GeneratorKind::Tausworthe => {
                "Use the random_generator= option to switch to lfsr or tausworthe64."
            }
            _ => "Switching to tausworthe64. Use the random_generator= option to get rid of this warning.",
        };
        let lines =
            [format!("fio: file {name} exceeds 32-bit tausworthe random generator."), format!("fio: {what}")];
        lines.into_iter().for_each(|line| context.messages.send(&Message::Output(line)));
    }
}

/// The generator of the buffers' content.
fn content(context: &WorkerContext<'_>, seeds: &Seeds, files: &OpenFiles) -> Result<Payload, GivenUp> {
    let bytes = files.list.iter().fold(0, |sum: u64, file| sum.saturating_add(file.size));
    let plan = context.worker_plan();
    let reads_and_writes = [Direction::Read, Direction::Write]
        .iter()
        .all(|&direction| plan.target_plan.used_directions().contains(&direction));
    match Payload::new(plan.payload.clone(), seeds, bytes) {
        Ok(payload) => Ok(payload.beside_reads(reads_and_writes)),
        Err(reason) => {
            context
                .messages
                .send(&Message::Error(format!("fathom: job {}: {reason}", context.worker_plan().name)));
            Err(context.fail(Errno(libc::ENOMEM), Cause::BUFFER_CONTENT))
        }
    }
}

fn fill_buffers(payload: &mut Payload, buffers: Buffers) {
    for slot in 0..buffers.count() {
        // SAFETY: each slot has a buffer, and no buffer is in use yet.
        let buffer = unsafe { std::slice::from_raw_parts_mut(buffers.of_slot(slot), buffers.length()) };
        payload.prepare(buffer);
    }
}

fn recording(
    plan: &WorkerPlan,
    engine: &dyn Engine,
    definition: &EngineDef,
    samples: &WorkerSamples,
) -> Recording {
    let submission = !engine.ends_at_once(definition);
    let LatencyPlan { slat, clat, lat, .. } = &plan.latency;
    // Without a submission time, total latency equals completion latency.
    let lat_is_clat = !submission && lat.at_all && clat.at_all && (clat.bins || !lat.bins);
    if lat_is_clat {
        samples.take_lat_from_clat(lat.bins);
    }
    Recording {
        slat: slat.at_all && submission,
        clat: clat.at_all,
        lat: lat.at_all && !lat_is_clat,
        slat_bins: slat.bins,
        clat_bins: clat.bins,
        lat_bins: lat.bins,
        batches: engine.counts_batches(),
        submission,
    }
}
