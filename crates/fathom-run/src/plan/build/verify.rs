//! Builds verification from options.

use super::Subject;
use super::names::state_owner;
use super::payload::assembled;
use super::questions::{goes_beyond_a_pass, verifies};
use crate::files::names;
use crate::plan::PlanError;
use crate::plan::model::files::Share;
use crate::plan::model::targets::{DirectionPlan, GeneratorKind, TargetPlan};
use crate::plan::model::verify::{CountedReads, TrimPlan, VerifyPlan};
use crate::plan::model::{Plan, WorkerPlan};
use fathom_spec::JobSpec;
use fathom_spec::engines::io_uring::VerifyCommand;
use fathom_spec::options::verification::{VerifyMethod, VerifyPolicy};
use fathom_spec::value::{LedgerPlace, SizeSpec};
use fathom_verify::rule::Rule;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::path::PathBuf;

/// Patterns are repeated up to this length, because filling and comparing are faster on long runs of bytes.
const PATTERN_STRIDE: usize = 4096;

/// The verification of a clone, if its job verifies.
pub(super) fn verify_plan(subject: &Subject<'_>) -> Result<Option<VerifyPlan>, PlanError> {
    let (job, targets, thread_number) = (subject.job, &subject.targets, subject.place.thread_number);
    let Subject { passes_end_by_size, goes_again_through_holes, .. } = *subject;
    let options = &job.verification;
    let VerifyMethod::By(method) = options.verify else { return Ok(None) };
    if thread_number > u32::from(u16::MAX) {
        return Err(PlanError::TooManyToVerify { job: job.name.clone(), number: thread_number });
    }
    let writes = targets.directions.writes();
    let pattern = options.verify_pattern.as_ref().filter(|pattern| !pattern.0.is_empty());
    let pattern = pattern.map(assembled);
    let counts_by_time = writes && options.verify_only && job.time.time_based;
    let only_checks = job.only_checks();
    let checks_in_place = only_checks && targets.follows_zones;
    let rule = Rule {
        method,
        format: options.verify_header_format.format(),
        interval: options.verify_interval,
        header_offset: options.verify_offset.unwrap_or(0),
        pattern: pattern.map(|pattern| pattern.extended_to(PATTERN_STRIDE)),
        pattern_interval: options.verify_pattern_interval,
        // The seed in the header cannot be checked in a run limited by time, because the last write of each
        // block is unknown.
        checks_seed: options.verify_header_seed && !counts_by_time && !checks_in_place,
        checks_number: options.verify_write_sequence && !counts_by_time && !checks_in_place,
    };
    let backlog = options.verify_backlog.unwrap_or(0);
    let name = job.name.replace('/', ".");
    let index = thread_number - 1;
    let state = subject.beside(state_file(&state_owner(subject.spec, job), job, thread_number));
    // Data is read back at the end of a pass, which a job that is limited only by time may never reach, unless
    // it traverses its files in order.
    let goes_through_files = !targets.random && targets.stride.is_none();
    let has_passes = passes_end_by_size || goes_through_files || !job.time.time_based;
    let reads_back = writes && options.do_verify && (backlog > 0 || has_passes);
    let goes_beyond = goes_beyond_a_pass(job);
    let goes_over_itself = may_overlap(job, targets, passes_end_by_size);
    let once_each = targets.random && !goes_over_itself;
    // In a random job that may not reset zones, a pass ends when all zones are full.
    let fills_zones = targets.random && targets.follows_zones;
    let reads_back_last = goes_beyond && !once_each && !fills_zones && !passes_end_by_size;
    // If the job continues beyond one pass, blocks are read back in the order of their offsets, even if no pass
    // writes a block twice.
    let may_overlap = goes_over_itself || goes_beyond;
    let is_repeated = goes_beyond || job.job_description.loops > 1 || goes_again_through_holes;
    Ok(Some(VerifyPlan {
        rule,
        writes,
        only_checks,
        checks_in_place,
        rehearses: only_checks
            && !checks_in_place
            && (may_overlap || is_repeated || options.trim_percentage > 0),
        reads_back_last,
        reads_back,
        wants_checks: options.do_verify || !writes || only_checks,
        counted_reads: match passes_end_by_size {
            // If nothing is read back, engines with a queue continue until their own I/O reaches `io_size`.
            true if !options.do_verify => CountedReads::None,
            // A job that only reads verifies its own reads, so no further reads count.
            _ if !writes => CountedReads::None,
            _ if reads_back_last => CountedReads::None,
            // The job ends by time, regardless of whether everything was read back.
            _ if job.time.time_based => CountedReads::None,
            // A pass over random blocks that may repeat ends after a fixed number of bytes, and the job ends
            // with it.
            _ if targets.random && !targets.each_block_once && !fills_zones => CountedReads::None,
            _ if goes_over_itself => CountedReads::Places,
            _ => CountedReads::Writes,
        },
        may_overlap: may_overlap || only_checks && is_repeated,
        // Set later by `mark_shared_blocks`, once all workers are planned.
        shares_blocks: false,
        // If data is read back between two passes, the writes of these passes cannot be in flight together, so
        // they need no serialization.
        serializes_writes: may_overlap || !reads_back && (is_repeated || job.time.time_based),
        // Writes are regenerated instead of remembered unless later writes may overwrite them.
        regenerates: options.experimental_verify
            && !may_overlap
            && !only_checks
            && options.trim_percentage == 0
            && backlog == 0
            && !matches!(targets.directions, DirectionPlan::Mix(_)),
        // The device can compare only data that is known byte by byte, which data of another run and
        // regenerated data are not.
        device_compares: subject.engine.sends_commands
            && job.private.io_uring.verify_mode == VerifyCommand::Compare
            && !only_checks
            && !options.experimental_verify,
        backlog: if reads_back { backlog } else { 0 },
        backlog_batch: options.verify_backlog_batch.map_or(backlog, u64::from).max(1),
        is_fatal: options.verify_fatal,
        dumps: options.verify_dump,
        threads: options.verify_async,
        thread_cpus: options.verify_async_cpus.as_ref().map(|list| list.0.clone()).unwrap_or_default(),
        trims: trim_plan(job).filter(|_| writes),
        state_to_save: (options.verify_state_save && writes).then(|| state.clone()),
        state_to_load: options.verify_state_load.then_some(state),
        state_up_to_sync: options.verify_policy == VerifyPolicy::Fsynced,
        ledger: options.verify_ledger.clone().map(|place| match place {
            LedgerPlace::File(path) => {
                LedgerPlace::File(subject.beside(&path).to_string_lossy().into_owned())
            }
            LedgerPlace::Tcp(address) => LedgerPlace::Tcp(address),
        }),
        miscompare_file: subject.beside(format!("local-{name}-{index}-miscompares.jsonl")),
    }))
}

/// Gives each clone a separate ledger if several name the same file, by appending the clone's number.
pub(super) fn number_ledgers(workers: &mut [WorkerPlan]) {
    let mut named = BTreeMap::new();
    for worker in workers.iter() {
        if let Some(LedgerPlace::File(path)) = ledger_of(worker) {
            *named.entry(path.clone()).or_insert(0) += 1;
        }
    }
    for worker in workers {
        let number = worker.thread_number;
        if let Some(VerifyPlan { ledger: Some(LedgerPlace::File(path)), .. }) = &mut worker.verify
            && named.get(path).is_some_and(|count| *count > 1)
        {
            path.push_str(&format!(".{number}"));
        }
    }
}

/// Marks workers whose blocks other workers of their stage may also write, or have written before a
/// `verify_only`. Such a worker accepts the data of any of these writes, as long as the block is intact.
pub(super) fn mark_shared_blocks(plan: &mut Plan) {
    let (jobs, workers) = (&plan.jobs, &mut plan.workers);
    // Comparing the names of many files takes time, so it is skipped if no worker verifies.
    if workers.iter().all(|worker| worker.verify.is_none()) {
        return;
    }
    let mut writers: HashMap<(u32, PathBuf), Vec<Writer>> = HashMap::new();
    let writers_of_run = |worker: &WorkerPlan| worker.changes_data() || worker.only_checks();
    for (index, worker) in workers.iter().enumerate().filter(|(_, worker)| writers_of_run(worker)) {
        for path in names::planned_paths(&worker.files.names) {
            writers.entry((worker.stage, path)).or_default().push(Writer {
                index,
                part: part_of(worker),
                share: worker.files.part.share.map(|share| (worker.job, share)),
            });
        }
    }
    for sharing in writers.values().filter(|sharing| sharing.len() > 1) {
        for own in sharing {
            let worker = &mut workers[own.index];
            let job = &jobs[worker.job];
            let Some(verify) =
                worker.verify.as_mut().filter(|_| sharing.iter().any(|other| own.meets(other)))
            else {
                continue;
            };
            verify.shares_blocks = true;
            verify.rule.checks_seed &= job.is_set("verify_header_seed");
            verify.rule.checks_number &= job.is_set("verify_write_sequence");
        }
    }
}

/// A worker that writes to a file.
struct Writer {
    index: usize,
    /// The byte range that the worker writes, if known.
    part: Option<Range<u64>>,
    /// Index of the worker's job, and the worker's share of that job's data.
    share: Option<(usize, Share)>,
}

impl Writer {
    /// True if the two workers may write the same blocks.
    fn meets(&self, other: &Writer) -> bool {
        let both = self.part.as_ref().zip(other.part.as_ref());
        let are_apart = both.is_some_and(|(own, theirs)| own.end <= theirs.start || theirs.end <= own.start);
        let shares = self.share.zip(other.share);
        let are_shares =
            shares.is_some_and(|((job, own), (of, theirs))| job == of && own.number != theirs.number);
        self.index != other.index && !are_apart && !are_shares
    }
}

/// The part of each file that a worker uses, if it does not depend on the file's size.
fn part_of(worker: &WorkerPlan) -> Option<Range<u64>> {
    let bytes = |amount: &SizeSpec| match amount {
        SizeSpec::Bytes(bytes) => Some(*bytes),
        _ => None,
    };
    let amounts = &worker.amounts;
    let each = bytes(&amounts.offset_increment)?;
    let start = bytes(&amounts.offset)?.saturating_add(each.saturating_mul(u64::from(amounts.increments)));
    Some(start..start.saturating_add(bytes(amounts.size.as_ref()?)?))
}

fn ledger_of(worker: &WorkerPlan) -> Option<&LedgerPlace> {
    worker.verify.as_ref()?.ledger.as_ref()
}

/// The file in which a clone saves its verification state.
pub(super) fn state_file(owner: &str, job: &JobSpec, thread_number: u32) -> String {
    format!("{owner}-{}-{}-verify.state", job.name.replace('/', "."), thread_number - 1)
}

fn trim_plan(job: &JobSpec) -> Option<TrimPlan> {
    let options = &job.verification;
    let backlog = options.trim_backlog.unwrap_or(0);
    (options.trim_percentage > 0).then(|| TrimPlan {
        percent: options.trim_percentage,
        backlog,
        batch: options.trim_backlog_batch.map_or(backlog, u64::from).max(1),
        reads_zero: options.trim_verify_zero,
    })
}

/// True for a job that skips holes and verifies only the data between them: bytes moved and bytes read back
/// both count against `size`, and the file is traversed again until they suffice.
pub(super) fn goes_again_through_holes(job: &JobSpec, targets: &TargetPlan) -> bool {
    let has_holes = targets.postfix.is_some() && !targets.random && !targets.follows_zones;
    has_holes && verifies(job) && job.verification.do_verify
}

/// True if one pass may write an offset twice, or may overlap the backlog of another pass.
fn may_overlap(job: &JobSpec, targets: &TargetPlan, passes_end_by_size: bool) -> bool {
    let each_once = match targets.random {
        true => {
            let everywhere = targets.random_percent.values().all(|&percent| percent >= 100);
            // An LFSR keeps no map, so I/Os longer than a block may overlap.
            let has_map = targets.generator != GeneratorKind::ShiftRegister || targets.has_one_length();
            targets.each_block_once && targets.postfix.is_none() && everywhere && has_map
        }
        false => targets.postfix.is_none(),
    };
    // A trim must complete before the write of the same range begins, so the two must not overlap.
    let trims_first = targets.directions == DirectionPlan::TrimThenWrite;
    // Without a reset threshold, a random job never resets a zone that it has filled in the same pass.
    let rewrites_zones =
        targets.follows_zones && (!targets.random || job.file.zone_reset_threshold.is_some());
    // Skewed file orders visit some files more than once.
    let comes_again = targets.files.order.is_skewed();
    !each_once
        || comes_again
        || trims_first
        || targets.stride.is_some()
        || rewrites_zones
        || job.time.time_based && !(passes_end_by_size && targets.random)
}
