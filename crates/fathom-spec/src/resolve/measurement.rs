//! What a job measures, and which errors it tolerates.

use super::Review;
use crate::diagnostic::Rejected;
use crate::spec::JobSpec;

/// Makes a job that ignores errors also continue after them.
pub(super) fn ignore_error_continues(job: &mut JobSpec, _: &mut Review<'_>) -> Result<(), Rejected> {
    if let Some(ignored) = &job.error_handling.ignore_error {
        let classes = &mut job.error_handling.continue_on_error;
        classes.read |= !ignored.read.is_empty();
        classes.write |= !ignored.write.is_empty();
        classes.verify |= !ignored.verify.is_empty();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::quiet_job;

    #[test]
    fn ignored_errors_are_survived() {
        let classes = quiet_job("--name=a --ignore_error=,ENOSPC").error_handling.continue_on_error;
        assert!(!classes.read && classes.write && !classes.verify);
    }
}
