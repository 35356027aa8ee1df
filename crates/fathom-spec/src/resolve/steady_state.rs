//! `steadystate` and its window.

use std::time::Duration;

use super::Review;
use super::groups::opens_group;
use crate::diagnostic::Rejected;
use crate::spec::JobSpec;

/// Requires a window that is a multiple of the sampling interval, which is at least a second.
pub(super) fn check_window(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let (duration, interval) =
        (job.steady_state.steadystate_duration, job.steady_state.steadystate_check_interval);
    if interval < Duration::from_secs(1) {
        return Err(review.refuse(
            &job.origin,
            "fio: ss_check_interval must be at least 1s",
            format!("job {}: steadystate_check_interval is shorter than a second", job.name),
        ));
    }
    let (duration, interval) = (duration.as_micros(), interval.as_micros());
    if duration > 0 && (!duration.is_multiple_of(interval) || duration == interval) {
        return Err(review.refuse(
            &job.origin,
            format!("fio: ss_duration {duration}us must be multiple of ss_check_interval {interval}us"),
            format!(
                "job {}: steadystate_duration has to be two or more times steadystate_check_interval, such as \
                 ss_dur={}s",
                job.name,
                interval / 1_000_000 * 5
            ),
        ));
    }
    Ok(())
}

/// Requires the same criterion in all jobs of a reporting group, because the group reaches its steady state as
/// a whole.
pub(super) fn check_group(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if !job.measurement.group_reporting || opens_group(job) {
        return Ok(());
    }
    for earlier in review.earlier.iter().rev() {
        if earlier.measurement.group_reporting && !same(earlier, job) {
            let line = "fio: file:steadystate.c, func=job rejected: steadystate options must be consistent within \
                        reporting groups, error=Invalid argume";
            let problem = format!(
                "job {}: give all jobs of the group the same steadystate options as {} has, or open a new group",
                job.name, earlier.name
            );
            return Err(review.refuse(&job.origin, line, problem));
        }
        if opens_group(earlier) {
            break;
        }
    }
    Ok(())
}

fn same(one: &JobSpec, other: &JobSpec) -> bool {
    // Without a window, steady state is never detected, so the criterion does not matter.
    let active =
        |job: &JobSpec| job.is_set("steadystate") && !job.steady_state.steadystate_duration.is_zero();
    match (active(one), active(other)) {
        (true, true) => one.steady_state == other.steady_state,
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{quiet_job, refusal};

    #[test]
    fn windows_are_whole_steps() {
        assert_eq!(
            refusal("--name=a --ss=iops:1% --ss_dur=3 --ss_interval=500ms"),
            "fio: ss_check_interval must be at least 1s"
        );
        assert_eq!(
            refusal("--name=a --ss=iops:1% --ss_dur=5 --ss_interval=2"),
            "fio: ss_duration 5000000us must be multiple of ss_check_interval 2000000us"
        );
        refusal("--name=a --ss=iops:1% --ss_dur=1");
        quiet_job("--name=a --ss=iops:1%");
        quiet_job("--name=a --ss=iops:1% --ss_dur=6 --ss_interval=2");
    }

    #[test]
    fn groups_agree() {
        let line = refusal("--name=a --ss=iops:1% --ss_dur=4 --group_reporting --name=b --group_reporting");
        assert!(line.contains("steadystate options must be consistent within reporting groups"), "{line}");
        refusal("--ss=iops:1% --ss_dur=4 --group_reporting --name=a --name=b --ss_dur=5");
        quiet_job("--ss=iops:1% --ss_dur=4 --group_reporting --name=a --name=b");
        quiet_job("--ss=iops:1% --ss_dur=4 --name=a --name=b --ss_dur=5");
        quiet_job("--ss=iops:1% --ss_dur=4 --group_reporting --name=a --name=b --ss_dur=5 --stonewall");
    }
}
