//! Builds the schedule of an open loop from options.

use super::Subject;
use crate::plan::PlanError;
use crate::plan::model::arrivals::ArrivalsPlan;
use crate::plan::model::targets::DirectionPlan;
use fathom_stats::PerDirection;

/// Highest arrival rate: a worker cannot start more I/Os per second, and even counting the arrivals would
/// occupy a whole processor.
const MOST_PER_SECOND: f64 = 10_000_000.0;

/// The schedule of a clone's I/Os, if it is an open loop. The error includes advice.
pub(super) fn arrivals_plan(subject: &Subject<'_>) -> Result<Option<ArrivalsPlan>, PlanError> {
    let options = &subject.job.rate;
    if !options.open_loop {
        return Ok(None);
    }
    let used = subject.targets.used_directions();
    let per_second = PerDirection::from_fn(|direction| {
        // A replayed log has its own issue times, so no schedule is built.
        if subject.log.is_some() || !used.contains(&direction) {
            return None;
        }
        match (options.rate_iops[direction], options.rate[direction]) {
            (0, 0) => None,
            (0, bytes) => Some(bytes as f64 / subject.targets.lengths[direction].mean()),
            (ios, _) => Some(ios as f64),
        }
    });
    if let Some(much) = per_second.values().flatten().find(|&&rate| rate > MOST_PER_SECOND) {
        let job = subject.job.name.clone();
        return Err(PlanError::TooManyArrivals { job, per_second: *much, most: MOST_PER_SECOND });
    }
    Ok(Some(ArrivalsPlan {
        per_second,
        process: options.rate_process.clone(),
        is_mix: matches!(subject.targets.directions, DirectionPlan::Mix(1..=99)),
        spins: options.open_loop_spin,
    }))
}
