//! Rules for jobs of a reporting group, and limits on the number of jobs.

use super::Review;
use crate::diagnostic::Rejected;
use crate::spec::JobSpec;

/// Maximum number of clones of all jobs together.
const MOST_CLONES: u64 = 4096;

/// Requires the same latency percentiles in all jobs of a group, because they are reported once for the group.
pub(super) fn check_latency_percentiles(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    if !job.measurement.group_reporting || opens_group(job) {
        return Ok(());
    }
    // Walks back through the group to the job that opened it.
    for earlier in review.earlier.iter().rev() {
        if earlier.measurement.lat_percentiles != job.measurement.lat_percentiles {
            return Err(review.refuse(
                &job.origin,
                format!("fio: lat_percentiles in job: {} differs from group", job.name),
                format!("job {}: give all jobs of the group the same lat_percentiles", job.name),
            ));
        }
        if opens_group(earlier) {
            break;
        }
    }
    Ok(())
}

/// True if a job is the first of its group.
pub(super) fn opens_group(job: &JobSpec) -> bool {
    job.threads.stonewall || job.measurement.new_group
}

/// Refuses jobs beyond the maximum number of clones in a run.
pub(super) fn check_job_count(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    let clones = |job: &JobSpec| u64::from(job.job_description.numjobs);
    let total: u64 = review.earlier.iter().map(clones).sum::<u64>() + clones(job);
    if clones(job) == 0 || total > MOST_CLONES {
        return Err(review.refuse(
            &job.origin,
            "error: maximum number of jobs reached.\nerror: failed to setup shm segment",
            format!(
                "job {}: numjobs={} is out of range; at least 1, and at most {MOST_CLONES} in the whole run",
                job.name, job.job_description.numjobs
            ),
        ));
    }
    Ok(())
}

/// Maximum number of I/Os in flight over all clones of a run. The memory for each I/O is allocated before the
/// run starts.
const MOST_IN_FLIGHT: u64 = 1 << 27;
/// Maximum number of files over all clones of a run.
const MOST_FILES: u64 = 1 << 23;

/// Limits options that cost memory for each clone, in total over the run.
pub(super) fn check_amounts(job: &mut JobSpec, review: &mut Review<'_>) -> Result<(), Rejected> {
    type Amount = fn(&JobSpec) -> u64;
    let amounts: [(&str, Amount, u64); 2] = [
        ("iodepth", |job| u64::from(job.depth.iodepth), MOST_IN_FLIGHT),
        ("nrfiles", |job| u64::from(job.file.nrfiles), MOST_FILES),
    ];
    for (name, amount, most) in amounts {
        let of_job = |job: &JobSpec| amount(job).saturating_mul(u64::from(job.job_description.numjobs));
        let total = review.earlier.iter().map(of_job).fold(of_job(job), u64::saturating_add);
        if total > most {
            return Err(review.refuse_in_our_words(
                &job.origin,
                format!(
                    "job {}: {name}={} is too large: all clones of the run may have {most} in all",
                    job.name,
                    amount(job)
                ),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{quiet_job, refusal};

    #[test]
    fn groups_agree_on_percentiles() {
        assert_eq!(
            refusal("--name=a --name=b --lat_percentiles=1 --group_reporting"),
            "fio: lat_percentiles in job: b differs from group"
        );
        quiet_job("--name=a --group_reporting --name=b --lat_percentiles=1");
        quiet_job("--name=a --name=b --lat_percentiles=1 --group_reporting --new_group");
    }

    #[test]
    fn the_number_of_clones_is_limited() {
        assert!(refusal("--name=a --numjobs=0").starts_with("error: maximum number of jobs reached."));
        refusal("--name=a --numjobs=5000");
        refusal("--name=a --numjobs=4294967295");
        for (words, problem) in [
            ("--name=a --ioengine=libaio --iodepth=4294967295", "job a: iodepth=4294967295 is too large"),
            ("--name=a --nrfiles=4294967295", "job a: nrfiles=4294967295 is too large"),
            (
                "--ioengine=libaio --name=a --iodepth=100m --name=b --iodepth=64k --numjobs=1000",
                "job b: iodepth=65536 is too large",
            ),
        ] {
            let line = refusal(words);
            assert!(line.contains(problem), "{words}: {line}");
        }
        quiet_job("--name=a --nrfiles=1000000 --openfiles=8");
        refusal("--name=a --numjobs=4000 --name=b --numjobs=97");
        assert_eq!(quiet_job("--name=a --numjobs=4096").job_description.numjobs, 4096);
    }
}
