//! Builds the order of target blocks from options.

use super::questions::{goes_beyond_a_pass, goes_round, has_several_files, verifies};
use crate::plan::model::distribution::{DistributionRule, PreconditionRule, ZoneShare};
use crate::plan::model::lengths::{LengthRule, WeightedSize};
use crate::plan::model::replay::ReplayPlan;
use crate::plan::model::targets::{
    DirectionPlan, FileOrder, FileRule, GeneratorKind, StrideRule, TargetPlan,
};
use fathom_spec::JobSpec;
use fathom_spec::engines::EngineDef;
use fathom_spec::options::file::ZoneMode;
use fathom_spec::options::io_type::{RandomGenerator, RwSequencer};
use fathom_spec::value::{Distribution, FileService, Rw, SizeSpec};
use fathom_stats::{Direction, PerDirection};

/// Builds the order of a clone's target blocks. In a replay, the log's properties replace the job's.
pub(super) fn target_plan(
    job: &JobSpec,
    engine: &EngineDef,
    passes_end_by_size: bool,
    replay: Option<&ReplayPlan>,
) -> TargetPlan {
    let mode = &job.io_type.rw;
    let directions = replay.map_or_else(|| directions(job), ReplayPlan::directions);
    let lengths = replay.map_or_else(|| lengths(job, engine), ReplayPlan::lengths);
    let lengths = if engine.metadata.is_some() { one_length(&lengths, &directions) } else { lengths };
    let smallest = |direction: Direction| lengths[direction].min();
    let alignment = PerDirection::from_fn(|direction| {
        job.block_size.ba[direction].unwrap_or_else(|| smallest(direction)).max(1)
    });
    let distribution = distribution(job);
    let random = replay.is_none()
        && matches!(mode.rw, Rw::RandRead | Rw::RandWrite | Rw::RandTrim | Rw::RandRw | Rw::RandTrimWrite);
    // True if blocks are aligned to the smallest length in every direction. For random jobs where this is
    // false, the rules across options have already disabled the random map, which cannot represent their
    // blocks.
    let aligned = directions.used().iter().all(|&direction| alignment[direction] == smallest(direction));
    TargetPlan {
        directions,
        random,
        random_percent: job.io_type.percentage_random,
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
        files: file_rule(job, engine),
        stride: stride(job),
        follows_zones: job.file.zonemode == ZoneMode::Zbd,
    }
}

/// True if sequential I/O beyond the end of a file continues at its start, instead of in another pass.
fn passes_wrap(job: &JobSpec, directions: DirectionPlan, passes_end_by_size: bool) -> bool {
    let has_no_holes = job.io_type.rw.postfix.is_none();
    let goes_beyond = goes_beyond_a_pass(job) || goes_round(job);
    goes_beyond
        && match (directions, verifies(job)) {
            (DirectionPlan::Mix(_), false) => true,
            (_, false) => false,
            (DirectionPlan::Mix(_), true) => goes_round(job) || has_no_holes && !passes_end_by_size,
            // A job that uses its files one after the other must reach the end of each, so it does not wrap.
            (_, true) => has_no_holes && !passes_end_by_size && !goes_file_by_file(job),
        }
}

/// True if a sequential step in random I/O wraps from the end of a file to its start.
fn steps_wrap(job: &JobSpec, directions: DirectionPlan) -> bool {
    let is_mix = matches!(directions, DirectionPlan::Mix(_));
    goes_beyond_a_pass(job) && is_mix || job.time.time_based && !has_several_files(job)
}

/// True if random I/O starts a file over as soon as it has covered it. With one file, one direction and no
/// sequential steps, that would equal the next pass.
fn begins_files_anew(job: &JobSpec, directions: DirectionPlan, passes_end_by_size: bool) -> bool {
    let has_steps = job.io_type.rw.postfix.is_some()
        || job.io_type.percentage_random.values().any(|&percent| percent < 100);
    let is_mix = matches!(directions, DirectionPlan::Mix(_));
    // A pass limited by size covers each file once, so it never starts one over.
    goes_round(job)
        && !passes_end_by_size
        && (has_several_files(job) || has_steps || is_mix)
        && job.io_type.random_generator != RandomGenerator::Lfsr
        && job.file.zonemode == ZoneMode::None
}

fn goes_file_by_file(job: &JobSpec) -> bool {
    has_several_files(job) && matches!(job.file.file_service_type, FileService::Sequential { .. })
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

fn lengths(job: &JobSpec, engine: &EngineDef) -> PerDirection<LengthRule> {
    if engine.is_background() {
        return PerDirection::all(LengthRule::Fixed(0));
    }
    PerDirection::from_fn(|direction| {
        if let Some(split) = &job.block_size.bssplit {
            let list: Vec<WeightedSize> = split
                .resolved(direction)
                .into_iter()
                .map(|(size, percent)| WeightedSize { size, percent })
                .collect();
            if !list.is_empty() {
                return LengthRule::split(list);
            }
        }
        if let Some(ranges) = &job.block_size.bsrange {
            let range = ranges[direction];
            if range.max == 0 {
                // `bssplit` has no entry for this direction, so `bs` applies.
                return LengthRule::Fixed(job.block_size.bs[direction]);
            }
            if range.min != range.max {
                let unaligned = job.block_size.bs_unaligned;
                return LengthRule::Range { min: range.min, max: range.max, unaligned };
            }
            return LengthRule::Fixed(range.min);
        }
        LengthRule::Fixed(job.block_size.bs[direction])
    })
}

/// Metadata operations have no length: the report counts each as the shortest block of the job.
fn one_length(lengths: &PerDirection<LengthRule>, directions: &DirectionPlan) -> PerDirection<LengthRule> {
    let used = directions.used();
    let shortest = used.iter().map(|&direction| lengths[direction].min()).min();
    PerDirection::all(LengthRule::Fixed(shortest.unwrap_or(1)))
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
        Distribution::Zoned(zones) => DistributionRule::Zoned(PerDirection::from_fn(|direction| {
            zones[direction]
                .iter()
                .map(|zone| ZoneShare { access_percent: zone.access, size: u64::from(zone.size) })
                .collect()
        })),
        Distribution::ZonedAbs(zones) => {
            DistributionRule::ZonedAbsolute(PerDirection::from_fn(|direction| {
                zones[direction]
                    .iter()
                    .map(|zone| ZoneShare { access_percent: zone.access, size: zone.size })
                    .collect()
            }))
        }
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
            // The rules across options refuse percentages and zones here.
            Some(SizeSpec::Percent(_) | SizeSpec::Zones(_)) | None => 0,
        },
    })
}

fn file_rule(job: &JobSpec, engine: &EngineDef) -> FileRule {
    // A mapped file stays mapped, so `openfiles` has no effect on it.
    let limit = job.file.openfiles.filter(|_| !engine.maps_files);
    let most_open = limit.map(|limit| limit.max(1) as usize);
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
