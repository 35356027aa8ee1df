//! Predicates of a job that several builders use.

use fathom_spec::JobSpec;
use fathom_spec::options::verification::VerifyMethod;
use fathom_spec::value::SizeSpec;

/// True if a job repeats its passes until its time is up. A job that only verifies makes one pass.
pub(super) fn goes_round(job: &JobSpec) -> bool {
    job.time.time_based && !(verifies(job) && job.verification.verify_only)
}

/// True if a job writes verifiable data, or verifies what it reads.
pub(super) fn verifies(job: &JobSpec) -> bool {
    job.verification.verify != VerifyMethod::None
}

/// True if the job uses the same seeds in every run.
pub(super) fn has_own_seeds(job: &JobSpec) -> bool {
    job.io_type.randrepeat || job.is_set("randseed")
}

pub(super) fn has_several_files(job: &JobSpec) -> bool {
    let names = job.file.filename.as_ref().map_or(0, |names| names.0.len());
    names > 1 || job.file.nrfiles > 1 || job.file.opendir.is_some()
}

/// True if `io_size` requires more than one pass over the files.
pub(super) fn goes_beyond_a_pass(job: &JobSpec) -> bool {
    match (&job.size.io_size, &job.size.size) {
        (Some(SizeSpec::Bytes(bytes)), Some(SizeSpec::Bytes(size))) => bytes > size,
        (Some(SizeSpec::Bytes(bytes)), _) => *bytes > 0,
        (Some(SizeSpec::Percent(percent)), _) => *percent > 100,
        (Some(SizeSpec::Zones(_)), _) => true,
        (None, _) => false,
    }
}
