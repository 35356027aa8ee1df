//! Time.

use super::Review;
use crate::diagnostic::Rejected;
use crate::spec::JobSpec;

/// Drops `time_based` in a job without a runtime.
pub(super) fn drop_time_based_without_runtime(
    job: &mut JobSpec,
    review: &mut Review<'_>,
) -> Result<(), Rejected> {
    if job.time.time_based && job.time.runtime.is_zero() {
        review.warn("fio: time_based requires a runtime/timeout setting");
        job.time.time_based = false;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, quiet_job};

    #[test]
    fn time_based_needs_a_runtime() {
        let (accepted, lines) = job("--name=a --time_based");
        assert!(!accepted.unwrap().time.time_based);
        assert_eq!(lines, ["fio: time_based requires a runtime/timeout setting"]);
        assert!(quiet_job("--name=a --time_based --runtime=1").time.time_based);
    }

    #[test]
    fn warnings_can_be_fatal() {
        let (refused, _) = job("--name=a --time_based --warnings-fatal");
        assert!(refused.is_none());
    }
}
