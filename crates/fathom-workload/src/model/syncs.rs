//! Syncs: flushes of the trace, as a sync after every N writes of a job.

use super::Job;
use crate::profile::Profile;
use fathom_stats::Direction;

/// Maximum error of the rate of syncs that is not mentioned.
const TOLERANCE: f64 = 0.1;
/// Maximum error of one job's rate of syncs before they are divided between two jobs.
const CLOSE: f64 = 0.05;

/// Gives the flushes to the write job whose rate comes closest to a whole number of writes per flush. If none comes close, another one
/// gets the rest.
pub(super) fn assign(jobs: &mut [Job], profile: &Profile, lacks: &mut Vec<String>) {
    let flushes = (profile.flushes.flushes + profile.flushes.flushing_writes) as f64;
    let wanted = flushes / profile.seconds.max(1e-9);
    if flushes < 2.0 {
        return;
    }
    let writes = jobs.iter().enumerate().filter(|(_, job)| job.direction == Direction::Write);
    let rates: Vec<(usize, f64)> = writes.map(|(place, job)| (place, job.arrivals.per_second)).collect();
    let Some(mut best) = closest(&rates, wanted) else {
        lacks.push("flushes, as there are no writes".to_owned());
        return;
    };
    if best.error(wanted) > CLOSE {
        best = of_two(&rates, wanted).filter(|two| two.error(wanted) < best.error(wanted)).unwrap_or(best);
    }
    if best.error(wanted) > TOLERANCE {
        lacks.push(format!("{wanted:.1} flushes per second; the model has {:.1}", best.given));
    }
    for (place, every) in best.every {
        jobs[place].sync_every = Some(every);
    }
}

/// Jobs with the number of writes per flush, and the rate of flushes of all of them.
#[derive(Clone, Debug, PartialEq)]
struct Given {
    every: Vec<(usize, u32)>,
    given: f64,
}

impl Given {
    fn error(&self, wanted: f64) -> f64 {
        (self.given / wanted - 1.0).abs()
    }
}

/// The job that comes closest, by its number and rate of writes.
fn closest(rates: &[(usize, f64)], wanted: f64) -> Option<Given> {
    let all = rates.iter().map(|&(place, rate)| {
        let every = (rate / wanted).round().max(1.0);
        Given { every: vec![(place, every as u32)], given: rate / every }
    });
    all.min_by(|a, b| a.error(wanted).total_cmp(&b.error(wanted)))
}

/// A job that gives less than is wanted, and another that gives the rest.
fn of_two(rates: &[(usize, f64)], wanted: f64) -> Option<Given> {
    let all = rates.iter().filter_map(|&(place, rate)| {
        let every = (rate / wanted).ceil().max(1.0);
        let rest = wanted - rate / every;
        let others: Vec<(usize, f64)> = rates.iter().copied().filter(|other| other.0 != place).collect();
        let other = closest(&others, rest).filter(|_| rest > 0.0)?;
        let every = [vec![(place, every as u32)], other.every].concat();
        Some(Given { given: wanted - rest + other.given, every })
    });
    all.min_by(|a, b| a.error(wanted).total_cmp(&b.error(wanted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_job_has_the_flushes_if_it_can() {
        let found = closest(&[(1, 1000.0), (2, 130.0)], 100.0).expect("a job");
        assert_eq!(found, Given { every: vec![(1, 10)], given: 100.0 });
        assert_eq!(closest(&[], 100.0), None);
    }

    #[test]
    fn two_jobs_share_flushes_that_are_no_whole_number_of_the_writes_of_one() {
        // A commit of a database: two pages and a journal of a few small writes.
        let found = of_two(&[(0, 2287.0), (3, 5147.0)], 2942.0).expect("two jobs");
        assert!(found.error(2942.0) < 0.01, "{found:?}");
        assert_eq!(found.every.len(), 2);
        assert_eq!(of_two(&[(0, 100.0)], 70.0), None, "one job is not two");
    }
}
