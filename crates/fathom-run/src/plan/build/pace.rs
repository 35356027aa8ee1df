//! Builds rates, minimum rates and think times from options.

use super::Subject;
use crate::plan::model::lengths::LengthRule;
use crate::plan::model::pace::{MinimumRates, PacePlan, RateRule, ThinkTimePlan};
use crate::plan::model::targets::DirectionPlan;
use fathom_spec::JobSpec;
use fathom_spec::options::rate::ThinktimeBlocksType;
use fathom_spec::value::ArrivalProcess;
use fathom_stats::{Direction, PerDirection};

/// The pacing of a clone's I/O, if anything limits it.
pub(super) fn pace_plan(subject: &Subject<'_>) -> Option<PacePlan> {
    let options = &subject.job.rate;
    // A limit on a direction that the job does not use has no effect.
    let used = subject.targets.used_directions();
    let pace = PacePlan {
        rates: PerDirection::from_fn(|direction| {
            // With an open loop, `rate` is the arrival rate rather than a limit.
            let is_limited = used.contains(&direction) && !options.open_loop;
            is_limited.then(|| rate(subject, direction)).flatten()
        }),
        // A direction whose share of the mix is 0 must not get ahead of the other one.
        is_mix: matches!(subject.targets.directions, DirectionPlan::Mix(1..=99)),
        think: think_time(subject.job),
        think_cycles: u64::from(options.thinkcycles),
        shifts_for_think: options.rate_ignore_thinktime,
        minimum: minimum_rates(subject.job),
    };
    let holds_back = pace.rates.values().any(Option::is_some)
        || pace.think.is_some()
        || pace.minimum.is_some()
        || pace.think_cycles > 0;
    // A replayed log determines the pace itself.
    (holds_back && subject.log.is_none()).then_some(pace)
}

fn rate(subject: &Subject<'_>, direction: Direction) -> Option<RateRule> {
    let options = &subject.job.rate;
    let lengths = &subject.targets.lengths[direction];
    let is_poisson = options.rate_process == ArrivalProcess::Poisson;
    let (units_per_second, per_io) = match (options.rate_iops[direction], options.rate[direction]) {
        (0, 0) => return None,
        (0, bytes) => (bytes as f64, false),
        (ios, _) if matches!(lengths, LengthRule::Split(_)) || is_poisson => (ios as f64, true),
        (ios, _) => (ios as f64 * lengths.min() as f64, false),
    };
    Some(RateRule { units_per_second, per_io, is_poisson })
}

fn think_time(job: &JobSpec) -> Option<ThinkTimePlan> {
    let options = &job.rate;
    if options.thinktime.is_zero() {
        return None;
    }
    let by_time = !options.thinktime_iotime.is_zero();
    let count_is_wanted = !by_time || job.is_set("thinktime_blocks");
    Some(ThinkTimePlan {
        pause_ns: options.thinktime.as_nanos() as u64,
        spin_ns: options.thinktime_spin.as_nanos() as u64,
        blocks: if count_is_wanted { u64::from(options.thinktime_blocks.max(1)) } else { 0 },
        counts_issues: options.thinktime_blocks_type == ThinktimeBlocksType::Issue,
        io_time_ns: options.thinktime_iotime.as_nanos() as u64,
    })
}

fn minimum_rates(job: &JobSpec) -> Option<MinimumRates> {
    let (bytes, ios) = (job.rate.rate_min, job.rate.rate_iops_min);
    if bytes.values().chain(ios.values()).all(|&rate| rate == 0) {
        return None;
    }
    Some(MinimumRates { bytes, ios, cycle_ns: u64::from(job.rate.rate_cycle.max(1)) * 1_000_000 })
}
