//! Syncs: flushes of the trace, as a sync after every N writes of a job.

use super::Job;
use crate::profile::Profile;
use fathom_stats::Direction;

/// Maximum error of the rate of syncs that is not mentioned.
const TOLERANCE: f64 = 0.1;

/// Gives the flushes to the write job whose rate comes closest to a whole number of writes per flush.
pub(super) fn assign(jobs: &mut [Job], profile: &Profile, lacks: &mut Vec<String>) {
    let flushes = (profile.flushes.flushes + profile.flushes.flushing_writes) as f64;
    let wanted = flushes / profile.seconds.max(1e-9);
    if flushes < 2.0 {
        return;
    }
    let every = |job: &Job| (job.arrivals.per_second / wanted).round().max(1.0);
    let error = |job: &Job| (job.arrivals.per_second / every(job) / wanted - 1.0).abs();
    let writes = jobs.iter_mut().filter(|job| job.direction == Direction::Write);
    let best = writes.min_by(|a, b| error(a).total_cmp(&error(b)));
    let Some(job) = best else {
        lacks.push("flushes, as there are no writes".to_owned());
        return;
    };
    let given = job.arrivals.per_second / every(job);
    if (given / wanted - 1.0).abs() > TOLERANCE {
        lacks.push(format!("{wanted:.1} flushes per second; the model has {given:.1}"));
    }
    job.sync_every = Some(every(job) as u32);
}
