//! Targets for latency.

use super::Review;
use crate::diagnostic::Rejected;
use crate::spec::JobSpec;

/// Requires a window, because each depth is judged by the I/Os of one window.
pub(super) fn check_window(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let options = &job.latency;
    let has_target = options.latency_target.is_some_and(|target| !target.is_zero());
    if !has_target || options.latency_window.is_some_and(|window| !window.is_zero()) {
        return Ok(());
    }
    Err(review.refuse_in_our_words(
        &job.origin,
        format!(
            "job {}: latency_target needs the time to measure at each depth, such as latency_window=1s",
            job.name
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{quiet_job, refusal};

    #[test]
    fn a_target_has_a_window() {
        refusal("--name=a --latency_target=100");
        refusal("--name=a --latency_target=100 --latency_window=0");
        quiet_job("--name=a --latency_target=100 --latency_window=1s");
        quiet_job("--name=a --latency_window=1s");
    }
}
