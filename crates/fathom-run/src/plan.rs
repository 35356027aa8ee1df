//! From typed jobs to workers: clones, groups, stages, and everything that the loop will not look up again.

use crate::engine::Traits;
use crate::files::open::open_limit;
use crate::logs::{LogPlan, plan_logs};
use crate::payload::{self, PayloadRule};
use crate::priority::CommandPriorities;
use crate::random::Seeds;
use crate::replay::{ReplayPlan, ReplayPlanner};
use crate::targets::distribution::{DistributionRule, ZoneShare};
use crate::targets::file_choice::{FileOrder, FileRule};
use crate::targets::length::{LengthRule, WeightedSize};
use crate::targets::precondition::PreconditionRule;
use crate::targets::stride::StrideRule;
use crate::targets::{DirectionPlan, GeneratorKind, TargetPlan};
use crate::verify::{
    self, VerifyPlan, goes_again_through_holes, goes_beyond_a_pass, number_ledgers, verify_plan,
};
use crate::zones::plan::ZonePlan;
use fathom_spec::debug::{DebugClass, DebugOptions};
use fathom_spec::options::depth::IoSubmitMode;
use fathom_spec::options::file::ZoneMode;
use fathom_spec::options::io_type::{RandomGenerator, RwSequencer};
use fathom_spec::options::verification::VerifyMethod;
use fathom_spec::value::{Direction as OptionDirection, Distribution, FileService, Rw, SizeSpec};
use fathom_spec::{JobSpec, RunSpec, Trigger};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A whole run: its jobs and one worker per clone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What ends the run early and what comes then.
    pub trigger: Option<Trigger>,
    /// Options written before any job.
    pub global_options: Vec<(String, String)>,
    /// The jobs, in definition order.
    pub jobs: Vec<JobSpec>,
    /// One per clone, in definition order.
    pub workers: Vec<WorkerPlan>,
    /// Nothing may be written or laid out.
    pub readonly: bool,
    /// Prefix of the files for the bandwidth of the whole run.
    pub bandwidth_log: Option<PathBuf>,
    /// Events that a line is written about.
    pub debug: DebugOptions,
}

/// One clone of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerPlan {
    /// Index of the job in [`Plan::jobs`].
    pub job: usize,
    /// Number over the whole run, from 1.
    pub thread_number: u32,
    /// Number among the clones of its job, from 0.
    pub subjob: u32,
    /// Reporting group, from 0.
    pub group_id: u32,
    /// Stage, from 0: a stage begins when all workers of earlier stages have ended.
    pub stage: u32,
    /// Index of the job whose clones must have ended first.
    pub waits_for: Option<usize>,
    /// The engine needs no files.
    pub diskless: bool,
    /// I/Os in flight at most.
    pub depth: u32,
    /// Sequence of targets.
    pub target_plan: TargetPlan,
    /// A pass over the files ends with the bytes of `size`, or those of a larger `io_size`, wherever the targets are then.
    pub passes_end_by_size: bool,
    /// What lies between holes is gone through again until what was moved and read back is as much as `size`.
    pub goes_again_through_holes: bool,
    /// Content of writes.
    pub payload: PayloadRule,
    /// Files must hold data before the run, not merely have a size.
    pub content_needed: bool,
    /// Rules of zones, with `zonemode=zbd`.
    pub zones: Option<ZonePlan>,
    /// Priorities of single I/Os.
    pub command_priorities: Option<CommandPriorities>,
    /// Logs to keep.
    pub logs: Option<LogPlan>,
    /// Verification of the data.
    pub verify: Option<VerifyPlan>,
    /// The log whose I/O it does.
    pub replay: Option<ReplayPlan>,
    /// Where it records what it issues.
    pub recording: Option<PathBuf>,
    /// Where it leaves behind what it wrote when a trigger ends it.
    pub triggered_state: Option<PathBuf>,
    /// What its random numbers begin with.
    pub seeds: Seeds,
}

impl WorkerPlan {
    /// True when the job writes or trims.
    pub fn changes_data(&self) -> bool {
        if let Some(replay) = &self.replay {
            return replay.uses(1) || replay.uses(2);
        }
        self.target_plan.directions != DirectionPlan::Read
    }

    /// True when the job reads.
    pub fn reads_data(&self) -> bool {
        if let Some(replay) = &self.replay {
            return replay.uses(0);
        }
        matches!(self.target_plan.directions, DirectionPlan::Read | DirectionPlan::Mix(_))
    }

    /// True when the job writes.
    pub fn writes_data(&self) -> bool {
        if let Some(replay) = &self.replay {
            return replay.uses(1);
        }
        !matches!(self.target_plan.directions, DirectionPlan::Read | DirectionPlan::Trim)
    }
}

impl Plan {
    /// Plans a run. `traits` tells what the engine of that name can do.
    pub fn new(spec: &RunSpec, traits: impl Fn(&str) -> Option<Traits>) -> Result<Plan, String> {
        let mut plan = Plan {
            trigger: Some(spec.program.trigger.clone()).filter(Trigger::fires),
            global_options: spec.global_options.clone(),
            jobs: spec.jobs.clone(),
            workers: Vec::new(),
            readonly: spec.program.readonly,
            debug: spec.program.debug.clone(),
            bandwidth_log: spec.program.bandwidth_log.as_ref().map(|prefix| beside(spec, prefix)),
        };
        let (mut group_id, mut stage) = (0, 0);
        let mut replays = ReplayPlanner::default();
        for (index, job) in spec.jobs.iter().enumerate() {
            if index > 0 {
                stage += u32::from(job.threads.stonewall);
                group_id += u32::from(job.threads.stonewall || job.measurement.new_group);
            }
            let engine = job.engine.ioengine.name.as_str();
            let engine_traits = traits(engine).ok_or_else(|| format!("fio: engine {engine} not loadable"))?;
            let waits_for = waitee(spec, index, job)?;
            let replays = replays.plans(job, spec.program.readonly)?;
            for subjob in 0..job.job_description.numjobs {
                let thread_number = plan.workers.len() as u32 + 1;
                let replay = replays.get(subjob as usize % replays.len().max(1)).cloned();
                let readable = replay.as_ref().filter(|replay| replay.failure.is_none());
                let passes_end_by_size = readable.is_none() && passes_end_by_size(job, engine_traits);
                let target_plan = target_plan(job, passes_end_by_size, readable);
                let goes_again = goes_again_through_holes(job, &target_plan);
                let directions = directions_used(&target_plan, readable);
                // Whoever only checks leaves the state alone that tells what there is to check.
                let leaves_state = spec.program.trigger.fires() && !job.verification.verify_only;
                plan.workers.push(WorkerPlan {
                    job: index,
                    thread_number,
                    subjob,
                    group_id,
                    stage,
                    waits_for,
                    diskless: engine_traits.diskless,
                    depth: job.depth.iodepth.max(1),
                    target_plan: target_plan.clone(),
                    passes_end_by_size,
                    goes_again_through_holes: goes_again,
                    payload: payload::plan::payload_rule(job, target_plan.lengths[1].min())?,
                    content_needed: job.io_type.overwrite
                        || job.file.pre_read
                        || matches!(target_plan.directions, DirectionPlan::Read | DirectionPlan::Mix(_)),
                    zones: ZonePlan::of(job, &target_plan),
                    command_priorities: CommandPriorities::of(job),
                    logs: plan_logs(job, thread_number, directions)
                        .map(|logs| logs.moved(|path| beside(spec, path))),
                    verify: match engine_traits.uses_buffers {
                        true => {
                            let beside = |name: &str| beside(spec, name);
                            verify_plan(
                                job,
                                &target_plan,
                                passes_end_by_size,
                                goes_again,
                                thread_number,
                                beside,
                            )?
                        }
                        // Where no data is moved there is none to check.
                        false => None,
                    },
                    replay,
                    recording: job.replay.write_iolog.as_ref().map(PathBuf::from),
                    triggered_state: leaves_state
                        .then(|| beside(spec, verify::state_file(job, thread_number))),
                    seeds: seeds(job, thread_number),
                });
            }
        }
        payload::plan::share_working_sets(&mut plan)?;
        number_ledgers(&mut plan.workers);
        Ok(plan)
    }

    /// What `--debug` shows of the plan, in lines of the process with this number.
    pub fn debug_lines(&self, pid: u32) -> Vec<String> {
        let shown =
            self.workers.iter().filter(|worker| self.debug.shows(DebugClass::Random, worker.thread_number));
        let lines = shown.flat_map(|worker| {
            let from_system =
                (!has_own_seeds(self.job_of(worker))).then(|| "using system RNG for random seeds".to_owned());
            let values = worker.seeds.values();
            let count = format!("FIO_RAND_NR_OFFS={}", values.len());
            let seeds = values.iter().enumerate().map(|(index, seed)| format!("rand_seeds[{index}]={seed}"));
            from_system.into_iter().chain([count]).chain(seeds).collect::<Vec<String>>()
        });
        lines.map(|text| DebugClass::Random.line(pid, &text)).collect()
    }

    /// The job of a worker.
    pub fn job_of(&self, worker: &WorkerPlan) -> &JobSpec {
        &self.jobs[worker.job]
    }
}

/// Where a log or a state file goes: `--aux-path` is the directory of those that name none of their own.
fn beside(spec: &RunSpec, name: impl AsRef<Path>) -> PathBuf {
    match &spec.program.aux_path {
        Some(directory) => directory.join(name),
        None => name.as_ref().to_path_buf(),
    }
}

/// True when a pass over the files ends with its bytes, and everything begins anew then. So it is with engines that queue; those
/// that end each I/O at once go on to the end of the targets, and so does what time alone ends and nobody reads back. A trim is
/// never parted from its write.
fn passes_end_by_size(job: &JobSpec, traits: Traits) -> bool {
    let queues = job.depth.iodepth >= traits.queues_from && job.depth.io_submit_mode == IoSubmitMode::Inline;
    let trims_first = matches!(job.io_type.rw.rw, Rw::TrimWrite | Rw::RandTrimWrite);
    queues && !trims_first && (verifies(job) || !job.time.time_based)
}

/// True when a job goes round and round until its time is over. Whoever only checks goes once.
fn goes_round(job: &JobSpec) -> bool {
    job.time.time_based && !(verifies(job) && job.verification.verify_only)
}

/// True when a job writes what it can check, or checks what it reads.
pub(crate) fn verifies(job: &JobSpec) -> bool {
    job.verification.verify != VerifyMethod::None
}

/// True when sequential I/O beyond the end of a file goes on at its start, rather than in another pass.
fn passes_wrap(job: &JobSpec, directions: DirectionPlan, passes_end_by_size: bool) -> bool {
    let has_no_holes = job.io_type.rw.postfix.is_none();
    let goes_beyond = goes_beyond_a_pass(job) || goes_round(job);
    goes_beyond
        && match (directions, verifies(job)) {
            (DirectionPlan::Mix(_), false) => true,
            (_, false) => false,
            (DirectionPlan::Mix(_), true) => goes_round(job) || has_no_holes && !passes_end_by_size,
            // Whoever goes through file after file has to come to the end of one.
            (_, true) => has_no_holes && !passes_end_by_size && !goes_file_by_file(job),
        }
}

/// True when a sequential step of random I/O goes from the end of a file to its start.
fn steps_wrap(job: &JobSpec, directions: DirectionPlan) -> bool {
    let is_mix = matches!(directions, DirectionPlan::Mix(_));
    goes_beyond_a_pass(job) && is_mix || job.time.time_based && !has_several_files(job)
}

/// True when random I/O that has covered a file goes on in it at once. In one file, in one direction and without sequential steps,
/// that would be no other than the next pass.
fn begins_files_anew(job: &JobSpec, directions: DirectionPlan, passes_end_by_size: bool) -> bool {
    let has_steps = job.io_type.rw.postfix.is_some()
        || job.io_type.percentage_random.0.iter().any(|&percent| percent < 100);
    let is_mix = matches!(directions, DirectionPlan::Mix(_));
    // A pass that ends with its bytes covers each file once.
    goes_round(job)
        && !passes_end_by_size
        && (has_several_files(job) || has_steps || is_mix)
        && job.io_type.random_generator != RandomGenerator::Lfsr
        && job.file.zonemode == ZoneMode::None
}

/// True for jobs that are mere company for others: they count stretches of work, not bytes.
pub fn moves_no_data(job: &JobSpec) -> bool {
    fathom_spec::engines::find(&job.engine.ioengine.name).is_some_and(|engine| engine.without_data)
}

/// The seeds of the worker with this number, from 1.
fn seeds(job: &JobSpec, thread_number: u32) -> Seeds {
    match has_own_seeds(job) {
        true => Seeds::new(job.io_type.randseed, thread_number),
        false => Seeds::from_system(),
    }
}

/// Seeds that are the same in every run.
fn has_own_seeds(job: &JobSpec) -> bool {
    job.io_type.randrepeat || job.is_set("randseed")
}

/// True when each pass over the files repeats the first. Whoever gives a seed, or asks for other numbers in every run, gets others in
/// every pass.
pub(crate) fn repeats_passes(job: &JobSpec) -> bool {
    job.io_type.randrepeat && !job.is_set("randseed")
}

fn waitee(spec: &RunSpec, index: usize, job: &JobSpec) -> Result<Option<usize>, String> {
    let Some(name) = &job.threads.wait_for else { return Ok(None) };
    match spec.jobs[..index].iter().position(|earlier| &earlier.name == name) {
        Some(position) => Ok(Some(position)),
        None => Err(format!("{}: waitee job {name} unknown.", job.name)),
    }
}

/// Reads, writes, trims: what of it the job does.
fn directions_used(targets: &TargetPlan, replay: Option<&ReplayPlan>) -> [bool; 3] {
    std::array::from_fn(|direction| match replay {
        Some(replay) => replay.uses(direction),
        None => targets.directions.used().contains(&direction),
    })
}

/// The log of a replay goes before what the job says.
fn target_plan(job: &JobSpec, passes_end_by_size: bool, replay: Option<&ReplayPlan>) -> TargetPlan {
    let mode = &job.io_type.rw;
    let lengths = replay.map_or_else(|| lengths(job), ReplayPlan::lengths);
    let directions = replay.map_or_else(|| directions(job), ReplayPlan::directions);
    let smallest = |direction: usize| lengths[direction].min();
    let alignment: [u64; 3] = std::array::from_fn(|direction| {
        job.block_size.ba.0[direction].unwrap_or_else(|| smallest(direction)).max(1)
    });
    let distribution = distribution(job);
    let random = replay.is_none()
        && matches!(mode.rw, Rw::RandRead | Rw::RandWrite | Rw::RandTrim | Rw::RandRw | Rw::RandTrimWrite);
    // The rules across options have turned the map off where this is not so; a map could not be kept.
    let aligned = directions.used().iter().all(|&direction| alignment[direction] == smallest(direction));
    TargetPlan {
        directions,
        random,
        random_percent: job.io_type.percentage_random.0,
        postfix: mode.postfix,
        repeat_offset: job.io_type.rw_sequencer == RwSequencer::Identical,
        lengths,
        length_by_pattern: job.block_size.bs_is_seq_rand,
        writes_drawn_as_reads: verifies(job),
        wraps: job.file.zonemode == ZoneMode::None
            && match random {
                true => steps_wrap(job, directions),
                false => passes_wrap(job, directions, passes_end_by_size),
            },
        begins_files_anew: random && begins_files_anew(job, directions, passes_end_by_size),
        alignment,
        each_block_once: !job.io_type.norandommap && distribution == DistributionRule::Uniform && aligned,
        generator: match job.io_type.random_generator {
            RandomGenerator::Lfsr => GeneratorKind::ShiftRegister,
            RandomGenerator::Tausworthe64 => GeneratorKind::Tausworthe64,
            RandomGenerator::Tausworthe if job.is_set("random_generator") => GeneratorKind::Tausworthe,
            RandomGenerator::Tausworthe if job.needs_fio_sequence() => GeneratorKind::BySize,
            RandomGenerator::Tausworthe => GeneratorKind::Free,
        },
        distribution,
        files: file_rule(job),
        stride: stride(job),
        follows_zones: job.file.zonemode == ZoneMode::Zbd,
    }
}

fn has_several_files(job: &JobSpec) -> bool {
    let names = job.file.filename.as_ref().map_or(0, |names| names.0.len());
    names > 1 || job.file.nrfiles > 1 || job.file.opendir.is_some()
}

fn goes_file_by_file(job: &JobSpec) -> bool {
    has_several_files(job) && file_rule(job).order == FileOrder::Sequential
}

fn directions(job: &JobSpec) -> DirectionPlan {
    match job.io_type.rw.rw {
        Rw::Read | Rw::RandRead => DirectionPlan::Read,
        Rw::Write | Rw::RandWrite => DirectionPlan::Write,
        Rw::Trim | Rw::RandTrim => DirectionPlan::Trim,
        Rw::ReadWrite | Rw::RandRw => DirectionPlan::Mix(job.io_type.rwmixread),
        Rw::TrimWrite | Rw::RandTrimWrite => DirectionPlan::TrimThenWrite,
    }
}

fn lengths(job: &JobSpec) -> [LengthRule; 3] {
    if moves_no_data(job) {
        return [const { LengthRule::Fixed(0) }; 3];
    }
    std::array::from_fn(|direction| {
        if let Some(split) = &job.block_size.bssplit {
            let option_direction =
                [OptionDirection::Read, OptionDirection::Write, OptionDirection::Trim][direction];
            let list: Vec<WeightedSize> = split
                .resolved(option_direction)
                .into_iter()
                .map(|(size, percent)| WeightedSize { size, percent })
                .collect();
            if !list.is_empty() {
                return LengthRule::split(list);
            }
        }
        if let Some(ranges) = &job.block_size.bsrange {
            let range = ranges.0[direction];
            if range.max == 0 {
                // Left blank for this direction.
                return LengthRule::Fixed(job.block_size.bs.0[direction]);
            }
            if range.min != range.max {
                let unaligned = job.block_size.bs_unaligned;
                return LengthRule::Range { min: range.min, max: range.max, unaligned };
            }
            return LengthRule::Fixed(range.min);
        }
        LengthRule::Fixed(job.block_size.bs.0[direction])
    })
}

fn distribution(job: &JobSpec) -> DistributionRule {
    if job.io_type.sprandom {
        return DistributionRule::Precondition(PreconditionRule {
            regions: job.io_type.spr_num_regions,
            over_provisioning: job.io_type.spr_op,
            cache_bytes: job.io_type.spr_cs,
        });
    }
    match &job.io_type.random_distribution {
        Distribution::Random => DistributionRule::Uniform,
        Distribution::Zipf { theta, center } => DistributionRule::Zipf { theta: *theta, center: *center },
        Distribution::Pareto { h, center } => DistributionRule::Pareto { h: *h, center: *center },
        Distribution::Normal { deviation, center } => {
            DistributionRule::Normal { deviation: *deviation, center: *center }
        }
        Distribution::Zoned(zones) => DistributionRule::Zoned(std::array::from_fn(|direction| {
            zones.0[direction]
                .iter()
                .map(|zone| ZoneShare { access_percent: zone.access, size: u64::from(zone.size) })
                .collect()
        })),
        Distribution::ZonedAbs(zones) => DistributionRule::ZonedAbsolute(std::array::from_fn(|direction| {
            zones.0[direction]
                .iter()
                .map(|zone| ZoneShare { access_percent: zone.access, size: zone.size })
                .collect()
        })),
        Distribution::Sequence(blocks) => {
            DistributionRule::Sequence { blocks: blocks.clone(), stride: job.io_type.random_sequence_stride }
        }
    }
}

fn stride(job: &JobSpec) -> Option<StrideRule> {
    let options = &job.file;
    (options.zonemode == ZoneMode::Strided).then_some(StrideRule {
        work: options.zonesize,
        length: if options.zonerange > 0 { options.zonerange } else { options.zonesize },
        skip: match options.zoneskip {
            Some(SizeSpec::Bytes(bytes)) => bytes,
            // Refused with the rules across options.
            Some(SizeSpec::Percent(_) | SizeSpec::Zones(_)) | None => 0,
        },
    })
}

fn file_rule(job: &JobSpec) -> FileRule {
    let most_open = Some(open_limit(job)).filter(|&limit| limit != usize::MAX);
    let rule = |order, hold: u32| FileRule { order, hold: u64::from(hold.max(1)), most_open };
    match job.file.file_service_type {
        FileService::RoundRobin { hold } => rule(FileOrder::RoundRobin, hold),
        FileService::Sequential { hold } => rule(FileOrder::Sequential, hold),
        FileService::Random { hold } => rule(FileOrder::Random, hold),
        FileService::Zipf { theta } => rule(FileOrder::Zipf(theta), 1),
        FileService::Pareto { h } => rule(FileOrder::Pareto(h), 1),
        FileService::Normal { deviation } => rule(FileOrder::Normal(deviation), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_spec::{Outcome, SystemSource, parse};

    fn plan(words: &str) -> Plan {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let Outcome::Run(spec) = parse("fathom", &words, &SystemSource::new(4096)) else {
            panic!("{words:?}")
        };
        let traits = Traits { synchronous: true, diskless: true, uses_buffers: false, queues_from: u32::MAX };
        Plan::new(&spec, |_| Some(traits)).expect("a plan")
    }

    #[test]
    fn clones_groups_and_stages() {
        let plan = plan(
            "--ioengine=null --size=1m --name=a --numjobs=2 --name=b --new_group --name=c --stonewall --name=d",
        );
        let summary: Vec<(usize, u32, u32, u32, u32)> =
            plan.workers.iter().map(|w| (w.job, w.thread_number, w.subjob, w.group_id, w.stage)).collect();
        assert_eq!(
            summary,
            [(0, 1, 0, 0, 0), (0, 2, 1, 0, 0), (1, 3, 0, 1, 0), (2, 4, 0, 2, 1), (3, 5, 0, 2, 1)]
        );
    }

    #[test]
    fn a_plan_survives_serialisation() {
        let plan = plan(
            "--ioengine=null --size=1m --bssplit=4k/60:8k/40 --rw=randrw --random_distribution=zoned:60/10:40/90 \
             --name=a --rate=1m,2m --name=b --runtime=5 --time_based --percentile_list=50:99.9",
        );
        let text = serde_json::to_string(&plan).expect("serialises");
        assert_eq!(serde_json::from_str::<Plan>(&text).expect("parses"), plan);
    }

    #[test]
    fn the_generator_follows_the_rule() {
        let offsets = |words: &str| plan(words).workers[0].target_plan.random_offsets();
        assert_eq!(offsets("--ioengine=null --size=1m --name=a --rw=randread"), Some("permutation"));
        assert_eq!(
            offsets("--ioengine=null --size=1m --name=a --rw=randread --norandommap"),
            Some("tausworthe")
        );
        assert_eq!(
            offsets("--ioengine=null --size=1m --name=a --rw=randread --bsrange=4k-8k"),
            Some("tausworthe")
        );
        let named = "--ioengine=null --size=1m --name=a --rw=randread --random_generator=tausworthe";
        assert_eq!(offsets(named), Some("tausworthe"));
        assert_eq!(offsets("--ioengine=null --size=1m --name=a --rw=read"), None);
    }
}
