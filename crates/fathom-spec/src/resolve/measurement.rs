//! What is measured and what is tolerated.

use super::Review;
use crate::assign::Rejected;
use crate::spec::JobSpec;

/// One switch turns every latency figure and the bandwidth samples off.
pub(super) fn expand_gtod_reduce(job: &mut JobSpec, _: &mut Review<'_>) -> Result<(), Rejected> {
    let measurement = &mut job.measurement;
    if measurement.gtod_reduce {
        measurement.disable_lat = true;
        measurement.disable_clat = true;
        measurement.disable_slat = true;
        measurement.disable_bw_measurement = true;
        measurement.clat_percentiles = false;
        measurement.lat_percentiles = false;
        measurement.slat_percentiles = false;
    }
    Ok(())
}

/// Errors listed as ignorable also have to be survived.
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
    fn gtod_reduce_turns_figures_off() {
        let measurement = quiet_job("--name=a --gtod_reduce=1").measurement;
        assert!(measurement.disable_lat && measurement.disable_clat && measurement.disable_slat);
        assert!(measurement.disable_bw_measurement && !measurement.clat_percentiles);
        assert!(quiet_job("--name=a --gtod_reduce=0").measurement.clat_percentiles);
    }

    #[test]
    fn ignored_errors_are_survived() {
        let classes = quiet_job("--name=a --ignore_error=,ENOSPC").error_handling.continue_on_error;
        assert!(!classes.read && classes.write && !classes.verify);
    }
}
