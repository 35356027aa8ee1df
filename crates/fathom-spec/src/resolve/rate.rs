//! Rates.

use super::Review;
use crate::assign::Rejected;
use crate::diagnostic::Diagnostic;
use crate::outcome::Message;
use crate::spec::JobSpec;
use fathom_stats::Direction;

/// A direction is held back by bytes or by I/Os, not by both.
pub(super) fn check_exclusive(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let rate = &job.rate;
    if Direction::ALL.iter().any(|&direction| rate.rate[direction] > 0 && rate.rate_iops[direction] > 0) {
        return Err(review.refuse(
            &job.origin,
            "fio: rate and rate_iops are mutually exclusive",
            format!("job {}: give either rate or rate_iops", job.name),
        ));
    }
    Ok(())
}

/// A minimum above the cap can never be met.
pub(super) fn check_minimum(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let rate = &job.rate;
    let above = |minimum: u64, cap: u64| minimum > 0 && cap > 0 && minimum > cap;
    let mut wrong = false;
    for direction in Direction::ALL {
        if above(rate.rate_min[direction], rate.rate[direction])
            || above(rate.rate_iops_min[direction], rate.rate_iops[direction])
        {
            let line = format!("fio: minimum rate exceeds rate, ddir {}", direction.index());
            review.messages.push(Message::stderr(line));
            wrong = true;
        }
    }
    if wrong {
        let problem = format!("job {}: the minimum rate must not exceed the rate", job.name);
        review.messages.push(Diagnostic::general(&job.origin, problem).message());
        return Err(Rejected);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, quiet_job, refusal};
    use fathom_stats::PerDirection;

    #[test]
    fn bytes_and_ios_exclude_each_other() {
        let line = "fio: rate and rate_iops are mutually exclusive";
        assert_eq!(refusal("--name=a --rate=1m --rate_iops=10"), line);
        assert_eq!(quiet_job("--name=a --rate=1m").rate.rate, PerDirection::all(1 << 20));
    }

    #[test]
    fn every_direction_with_a_wrong_minimum_is_named() {
        let (refused, lines) = job("--name=a --rate=1m,4m,1m --rate_min=2m");
        assert!(refused.is_none());
        assert_eq!(
            lines[..2],
            ["fio: minimum rate exceeds rate, ddir 0", "fio: minimum rate exceeds rate, ddir 2"]
        );
        refusal("--name=a --rate_iops=10 --rate_iops_min=20");
        quiet_job("--name=a --rate_iops=20 --rate_iops_min=10");
    }
}
