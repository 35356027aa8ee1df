//! Waiting for other jobs.

use super::Review;
use crate::diagnostic::Rejected;
use crate::spec::JobSpec;

/// Requires that `wait_for` names exactly one job, which was defined before this one.
pub(super) fn check_waitee(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let Some(waitee) = job.threads.wait_for.clone() else {
        return Ok(());
    };
    let name = &job.name;
    if waitee == *name {
        return Err(review.refuse(
            &job.origin,
            format!("{name}: a job cannot wait for itself (wait_for={waitee})."),
            format!("job {name}: wait_for must name another, earlier job"),
        ));
    }
    match review.earlier.iter().filter(|earlier| earlier.name == waitee).count() {
        1 => Ok(()),
        0 => Err(review.refuse(
            &job.origin,
            format!("{name}: waitee job {waitee} unknown."),
            format!("job {name}: wait_for={waitee} must name a job defined before this one"),
        )),
        _ => Err(review.refuse(
            &job.origin,
            [
                &format!("{name}: multiple waitees {waitee} found,"),
                "please avoid duplicates when using wait_for option.",
            ]
            .join("\n"),
            format!("job {name}: wait_for={waitee} matches several jobs; give them different names"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{quiet_job, refusal};

    #[test]
    fn only_one_earlier_job_can_be_waited_for() {
        assert_eq!(refusal("--name=a --wait_for=z"), "a: waitee job z unknown.");
        assert_eq!(refusal("--name=a --wait_for=a"), "a: a job cannot wait for itself (wait_for=a).");
        assert!(
            refusal("--name=b --name=b --name=a --wait_for=b").starts_with("a: multiple waitees b found,")
        );
        assert_eq!(quiet_job("--name=b --name=a --wait_for=b").threads.wait_for.as_deref(), Some("b"));
    }
}
